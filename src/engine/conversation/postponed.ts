/** Conversations whose service accepts nothing at the moment. They are tried again after ever longer waits. */
import { type Backoff, waitBeforeRetry } from "../../lib/backoff.ts";

export interface Postponed {
  isWaiting(conversationId: string): boolean;
  /** Calls `again` after a while. */
  postpone(conversationId: string): void;
  /** Something was delivered, so the next failure waits only briefly again. */
  settle(conversationId: string): void;
  close(): void;
}

const longestMs = 60_000;
const defaultWaits: Backoff = [1_000, 2_000, 5_000, 10_000, 20_000, 40_000];

export function createPostponed(again: (conversationId: string) => void, waits: Backoff = defaultWaits): Postponed {
  let isClosed = false;
  const waiting = new Map<string, { failures: number; timer: NodeJS.Timeout | undefined }>();
  return {
    isWaiting: (conversationId) => waiting.get(conversationId)?.timer !== undefined,
    postpone(conversationId) {
      if (isClosed) return;
      const known = waiting.get(conversationId);
      clearTimeout(known?.timer);
      const failures = (known?.failures ?? 0) + 1;
      const timer = setTimeout(() => {
        waiting.set(conversationId, { failures, timer: undefined });
        again(conversationId);
      }, waitBeforeRetry(waits, failures) ?? longestMs);
      waiting.set(conversationId, { failures, timer });
    },
    settle(conversationId) {
      clearTimeout(waiting.get(conversationId)?.timer);
      waiting.delete(conversationId);
    },
    close() {
      isClosed = true;
      for (const { timer } of waiting.values()) clearTimeout(timer);
      waiting.clear();
    },
  };
}
