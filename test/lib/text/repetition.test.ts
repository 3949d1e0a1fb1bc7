import fc from "fast-check";
import { expect, test } from "vitest";
import { createRepetitionWatch, withoutRepetition } from "../../../src/lib/text/repetition.ts";

const min = 2_000;

/** How much of the text came before the watch noticed, or undefined. */
function noticedAfter(text: string, pieceLength = 4): number | undefined {
  const watch = createRepetitionWatch(min);
  for (let at = 0; at < text.length; at += pieceLength)
    if (watch.add(text.slice(at, at + pieceLength))) return at + pieceLength;
  return undefined;
}

const row = (index: number) => `| ${index} | item ${index * 7} | ${index % 3 === 0 ? "yes" : "no"} | open |\n`;
const times = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => make(i)).join("");

test.each([
  ["a word", "ISIS-"],
  ["a letter", "a"],
  ["empty lines", "\n"],
  ["a sentence", "I will look into the folder now. "],
  ["a Chinese paragraph", "大连是一个综合性的城市，其中包括商业、科技、文化、教育、医疗、服务等多方面。\n\n"],
  ["an emoji", "🎂"],
  ["three lines", "May your life be filled with joy.\nHappy birthday to you!🎂\nHave a great day.\n"],
  ["a whole answer", `${times(40, (index) => `Step ${index}: open the file and read it. `)}\n`],
])("a text that repeats %s for ever is noticed, and keeps it once", (_what, unit) => {
  const text = `Of course, Ann.\n\n${unit.repeat(5_000)}`.slice(0, 40_000);
  const after = noticedAfter(text) ?? Number.POSITIVE_INFINITY;
  expect(after).toBeLessThan(min + 4 * unit.length + 300);
  const rest = withoutRepetition(text.slice(0, after), min);
  expect(rest).toBe(`Of course, Ann.\n\n${unit === "\n" ? "" : unit}`.trimEnd());
});

test.each([
  ["a long table", times(400, row)],
  ["a table with empty cells", `| a | b |\n|---|---|\n${"| | |\n".repeat(250)}`],
  ["a checklist", times(300, (index) => `- [ ] task ${index}\n`)],
  ["a poem that laughs", "ha ha ha, ".repeat(150)],
  ["code with the same line again and again", `\`\`\`\n${"  push(0);\n".repeat(150)}\`\`\``],
  ["numbers", times(2_000, (index) => `${index}, `)],
  ["a song with a chorus", times(12, (index) => `Verse ${index}.\n${"La la la, we sing along.\n".repeat(8)}`)],
])("%s is no repetition without end", (_what, text) => {
  expect(noticedAfter(text)).toBeUndefined();
  expect(withoutRepetition(text, min)).toBe(text);
});

test("nothing is noticed unless the end is one unit at least four times, and what is cut is only repetition", () => {
  const text = fc.tuple(
    fc.string({ unit: "binary", maxLength: 60 }),
    fc.string({ unit: "binary", minLength: 1, maxLength: 700 }),
    fc.nat(40),
  );
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 300 }), ([start, unit, count], pieceLength) => {
      const said = start + unit.repeat(count);
      const after = noticedAfter(said, pieceLength);
      if (said.length < min) expect(after).toBeUndefined();
      if (after === undefined) return;
      const shown = said.slice(0, after);
      const kept = withoutRepetition(shown, min);
      expect(shown.startsWith(kept)).toBe(true);
      // What is left out repeats what stands before it.
      const period =
        [...Array(1_001).keys()].slice(1).find((p) => shown.slice(-min - p, -p) === shown.slice(-min)) ?? 0;
      expect(period).toBeGreaterThan(0);
    }),
    { numRuns: 25 },
  );
});
