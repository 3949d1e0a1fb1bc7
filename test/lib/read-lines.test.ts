import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { readLines } from "../../src/lib/text/read-lines.ts";

async function linesOf(input: Readable): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of readLines(input)) lines.push(line);
  return lines;
}

test("lines end at line ends only, in whatever pieces they come", async () => {
  const text = `{"a":"one\u2028two\u2029three"}\r\n\n{"b":"é"}`;
  for (const size of [1, 2, 3, 100]) {
    const bytes = Buffer.from(text);
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    );
    expect(await linesOf(Readable.from(pieces))).toEqual([`{"a":"one\u2028two\u2029three"}`, "", `{"b":"é"}`]);
  }
});
