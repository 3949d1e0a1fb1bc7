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
  /** `minRestMs`: the failure will not pass sooner. */
  failed(model: string, code: string, minRestMs?: number): void;
  clear(model: string): void;
}

const shortestRestMs = 5_000;
export const maxBreakerMs = 5 * 60_000;
/** Limited, because people can choose any model name. */
const maxModels = 200;

export function createCircuitBreaker(now: () => number): CircuitBreaker {
  const resting = new Map<string, { since: number; restMs: number; failures: number; code: string }>();
  const restAfter = (failures: number) => Math.min(shortestRestMs * 2 ** (failures - 1), maxBreakerMs);

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
    failed(model, code, minRestMs = 0) {
      const failures = Math.min((resting.get(model)?.failures ?? 0) + 1, 20);
      resting.delete(model);
      resting.set(model, { failures, code, since: now(), restMs: Math.max(restAfter(failures), minRestMs) });
      const [oldest] = resting.keys();
      if (resting.size > maxModels && oldest !== undefined) resting.delete(oldest);
    },
    clear(model) {
      resting.delete(model);
    },
  };
}
