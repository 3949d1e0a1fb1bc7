/** Test support: scheduled failures, and waiting for a condition. */
import type { Failure } from "./api-call.ts";
import type { SlackState } from "./state.ts";

/** Failures are used in the order added, one per call; `*` matches every method. */
export function createFailures() {
  const due = new Map<string, Failure[]>();
  const standing = new Set<{ method: string; failure: Failure }>();
  const standingFor = (method: string) => [...standing].find((one) => one.method === "*" || one.method === method);
  return {
    /** Until the returned function is called. */
    stand(method: string, failure: Failure): () => void {
      const one = { method, failure };
      standing.add(one);
      return () => void standing.delete(one);
    },
    add(method: string, ...failures: Failure[]) {
      due.set(method, [...(due.get(method) ?? []), ...failures]);
    },
    take: (method: string) => due.get(method)?.shift() ?? due.get("*")?.shift() ?? standingFor(method)?.failure,
  };
}

/** For what happens in the app alone: a look at everything costs a millisecond. */
const pollMs = 100;

/** Checks after every change and every 100 ms. */
export function until<Value>(state: SlackState, look: () => Value, timeoutMs: number): Promise<NonNullable<Value>> {
  return new Promise((resolve, reject) => {
    const check = () => {
      try {
        const value = look();
        if (!value) return;
        end();
        resolve(value);
      } catch (error) {
        end();
        reject(error);
      }
    };
    const end = () => {
      leave();
      clearTimeout(timer);
      clearInterval(poll);
    };
    const timer = setTimeout(() => {
      end();
      reject(new Error(`slack double: waited ${timeoutMs} ms in vain for ${String(look)}`));
    }, timeoutMs);
    const leave = state.onChange(check);
    const poll = setInterval(check, pollMs);
    check();
  });
}
