/** The proxy's own responses, which tell the model what it can do. */
import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { EgressConnection, EgressOutcome } from "./connections.ts";
import { type ApprovedHost, authorityText, quoted } from "./hosts.ts";

export interface ProxyReply {
  status: number;
  text: string;
}

export function notApproved(host: string, port: number, hosts: readonly ApprovedHost[]): ProxyReply {
  return { status: 403, text: `${notApprovedText(host, port, hosts)}\n` };
}

export function dialFailed(outcome: EgressOutcome, host: string, port: number): ProxyReply {
  return { status: outcome === "not-public" ? 403 : 502, text: `${failureText(outcome, host, port)}\n` };
}

export function badRequest(text: string, status = 400): ProxyReply {
  return { status, text: `${text}\n` };
}

/** If the response has already begun, closes the connection instead. */
export function sendReply(response: ServerResponse, { status, text }: ProxyReply): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { ...replyHeaders, "content-length": Buffer.byteLength(text) });
  response.end(text);
}

export function writeReply(socket: Socket, { status, text }: ProxyReply): void {
  if (!socket.writable) return void socket.destroy();
  const headers = Object.entries({ ...replyHeaders, "content-length": Buffer.byteLength(text) });
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`, ...headers.map((pair) => pair.join(": "))];
  socket.end(`${lines.join("\r\n")}\r\n\r\n${text}`, () => socket.destroySoon());
}

const replyHeaders = { "content-type": "text/plain; charset=utf-8", connection: "close" };

/** Describes what the proxy refused, because many programs print only the status of a response. */
export function describeRefusals(connections: readonly EgressConnection[], hosts: readonly ApprovedHost[]): string {
  const sentences = connections
    .filter(({ outcome }) => outcome !== "open" && outcome !== "ended" && outcome !== "closed" && outcome !== "failed")
    .map(({ outcome, host, port }) => {
      return outcome === "not-approved" ? notApprovedText(host, port, hosts) : failureText(outcome, host, port);
    });
  const distinct = [...new Set(sentences)];
  const more =
    distinct.length > maxDescribedRefusals ? [`The proxy refused ${distinct.length - maxDescribedRefusals} more.`] : [];
  return [...distinct.slice(0, maxDescribedRefusals), ...more].join("\n");
}

const maxDescribedRefusals = 5;

function notApprovedText(host: string, port: number, hosts: readonly ApprovedHost[]): string {
  const approved = hosts.flatMap(({ host: name, ports }) => ports.map((one) => authorityText(name, one)));
  return `${targetText(host, port)} is not approved for this command. Approved: ${approved.join(", ")}. If the command needs it, call shell_exec again and name it in network as well. A person will be asked.`;
}

function failureText(outcome: EgressOutcome, host: string, port: number): string {
  const target = targetText(host, port);
  switch (outcome) {
    case "not-public":
      return `${target} has an address inside a private network or on this machine. An operator can allow it in sandbox.network.allow.`;
    case "unresolved":
      return `${target} can't be reached: the host name can't be resolved.`;
    case "unreachable":
      return `${target} can't be reached: the connection failed.`;
    case "certificate":
      return `${target} can't be reached: TLS failed, or a certificate is invalid or untrusted.`;
    case "wrong-name":
      return `${target} was refused: inside TLS, the command asked for a different host.`;
    case "no-name":
      return `${target} was refused: inside TLS, the command named no server. Use a client that does (SNI).`;
    case "silent":
      return `${target} was closed: the command opened a tunnel and said nothing. Only HTTP, and TLS that names its server, pass.`;
    case "bad-request":
      return `A request to ${target} was refused: the proxy can't forward it. Only HTTP, and TLS that names its server, pass.`;
    case "not-approved":
    case "open":
    case "ended":
    case "failed":
    case "closed":
      return `The connection to ${target} was interrupted.`;
    default:
      return outcome satisfies never;
  }
}

/** Quotes the target if needed, because the command chooses the target and the model reads it. */
function targetText(host: string, port: number): string {
  const text = authorityText(host, port);
  return /^[\w.:[\]-]+$/.test(text) ? text : quoted(text);
}
