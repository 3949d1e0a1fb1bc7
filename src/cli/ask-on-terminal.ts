/** Asks one question on the terminal. */
import { createInterface } from "node:readline/promises";
import { RemoraError } from "../lib/errors.ts";

export type AskQuestion = (question: string) => Promise<string>;

/** `place` is the command, for when there is nobody to ask. */
export function askFor(place: string): AskQuestion {
  return async (question) => {
    if (!process.stdin.isTTY) {
      const message = "there is no terminal to ask on: read the above, then use --yes";
      throw new RemoraError({ code: `${place.split(" ", 1)[0]}.unasked`, place, message });
    }
    const terminal = createInterface({ input: process.stdin, output: process.stderr });
    try {
      return await terminal.question(question);
    } finally {
      terminal.close();
    }
  };
}

export async function isAgreed(question: string, ask: AskQuestion): Promise<boolean> {
  return /^y(?:es)?$/i.test((await ask(`${question} [y/N] `)).trim());
}
