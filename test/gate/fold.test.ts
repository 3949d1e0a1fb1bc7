import fc from "fast-check";
import { expect, test } from "vitest";
import { createDeadline } from "../../src/gate/deadline.ts";
import { foldCharacters } from "../../src/gate/fold.ts";
import { runs } from "../faults/share.ts";

const anHour = 3_600_000;

/** As Unicode says it, over the whole text. */
function asDefined(text: string): string {
  const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}]|(?!\s)\p{Cc}/gu;
  const visible = text.replace(invisible, "").replace(/(\p{M}{30})\p{M}+/gu, "$1");
  return visible
    .normalize("NFKC")
    .replace(invisible, "")
    .replace(/[^\S\n\r\t ]/g, " ");
}

const ranges: [number, number][] = [
  [0, 0xff],
  [0x300, 0x330],
  [0x900, 0x97f],
  [0xf00, 0xfbf],
  [0x1100, 0x11ff],
  [0x2000, 0x20ff],
  [0x3040, 0x30ff],
  [0xac00, 0xac40],
  [0xd800, 0xdfff],
  [0xfb00, 0xffff],
  [0x1d400, 0x1d500],
  [0xe0000, 0xe007f],
  [0, 0x2ffff],
];
const character = fc.oneof(
  ...ranges.map(([min, max]) => fc.integer({ min, max }).map((code) => String.fromCodePoint(code))),
);

test("folding part by part gives what folding the whole gives", () => {
  fc.assert(
    fc.property(fc.array(character, { maxLength: 14 }), (characters) => {
      const text = characters.join("");
      expect(foldCharacters(text, createDeadline(anHour))).toBe(asDefined(text));
    }),
    { numRuns: runs(10_000) },
  );
});

test.each([
  ["wide letters", "ｒｍ　－ｒｆ", "rm -rf"],
  ["invisible characters", "r\u200bm\u2060 -rf", "rm -rf"],
  ["combining marks", "e\u0301", "é"],
  ["a ligature for a phrase", "\ufdfa", "صلى الله عليه وسلم"],
])("%s in a long text fold as in a short one", (_name, written, folded) => {
  const around = "汉字 und Prosa. ".repeat(20_000);
  expect(foldCharacters(`${around}${written} ${around}`, createDeadline(anHour))).toBe(`${around}${folded} ${around}`);
});
