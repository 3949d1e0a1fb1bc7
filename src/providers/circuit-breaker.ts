/**
 * After a failure, pauses only the model that failed, because its rate limit does not affect other models. The pause
 * doubles with every further failure in a row, and is longer if the provider asks for that. A success ends it.
 */
import { leftOf } from "../lib/elapsed.ts";

export interface CircuitBreaker {
  /** In milliseconds. 0: the breaker is closed. */
  leftMs(model: string): number;
  /** The code of the failure that opened the breaker. */
  codeOf(model: string): string | undefined;
  /** Call before a request. Pauses a failed model for other requests so that only one at a time tries it. */
  begin(model: string): void;
  /**
   * `minRestMs`: the failure will not pass sooner. `longestMs`: once the failures have lasted for longer than the longest
   * usual pause, the pause may grow up to this, but never beyond the time that they have lasted.
   */
  failed(model: string, code: string, minRestMs?: number, longestMs?: number): void;
  clear(model: string): void;
}

const shortestRestMs = 5_000;
export const maxBreakerMs = 5 * 60_000;
/** Limited, because people can choose any model name. */
export const maxModels = 200;

interface Rest {
  /** When the first failure in a row came. */
  began: number;
  since: number;
  restMs: number;
  failures: number;
  code: string;
}

export function createCircuitBreaker(now: () => number): CircuitBreaker {
  const resting = new Map<string, Rest>();
  const restAfter = (failures: number, longestMs = maxBreakerMs) =>
    Math.min(shortestRestMs * 2 ** (failures - 1), longestMs);

  function leftMs(model: string): number {
    const rest = resting.get(model);
    return rest === undefined ? 0 : leftOf(rest.restMs, rest.since, now());
  }

  return {
    leftMs,
    codeOf: (model) => resting.get(model)?.code,
    begin(model) {
      const rest = resting.get(model);
      if (rest === undefined) return;
      Object.assign(rest, { restMs: Math.max(leftMs(model), restAfter(rest.failures)), since: now() });
    },
    failed(model, code, minRestMs = 0, longestMs = maxBreakerMs) {
      const before = resting.get(model);
      const failures = Math.min((before?.failures ?? 0) + 1, 20);
      const began = before?.began ?? now();
      const lastedMs = Math.max(0, now() - began);
      const restMs = Math.max(restAfter(failures, Math.max(maxBreakerMs, Math.min(lastedMs, longestMs))), minRestMs);
      resting.delete(model);
      resting.set(model, { began, failures, code, since: now(), restMs });
      const [oldest] = resting.keys();
      if (resting.size > maxModels && oldest !== undefined) resting.delete(oldest);
    },
    clear(model) {
      resting.delete(model);
    },
  };
}
