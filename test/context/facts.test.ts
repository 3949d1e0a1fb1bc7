import fc from "fast-check";
import { expect, test } from "vitest";
import { factsIn, lostFacts } from "../../src/context/facts.ts";
import { runs } from "../faults/share.ts";

test.each([
  ["the plan is in reports/q3/final-plan.csv, see it", ["reports/q3/final-plan.csv"]],
  ["open ~/notes/todo.md and ../lib/a.ts.", ["~/notes/todo.md", "../lib/a.ts"]],
  ["look at /etc/hosts and README.md", ["/etc/hosts", "README.md"]],
  ["https://example.com/a?b=1 says so", ["https://example.com/a?b=1"]],
  ["it costs 48,500 EUR or €1.2 million, 20% less", ["48,500 EUR", "€1.2 million", "20%"]],
  ["wait 500ms, then 3 hours; the disk has 2 TB", ["500ms", "3 hours", "2 TB"]],
  ["am 3. Mai um 14 Uhr, Preis 1.200,50 €", ["14 Uhr", "1.200,50 €"]],
  ["docs/überblick.md is ready", ["docs/überblick.md"]],
])("%j has the facts %j", (text, facts) => {
  expect(factsIn(text)).toEqual(facts);
});

test.each(["yes and/or no", "he/she said 1/2", "3 apples, version two", "e.g. this", "Hello. World", "a 5 b"])(
  "%j has no fact",
  (text) => {
    expect(factsIn(text)).toEqual([]);
  },
);

test("a number is lost if the summary has only a longer one, and not if it is written in another way", () => {
  expect(lostFacts(["€5"], "it costs €50", 9)).toEqual(["€5"]);
  expect(lostFacts(["48 500 EUR", "500ms"], "costs 48'500 EUR, waits 500 ms", 9)).toEqual([]);
  expect(lostFacts(["a/b.md", "C/d.md", "a/b.md"], "c/d.md", 9)).toEqual(["a/b.md"]);
  expect(lostFacts(["a/b1.md", "a/b2.md", "a/b3.md"], "", 2)).toEqual(["a/b1.md", "a/b2.md"]);
});

const pieces = fc.constantFrom(
  "a",
  "/",
  ".",
  "..",
  "~",
  "-",
  " ",
  "5",
  ",",
  "€",
  "%",
  "km",
  "_",
  "@",
  "md",
  "\n",
  "ü",
  "http://",
);
const hostile = fc.oneof(
  fc.string({ maxLength: 300 }),
  fc.array(pieces, { maxLength: 300 }).map((parts) => parts.join("")),
);

test("any text has facts of limited length, on one line, that are in the text", () => {
  fc.assert(
    fc.property(hostile, (text) => {
      for (const fact of factsIn(text)) {
        expect(text).toContain(fact);
        expect(fact.length).toBeLessThanOrEqual(160);
        expect(fact).not.toMatch(/[\r\n<>]/);
      }
      expect(lostFacts(factsIn(text), text, 1_000)).toEqual([]);
    }),
    { numRuns: runs(2_000) },
  );
});

test.each([
  "a/".repeat(10_000),
  "1,".repeat(10_000),
  "a.".repeat(10_000),
  "../".repeat(10_000),
  "a".repeat(20_000),
  "1 ".repeat(10_000),
])("a text made to be slow is searched", (text) => {
  expect(factsIn(text).length).toBeLessThan(20_000);
});
