/** Retrying: the waiting time before each attempt, and a wait that ends immediately after an abort. */

export type Backoff = readonly number[];

export const defaultBackoff: Backoff = [2_000, 6_000, 18_000];

/** How long to wait after `failures` failed attempts (1 or more), at least `retryAfterMs`. Undefined if no attempt is left. */
export function waitBeforeRetry(backoff: Backoff, failures: number, retryAfterMs = 0): number | undefined {
  const wait = backoff[failures - 1];
  return wait === undefined ? undefined : Math.max(wait, retryAfterMs);
}

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
