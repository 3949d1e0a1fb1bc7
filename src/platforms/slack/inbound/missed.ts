/**
 * Reads what a conversation's people wrote since its cursor. A page of history has the newest messages, and for each the
 * time of its thread's last reply, so one call tells whether anything is new. Known threads that began earlier are found
 * the same way: a page that ends at the newest of them usually shows several.
 */
import { z } from "zod";
import type { SlackApi } from "../api/api.ts";
import { isPlaceProblem, isRefusal, isSlackError } from "../api/api-problems.ts";
import type { RateLimiter } from "../api/rate-limiter.ts";
import { maxHistoryPage, maxLimitedHistoryPage, maxRepliesPage } from "../limits.ts";
import { compare } from "./cursors.ts";
import { messagesSchema, type RawMessage } from "./events.ts";

export interface Missed {
  /** Oldest first, including replies in threads. */
  messages: RawMessage[];
  /** False if there were more messages than `maxPages` hold. The oldest are missing; of a thread, the newest. */
  isComplete: boolean;
  /** There were also messages between `unheardFrom` and `since`. */
  hasOlder: boolean;
}

export interface WantedMissed {
  channel: string;
  /** Without the message at this time. */
  since: string;
  unheardFrom: string;
  /** Newest first. */
  threads: readonly string[];
  /** Whether to look further back for threads with new replies. In a DM, every message may have some. */
  isDeep: boolean;
  /** Somebody waits, so the calls don't wait for their turn. */
  isUrgent(): boolean;
}

export interface MissedOptions {
  api: SlackApi;
  /** Leaves room for the calls of running turns. */
  rateLimiter: RateLimiter;
  pause(ms: number): Promise<void>;
}

const maxPages = 25;
/** Of older messages, 200 each. */
const maxDeepPages = 5;
const maxRetryMs = 120_000;

const pageSchema = z.object({
  messages: messagesSchema,
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional(),
});

/** Slack refuses one thread for a reason that says nothing about its channel. */
function isThreads(thrown: unknown): boolean {
  return isRefusal(thrown) && !isPlaceProblem(thrown) && !isSlackError(thrown, "missing_scope");
}

export function createMissed({ api, rateLimiter, pause }: MissedOptions) {
  async function page(method: "history" | "replies", args: Record<string, unknown>, isUrgent: () => boolean) {
    while (!isUrgent()) {
      const wait = rateLimiter.take(method);
      if (wait === 0) break;
      // In short steps, because the place may become urgent.
      await pause(Math.min(wait, 1_000));
    }
    // Slack begins with the oldest replies, so large pages make sure that the newest are among them.
    const all = { ...args, limit: method === "replies" ? maxRepliesPage : maxHistoryPage };
    const answer = await api.call(`conversations.${method}`, all, pageSchema, { maxRetryMs });
    return { messages: answer.messages, next: answer.response_metadata?.next_cursor ?? "" };
  }

  return async ({ channel, since, unheardFrom, threads, isDeep, isUrgent }: WantedMissed): Promise<Missed> => {
    const isNew = ({ ts }: RawMessage) => compare(ts, since) > 0;
    let isComplete = true;

    async function pages(method: "history" | "replies", args: Record<string, unknown>) {
      const found: RawMessage[] = [];
      for (let cursor = "", count = 1; ; count++) {
        const { messages, next } = await page(method, cursor === "" ? args : { ...args, cursor }, isUrgent);
        found.push(...messages);
        // Apps with short pages may read only one a minute.
        const isFurther = isDeep && count < maxDeepPages && messages.length > maxLimitedHistoryPage;
        if (next === "" || (method === "history" && !messages.every(isNew) && !isFurther)) return found;
        if (count === maxPages) {
          isComplete = false;
          return found;
        }
        cursor = next;
      }
    }

    /** The beginnings of these threads, with whatever stands around them. */
    async function beginnings(wanted: readonly string[]): Promise<RawMessage[]> {
      const found: RawMessage[] = [];
      const left = new Set(wanted);
      for (const latest of wanted.toSorted(compare).toReversed()) {
        if (!left.has(latest)) continue;
        const { messages } = await page("history", { channel, latest, inclusive: true }, isUrgent);
        for (const { ts } of messages) left.delete(ts);
        left.delete(latest);
        found.push(...messages);
      }
      return found;
    }

    async function repliesIn(ts: string): Promise<RawMessage[]> {
      const replies = () => pages("replies", { channel, ts, oldest: since });
      try {
        return await replies().catch((thrown: unknown) => (isThreads(thrown) ? replies() : Promise.reject(thrown)));
      } catch (thrown) {
        if (isSlackError(thrown, "thread_not_found")) return [];
        if (!isThreads(thrown)) throw thrown;
        // One thread must not keep back its whole channel.
        isComplete = false;
        return [];
      }
    }

    const newest = await pages("history", { channel });
    const shown = new Set(newest.map(({ ts }) => ts));
    const older = await beginnings(threads.filter((ts) => !shown.has(ts)));
    const all = new Map([...newest, ...older].map((each) => [each.ts, each]));
    const replied = [...all.values()].filter(
      ({ latest_reply: last }) => last !== undefined && compare(last, since) > 0,
    );
    for (const { ts } of replied) for (const reply of await repliesIn(ts)) all.set(reply.ts, reply);
    const messages = [...all.values()].filter(isNew).sort((one, other) => compare(one.ts, other.ts));
    const isOlder = (ts: string) => compare(ts, unheardFrom) > 0 && compare(ts, since) <= 0;
    const hasOlder = [...all.values()].some(({ ts, latest_reply: last = ts }) => isOlder(ts) || isOlder(last));
    return { messages, isComplete, hasOlder };
  };
}
