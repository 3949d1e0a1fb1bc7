/** Reads the newest messages of a thread with few calls. */
import { untilAborted } from "../../../lib/until-aborted.ts";
import type { SlackApi } from "../api/api.ts";
import { isSlackError } from "../api/api-problems.ts";
import { maxHistoryPage, maxLimitedHistoryPage, maxRepliesPage } from "../limits.ts";
import { linePageSchema, type RawLine } from "./lines.ts";
import { newestReplies, type RepliesPage } from "./newest-replies.ts";

export interface WantedReplies {
  channel: string;
  thread: string;
  /** Only messages strictly between these two. */
  after?: string | undefined;
  before?: string | undefined;
  wanted: number;
}

export interface ThreadPart {
  /** The thread's first message, unless it was deleted. */
  root?: RawLine;
  /** The other messages, oldest first. */
  lines: RawLine[];
  /** False if messages are missing after the last line. */
  reachesEnd: boolean;
  /** Number of unread messages before the first line, as far as known. */
  leftOut: number;
  /** Slack lets this app read only a few messages, once a minute. */
  isLimited: boolean;
}

const maxCalls = 6;
const maxRetryMs = 2_000;
/** Slack asks for such a long wait only under the stricter limit for apps distributed outside the Marketplace. */
const minLimitedWaitMs = 30_000;

/** Rejects if the first call fails. If a later one does, or the signal aborts, resolves with what was read. */
export async function readThread(api: SlackApi, wanted: WantedReplies, signal: AbortSignal): Promise<ThreadPart> {
  const { channel, thread, after, before } = wanted;
  let isLimited = false;

  async function page(oldest: string | undefined, limit: number) {
    const range = { ...(oldest === undefined ? {} : { oldest }), ...(before === undefined ? {} : { latest: before }) };
    const args = { channel, ts: thread, limit, ...range };
    const { messages, has_more: hasMore = false } = await untilAborted(
      api.call("conversations.replies", args, linePageSchema, { maxRetryMs }),
      signal,
    );
    isLimited ||= hasMore && messages.length <= maxLimitedHistoryPage;
    return {
      root: messages.find(({ ts }) => ts === thread),
      items: messages.filter(({ ts }) => ts !== thread),
      hasMore,
    };
  }

  const { root, ...first } = await page(after, maxHistoryPage);
  const replies = root?.reply_count;
  const found = await newestReplies(first, {
    fetch: async (oldest): Promise<RepliesPage<RawLine> | undefined> =>
      isLimited ? undefined : await page(oldest.toFixed(6), maxRepliesPage).catch(() => undefined),
    position: ({ ts }) => Number(ts),
    begin: Number(after ?? thread),
    end: before === undefined ? Date.now() / 1000 + 1 : Number(before),
    ...{ wanted: wanted.wanted, total: replies, maxCalls },
  });
  const lines = found.items.slice(-wanted.wanted);
  // `reply_count` also includes the messages from `before` on, usually only one.
  const read = found.items.length + (before === undefined ? 0 : 1);
  const unread = first.hasMore && after === undefined && found.reachesEnd ? Math.max(0, (replies ?? 0) - read) : 0;
  const leftOut = unread + found.items.length - lines.length;
  const isGone = root === undefined || root.subtype === "tombstone";
  return { ...(isGone ? {} : { root }), lines, reachesEnd: found.reachesEnd, leftOut, isLimited };
}

/** True if Slack refused a call because of the limit for apps distributed outside the Marketplace. */
export function isLimitedApp(thrown: unknown): boolean {
  return (
    isSlackError(thrown, "ratelimited") &&
    thrown instanceof Error &&
    "retryAfterMs" in thrown &&
    Number(thrown.retryAfterMs) >= minLimitedWaitMs
  );
}
