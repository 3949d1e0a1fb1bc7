/**
 * The circuit breaker of the cascade, per model, because one model's limit does not affect the others. A pause doubles with
 * every failure in a row, or lasts as long as the provider asked for if that is longer. A success ends it.
 */
export interface CircuitBreaker {
  now(): number;
  /** Milliseconds since 1970. A time in the past means that the breaker is closed. */
  until(model: string): number;
  /** After a failure one request at a time tries the model; for others it stays paused. */
  begin(model: string): void;
  failed(model: string, retryAfterMs?: number): void;
  clear(model: string): void;
}

const shortestRestMs = 5_000;
const maxBreakerMs = 5 * 60_000;
/** People can choose any name, and names must not fill the memory. */
const maxModels = 200;

export function createCircuitBreaker(now: () => number): CircuitBreaker {
  const resting = new Map<string, { until: number; failures: number }>();
  const restAfter = (failures: number) => Math.min(shortestRestMs * 2 ** (failures - 1), maxBreakerMs);
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
      if (resting.size > maxModels && oldest !== undefined) resting.delete(oldest);
    },
    clear(model) {
      resting.delete(model);
    },
  };
}
