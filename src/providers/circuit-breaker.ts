/**
 * The circuit breaker of the cascade: which model rests, and until when.
 *
 * Kept by model, not by provider: one model's limit does not rest the others. A rest doubles with every failure in a
 * row, or is as long as the provider asked for if that is longer; a success ends it.
 */
export interface CircuitBreaker {
  now(): number;
  /** Milliseconds since the epoch; in the past when it does not rest. */
  until(model: string): number;
  /** A model that failed before is tried by one request at a time: it rests for the others meanwhile. */
  begin(model: string): void;
  failed(model: string, retryAfterMs?: number): void;
  clear(model: string): void;
}

const shortestRestMs = 5_000;
const longestRestMs = 5 * 60_000;
/** Models are few; names chosen by people must not fill the memory. */
const mostModels = 200;

export function createCircuitBreaker(now: () => number): CircuitBreaker {
  const resting = new Map<string, { until: number; failures: number }>();
  const restAfter = (failures: number) => Math.min(shortestRestMs * 2 ** (failures - 1), longestRestMs);
  return {
    now,
    until: (model) => resting.get(model)?.until ?? 0,
    begin(model) {
      const rest = resting.get(model);
      if (rest !== undefined) rest.until = Math.max(rest.until, now() + restAfter(rest.failures));
    },
    failed(model, retryAfterMs = 0) {
      const failures = Math.min((resting.get(model)?.failures ?? 0) + 1, 20);
      resting.delete(model);
      resting.set(model, { failures, until: now() + Math.max(restAfter(failures), retryAfterMs) });
      const [oldest] = resting.keys();
      if (resting.size > mostModels && oldest !== undefined) resting.delete(oldest);
    },
    clear(model) {
      resting.delete(model);
    },
  };
}
