/**
 * Whether the services' caches work. Counts only the tokens that the request before in the same conversation had sent, too, and not
 * long ago: first requests, single mentions and requests after long pauses can't come from a cache.
 */
import { elapsedSince } from "../lib/elapsed.ts";
import { toIsoDate } from "../lib/iso-date.ts";
import { createLruMap } from "../lib/lru-map.ts";
import { formatNumber } from "../lib/text/format-number.ts";
import { cachedShare } from "../lib/text/format-usage.mjs";
import type { HealthCheck } from "../ports/health.ts";
import type { Usage } from "../ports/provider.ts";
import type { Resent, UsageCount } from "../ports/usage.ts";
import { dayMs } from "./budgets.ts";

/** Caches keep a prompt for five minutes at least, and this is from answer to answer. */
const maxPauseMs = 4 * 60_000;
/** No model needs more than this before it writes to its cache. */
const minTokens = 4_096;
const maxConversations = 1_000;
/** Fewer requests in a day say nothing. */
const minCalls = 20;
const minShare = 0.5;

/** Undefined if nothing was sent again. Each process knows only its own requests, so it may know of less. */
export type CountResent = (conversationId: string, model: string, usage: Usage) => Resent | undefined;

export function createResentCount(now: () => number): CountResent {
  const requests = createLruMap<{ tokens: number; at: number }>(maxConversations);
  return (conversationId, model, { inputTokens, cacheReadTokens, cacheWriteTokens }) => {
    const key = `${model} ${conversationId}`;
    const before = requests.get(key);
    const prompt = inputTokens + cacheReadTokens + cacheWriteTokens;
    requests.set(key, { tokens: prompt, at: now() });
    if (before === undefined || elapsedSince(before.at, now()) > maxPauseMs) return undefined;
    const tokens = Math.min(before.tokens, prompt);
    if (tokens < minTokens) return undefined;
    return { calls: 1, tokens, read: Math.min(cacheReadTokens, tokens), written: cacheWriteTokens };
  };
}

/**
 * By model, for the newest of this day and the one before with enough requests. `days` are everyone's. `countsCache` knows
 * services that count their cache also when they read nothing; others say with their first tokens that they have one.
 */
export function cacheChecks(
  days: readonly UsageCount[],
  countsCache: (model: string) => boolean,
  now: number,
): HealthCheck[] {
  const recent = [now, now - dayMs].flatMap((at) => days.find(({ day }) => day === toIsoDate(at)) ?? []);
  const models = [...new Set(recent.flatMap(({ resent = {} }) => Object.keys(resent)))].toSorted();
  return models.flatMap((model) => {
    const all = recent.flatMap(({ day, resent = {} }) => {
      const one = Object.hasOwn(resent, model) ? resent[model] : undefined;
      return one !== undefined && isWhole(one) ? [{ day, ...one }] : [];
    });
    const newest = all.find(({ calls }) => calls >= minCalls);
    const isCounted = countsCache(model) || all.some(({ read, written }) => read + written > 0);
    return newest === undefined || !isCounted ? [] : [checkOf(model, newest)];
  });
}

function checkOf(model: string, { day, tokens, read }: Resent & { day: string }): HealthCheck {
  const usage = { inputTokens: tokens - read, outputTokens: 0, cacheReadTokens: read, cacheWriteTokens: 0 };
  const share = cachedShare([usage]);
  const isLow = read < tokens * minShare;
  const some = share === undefined ? "nothing" : `${isLow ? "only " : ""}${share}`;
  const sent = `of the ${formatNumber(tokens)} tokens that requests of ${day} sent again`;
  const check = { name: `cache ${model}`, what: `${sent}, ${some} came from the service's cache` };
  if (!isLow) return { ...check, state: "ok" };
  return {
    ...{ ...check, state: "warning" },
    why: "The rest is paid at the full price or more. Something changes the beginning of prompts too often",
    todo: "Look for settings that are reloaded often, skills and files in brain/ that are edited often, and servers that change their tools. If nothing changes, a gateway may spread requests over several servers or accounts",
  };
}

function isWhole({ calls, tokens, read, written }: Resent): boolean {
  return [calls, tokens, read, written].every((count) => Number.isSafeInteger(count) && count >= 0) && read <= tokens;
}
