/** Asks nobody: flags and defaults are the answers. A question without one names the flag that is missing. */
import type { Writable } from "node:stream";
import { RemoraError } from "../lib/errors.ts";
import type { Ask } from "./ask.ts";

/** Without `isYes`, every question needs its flag. */
export function askByFlags({ output, isYes }: { output: Writable; isYes: boolean }): Ask {
  const print = (text: string) => void output.write(`${text}\n`);

  function given<Value>(flag: string, message: string, value: Value | undefined): Value {
    if (isYes && value !== undefined) return value;
    const more = isYes || value === undefined ? "" : ", or --yes to accept the defaults";
    throw new RemoraError({
      code: "setup.missing-flag",
      place: "init",
      message: `there is no terminal to ask on (“${message}”). Give ${flag}${more}`,
    });
  }

  return {
    isInteractive: false,
    select: async ({ flag, message, initial }) => given(flag, message, initial),
    several: async ({ flag, message, initial }) => [...given(flag, message, initial)],
    text: async ({ flag, message, initial, problemOf }) => {
      const answer = given(flag, message, initial);
      const problem = problemOf?.(answer);
      if (problem !== undefined) throw new RemoraError({ code: "setup.flag", place: flag, message: problem });
      return answer;
    },
    secret: async ({ flag, message }) => given<string>(flag, message, undefined),
    confirm: async ({ flag, message, initial }) => given(flag, message, initial),
    title: print,
    say: print,
    done: print,
    warn: print,
    link: (label, url) => print(`${label}\n${url}`),
    during: (_doing, work) => work(),
    end: print,
  };
}
