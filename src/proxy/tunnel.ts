/**
 * Opens a connection through an HTTP proxy, with CONNECT. Every failure is a RemoraError that names the proxy without its
 * password: it can't be reached, refuses, answers something else than HTTP, breaks off, or keeps silent.
 */
import { once } from "node:events";
import { connect, isIPv6, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";
import { codeOf, messageOf, RemoraError } from "../lib/errors.ts";
import { oneLine } from "../lib/text/sanitize.ts";
import { nameOfProxy, type OutgoingProxy } from "./proxy-rules.ts";

/** From the first packet to the end of the TLS handshake with the destination. */
const maxTunnelMs = 10_000;
const maxAnswerBytes = 16 * 1024;
const maxSaidCharacters = 100;

export interface TunnelOptions {
  proxy: OutgoingProxy;
  /** A name, which the proxy resolves, or an address. */
  host: string;
  port: number;
  signal?: AbortSignal;
  maxMs?: number;
}

/** Rejects with a RemoraError, or with the signal's reason. */
export async function openTunnel(options: TunnelOptions): Promise<Socket> {
  const { proxy, signal, maxMs = maxTunnelMs } = options;
  const tooLate = AbortSignal.timeout(maxMs);
  const either = signal === undefined ? tooLate : AbortSignal.any([signal, tooLate]);
  const socket = connectToProxy(proxy);
  const stop = () => socket.destroy();
  either.addEventListener("abort", stop, { once: true });
  try {
    await opened(proxy, socket, either);
    await requestTunnel(options, socket);
    return socket;
  } catch (thrown) {
    socket.on("error", () => {}).destroy();
    signal?.throwIfAborted();
    if (tooLate.aborted)
      throw failure(proxy, "silent", `did not answer within ${maxMs / 1_000} s. Check the proxy`, {
        isRetryable: true,
      });
    throw thrown;
  } finally {
    either.removeEventListener("abort", stop);
  }
}

/** Starts TLS with the destination inside the tunnel. */
export async function secureTunnel(
  { proxy, host, maxMs = maxTunnelMs }: TunnelOptions,
  socket: Socket,
  tls: ConnectionOptions,
): Promise<TLSSocket> {
  const secure = connectTls({ ...tls, socket });
  const timer = setTimeout(() => secure.destroy(new Error(`nothing for ${maxMs / 1_000} s`)), maxMs);
  try {
    await new Promise<void>((resolve, reject) => {
      secure.once("secureConnect", resolve);
      secure.once("error", reject);
      secure.once("close", () => reject(new Error("the connection closed")));
    });
    return secure;
  } catch (thrown) {
    secure.on("error", () => {}).destroy();
    const code = codeOf(thrown) ?? "";
    if (/CERT|SELF_SIGNED|UNABLE_TO_/.test(code))
      throw failure(
        proxy,
        "certificate",
        `opened a tunnel to ${host}, but the certificate in it is not trusted (${code}). If the proxy looks into TLS, add its authority to NODE_EXTRA_CA_CERTS`,
        { cause: thrown },
      );
    throw failure(
      proxy,
      "not-tls",
      `opened a tunnel to ${host}, but no TLS came through it (${shortOf(messageOf(thrown))}). Check the proxy`,
      { cause: thrown, isRetryable: true },
    );
  } finally {
    clearTimeout(timer);
  }
}

function connectToProxy({ url }: OutgoingProxy): Socket {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  return url.protocol === "https:"
    ? connectTls({ host, port, ALPNProtocols: ["http/1.1"], ...(isIPv6(host) ? {} : { servername: host }) })
    : connect({ host, port, noDelay: true });
}

async function opened(proxy: OutgoingProxy, socket: Socket, signal: AbortSignal): Promise<void> {
  try {
    await once(socket, proxy.url.protocol === "https:" ? "secureConnect" : "connect", { signal });
  } catch (thrown) {
    const why = codeOf(thrown) ?? messageOf(thrown);
    throw failure(proxy, "unreachable", `can't be reached (${why}). Check the address in ${proxy.variable}`, {
      cause: thrown,
      isRetryable: true,
    });
  }
}

async function requestTunnel({ proxy, host, port }: TunnelOptions, socket: Socket): Promise<void> {
  const authority = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const { username, password } = proxy.url;
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const lines = [
    `CONNECT ${authority} HTTP/1.1`,
    `Host: ${authority}`,
    ...(user === ":" ? [] : [`Proxy-Authorization: Basic ${Buffer.from(user).toString("base64")}`]),
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  const head = await readHead(proxy, socket);
  const [, code = "", words = ""] = /^HTTP\/1\.[01] (\d{3})(?: ([^\r\n]*))?\r?\n/.exec(head) ?? [];
  if (code === "")
    throw failure(proxy, "not-a-proxy", `did not answer like an HTTP proxy. Check the address in ${proxy.variable}`);
  if (code === "407") throw failure(proxy, "credentials", credentialsText(proxy));
  if (!code.startsWith("2"))
    throw failure(
      proxy,
      "refused",
      `refused a connection to ${authority} (${shortOf(`${code} ${words}`)}). Ask the people who run the proxy, or add the host to NO_PROXY`,
      { isRetryable: code.startsWith("5") },
    );
}

/** Bytes after the head belong to the destination. The socket must not be flowing or paused afterwards. */
async function readHead(proxy: OutgoingProxy, socket: Socket): Promise<string> {
  let bytes = Buffer.alloc(0);
  return await new Promise((resolve, reject) => {
    const settle = (end: () => void) => {
      socket.off("readable", take).off("close", closed).off("error", closed);
      end();
    };
    const closed = () =>
      settle(() =>
        reject(
          failure(proxy, "cut", "closed the connection without an answer. Check the proxy", { isRetryable: true }),
        ),
      );
    const take = () => {
      const chunk: Buffer | null = socket.read();
      if (chunk === null) return;
      bytes = Buffer.concat([bytes, chunk]);
      const end = bytes.indexOf("\r\n\r\n");
      const isOther = bytes.length >= 5 && bytes.toString("latin1", 0, 5) !== "HTTP/";
      if (end < 0 && !isOther && bytes.length < maxAnswerBytes) return;
      if (end >= 0 && bytes.length > end + 4) socket.unshift(bytes.subarray(end + 4));
      settle(() => resolve(end < 0 ? "" : bytes.toString("utf8", 0, end + 2)));
    };
    socket.on("readable", take).on("close", closed).on("error", closed);
  });
}

function credentialsText({ url, variable }: OutgoingProxy): string {
  return url.username === ""
    ? `asks for a user name and password (407). Set ${variable} to ${url.protocol}//user:password@${url.host}`
    : `refused the user name and password in ${variable} (407). Correct them`;
}

function failure(
  proxy: OutgoingProxy,
  kind: string,
  message: string,
  more: { isRetryable?: boolean; cause?: unknown } = {},
): RemoraError {
  return new RemoraError({ code: `proxy.${kind}`, place: nameOfProxy(proxy), message, ...more });
}

/** What a proxy says is untrusted. */
function shortOf(said: string): string {
  return oneLine(said, maxSaidCharacters);
}
