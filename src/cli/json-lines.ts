/** JSON lines on standard input, for commands that answer one line each. */
import { createInterface } from "node:readline";
import { messageOf } from "../lib/errors.ts";

export type InputLine = { number: number; value: unknown } | { number: number; problem: string };

/** Blank lines are skipped; a line that is no JSON is given as a problem, so that every line gets its answer. */
export async function* readJsonLines(input: NodeJS.ReadableStream): AsyncGenerator<InputLine> {
  let number = 0;
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    number++;
    if (line.trim() === "") continue;
    try {
      yield { number, value: JSON.parse(line) as unknown };
    } catch (thrown) {
      yield { number, problem: `line ${number} is no JSON: ${messageOf(thrown)}` };
    }
  }
}
