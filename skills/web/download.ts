/**
 * Fetches an address within one deadline. Checks the address of each hop (target.ts), and connects only to the IP
 * addresses that were checked. Follows at most three redirects, without cookies, credentials or a proxy. Reads up to 2
 * MB, both as sent and after decompression. A failure is a RemoraError that the model can read.
 */
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { pipeline, type Transform } from "node:stream";
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
  constants as zlib,
} from "node:zlib";
import { codeOf, messageOf, RemoraError } from "../../src/plugin-sdk/errors.ts";
import type { WebSettings } from "./settings.ts";
import { findTarget, type Resolve, readUrl, refusal, type Target } from "./target.ts";

export interface Download {
  /** The final address, after redirects. */
  url: URL;
  status: number;
  /** From the header, for example `text/html; charset=utf-8`. Empty if the header is missing. */
  contentType: string;
  contentLength: number | undefined;
  retryAfterMs: number | undefined;
  body: Uint8Array;
  isCut: boolean;
}

export interface Downloading {
  settings: WebSettings;
  resolve: Resolve;
  /** If false, the body is not fetched. */
  wants(contentType: string): boolean;
}

export const maxBytes = 2 * 1024 * 1024;
const maxRedirects = 3;
const maxHeaderBytes = 32 * 1024;
const redirects = new Set([301, 302, 303, 307, 308]);

const headers = {
  "user-agent": "Mozilla/5.0 (compatible; Remora; +self-hosted assistant, fetches pages people ask for)",
  accept: "text/html,application/xhtml+xml,text/markdown,text/plain,application/json;q=0.9,*/*;q=0.5",
  "accept-encoding": "gzip, deflate, br, zstd",
};

export async function download(url: URL, options: Downloading, signal: AbortSignal): Promise<Download> {
  const { seconds } = options.settings;
  const deadline = AbortSignal.timeout(seconds * 1000);
  const either = AbortSignal.any([signal, deadline]);
  try {
    return await follow(url, options, either);
  } catch (thrown) {
    signal.throwIfAborted();
    if (deadline.aborted) throw failure(url, `did not finish within ${seconds} s`, thrown);
    throw thrown;
  }
}

async function follow(first: URL, options: Downloading, signal: AbortSignal): Promise<Download> {
  const seen = new Set<string>();
  for (let url = first; ; ) {
    if (seen.has(url.href)) throw refusal(first.origin, "redirects in a circle");
    if (seen.size > maxRedirects) throw refusal(first.origin, `redirects more than ${maxRedirects} times`);
    seen.add(url.href);
    const target = await findTarget(url, options.settings, options.resolve, signal);
    const response = await request(target, signal);
    try {
      const next = locationOf(response, url);
      if (next === undefined) return await read(response, url, options.wants);
      url = next;
    } catch (thrown) {
      if (thrown instanceof RemoraError || signal.aborted) throw thrown;
      const isPassing = codeOf(thrown) === "ECONNRESET";
      throw failure(url, `broke off during the download (${messageOf(thrown)})`, thrown, isPassing);
    } finally {
      response.destroy();
    }
  }
}

function locationOf({ statusCode = 0, headers: { location } }: IncomingMessage, url: URL): URL | undefined {
  if (!redirects.has(statusCode) || location === undefined) return undefined;
  const next = URL.parse(location, url.href);
  if (next === null) throw refusal(url.origin, "redirects to an invalid address");
  return readUrl(next.href);
}

function request(target: Target, signal: AbortSignal): Promise<IncomingMessage> {
  const { url, host, port } = target;
  const isSecure = url.protocol === "https:";
  const options = {
    ...{ host, port, path: `${url.pathname}${url.search}`, method: "GET", headers: { ...headers, host: url.host } },
    ...{ agent: false as const, lookup: pinnedTo(target), maxHeaderSize: maxHeaderBytes, signal },
    ...(isSecure && isIP(host) === 0 ? { servername: host } : {}),
  };
  return new Promise((resolve, reject) => {
    const sent = isSecure ? requestHttps(options) : requestHttp(options);
    sent.once("response", resolve);
    sent.on("error", (thrown) => reject(signal.aborted ? signal.reason : unreachable(url, thrown)));
    sent.end();
  });
}

/** Resolves the host to the checked addresses only. Not called if the host is an IP address. */
function pinnedTo({ addresses }: Target): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, { all: wantsAll }, done) => {
    if (wantsAll === true) done(null, all);
    else done(null, all[0]?.address ?? "", all[0]?.family);
  };
}

async function read(response: IncomingMessage, url: URL, wants: (type: string) => boolean): Promise<Download> {
  const { statusCode: status = 0, headers: given } = response;
  const contentType = given["content-type"] ?? "";
  const contentLength = given["content-length"] === undefined ? undefined : Number(given["content-length"]);
  const about = { url, status, contentType, contentLength, retryAfterMs: retryAfterOf(given["retry-after"]) };
  if (!wants(contentType)) return { ...about, body: new Uint8Array(), isCut: true };
  const wire = limited(response);
  const whole = limited(decoded(response, wire));
  const chunks: Uint8Array[] = [];
  for await (const chunk of whole.chunks()) chunks.push(chunk);
  return { ...about, body: Buffer.concat(chunks), isCut: wire.isCut() || whole.isCut() };
}

interface Limited {
  chunks(): AsyncGenerator<Uint8Array>;
  isCut(): boolean;
}

function limited(source: AsyncIterable<Uint8Array>): Limited {
  let room = maxBytes;
  return {
    async *chunks() {
      for await (const chunk of source) {
        if (room > 0) yield chunk.subarray(0, room);
        room -= chunk.length;
        if (room < 0) return;
      }
    },
    isCut: () => room < 0,
  };
}

function decoded(response: IncomingMessage, wire: Limited): AsyncIterable<Uint8Array> {
  const encoding = (response.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (encoding === "identity" || encoding === "") return wire.chunks();
  const decoder = decompressor(encoding);
  if (decoder === undefined) {
    throw refusal(encoding.slice(0, 40), "is an encoding of the body that was not requested and can't be read");
  }
  // The callback can be empty: an error in either stream also reaches the decoder's reader.
  pipeline(wire.chunks(), decoder, () => {});
  return decoder;
}

function decompressor(encoding: string): Transform | undefined {
  // Decompress a truncated body as far as possible.
  const lenient = { finishFlush: zlib.Z_SYNC_FLUSH };
  switch (encoding) {
    case "gzip":
    case "x-gzip":
      return createGunzip(lenient);
    case "deflate":
      return createInflate(lenient);
    case "br":
      return createBrotliDecompress({ finishFlush: zlib.BROTLI_OPERATION_FLUSH });
    case "zstd":
      return createZstdDecompress({ finishFlush: zlib.ZSTD_e_flush });
    default:
      return undefined;
  }
}

export function retryAfterOf(written: string | undefined): number | undefined {
  if (written === undefined) return undefined;
  const ms = /^\d+$/.test(written) ? Number(written) * 1000 : Date.parse(written) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** Retryable if the host is briefly unavailable, but not if it doesn't exist or has an invalid certificate. */
function unreachable(url: URL, thrown: unknown): RemoraError {
  const code = codeOf(thrown) ?? "";
  const isPassing = ["ECONNRESET", "EPIPE", "ENETDOWN"].includes(code);
  const why = code === "HPE_HEADER_OVERFLOW" ? "its headers are too long" : messageOf(thrown) || code;
  return failure(url, `can't be reached (${why})`, thrown, isPassing);
}

function failure(url: URL, message: string, cause: unknown, isRetryable = false): RemoraError {
  return new RemoraError({ code: "web.failed", place: url.origin, message, cause, isRetryable });
}
