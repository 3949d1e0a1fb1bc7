import { messageOf } from "../lib/errors.ts";
import { readLines } from "../lib/text/read-lines.ts";

export type InputLine = { number: number; value: unknown } | { number: number; problem: string };

/** Skips blank lines. Yields a problem for invalid JSON so that every line gets an answer. */
export async function* readJsonLines(input: NodeJS.ReadableStream): AsyncGenerator<InputLine> {
  let number = 0;
  for await (const line of readLines(input)) {
    number++;
    if (line.trim() === "") continue;
    try {
      yield { number, value: JSON.parse(line) as unknown };
    } catch (thrown) {
      yield { number, problem: `line ${number} is not valid JSON: ${messageOf(thrown)}` };
    }
  }
}
