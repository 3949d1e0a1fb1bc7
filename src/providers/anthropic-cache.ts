/**
 * Where Anthropic's prompt cache gets its breakpoints, of which a request may have four, and how long an entry lives:
 *
 *   system         the end of its steady part, behind the tools; without one, the end of the tools
 *   end            what the next request of the conversation begins with
 *   previous end   where the last request ended, because the service looks back only 20 blocks from a breakpoint
 *   the one before if more than 20 blocks lie between, because the last request may have failed or gone to another service
 *
 * An entry lives for five minutes, or for an hour at a higher price (cache-habits.ts). Where pauses are longer than five minutes, an
 * hour is cheaper, because otherwise each turn writes everything again. Entries for an hour come before others.
 */
import type Anthropic from "@anthropic-ai/sdk";
import type { ModelRequest } from "../ports/provider.ts";
import type { CacheLife, CacheLives } from "./cache-habits.ts";
import type { OptionalParameter } from "./optional-parameters.ts";
import { wellFormed } from "./request-mapping.ts";

export type CacheMark = Anthropic.CacheControlEphemeral;

export interface MessageBlocks {
  role: "user" | "assistant";
  content: Anthropic.ContentBlockParam[];
}

/** Amazon's and Google's services have no hour for some models, and gateways know no lives. Fields of blocks are refused by place. */
const hourParameter: OptionalParameter = {
  name: "cache for an hour",
  refused: /\bttl\b|extended-cache/i,
  isInContent: true,
};
/** Some compatible servers refuse what they don't know, and projects can be closed to caches. */
const cacheParameter: OptionalParameter = {
  name: "cache",
  refused: /cache_control|prompt caching/i,
  isInContent: true,
};

const hourBeta = "extended-cache-ttl-2025-04-11";
/** From a breakpoint, itself included. */
const lookBack = 20;

export interface CacheMarks {
  stable: CacheMark | undefined;
  said: CacheMark | undefined;
}

export interface CacheParameters {
  marks: CacheMarks;
  betas: string[];
  /** Those that the service may refuse, the first to do without first. */
  sent: OptionalParameter[];
}

export function cacheParameters(
  lives: CacheLives,
  isOwn: boolean,
  leftOut: ReadonlySet<string> = new Set(),
): CacheParameters {
  const isHour = lives.stable === "1h" && !leftOut.has(hourParameter.name);
  if (leftOut.has(cacheParameter.name))
    return { marks: { stable: undefined, said: undefined }, betas: [], sent: [cacheParameter] };
  const markOf = (life: CacheLife): CacheMark =>
    isHour && life === "1h" ? { type: "ephemeral", ttl: "1h" } : { type: "ephemeral" };
  return {
    marks: { stable: markOf(lives.stable), said: lives.said && markOf(lives.said) },
    // Without it, an account may silently get five minutes.
    betas: isHour && isOwn ? [hourBeta] : [],
    sent: isHour ? [hourParameter, cacheParameter] : [cacheParameter],
  };
}

export function systemOf(request: ModelRequest, mark: CacheMark | undefined): Anthropic.TextBlockParam[] {
  const parts = request.system.filter((part) => part.text.trim() !== "");
  const last = parts.findLast((part) => part.isCacheable);
  return parts.map((part) => ({ type: "text", text: wellFormed(part.text), ...(part === last ? marked(mark) : {}) }));
}

/** Only where no part of the system text has a breakpoint. */
export function withToolMark(
  tools: Anthropic.Tool[],
  system: readonly Anthropic.TextBlockParam[],
  mark: CacheMark | undefined,
): Anthropic.Tool[] {
  const last = tools.at(-1);
  if (last === undefined || system.some((part) => part.cache_control !== undefined)) return tools;
  return [...tools.slice(0, -1), { ...last, ...marked(mark) }];
}

export function withBreakpoints(messages: readonly MessageBlocks[], mark: CacheMark | undefined): MessageBlocks[] {
  const end = messages.length - 1;
  const previous = endBefore(messages, messages.length);
  const earlier = endBefore(messages, previous);
  const between = messages.slice(earlier + 1, previous + 1).reduce((sum, { content }) => sum + content.length, 0);
  const ends = new Set(between < lookBack ? [end, previous] : [end, previous, earlier]);
  return messages.map((message, index) => {
    const last = message.content.at(-1);
    if (!ends.has(index) || last === undefined) return message;
    return { ...message, content: [...message.content.slice(0, -1), { ...last, ...marked(mark) } as typeof last] };
  });
}

/** The last message of the request that the last answer before `index` answered. -1 if there is none. */
function endBefore(messages: readonly MessageBlocks[], index: number): number {
  return messages.slice(0, Math.max(0, index)).findLastIndex(({ role }) => role === "assistant") - 1;
}

function marked(mark: CacheMark | undefined): { cache_control?: CacheMark } {
  return mark === undefined ? {} : { cache_control: mark };
}
