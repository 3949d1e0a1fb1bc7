/**
 * What went wrong at a provider, as one error that people and the cascade can act on: a permanent code, whether it may
 * pass, how long the provider asked to wait, and the setting to change.
 *
 *   statusFailure   an answer with an error status
 *   reportedFailure an error that came inside a stream
 *   thrownFailure   a connection that could not be made, broke, or carried something else than the protocol
 *
 * Keys never get into a message: what a provider says about a wrong key is not repeated.
 */
import { codeOf, messageOf, RemoraError } from "../lib/errors.ts";

/** Which provider, and how a person changes its settings. */
export interface ProviderPlace {
  /** `anthropic`, `openai`, `ollama`. */
  name: string;
  /** As the provider knows it, without the provider's name. */
  model: string;
  baseUrl: string;
  /** In words, e.g. `ANTHROPIC_API_KEY`. */
  keySetting: string;
  urlSetting: string;
  modelSetting: string;
}

/** What a provider says about an error in its body; every field may be missing. */
export interface ErrorBody {
  message: string;
  type: string;
  code: string;
}

interface Kind {
  code: string;
  isRetryable: boolean;
  say(place: ProviderPlace, said: string): string;
}

const kinds = {
  wrongKey: {
    code: "provider.wrong-key",
    isRetryable: false,
    say: (place) => `the key was refused; set a valid one in ${place.keySetting}`,
  },
  forbidden: {
    code: "provider.forbidden",
    isRetryable: false,
    say: (place, said) =>
      `the key may not use ${place.model}${said}; use another model (${place.modelSetting}) or another key (${place.keySetting})`,
  },
  noCredit: {
    code: "provider.no-credit",
    isRetryable: false,
    say: (place, said) =>
      `the account has no credit left${said}; add credit there, or set another key in ${place.keySetting}`,
  },
  unknownModel: {
    code: "provider.unknown-model",
    isRetryable: false,
    say: (place, said) =>
      `there is no model ${place.model} at ${place.baseUrl}${said}; check ${place.modelSetting} and ${place.urlSetting}`,
  },
  tooLong: {
    code: "provider.too-long",
    isRetryable: false,
    say: (place, said) =>
      `the conversation is longer than ${place.model} takes${said}; start afresh with /remora new, or lower context.tokens`,
  },
  noTools: {
    code: "provider.no-tools",
    isRetryable: false,
    say: (place) => `${place.model} can't use tools; choose a model that can (${place.modelSetting})`,
  },
  badRequest: {
    code: "provider.bad-request",
    isRetryable: false,
    say: (place, said) => `the request was refused${said}; check ${place.modelSetting} and ${place.urlSetting}`,
  },
  rateLimited: {
    code: "provider.rate-limited",
    isRetryable: true,
    say: (place, said) => `too many requests for ${place.model} just now${said}; it will do again after a wait`,
  },
  overloaded: {
    code: "provider.overloaded",
    isRetryable: true,
    say: (_place, said) => `the service is overloaded${said}; try again in a while`,
  },
  serverError: {
    code: "provider.server-error",
    isRetryable: true,
    say: (_place, said) => `the service failed${said}; try again in a while`,
  },
  unreachable: {
    code: "provider.unreachable",
    isRetryable: true,
    say: (place, said) => `${place.baseUrl} can't be reached${said}; check the network and ${place.urlSetting}`,
  },
  cut: {
    code: "provider.cut",
    isRetryable: true,
    say: (_place, said) => `the connection broke before the answer was complete${said}; try again`,
  },
  malformed: {
    code: "provider.malformed",
    isRetryable: true,
    say: (place, said) =>
      `the answer was no valid stream${said}; try again, and if it stays so check that ${place.urlSetting} is the API's address`,
  },
  empty: {
    code: "provider.empty",
    isRetryable: true,
    say: (place) => `${place.model} gave an empty answer; try again, or ask in other words`,
  },
  notAnApi: {
    code: "provider.not-an-api",
    isRetryable: false,
    say: (place) => `${place.baseUrl} answered with a web page, so it is not the API; correct ${place.urlSetting}`,
  },
  badUrl: {
    code: "provider.bad-url",
    isRetryable: false,
    say: (place, said) => `${place.baseUrl} is not an address that can be used${said}; correct ${place.urlSetting}`,
  },
  badCertificate: {
    code: "provider.bad-certificate",
    isRetryable: false,
    say: (place, said) =>
      `the certificate of ${place.baseUrl} is not trusted${said}; correct ${place.urlSetting}, or add the authority to NODE_EXTRA_CA_CERTS`,
  },
  connectTimeout: {
    code: "provider.connect-timeout",
    isRetryable: true,
    say: (place, said) => `no connection to ${place.baseUrl}${said}; check the network and ${place.urlSetting}`,
  },
  firstTokenTimeout: {
    code: "provider.first-token-timeout",
    isRetryable: true,
    say: (place, said) =>
      `${place.model} did not begin to answer${said}; try again, or raise models.timeouts.firstTokenMs`,
  },
  idleTimeout: {
    code: "provider.idle-timeout",
    isRetryable: true,
    say: (place, said) => `${place.model} went quiet in mid-answer${said}; try again, or raise models.timeouts.idleMs`,
  },
  aborted: { code: "provider.aborted", isRetryable: false, say: () => "the request was stopped" },
} satisfies Record<string, Kind>;

export type FailureKind = keyof typeof kinds;

export interface FailureDetails {
  /** What the provider or the system said, added in brackets. */
  said?: string;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

export function failure(place: ProviderPlace, kind: FailureKind, details: FailureDetails = {}): RemoraError {
  const { code, isRetryable, say } = kinds[kind];
  const said = details.said === undefined || details.said === "" ? "" : ` (${shortened(details.said)})`;
  return new RemoraError({
    code,
    place: `provider ${place.name}`,
    message: say({ ...place, baseUrl: shownUrl(place.baseUrl) }, said),
    isRetryable,
    ...(details.retryAfterMs === undefined ? {} : { retryAfterMs: details.retryAfterMs }),
    ...(details.cause === undefined ? {} : { cause: details.cause }),
  });
}

/** An answer with an error status. `isPage`: its body was HTML, as proxies and wrong addresses give. */
export function statusFailure(
  place: ProviderPlace,
  status: number,
  body: ErrorBody,
  options: { isPage?: boolean; retryAfterMs?: number | undefined } = {},
): RemoraError {
  const said = `${status}${body.message === "" ? "" : ` ${body.message}`}`;
  const kind = options.isPage && status < 500 && status !== 429 ? "notAnApi" : kindOfStatus(status, body);
  return failure(place, kind, { said, retryAfterMs: options.retryAfterMs });
}

function kindOfStatus(status: number, body: ErrorBody): FailureKind {
  const byBody = kindOfBody(body);
  if (status === 401) return "wrongKey";
  if (status === 402) return "noCredit";
  if (status === 403) return "forbidden";
  if (status === 404) return "unknownModel";
  if (status === 413) return "tooLong";
  if (status === 429) return byBody === "noCredit" ? "noCredit" : "rateLimited";
  if (status === 503 || status === 529) return "overloaded";
  if (status >= 500 || status === 408 || status === 409 || status === 425) return "serverError";
  return byBody ?? "badRequest";
}

/** An error that came inside a stream that had begun well. */
export function reportedFailure(place: ProviderPlace, body: ErrorBody): RemoraError {
  return failure(place, kindOfBody(body) ?? "serverError", { said: body.message });
}

function kindOfBody({ message, type, code }: ErrorBody): FailureKind | undefined {
  const named = `${type} ${code}`;
  if (/insufficient_quota|billing|payment/.test(named) || /credit balance/i.test(message)) return "noCredit";
  if (/authentication|invalid_api_key/.test(named)) return "wrongKey";
  if (/permission/.test(named)) return "forbidden";
  if (/model_not_found|not_found/.test(named) || /^model\b.*\bnot found/i.test(message)) return "unknownModel";
  if (/rate_limit/.test(named)) return "rateLimited";
  if (/overloaded/i.test(`${named} ${message}`)) return "overloaded";
  if (/context_length|string_above_max|request_too_large/.test(named)) return "tooLong";
  if (/prompt is too long|context (?:length|window)/i.test(message)) return "tooLong";
  if (/does not support tools/i.test(message)) return "noTools";
  return /invalid_request/.test(named) ? "badRequest" : undefined;
}

/** Anything that a client library or `fetch` threw; a RemoraError in its causes is the finding and comes back as it is. */
export function thrownFailure(place: ProviderPlace, thrown: unknown): RemoraError {
  const chain = causesOf(thrown);
  const known = chain.find((link) => link instanceof RemoraError);
  if (known !== undefined) return known;
  const reported = chain.map(bodyOfSdkError).find((body) => body !== undefined);
  if (reported !== undefined) return reportedFailure(place, reported);
  const codes = chain.flatMap((link) => codeOf(link) ?? []);
  const last = chain.at(-1);
  const kind = kindOfCodes(codes) ?? (chain.some((link) => link instanceof SyntaxError) ? "malformed" : "cut");
  // What `fetch` refuses to do: ports of other protocols, and a name and password in the address.
  const isRefused = chain.some((link) => /^bad port$|includes credentials/.test(messageOf(link)));
  if (isRefused) return failure(place, "badUrl", { cause: thrown });
  return failure(place, kind, { said: codes.at(-1) ?? messageOf(last), cause: thrown });
}

function kindOfCodes(codes: string[]): FailureKind | undefined {
  for (const code of codes) {
    if (/^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|ENETUNREACH|EHOSTUNREACH|ENETDOWN|EADDRNOTAVAIL|ETIMEDOUT)$/.test(code))
      return "unreachable";
    if (code === "UND_ERR_CONNECT_TIMEOUT") return "connectTimeout";
    if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS|ERR_SSL/.test(code)) return "badCertificate";
    if (code === "ERR_INVALID_URL") return "badUrl";
  }
  return undefined;
}

/** The error itself and its causes, outermost first; cycles are cut. */
function causesOf(thrown: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let link = thrown; link !== undefined && link !== null && !chain.includes(link); ) {
    chain.push(link);
    link = link instanceof Error ? link.cause : undefined;
  }
  return chain;
}

/** Both SDKs throw what came in an `error` event with the parsed body in `error`, and no status. */
function bodyOfSdkError(link: unknown): ErrorBody | undefined {
  if (!(link instanceof Error) || !("error" in link) || !link.error) return undefined;
  return errorBodyOf(link.error);
}

/** Reads `{ error: { message, type, code } }`, `{ message, type, code }`, `{ error: "text" }` or a text. */
export function errorBodyOf(value: unknown): ErrorBody {
  if (typeof value === "string") return { message: value, type: "", code: "" };
  if (typeof value !== "object" || value === null) return { message: "", type: "", code: "" };
  if ("error" in value && value.error) return errorBodyOf(value.error);
  const fields: Record<string, unknown> = { ...value };
  const textOf = (field: unknown) => (typeof field === "string" || typeof field === "number" ? String(field) : "");
  return { message: textOf(fields.message), type: textOf(fields.type), code: textOf(fields.code) };
}

const longestWait = 24 * 60 * 60_000;

/** `retry-after-ms`, or `retry-after` in seconds or as a date; undefined when neither says anything usable. */
export function retryAfterOf(headers: Headers, now: number): number | undefined {
  const milliseconds = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  if (milliseconds >= 0) return Math.min(milliseconds, longestWait);
  const text = headers.get("retry-after")?.trim() ?? "";
  if (/^\d+(?:\.\d+)?$/.test(text)) return Math.min(Number(text) * 1000, longestWait);
  const wait = Date.parse(text) - now;
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, 0), longestWait);
}

/** A password that someone wrote into the address must not reach a channel. */
export function shownUrl(url: string): string {
  return url.replace(/\/\/[^/@\s]*@/, "//…@");
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > 300 ? `${line.slice(0, 299)}…` : line;
}
