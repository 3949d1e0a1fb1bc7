/** Reads the target of a proxy request, and selects the headers to forward. */
import type { IncomingMessage } from "node:http";
import { authorityText, parseAuthority } from "./hosts.ts";
import { pairsOf } from "./secrets.ts";

export interface RequestTarget {
  scheme: "http" | "https";
  host: string;
  port: number;
  path: string;
}

export type TargetReading = { type: "target"; target: RequestTarget } | { type: "refused"; why: string };

/** The host of a tunnel whose content is read here: plain HTTP, or TLS that ends here. */
export interface TunnelledHost {
  scheme: "http" | "https";
  host: string;
  port: number;
}

/** Some servers use the Host header and others the request line, so both must agree (RFC 9112, 3.2.2). */
export function readTarget(request: IncomingMessage, tunnelled: TunnelledHost | undefined): TargetReading {
  const framing = framingProblem(request);
  if (framing !== undefined) return refused(framing);
  const scheme = tunnelled?.scheme ?? "http";
  const defaultPort = scheme === "http" ? 80 : 443;
  const url = request.url ?? "";
  const [, written, path = ""] = /^http:\/\/([^/?#]*)([/?].*)?$/is.exec(url) ?? [];
  if (tunnelled !== undefined) {
    if (!url.startsWith("/") && !(url === "*" && request.method === "OPTIONS"))
      return refused("Send a path inside the tunnel.");
  } else if (written === undefined) {
    return refused("This is an HTTP proxy: send CONNECT host:port, or a request with a complete http:// URL.");
  }
  const named = tunnelled ?? parseAuthority(written ?? "", defaultPort);
  if (named === undefined) return refused("The URL of the request names no host, or contains a user name.");
  if (!agrees(request, named, defaultPort)) return refused("The Host header names another host than the request.");
  return { type: "target", target: { ...named, scheme, path: tunnelled === undefined ? pathOf(path) : url } };
}

function pathOf(path: string): string {
  return path.startsWith("/") ? path : `/${path}`;
}

/** HTTP/1.0 requests may lack the Host header. */
function agrees({ rawHeaders }: IncomingMessage, named: Omit<TunnelledHost, "scheme">, defaultPort: number): boolean {
  const hosts = pairsOf(rawHeaders).filter(([name]) => name.toLowerCase() === "host");
  if (hosts.length > 1) return false;
  return hosts.every(([, value]) => {
    const authority = parseAuthority(value, defaultPort);
    return authority?.host === named.host && authority.port === named.port;
  });
}

/** Node's parser already refuses ambiguous framing. This function refuses what the proxy can't forward correctly. */
function framingProblem({ headers, httpVersionMajor }: IncomingMessage): string | undefined {
  if (httpVersionMajor !== 1) return "Only HTTP/1.0 and HTTP/1.1 are supported.";
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "chunked")
    return "Only the transfer coding chunked is supported.";
  if (coding !== undefined && headers["content-length"] !== undefined) {
    return "A request can't have both Content-Length and Transfer-Encoding.";
  }
  return undefined;
}

function refused(why: string): TargetReading {
  return { type: "refused", why };
}

/** Like the headers that `Connection` names, these apply to one connection only (RFC 9110, 7.6.1). */
const hopByHop = new Set(
  ["connection", "keep-alive", "proxy-connection", "proxy-authorization", "proxy-authenticate", "te", "trailer"].concat(
    ["transfer-encoding", "upgrade", "expect", "host", "http2-settings"],
  ),
);

/** Returns the headers for Node's client, as alternating names and values. */
export function requestHeaders(request: IncomingMessage, target: RequestTarget): string[] {
  const kept = endToEnd(request.rawHeaders, (name) => hopByHop.has(name));
  const isDefault = target.port === (target.scheme === "http" ? 80 : 443);
  const authority = authorityText(target.host, target.port);
  const host = ["Host", isDefault ? authority.slice(0, authority.lastIndexOf(":")) : authority];
  return [...host, ...kept, ...framingHeaders(request)];
}

function framingHeaders({ headers, method = "" }: IncomingMessage): string[] {
  if (headers["transfer-encoding"] !== undefined) return ["Transfer-Encoding", "chunked"];
  const hasBodyMethod = ["POST", "PUT", "PATCH"].includes(method);
  return headers["content-length"] === undefined && hasBodyMethod ? ["Content-Length", "0"] : [];
}

export function responseHeaders({ rawHeaders }: IncomingMessage): string[] {
  const onHop = new Set([
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
  ]);
  return endToEnd(rawHeaders, (name) => onHop.has(name));
}

function endToEnd(rawHeaders: readonly string[], isOnHop: (name: string) => boolean): string[] {
  const pairs = pairsOf(rawHeaders);
  const named = new Set(
    pairs
      .filter(([name]) => name.toLowerCase() === "connection")
      .flatMap(([, value]) =>
        value
          .toLowerCase()
          .split(",")
          .map((token) => token.trim()),
      ),
  );
  // Keep Content-Length, even if Connection names it.
  named.delete("content-length");
  return pairs.filter(([name]) => !isOnHop(name.toLowerCase()) && !named.has(name.toLowerCase())).flat();
}
