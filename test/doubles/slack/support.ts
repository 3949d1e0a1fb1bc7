/** What tests lean on: failures that are due, and waiting for something to be so. */
import type { Failure } from "./api-call.ts";
import type { SlackState } from "./state.ts";

/** Failures are used up in the order in which they were added, one a call; `*` fits every method. */
export function createFailures() {
  const due = new Map<string, Failure[]>();
  return {
    add(method: string, ...failures: Failure[]) {
      due.set(method, [...(due.get(method) ?? []), ...failures]);
    },
    take: (method: string) => due.get(method)?.shift() ?? due.get("*")?.shift(),
  };
}

/** Asks after every change and every 10 ms. */
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
    // For what happens in the app alone.
    const poll = setInterval(check, 10);
    check();
  });
}
