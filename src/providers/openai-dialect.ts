/**
 * How a model is asked at its address: by which of OpenAI's APIs, with which optional fields. Services, deployments and gateways
 * differ, so what one refuses is changed once and remembered for a while: the API, the limit's name, the effort, an optional field. A refusal
 * that names none of these changes nothing.
 */
import type { ServiceRefusal } from "./classify-failure.ts";
import {
  isOpenAiHost,
  isReasoningModel,
  type OpenAiOptions,
  openAiUrl,
  type ReasoningEffort,
  serviceOf,
} from "./openai-client.ts";
import { type Habit, habitsAt, habitsIn } from "./openai-habits.ts";
import { subjectOf } from "./optional-parameters.ts";

export interface Dialect {
  api: "chat" | "responses";
  limitField: "max_tokens" | "max_completion_tokens";
  /** Undefined: the model's own. */
  effort: ReasoningEffort | undefined;
  /** How earlier messages are written. */
  habits: ReadonlySet<Habit>;
  /** The longest answer, if the service allows less than the settings. */
  maxOutput: { tokens: number; isOfModel: boolean } | undefined;
  /** Fields that the service has refused. */
  refused: ReadonlySet<OptionalField>;
}

/** How services name the fields that a request can do without. */
const optionalFields = {
  instructions: /\binstructions\b/i,
  include: /\binclude\b|encrypted[ _]content/i,
  store: /\bstore\b/i,
  prompt_cache_key: /prompt_?cache_?key/i,
  prompt_cache_breakpoint: /prompt_?cache_?breakpoint/i,
  stream_options: /stream_?options/i,
  cache_control: /cache_?control/i,
  session_id: /session_?id/i,
  safety_identifier: /safety_?identifier/i,
  tool_choice: /tool_?choice/i,
} satisfies Record<string, RegExp>;

export type OptionalField = keyof typeof optionalFields;

/** They stand within messages, so a refusal names the place of one of them. */
const contentFields: ReadonlySet<OptionalField> = new Set(["prompt_cache_breakpoint", "cache_control"]);

/** As services say that they don't take a field, or not this value. */
const unsupported = new RegExp(
  [
    "unsupported|not support|n't support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed",
    "extra (?:inputs|fields)|extra_forbidden|invalid (?:parameter|argument|value|field)|\\buse '?max_",
  ].join("|"),
  "i",
);

/** As OpenAI, Azure, vLLM and gateways say that a request belongs to the Responses API. */
const needsResponses = new RegExp(
  [
    "/responses\\b|responses (?:api|endpoint)",
    "\\b(?:tools?|functions?)\\b[^.]{0,60}\\breasoning|\\breasoning[^.]{0,60}\\b(?:tools?|functions?)\\b",
    "not a chat model",
    "chat[ _/]?completions?\\b[^.]{0,40}(?:n't|not)\\b",
  ].join("|"),
  "i",
);

/** As they say that it belongs to Chat Completions. */
const needsChat = /responses (?:operation|api|endpoint)|chat[ _/]?completions?|requested operation is unsupported/i;

/** Low effort, because people wait for an answer in a chat. Only sent where every reasoning model is known to have it. */
const chatEffort: ReasoningEffort = "low";

export function firstDialect(options: OpenAiOptions, model: string): Dialect {
  const { api = "auto", baseUrl, effort } = options;
  const service = serviceOf(baseUrl);
  const hasResponses = service === "openai" || service === "azure" || service === "xai";
  const own = api === "auto" ? (hasResponses ? "responses" : "chat") : api;
  const hasLow = isOpenAiHost(baseUrl) && isReasoningModel(model) && !/-pro\b|deep-research/.test(model);
  return {
    api: own,
    // Compatible servers support the old name. Reasoning models at OpenAI and Azure accept only the new one.
    limitField:
      service === "openai" || service === "azure" || isReasoningModel(model) ? "max_completion_tokens" : "max_tokens",
    // Chat Completions refuses tools together with an effort.
    effort: effort ?? (hasLow && own === "responses" ? chatEffort : undefined),
    habits: habitsAt(baseUrl ?? openAiUrl),
    maxOutput: undefined,
    refused: new Set(),
  };
}

/** What is remembered for the next request. How much room a prompt leaves is not. */
export function lasting(dialect: Dialect): Dialect {
  return dialect.maxOutput?.isOfModel === false ? { ...dialect, maxOutput: undefined } : dialect;
}

/** What to try after a refusal, the best first. Empty if the refusal is about something else. */
export function dialectsAfter(
  dialect: Dialect,
  refusal: ServiceRefusal,
  { isAuto, maxOutputTokens }: { isAuto: boolean; maxOutputTokens: number },
): Dialect[] {
  const text = `${refusal.param} ${refusal.message}`;
  const maxOutput = roomIn(text, dialect.maxOutput?.tokens ?? maxOutputTokens);
  if (maxOutput !== undefined) return [{ ...dialect, maxOutput }];
  const next: Dialect[] = [];
  const learned = habitsIn(text).filter((habit) => !dialect.habits.has(habit));
  const inOtherWords = learned.length === 0 ? [] : [{ ...dialect, habits: new Set([...dialect.habits, ...learned]) }];
  if (isAuto && isAboutApi(dialect, refusal)) {
    next.push({ ...dialect, api: dialect.api === "chat" ? "responses" : "chat" });
    // For gateways that have Chat Completions alone.
    if (/reasoning_?effort[^.]{0,20}none/i.test(text)) next.push({ ...dialect, effort: "none" });
  }
  if (!unsupported.test(text)) return [...next, ...inOtherWords];
  const subject = subjectOf(refusal);
  const names = (Object.keys(optionalFields) as OptionalField[]).filter((name) =>
    optionalFields[name].test(contentFields.has(name) ? text : subject),
  );
  const isEffort = dialect.effort !== undefined && /\breasoning(?![._]?(?:encrypted|content|details))/i.test(subject);
  if (names.some((name) => !dialect.refused.has(name)) || isEffort)
    next.push({
      ...dialect,
      effort: isEffort ? undefined : dialect.effort,
      refused: new Set([...dialect.refused, ...names]),
    });
  const isLimit = dialect.api === "chat" && /max_(?:completion_)?tokens/.test(subject);
  if (isLimit) next.push({ ...dialect, limitField: otherLimit(dialect) });
  return [...next, ...inOtherWords];
}

/** True if the service says that the other API is the right one, or does not have this one. */
export function isAboutApi({ api }: Dialect, { status, message: text }: ServiceRefusal): boolean {
  if (api === "chat") return needsResponses.test(text);
  // Without a word about the model, it is the address that is not there.
  const isMissing = (status === 404 || status === 405) && !/\bmodel|deployment/i.test(text);
  return isMissing || needsChat.test(text);
}

/** An answer that is limited further is of no use. */
const minRoom = 1024;

/**
 * How long an answer may be, if the service refused its limit: as too high for the model, or for what the prompt leaves of the
 * context, or of a plan's tokens per minute.
 */
function roomIn(refusal: string, limit: number): Dialect["maxOutput"] {
  const text = refusal.replaceAll(/(?<=\d),(?=\d{3}\b)/g, "");
  const numbersOf = (pattern: RegExp) => pattern.exec(text)?.slice(1).map(Number);
  const [highest] =
    numbersOf(/max_(?:completion_)?tokens\b.{0,60}(?:less than or equal to|at most|\[1, ?)\D{0,2}(\d+)/is) ?? [];
  if (highest !== undefined)
    return highest >= minRoom && highest < limit ? { tokens: highest, isOfModel: true } : undefined;
  const [perMinute, requested] = numbersOf(/\btokens per minute\b.*\blimit (\d+).*\brequested (\d+)/is) ?? [];
  const isContext =
    /\bcontext\b/i.test(text) && /\boutput tokens|max_(?:completion_)?tokens|in the completion/i.test(text);
  if (perMinute === undefined && !isContext) return undefined;
  // Servers count no further than to the refusal, so how long the prompt is remains unknown.
  const left = perMinute === undefined || requested === undefined ? limit / 2 : perMinute - (requested - limit);
  const tokens = Math.floor(Math.min(left, limit / 2));
  return tokens >= minRoom ? { tokens, isOfModel: false } : undefined;
}

function otherLimit({ limitField }: Dialect): Dialect["limitField"] {
  return limitField === "max_tokens" ? "max_completion_tokens" : "max_tokens";
}

export function isSameDialect(one: Dialect, other: Dialect): boolean {
  const [first, second] = [one, other].map(({ refused, habits, ...rest }) =>
    JSON.stringify([rest, [...refused].toSorted(), [...habits].toSorted()]),
  );
  return first === second;
}

export const apiNames = { chat: "Chat Completions", responses: "the Responses API" } as const;
