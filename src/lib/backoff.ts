/** Retrying: how long to wait before which attempt, and waiting that an abort ends at once. */

/** Waits between attempts, in milliseconds: after the first failure the first one, and so on; when they are used up it is over. */
export type Backoff = readonly number[];

export const defaultBackoff: Backoff = [2_000, 6_000, 18_000];

/** How long to wait after `failures` failed attempts (1 or more), honouring the other side's wish; undefined: give up. */
export function waitBeforeRetry(backoff: Backoff, failures: number, retryAfterMs = 0): number | undefined {
  const wait = backoff[failures - 1];
  return wait === undefined ? undefined : Math.max(wait, retryAfterMs);
}

/** Resolves after `ms`, or as soon as the signal aborts, whichever is first; never rejects. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal.addEventListener("abort", finish, { once: true });
  });
}
