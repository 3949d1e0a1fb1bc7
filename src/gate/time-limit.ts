/**
 * Work that must end: a `node:vm` time limit stops synchronous code of any kind, also our own and native regular
 * expressions. Setting one up costs about 0.2 ms, so it is used only where something could be slow.
 */
import { createContext, Script } from "node:vm";
import { codeOf } from "../lib/errors.ts";
import type { Deadline } from "./deadline.ts";

const call = new Script("work()");
/** Milliseconds; with less there is no point in beginning. */
const minRun = 1;

/** Runs `work`; undefined when it did not end in time. State that it was changing is then unreliable. */
export function runWithin<T>(milliseconds: number, work: () => T): { value: T } | undefined {
  let outcome: { value: T } | undefined;
  const context = createContext({
    work: () => {
      outcome = { value: work() };
    },
  });
  try {
    call.runInContext(context, { timeout: Math.max(minRun, Math.ceil(milliseconds)) });
  } catch (thrown) {
    if (codeOf(thrown) === "ERR_SCRIPT_EXECUTION_TIMEOUT") return undefined;
    throw thrown;
  }
  return outcome;
}

/**
 * The same with what is left of the deadline. Where the machine was busy and the process stood still, there is time left
 * when the limit strikes, and `work` runs again from its beginning.
 */
export function runUntil<T>(deadline: Deadline, work: () => T): { value: T } | undefined {
  for (let left = deadline.left(); left >= minRun; left = deadline.left()) {
    const outcome = runWithin(left, work);
    if (outcome !== undefined) return outcome;
  }
  return undefined;
}
