/** Wait times between attempts, and a wait that ends immediately on abort. */

export type Backoff = readonly number[];

export const defaultBackoff: Backoff = [2_000, 6_000, 18_000];

/** The wait after `failures` (1 or more) failed attempts. Undefined if no attempt is left. */
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
