/**
 * Turns every failure of a provider into an error that people and the cascade can act on. What a provider says about a
 * wrong key is not repeated, because a message must never contain a key.
 */
import { codeOf, messageOf, RemoraError, remoraErrorIn } from "../lib/errors.ts";
import { shorten } from "../lib/text/shorten.ts";
import { type ErrorBody, errorBodyOf } from "./error-body.ts";
import { type FailureKind, failureKinds, type Kind, type ProviderPlace } from "./failure-kinds.ts";
import { pastEndingOf } from "./model-lifecycle.ts";
import { moneyKindOf, resetOf } from "./spend-limits.ts";

const maxSaidLength = 300;

export interface FailureDetails {
  said?: string;
  retryAfterMs?: number | undefined;
  /** When a limit resets, in milliseconds since 1970. */
  resetsAt?: number | undefined;
  cause?: unknown;
}

export function failure(place: ProviderPlace, kind: FailureKind, details: FailureDetails = {}): RemoraError {
  const { code, isRetryable, say, isAboutMoney = false }: Kind = failureKinds[kind];
  const { resetsAt } = details;
  const words = shorten(oneSpaced(details.said ?? ""), maxSaidLength);
  const resets = resetsAt === undefined ? "" : `, which resets on ${timeText(resetsAt)}`;
  const retryAfterMs = resetsAt === undefined ? details.retryAfterMs : resetsAt - Date.now();
  return new RemoraError({
    code,
    place: `provider ${place.name}`,
    message: say({ ...place, baseUrl: shownUrl(place.baseUrl) }, words === "" ? "" : ` (${words})`, resets),
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
  const said = `${status}${body.message === "" ? "" : ` ${body.message}`}`;
  const { retryAfterMs = body.waitMs } = options;
  const isPage = options.isPage && status < 500 && status !== 429;
  const found = isPage ? "notAnApi" : kindOfStatus(status, body, options.retryAfterMs !== undefined);
  const isEnded = found === "unknownModel" && pastEndingOf(place, Date.now()) !== undefined;
  const kind = isEnded ? "endedModel" : found;
  return failureOf(place, kind, body, { said, retryAfterMs, cause: refusalOf(kind, status, body) });
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

function refusalOf(kind: FailureKind, status: number, body: ErrorBody): ServiceRefusal | undefined {
  const isOfRequest = ["badRequest", "tooLong", "unknownModel", "notAnApi"].includes(kind);
  return isOfRequest ? new ServiceRefusal(status, body) : undefined;
}

export function serviceRefusalIn(thrown: unknown): ServiceRefusal | undefined {
  const known = remoraErrorIn(thrown);
  if (known !== undefined) return known.cause instanceof ServiceRefusal ? known.cause : undefined;
  const body = reportedIn(causesOf(thrown));
  return body === undefined ? undefined : refusalOf(kindOfReport(body), Number(body.code), body);
}

/** The time that a service names for a rate limit has nothing to do with money. */
function failureOf(place: ProviderPlace, kind: FailureKind, body: ErrorBody, details: FailureDetails): RemoraError {
  if (kind !== "spendLimit" && kind !== "noCredit") return failure(place, kind, details);
  const { retryAfterMs: _wait, ...rest } = details;
  return failure(place, kind, { ...rest, resetsAt: resetOf(body, Date.now()) });
}

function kindOfStatus(status: number, body: ErrorBody, saysWhen: boolean): FailureKind {
  const money = moneyKindOf(body);
  const byBody = kindOfBody(body);
  if (byBody === "toolsOff" || byBody === "badCall") return byBody;
  if (status === 401) return "wrongKey";
  // OpenRouter's budget of running requests is over in seconds, and says so.
  if (status === 402) return saysWhen && money === undefined ? "rateLimited" : (money ?? "noCredit");
  if (status === 403) return money ?? "forbidden";
  if (status === 404) return "unknownModel";
  if (status === 413) return "tooLong";
  if (status === 429) return money ?? "rateLimited";
  if (status === 503 || status === 529) return "overloaded";
  // As Ollama's engine for Apple's chips says it.
  if (status === 500 && byBody === "tooLong") return "tooLong";
  if (status >= 500 || status === 408 || status === 409 || status === 425) return "serverError";
  return byBody ?? "badRequest";
}

/** An error in a stream. Its code may be the status that the response can no longer have. */
export function reportedFailure(place: ProviderPlace, body: ErrorBody): RemoraError {
  const kind = kindOfReport(body);
  const cause = refusalOf(kind, Number(body.code), body);
  return failureOf(place, kind, body, { said: body.message, retryAfterMs: body.waitMs, cause });
}

function kindOfReport(body: ErrorBody): FailureKind {
  const status = Number(body.code);
  const saysWhen = body.waitMs !== undefined;
  return status >= 400 && status < 600 ? kindOfStatus(status, body, saysWhen) : (kindOfBody(body) ?? "serverError");
}

/** As Anthropic, OpenAI, Ollama, llama.cpp and vLLM say it. */
const tooLongText =
  /(?:prompt|input|request|conversation) is too long|input tokens exceed|context (?:length|window)|exceed\w* .*context/i;

function kindOfBody(body: ErrorBody): FailureKind | undefined {
  const { message, type, code } = body;
  const named = `${type} ${code}`;
  // Azure and OpenAI refuse prompts also with an error.
  if (/content_filter|content_policy|invalid_prompt/.test(named)) return "refused";
  if (/tool_use_failed/.test(named)) return "badCall";
  if (/requires? (?:--enable-auto-tool-choice|--jinja)/i.test(message)) return "toolsOff";
  const money = moneyKindOf(body);
  if (money !== undefined) return money;
  if (/authentication|invalid_api_key/.test(named)) return "wrongKey";
  if (/permission/.test(named)) return "forbidden";
  if (/model_not_found|not_found/.test(named) || /^model\b.*\bnot found/i.test(message)) return "unknownModel";
  if (/rate_limit/.test(named)) return "rateLimited";
  if (/overloaded/i.test(`${named} ${message}`)) return "overloaded";
  if (/context_length|string_above_max|request_too_large|exceed_context_size/.test(named)) return "tooLong";
  if (tooLongText.test(message)) return "tooLong";
  if (/does not support tools/i.test(message)) return "noTools";
  return /invalid_request/.test(named) ? "badRequest" : undefined;
}

/** For anything that a client library or `fetch` threw. A RemoraError among the causes is returned unchanged. */
export function thrownFailure(place: ProviderPlace, thrown: unknown): RemoraError {
  const chain = causesOf(thrown);
  const known = chain.find((link) => link instanceof RemoraError);
  if (known !== undefined) return known;
  const reported = reportedIn(chain);
  if (reported !== undefined) return reportedFailure(place, reported);
  const codes = chain.flatMap((link) => codeOf(link) ?? []);
  const last = chain.at(-1);
  const kind = kindOfCodes(codes) ?? (chain.some((link) => link instanceof SyntaxError) ? "malformed" : "cut");
  // `fetch` refuses ports of other protocols, and addresses that contain a user name and password.
  const isRefused = chain.some((link) => /^bad port$|includes credentials/.test(messageOf(link)));
  if (isRefused) return failure(place, "badUrl", { cause: thrown });
  return failure(place, kind, { said: codes.at(-1) ?? messageOf(last), cause: thrown });
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

/** Hides a password in the address, because a channel may show it. */
export function shownUrl(url: string): string {
  return url.replace(/\/\/[^/@\s]*@/, "//…@");
}

function timeText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

function oneSpaced(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
