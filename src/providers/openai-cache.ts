/**
 * What services that speak OpenAI's protocols are told about their prompt caches:
 *
 *   prompt_cache_key          OpenAI and Azure (learn.microsoft.com/azure/foundry/openai/how-to/prompt-caching), Mistral
 *                             (docs.mistral.ai/inference/conversations/advanced/prompt-caching), and xAI's Responses (docs.x.ai)
 *   session_id                OpenRouter, which keeps its requests at one server (openrouter.ai/docs/guides/best-practices/prompt-caching)
 *   prompt_cache_breakpoint   OpenAI from GPT-5.6 on, which reads from the cache exactly at a breakpoint only, and places one at the
 *                             newest message by itself. So the end of the last request gets one, and the system text
 *   cache_control             OpenRouter for Claude, which has no breakpoint by itself
 *
 * Others cache by themselves, or refuse what they don't know, and are told nothing.
 */
import { createHash } from "node:crypto";
import type OpenAI from "openai";
import type { ModelRequest } from "../ports/provider.ts";
import type { ProviderPlace } from "./failure-kinds.ts";
import { type Api, isOpenAiHost, serviceOf } from "./openai-client.ts";
import { wellFormed } from "./request-mapping.ts";

type Message = OpenAI.ChatCompletionMessageParam;
type Item = OpenAI.Responses.ResponseInputItem;

/** OpenAI takes no more. */
const maxKeyCharacters = 64;

const breakpoint = { prompt_cache_breakpoint: { mode: "explicit" as const } };
const cacheControl = { cache_control: { type: "ephemeral" as const } };

/** The field that marks the end of what is cached. `isEndMarked`: the service marks no end by itself. */
interface Marking {
  mark: typeof breakpoint | typeof cacheControl;
  isEndMarked: boolean;
}

/** From GPT-5.6 on. */
function cachesAtBreakpoints(model: string): boolean {
  const [, major = "0", minor = "0"] = /^gpt-(\d+)(?:\.(\d+))?(?:-|$)/.exec(model) ?? [];
  return Number(major) > 5 || (Number(major) === 5 && Number(minor) >= 6);
}

export function markingOf({ model, baseUrl }: ProviderPlace, refused: ReadonlySet<string>): Marking | undefined {
  if (isOpenAiHost(baseUrl) && cachesAtBreakpoints(model))
    return refused.has("prompt_cache_breakpoint") ? undefined : { mark: breakpoint, isEndMarked: false };
  const isClaude = isAt(baseUrl, "openrouter.ai") && /^~?anthropic\//.test(model);
  return isClaude && !refused.has("cache_control") ? { mark: cacheControl, isEndMarked: true } : undefined;
}

function isAt(baseUrl: string, host: string): boolean {
  const own = URL.parse(baseUrl)?.hostname ?? "";
  return own === host || own.endsWith(`.${host}`);
}

interface CachedPrefix {
  /** The system text up to where a breakpoint belongs, and the rest. */
  stable: string;
  rest: string;
}

/** Undefined if nothing of the system text stays the same. */
function cachedPrefixOf({ system }: ModelRequest): CachedPrefix | undefined {
  const parts = system.filter(({ text }) => text.trim() !== "");
  const end = parts.findLastIndex(({ isCacheable }) => isCacheable) + 1;
  const textOf = (some: typeof parts) => wellFormed(some.map(({ text }) => text).join("\n\n"));
  const stable = textOf(parts.slice(0, end));
  return stable === "" ? undefined : { stable, rest: textOf(parts.slice(end)) };
}

/** Sends requests that begin alike to where their beginning is cached. Names nobody. */
export function cacheKeyFields(
  request: ModelRequest,
  { model, baseUrl }: ProviderPlace,
  api: Api,
  refused: ReadonlySet<string>,
): { prompt_cache_key?: string; session_id?: string } {
  const given = request.cache?.key;
  if (isAt(baseUrl, "openrouter.ai"))
    return given === undefined || refused.has("session_id") ? {} : { session_id: shortKey(given) };
  const service = serviceOf(baseUrl);
  const hasField =
    service === "openai" ||
    service === "azure" ||
    isAt(baseUrl, "mistral.ai") ||
    (service === "xai" && api === "responses");
  if (!hasField || refused.has("prompt_cache_key")) return {};
  if (given !== undefined) return { prompt_cache_key: shortKey(given) };
  const prefix = service === "openai" && cachesAtBreakpoints(model) ? cachedPrefixOf(request) : undefined;
  if (prefix === undefined) return {};
  const tools = request.tools.map(({ name, description, parameters }) => [name, description, parameters]);
  return { prompt_cache_key: `remora-${digestOf(JSON.stringify([tools, prefix.stable])).slice(0, 32)}` };
}

function shortKey(key: string): string {
  return key.length <= maxKeyCharacters ? key : digestOf(key);
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/**
 * The last message of the request that the last answer answered, and the last one of this request. What follows an answer is what
 * people, tools and notes have said since.
 */
function endsOf(roles: readonly (string | undefined)[], { isEndMarked }: Marking): Set<number> {
  const answer = roles.lastIndexOf("assistant");
  const previous = roles.slice(0, Math.max(0, answer)).findLastIndex((role) => role !== "assistant");
  return new Set([previous, ...(isEndMarked ? [roles.length - 1] : [])]);
}

/** All in parts, so that a message stays as it was when its breakpoint goes. */
export function markedMessages(messages: Message[], marking: Marking | undefined): Message[] {
  if (marking === undefined) return messages;
  const ends = endsOf(
    messages.map(({ role }) => role),
    marking,
  );
  return messages.map((message, index) => {
    if (message.role !== "user" && message.role !== "tool") return message;
    const parts: object[] = typeof message.content === "string" ? textParts(message.content) : message.content;
    const content = ends.has(index) ? withMark(parts, marking) : parts;
    return content.length === 0 ? message : ({ ...message, content } as Message);
  });
}

function textParts(text: string): { type: "text"; text: string }[] {
  return text === "" ? [] : [{ type: "text", text }];
}

/** Items of an answer are those that have no other role: text, reasoning and calls. */
export function markedItems(items: Item[], marking: Marking | undefined): Item[] {
  if (marking === undefined) return items;
  const ends = endsOf(items.map(roleOf), marking);
  return items.map((item, index) => {
    if (item.type === "function_call_output") {
      const parts =
        typeof item.output === "string" ? [{ type: "input_text" as const, text: item.output }] : item.output;
      return { ...item, output: ends.has(index) ? withMark(parts, marking) : parts } as Item;
    }
    if (!ends.has(index) || !("content" in item) || !Array.isArray(item.content)) return item;
    return { ...item, content: withMark<object>(item.content, marking) } as Item;
  });
}

function roleOf(item: Item): string {
  if (item.type === "function_call_output") return "tool";
  return "role" in item ? item.role : "assistant";
}

function withMark<Part extends object>(parts: readonly Part[], { mark }: Marking): Part[] {
  const last = parts.at(-1);
  return last === undefined ? [] : [...parts.slice(0, -1), { ...last, ...mark }];
}

/** The system text in parts, with its mark. Undefined if it has none. */
export function markedSystem(
  request: ModelRequest,
  marking: Marking | undefined,
): { text: string; mark: Marking["mark"] | undefined }[] | undefined {
  const prefix = marking && cachedPrefixOf(request);
  if (marking === undefined || prefix === undefined) return undefined;
  const rest = prefix.rest === "" ? [] : [{ text: prefix.rest, mark: undefined }];
  return [{ text: prefix.stable, mark: marking.mark }, ...rest];
}
