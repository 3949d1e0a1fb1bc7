/** Runs work that must end: a `node:vm` time limit stops any synchronous code, also native regular expressions. Costs 0.2 ms. */
import { createContext, Script } from "node:vm";
import { codeOf } from "../lib/errors.ts";
import type { Deadline } from "./deadline.ts";

const call = new Script("work()");
const minRunMs = 1;

/** Returns undefined when `work` did not end in time. State that it was changing is then unreliable. */
export function runWithin<T>(milliseconds: number, work: () => T): { value: T } | undefined {
  let outcome: { value: T } | undefined;
  const context = createContext({
    work: () => {
      outcome = { value: work() };
    },
  });
  try {
    call.runInContext(context, { timeout: Math.max(minRunMs, Math.ceil(milliseconds)) });
  } catch (thrown) {
    if (codeOf(thrown) === "ERR_SCRIPT_EXECUTION_TIMEOUT") return undefined;
    throw thrown;
  }
  return outcome;
}

/** When a busy machine suspends the process, time may be left at the limit; then `work` runs again from its start. */
export function runUntil<T>(deadline: Deadline, work: () => T): { value: T } | undefined {
  for (let left = deadline.left(); left >= minRunMs; left = deadline.left()) {
    const outcome = runWithin(left, work);
    if (outcome !== undefined) return outcome;
  }
  return undefined;
}
