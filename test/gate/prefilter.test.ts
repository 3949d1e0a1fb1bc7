/** The prefilter decides which patterns are tried at all. One that it leaves out wrongly would be a call that nobody judges. */
import fc from "fast-check";
import { RE2JS, RE2Set } from "re2js";
import { describe, expect, test } from "vitest";
import { createDeadline } from "../../src/gate/deadline.ts";
import { readPattern } from "../../src/gate/pattern-compiler.ts";
import { createPatternSet } from "../../src/gate/pattern-set.ts";
import { atomsOf } from "../../src/gate/prefilter.ts";
import { runWithin } from "../../src/gate/time-limit.ts";
import { runs } from "../faults/share.ts";

const anHour = 3_600_000;

describe("atoms", () => {
  test.each([
    ["rm -rf /", [["rm -rf /"]]],
    ["^shell_exec .*rm", [["^shell_exec ", "rm"]]],
    ["git\\s+push|npm install", [["git\\s", "\\spush"], ["npm install"]]],
    ["(?:^|[\\s;])ch(?:mod|own)\\s", [["(?:^|[\\s;])ch(?:mod|own)\\s"]]],
    ['\\.\\.(?:[/\\\\"])', [['\\.\\.(?:[/\\\\"])']]],
    ["ab?cd", [["cd"]]],
    ["(ab|cd)+x", [["(?:ab|cd)", "(?:ab|cd)x"]]],
    ["(?:ab*c|d)efg", [["efg"]]],
    ["(a+)+$", undefined],
    ["a|bcd", undefined],
    ["(ab)\\1", undefined],
    ["[]a]bc", undefined],
    ["😀+abc", undefined],
  ])("of %s", (pattern, wanted) => {
    const sorted = (atoms: string[][] | undefined) => atoms?.map((branch) => [...branch].sort());
    expect(sorted(atomsOf(pattern, false))).toEqual(sorted(wanted));
  });

  test("of a pattern for JavaScript's engine are made of what both engines read alike", () => {
    expect(atomsOf("(?!x)abc.def[^g]hié", true)).toEqual([["abc", "def", "hi"]]);
  });
});

const piece = fc.constantFrom(
  ...'a b ab ba aab \\s \\S \\d \\w \\b \\B [ab] [^a] [^a\\s] . \\. é ſ s k ^ $ - / " 1 (?=a) (?!b) (?<=a) (a)\\1 \\x61'.split(
    " ",
  ),
);
const quantified = fc
  .tuple(piece, fc.constantFrom("", "", "", "+", "*", "?", "{1,2}", "{0,1}", "{2}", "+?"))
  .map(([atom, times]) => atom + (/^[$^]$|\\b$|\\B$|^\(\?/.test(atom) ? "" : times));
const { pattern } = fc.letrec<{ pattern: string; group: string }>((tie) => ({
  group: fc
    .tuple(
      fc.constantFrom("(", "(?:"),
      tie("pattern"),
      fc.constantFrom("", "|ab", "|b+"),
      fc.constantFrom("", "+", "?"),
    )
    .map(([open, inner, other, times]) => `${open}${inner}${other})${times}`),
  pattern: fc
    .array(fc.oneof({ depthSize: "small" }, quantified, tie("group")), { minLength: 1, maxLength: 5 })
    .map((parts) => parts.join("")),
}));
const text = fc
  .array(fc.constantFrom(...'a,b,ab,ba,aab,A,1, ,\n,é,ſ,K,s,k,.,-,/,",😀'.split(",")), { maxLength: 14 })
  .map((parts) => parts.join(""));

/** Far below the 50 ms after which the set counts an expression as found, whether it is or not. */
const quickMs = 5;

function isFound(source: string, given: string): boolean | "slow" {
  const readings = readPattern(source);
  if (readings === undefined) return false;
  const { re2, javascript } = readings;
  const set = new RE2Set(RE2Set.UNANCHORED, RE2JS.CASE_INSENSITIVE);
  if (re2 !== undefined) set.add(re2);
  const isByRe2 = re2 !== undefined && set.match(given).length > 0;
  if (isByRe2 || javascript === undefined) return isByRe2;
  return runWithin(quickMs, () => new RegExp(javascript, "i").test(given))?.value ?? "slow";
}

describe("whatever the patterns and the text", () => {
  test("exactly those are found that match by themselves", () => {
    fc.assert(
      fc.property(fc.array(pattern, { minLength: 1, maxLength: 4 }), text, (sources, given) => {
        const found = sources.map((source) => isFound(source, given));
        // The counted-out ones take exponential time, so the set may say either.
        const isQuick = (index: number) => found[index] !== "slow";
        const wanted = [...found.keys()].filter((index) => found[index] === true);
        const set = createPatternSet(sources.map(readPattern));
        const hits = [...set.match([given], createDeadline(anHour)).first.keys()];
        expect(hits.filter(isQuick).sort()).toEqual(wanted);
      }),
      { numRuns: runs(400) },
    );
  });

  test("also in a long text, wherever in it the match is", () => {
    const sources = ["rm -rf /", "(?:^|[\\s;&])dd\\s", "git\\s+push\\b", "x\\$end", "\\bkill\\s.*-9", "^tool start"];
    const set = createPatternSet(sources.map(readPattern));
    const found = (given: string) => [...set.match([given], createDeadline(anHour)).first.keys()].sort();
    const needle = " rm -rf / dd git push x$end kill -9 ";
    fc.assert(
      fc.property(fc.nat(200_000), fc.constantFrom("a", "é", "汉", "😀"), (before, filler) => {
        const long = filler.repeat(before) + needle + filler.repeat(3_000);
        expect(found(long)).toEqual([0, 1, 2, 3, 4]);
        expect(found(`tool start${long}`)).toEqual([0, 1, 2, 3, 4, 5]);
        expect(found(filler.repeat(before))).toEqual([]);
      }),
      { numRuns: 20 },
    );
  });
});
