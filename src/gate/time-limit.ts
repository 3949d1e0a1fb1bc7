/** Runs work that must end. A `node:vm` time limit costs 0.2 ms and stops any synchronous code, even native regexes. */
import { createContext, Script } from "node:vm";
import { codeOf } from "../lib/errors.ts";
import type { Deadline } from "./deadline.ts";

const call = new Script("work()");
const minRunMs = 1;

/** Returns undefined on a timeout. State that `work` was changing is then unreliable. */
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

/** Restarts `work` if it hits its limit before the deadline, because a busy machine suspended the process. */
export function runUntil<T>(deadline: Deadline, work: () => T): { value: T } | undefined {
  for (let left = deadline.left(); left >= minRunMs; left = deadline.left()) {
    const outcome = runWithin(left, work);
    if (outcome !== undefined) return outcome;
  }
  return undefined;
}
