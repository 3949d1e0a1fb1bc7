/** What the proxy itself answers, in words that lead the model to what it can do. */
import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { EgressConnection, EgressOutcome } from "./connections.ts";
import { type ApprovedHost, authorityText, shown } from "./hosts.ts";

export interface ProxyReply {
  status: number;
  /** Sentences, with a line break at the end. */
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

/** For a response that has not begun; otherwise the connection is cut. */
export function sendReply(response: ServerResponse, { status, text }: ProxyReply): void {
  if (response.headersSent) return void response.destroy();
  // What is left of the request's body is not read.
  response.writeHead(status, { ...replyHeaders, "content-length": Buffer.byteLength(text) });
  response.end(text);
}

/** For a connection that is no longer read as HTTP. */
export function writeReply(socket: Socket, { status, text }: ProxyReply): void {
  if (!socket.writable) return void socket.destroy();
  const headers = Object.entries({ ...replyHeaders, "content-length": Buffer.byteLength(text) });
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`, ...headers.map((pair) => pair.join(": "))];
  socket.end(`${lines.join("\r\n")}\r\n\r\n${text}`, () => socket.destroySoon());
}

const replyHeaders = { "content-type": "text/plain; charset=utf-8", connection: "close" };

/**
 * What the proxy refused, for the result of the command: many programs show the status of a refusal and not its text.
 * Empty when nothing was refused.
 */
export function describeRefusals(connections: readonly EgressConnection[], hosts: readonly ApprovedHost[]): string {
  const sentences = connections
    .filter(({ outcome }) => outcome !== "open" && outcome !== "ended" && outcome !== "closed" && outcome !== "failed")
    .map(({ outcome, host, port }) => {
      return outcome === "not-approved" ? notApprovedText(host, port, hosts) : failureText(outcome, host, port);
    });
  const different = [...new Set(sentences)];
  const more = different.length > maxDescribed ? [`The proxy refused ${different.length - maxDescribed} more.`] : [];
  return [...different.slice(0, maxDescribed), ...more].join("\n");
}

const maxDescribed = 5;

function notApprovedText(host: string, port: number, hosts: readonly ApprovedHost[]): string {
  const approved = hosts.flatMap(({ host: name, ports }) => ports.map((one) => authorityText(name, one)));
  return `${targetText(host, port)} is not approved for this command. Approved: ${approved.join(", ")}. If the command needs it, call shell_exec again and name it in network as well; a person will be asked.`;
}

function failureText(outcome: EgressOutcome, host: string, port: number): string {
  const target = targetText(host, port);
  switch (outcome) {
    case "not-public":
      return `${target} is an address inside a private network or this machine. An operator can allow it under sandbox.network.allow.`;
    case "unresolved":
      return `${target} can't be reached: there is no such host, or its name can't be looked up at the moment.`;
    case "unreachable":
      return `${target} can't be reached: no connection could be made.`;
    case "certificate":
      return `${target} can't be reached: TLS failed, or a certificate is not valid or not trusted.`;
    case "wrong-name":
      return `${target} was refused: the command asked for another host inside TLS than the one that it connected to.`;
    case "bad-request":
      return `A request to ${target} was refused: it can't be forwarded.`;
    case "not-approved":
    case "open":
    case "ended":
    case "failed":
    case "closed":
      return `The connection to ${target} broke off.`;
    default:
      return outcome satisfies never;
  }
}

/** The command chooses the text, and the model reads it. */
function targetText(host: string, port: number): string {
  const text = authorityText(host, port);
  return /^[\w.:[\]-]+$/.test(text) ? text : shown(text);
}
