/**
 * Limits how many requests a minute one person and one channel can make, so that a flood costs neither money nor other people's
 * time. Counts the times at which people wrote, not those at which their messages arrive: what is caught up after an outage
 * is no flood. The page has no limit, because its people sign in to this machine. Each process counts for itself.
 */
import { elapsedSince } from "../lib/elapsed.ts";
import { createLruMap } from "../lib/lru-map.ts";
import type { RequestLimits } from "../ports/access.ts";
import type { InboundMessage } from "../ports/message.ts";

export interface RequestRates {
  /** Null: no limit. */
  userRequestsPerMinute: number | null;
  channelRequestsPerMinute: number | null;
}

interface Counted {
  requests: { id: string; at: number }[];
}

const minuteMs = 60_000;
const maxCounted = 10_000;

/** `rates` is read for each message. */
export function createRequestLimits(rates: Readonly<RequestRates>, now: () => number = Date.now): RequestLimits {
  const counts = createLruMap<Counted>(maxCounted);
  /** By person and channel, because people in one channel don't see a notice in another. */
  const toldAt = createLruMap<number>(maxCounted);

  function countOf(key: string, at: number): Counted {
    const known = counts.get(key) ?? { requests: [] };
    known.requests = known.requests.filter((request) => request.at > at - minuteMs);
    counts.set(key, known);
    return known;
  }

  return {
    admit(message) {
      if (message.platform === "local" || message.id.startsWith("schedule:")) return { type: "admitted" };
      const at = Math.min(message.at, now());
      const own = { key: `user:${message.platform}:${message.author.id}`, max: rates.userRequestsPerMinute };
      const limits = [
        { ...own, who: "one person" },
        ...(message.isDirect
          ? []
          : [{ key: `channel:${channelOf(message)}`, max: rates.channelRequestsPerMinute, who: "one channel" }]),
      ];
      const checked = limits.map((limit) => ({ ...limit, counted: countOf(limit.key, at) }));
      // A service may deliver a message twice.
      if (checked.some(({ counted }) => counted.requests.some(({ id }) => id === message.id)))
        return { type: "admitted" };
      const isNear = (request: { at: number }) => Math.abs(request.at - at) < minuteMs;
      const over = checked.find(({ max, counted }) => max !== null && counted.requests.filter(isNear).length >= max);
      if (over === undefined) {
        for (const { counted } of checked) counted.requests.push({ id: message.id, at });
        return { type: "admitted" };
      }
      const { counted, max, who } = over;
      const why = `more than ${max} requests a minute from ${who}`;
      // Each person is told, also if other people have used up the channel's limit.
      const place = `${own.key} ${channelOf(message)}`;
      const told = toldAt.get(place) ?? Number.NEGATIVE_INFINITY;
      if (elapsedSince(told, now()) < minuteMs) return { type: "limited", why };
      toldAt.set(place, now());
      const oldest = Math.min(...counted.requests.map((request) => request.at));
      const seconds = Math.max(1, Math.ceil((oldest + minuteMs - at) / 1_000));
      return { type: "limited", why, notice: { text: limitedText(max ?? 0, who, seconds) } };
    },
  };
}

function channelOf({ platform, channelId, scope }: InboundMessage): string {
  return `${platform}:${channelId ?? scope}`;
}

function limitedText(max: number, who: string, seconds: number): string {
  const requests = max === 1 ? "1 request" : `${max} requests`;
  const time = seconds === 1 ? "a second" : `${seconds} seconds`;
  return `That's a lot at once. I take ${requests} a minute from ${who}, so I left this one out. Please send it again in ${time}.`;
}
