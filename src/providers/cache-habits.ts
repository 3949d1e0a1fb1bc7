/**
 * How long Anthropic is asked to keep what a request has, by price and by what this process has seen so far:
 *
 *   stable   tools and system text, which other conversations begin with, too. By the pauses between all requests that have them
 *   said     the rest. By the pauses of the conversation. Nothing where hardly any goes on before the service would forget it,
 *            because a mark that nobody reads only costs more
 *
 * What the mark of a first request is worth depends on steps with tools, too, which read it at once, so requests count, not turns.
 */
import { createHash } from "node:crypto";
import { createLruMap } from "../lib/lru-map.ts";
import type { CacheHint, CachePrice, ModelRequest } from "../ports/provider.ts";

export type CacheLife = "5m" | "1h";

export interface CacheLives {
  stable: CacheLife;
  said: CacheLife | undefined;
}

export interface CacheHabits {
  /** For each request once, before it is sent. Without a price, five minutes. */
  livesFor(model: string, request: ModelRequest, price: CachePrice | undefined): CacheLives;
}

const shortLifeMs = 5 * 60_000;
const longLifeMs = 60 * 60_000;
/** What a turn adds to its conversation, as a share of it. */
const addedShare = 0.05;
/** Between requests with the same beginning. */
const maxPauses = 16;
const maxPrefixes = 100;
const maxConversations = 2_000;
/** Requests that began or resumed a conversation. With fewer, nothing is known. */
const [leastOpenings, maxOpenings] = [8, 32];
/** Below the share at which a mark pays for itself, so that chance alone changes nothing. */
const safety = 0.75;

interface Opening {
  at: number;
  isFollowed: boolean;
}

export function createCacheHabits(now: () => number = Date.now): CacheHabits {
  const prefixes = createLruMap<{ at: number; pausesMs: number[] }>(maxPrefixes);
  const conversations = createLruMap<{ at: number; opening: Opening }>(maxConversations);
  let openings: Opening[] = [];

  function pausesBefore(prefix: string): number[] {
    const known = prefixes.get(prefix);
    const pausesMs = known === undefined ? [] : [...known.pausesMs, now() - known.at].slice(-maxPauses);
    prefixes.set(prefix, { at: now(), pausesMs });
    return pausesMs;
  }

  /** True if the service knows nothing of what was said in the conversation. */
  function isOpening({ key, pausesMs }: CacheHint): boolean {
    const known = conversations.get(key);
    const goesOn = known !== undefined && now() - known.at <= shortLifeMs;
    // Another process may have had the turn before.
    const isFollowed = known === undefined && pausesMs.some((ms) => ms <= shortLifeMs);
    const opening = goesOn ? known.opening : { at: now(), isFollowed };
    if (goesOn) opening.isFollowed = true;
    else openings = [...openings, opening].slice(-maxOpenings);
    conversations.set(key, { at: now(), opening });
    return !goesOn;
  }

  function isSeldomFollowed({ read, write }: CachePrice): boolean {
    // The newest may still be followed.
    const settled = openings.filter(({ at }) => now() - at > shortLifeMs);
    const share = settled.filter(({ isFollowed }) => isFollowed).length / settled.length;
    return settled.length >= leastOpenings && share < safety * ((write - 1) / (write - read));
  }

  return {
    livesFor(model, request, price) {
      const pausesMs = pausesBefore(prefixOf(model, request));
      const isNew = request.cache !== undefined && isOpening(request.cache);
      if (price === undefined) return { stable: "5m", said: "5m" };
      if (isHourCheaper(request.cache?.pausesMs ?? [], price, addedShare)) return { stable: "1h", said: "1h" };
      return {
        stable: isHourCheaper(pausesMs, price, 0) ? "1h" : "5m",
        said: isNew && isSeldomFollowed(price) ? undefined : "5m",
      };
    },
  };
}

/** Of a prompt that is written once, and after each of these pauses read, or written again. */
function isHourCheaper(pausesMs: readonly number[], { read, write, writeHour }: CachePrice, added: number): boolean {
  const costOf = (isKept: (ms: number) => boolean, writing: number) =>
    pausesMs.reduce((sum, ms) => sum + (isKept(ms) ? read + added * writing : writing), writing);
  return costOf((ms) => ms < longLifeMs, writeHour) < costOf((ms) => ms <= shortLifeMs, write);
}

function prefixOf(model: string, { system, tools }: ModelRequest): string {
  const texts = system.flatMap(({ text, isCacheable }) => (isCacheable ? [text] : []));
  const hash = createHash("sha256").update(JSON.stringify([model, texts, tools.map(({ name }) => name)]));
  return hash.digest("base64url");
}
