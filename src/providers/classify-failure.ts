/**
 * Turns every failure of a provider into an error that people and the cascade can act on. kind-of-response.ts says what an error
 * response means, and failure-kinds.ts what people read. A service's own words are not to be trusted: they can repeat the prompt,
 * the key, or what somebody else wants to be read. They are cleared of keys, also of half-hidden ones, before they are shortened,
 * and stand in a message as code, so that nothing in them is a link, a mention or formatting. `plain` is the message without them.
 */

import { stripVTControlCharacters } from "node:util";
import { codeOf, messageOf, RemoraError, remoraErrorIn } from "../lib/errors.ts";
import { shownUrl } from "../lib/fetch-directly.ts";
import { createRedactor } from "../lib/redact.ts";
import { codeSpan, oneLine } from "../lib/text/sanitize.ts";
import { shorten } from "../lib/text/shorten.ts";
import { type ErrorBody, errorBodyOf } from "./error-body.ts";
import { type FailureKind, failureKinds, type Kind, type ProviderPlace } from "./failure-kinds.ts";
import { kindOfReport, kindOfStatus } from "./kind-of-response.ts";
import { pastEndingOf } from "./model-lifecycle.ts";
import { isSureOfMoney, resetOf } from "./spend-limits.ts";

const maxSaidLength = 300;

/** No service says more of use, and no key is cut in half before it is hidden. */
const maxReadLength = 20_000;

export interface FailureDetails {
  /** The service's own words. */
  said?: string | undefined;
  /** Our own. */
  note?: string | undefined;
  retryAfterMs?: number | undefined;
  /** When a limit resets, in milliseconds since 1970. */
  resetsAt?: number | undefined;
  cause?: unknown;
}

export function failure(place: ProviderPlace, kind: FailureKind, details: FailureDetails = {}): RemoraError {
  const { code, isRetryable, say, sayInChat = say, isAboutMoney = false }: Kind = failureKinds[kind];
  const { resetsAt, note = "" } = details;
  const said = shownWords(details.said ?? "", place);
  const words = [note, said].filter((part) => part !== "").join(" ");
  const resets = resetsAt === undefined ? "" : `, which resets on ${timeText(resetsAt)}`;
  const retryAfterMs = resetsAt === undefined ? details.retryAfterMs : resetsAt - Date.now();
  const shown = { ...place, baseUrl: shownUrl(place.baseUrl) };
  const sentence = (of: Kind["say"], because: string) => of(shown, because === "" ? "" : ` (${because})`, resets);
  return new RemoraError({
    code,
    place: `provider ${place.name}`,
    message: sentence(say, words),
    // People read the reason of a refusal, because it is the answer.
    plain: sentence(sayInChat, kind === "refused" ? words : note),
    isRetryable,
    ...(isAboutMoney && words !== "" ? { detail: words } : {}),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(details.cause === undefined ? {} : { cause: details.cause }),
  });
}

/** `isPage` means that the body was HTML, as from a proxy or a wrong address. */
export function statusFailure(
  place: ProviderPlace,
  status: number,
  body: ErrorBody,
  options: { isPage?: boolean; retryAfterMs?: number | undefined } = {},
): RemoraError {
  const { retryAfterMs = body.waitMs } = options;
  // Proxies say also with a page that they are busy, or that a request is too large for them.
  const isPage = options.isPage && status < 500 && ![408, 413, 429].includes(status);
  const told = isPage ? "notAnApi" : kindOfStatus(status, body, options.retryAfterMs !== undefined);
  const found = told === "unknownPath" && isNamed(place.model, body) ? "unknownModel" : told;
  const isEnded = found === "unknownModel" && pastEndingOf(place, Date.now()) !== undefined;
  const kind = isEnded ? "endedModel" : found;
  return failureOf(place, kind, status, body, {
    ...{ note: String(status), said: body.message, retryAfterMs },
    cause: refusalOf(kind, status, body),
  });
}

/** Short names are in other words too. */
function isNamed(model: string, { message }: ErrorBody): boolean {
  return model.length > 3 && message.includes(model);
}

/** Why the service refused the request itself, in its own words. Another request could succeed. */
export class ServiceRefusal extends Error {
  readonly status: number;
  /** The field that the service names, if it does. */
  readonly param: string;

  constructor(status: number, { message, param = "" }: ErrorBody) {
    super(message);
    this.status = status;
    this.param = param;
  }
}

const codesOfRequests: ReadonlySet<string> = new Set([
  ...["provider.bad-request", "provider.too-long", "provider.unknown-model", "provider.not-an-api"],
]);

function refusalOf(kind: FailureKind, status: number, body: ErrorBody): ServiceRefusal | undefined {
  return codesOfRequests.has(failureKinds[kind].code) ? new ServiceRefusal(status, body) : undefined;
}

export function serviceRefusalIn(thrown: unknown): ServiceRefusal | undefined {
  const known = remoraErrorIn(thrown);
  if (known !== undefined) return known.cause instanceof ServiceRefusal ? known.cause : undefined;
  const body = reportedIn(causesOf(thrown));
  return body === undefined ? undefined : refusalOf(kindOfReport(body), Number(body.code), body);
}

const unsureRestMs = 60_000;
/** A small model is there by then. Longer, people would wait without knowing whether it comes. */
const loadingMs = 8_000;

/**
 * After words alone, the model rests only until a small call or the next message has shown whether they are true. The time that a
 * service names for a rate limit has nothing to do with money or keys.
 */
function failureOf(
  place: ProviderPlace,
  kind: FailureKind,
  status: number,
  body: ErrorBody,
  details: FailureDetails,
): RemoraError {
  const { retryAfterMs, ...rest } = details;
  if (kind === "loading") return failure(place, kind, { ...rest, retryAfterMs: retryAfterMs ?? loadingMs });
  if (kind === "wrongKey" || kind === "closedAccount" || kind === "forbidden")
    return failure(place, kind, isSureOfKey(body, status) ? rest : { ...rest, retryAfterMs: unsureRestMs });
  if (kind !== "spendLimit" && kind !== "noCredit") return failure(place, kind, details);
  if (!isSureOfMoney(body, status)) return failure(place, kind, { ...rest, retryAfterMs: unsureRestMs });
  return failure(place, kind, { ...rest, resetsAt: resetOf(body, Date.now()) });
}

/** Whether more says so than words that a person may have written. */
function isSureOfKey({ type, code, reasons = "" }: ErrorBody, status: number): boolean {
  return (
    status === 401 ||
    /auth|api_?key|token|account|permission|access|forbidden|denied/i.test(`${type} ${code} ${reasons}`)
  );
}

/** An error in a stream. */
export function reportedFailure(place: ProviderPlace, body: ErrorBody): RemoraError {
  const kind = kindOfReport(body);
  const cause = refusalOf(kind, Number(body.code), body);
  return failureOf(place, kind, Number(body.code), body, { said: body.message, retryAfterMs: body.waitMs, cause });
}

/** For anything that a client library or `fetch` threw. A RemoraError among the causes is returned unchanged. */
export function thrownFailure(place: ProviderPlace, thrown: unknown): RemoraError {
  const chain = causesOf(thrown);
  const known = chain.find((link) => link instanceof RemoraError);
  if (known !== undefined) return known;
  // Such an error's text has the whole header. Only the key varies, so nothing of it is kept, not even as the cause.
  if (chain.some(isHeaderError)) return failure(place, "impossibleKey");
  const reported = reportedIn(chain);
  if (reported !== undefined) return reportedFailure(place, reported);
  const codes = chain.flatMap((link) => codeOf(link) ?? []);
  const last = chain.at(-1);
  // A library that stumbles over an answer says nothing that helps people.
  if (last instanceof TypeError && stumble.test(last.message)) return failure(place, "malformed", { cause: thrown });
  const kind = kindOfCodes(codes) ?? (chain.some((link) => link instanceof SyntaxError) ? "malformed" : "cut");
  // `fetch` refuses ports of other protocols, and addresses that contain a user name and password.
  const isRefused = chain.some((link) => /^bad port$|includes credentials/.test(messageOf(link)));
  if (isRefused) return failure(place, "badUrl", { cause: thrown });
  const code = codes.at(-1);
  return failure(place, kind, { ...(code === undefined ? { said: messageOf(last) } : { note: code }), cause: thrown });
}

const stumble =
  /^Cannot (?:read|set|convert|destructure)|is not (?:a function|iterable|an object)|\bof (?:null|undefined)\b/;

function isHeaderError(link: unknown): boolean {
  const isOfHeader = /\bHeaders?\b|\bByteString\b/i.test(messageOf(link));
  return isOfHeader && (link instanceof TypeError || codeOf(link)?.startsWith("ERR_INVALID_") === true);
}

/** True if no connection was made: not to the host, not through the proxy, or not in time. */
export function isNetworkFailure(thrown: unknown): boolean {
  const chain = causesOf(thrown);
  const kind = kindOfCodes(chain.flatMap((link) => codeOf(link) ?? []));
  if (kind === "offline" || kind === "unreachable" || kind === "connectTimeout") return true;
  return chain.some(
    (link) => link instanceof RemoraError || (link instanceof Error && /^(?:Timeout|Abort)Error$/.test(link.name)),
  );
}

function kindOfCodes(codes: string[]): FailureKind | undefined {
  for (const code of codes) {
    if (/^(?:ENETUNREACH|ENETDOWN|EAI_AGAIN|EADDRNOTAVAIL)$/.test(code)) return "offline";
    if (/^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ETIMEDOUT)$/.test(code)) return "unreachable";
    if (code === "UND_ERR_CONNECT_TIMEOUT") return "connectTimeout";
    if (code === "EMFILE" || code === "ENFILE") return "outOfFiles";
    if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS|ERR_SSL/.test(code)) return "badCertificate";
    if (code === "ERR_INVALID_URL") return "badUrl";
  }
  return undefined;
}

function causesOf(thrown: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let link = thrown; link !== undefined && link !== null && !chain.includes(link); ) {
    chain.push(link);
    link = link instanceof Error ? link.cause : undefined;
  }
  return chain;
}

function reportedIn(chain: unknown[]): ErrorBody | undefined {
  return chain.map(bodyOfSdkError).find((body) => body !== undefined);
}

/** Both SDKs throw an `error` event of a stream as an error without a status, with the parsed body in `error`. */
function bodyOfSdkError(link: unknown): ErrorBody | undefined {
  if (!(link instanceof Error) || !("error" in link) || !link.error) return undefined;
  return errorBodyOf(link.error);
}

/** What an address has in it that nobody may read. */
function secretsIn(address: string): string[] {
  const url = URL.parse(address);
  return url === null ? [] : [url.password, ...url.searchParams.values()].filter((secret) => secret !== "");
}

function shownWords(said: string, { baseUrl, secrets = [] }: ProviderPlace): string {
  const line = oneLine(stripVTControlCharacters(said), maxReadLength);
  const redact = createRedactor([...secrets, ...secretsIn(baseUrl)]);
  const clean = shorten(withoutParts(withoutKeys(redact(line)), secrets), maxSaidLength);
  return clean === "" ? "" : codeSpan(clean);
}

/** Services also repeat only the beginning of a key, or its end. */
function withoutParts(text: string, secrets: readonly string[]): string {
  const long = secrets.filter(({ length }) => length >= 2 * partCharacters);
  const parts = long.flatMap((secret) => [secret.slice(0, partCharacters), secret.slice(-partCharacters)]);
  return parts.reduce((left, part) => {
    const escaped = part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
    return left.replaceAll(new RegExp(`[\\w-]*${escaped}[\\w-]*`, "g"), hidden);
  }, text);
}

const partCharacters = 10;

function timeText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

const hidden = "[hidden]";
/** As services write keys: whole, with the middle left out, or as a hash. */
const keyShapes = [
  /\b(?:sk|rk|pk|xai|gsk|hf|pplx|nvapi|csk|fw|tgp)[-_](?=[\w-]*[\d.*…])[\w.*…-]{3,}|\bAIza[\w.*…-]{6,}/g,
  /[\w-]*(?:\*{3,}|•{2,})[\w*•.-]*/g,
  /\b[0-9a-f]{32,}(?:\.\w+)?\b/gi,
];
const keyAfterName = /(\bapi[ _-]?key(?: id| provided)?\s*[:=]\s*)[^\s,;]+/gi;

function withoutKeys(text: string): string {
  const named = text.replaceAll(keyAfterName, `$1${hidden}`);
  return keyShapes.reduce((left, shape) => left.replaceAll(shape, hidden), named);
}
