import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { allocate, type ContextItem } from "../../src/context/budget.ts";
import { shares } from "./world.ts";

const candidate: fc.Arbitrary<ContextItem> = fc.record({
  section: fc.constantFrom("always", "identity", "prefrontal", "memory", "skills", "history"),
  name: fc.string(),
  score: fc.double({ min: 0, max: 1, noNaN: true }),
  tokens: fc.integer({ min: 0, max: 4_000 }),
  isMandatory: fc.boolean(),
});
const anyShares = fc
  .array(fc.integer({ min: 0, max: 100 }), { minLength: 4, maxLength: 4 })
  .map((cuts) => [0, ...cuts.toSorted((one, other) => one - other), 100])
  .map(([a = 0, b = 0, c = 0, d = 0, e = 0, f = 0]) => ({
    identity: b - a,
    prefrontal: c - b,
    memory: d - c,
    skills: e - d,
    history: f - e,
  }));

function piece(section: ContextItem["section"], tokens: number, score = 1, isMandatory = false): ContextItem {
  return { section, name: `${section} ${tokens}`, score, tokens, isMandatory };
}

function kept(total: number, candidates: ContextItem[]): ContextItem[] {
  return allocate(total, shares, candidates).decisions.flatMap((made) => (made.isKept ? [made.candidate] : []));
}

describe("the budget", () => {
  test("is never exceeded, except by what is mandatory", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 40_000 }), anyShares, fc.array(candidate), (total, some, candidates) => {
        const { decisions, usedTokens, table } = allocate(total, some, candidates);
        const mandatory = candidates.filter((one) => one.isMandatory).reduce((sum, one) => sum + one.tokens, 0);
        const sum = decisions.reduce((all, made) => all + (made.isKept ? made.candidate.tokens : 0), 0);
        expect(usedTokens).toBe(sum);
        expect(table.reduce((all, row) => all + row.used, 0)).toBe(sum);
        expect(sum).toBeLessThanOrEqual(Math.max(total, mandatory));
        expect(decisions.map((made) => made.candidate)).toEqual(
          candidates.filter((one) => one.isMandatory || one.section !== "always"),
        );
        expect(decisions.every((made) => made.isKept || !made.candidate.isMandatory)).toBe(true);
      }),
    );
  });

  test("keeps a section within its share, however much it could use", () => {
    const hits = Array.from({ length: 50 }, () => piece("memory", 100));
    expect(kept(10_000, hits).length).toBe(30);
  });

  test("gives what others do not use to history", () => {
    const exchanges = Array.from({ length: 200 }, (_, index) => piece("history", 100, index));
    expect(kept(10_000, exchanges).length).toBe(100);
    expect(kept(10_000, [...exchanges, piece("memory", 3_000)]).length).toBe(51);
  });

  test("prefers the better score and still uses the rest for smaller ones", () => {
    const [worse, best, small] = [piece("memory", 2_000, 0.4), piece("memory", 2_000, 0.9), piece("memory", 900, 0.1)];
    expect(kept(10_000, [worse, best, small])).toEqual([best, small]);
  });

  test("a history that does not fit is halved, and halved again, so that the prompt changes seldom", () => {
    const [old, tooBig, newest] = [piece("history", 10, 0.1), piece("history", 9_999, 0.5), piece("history", 10, 1)];
    expect(kept(1_000, [old, tooBig, newest])).toEqual([newest]);
    const { decisions } = allocate(1_000, shares, [old, tooBig, newest]);
    expect(decisions.map((made) => made.reason)).toEqual([
      "all together need 10019 tokens, 1000 left",
      "all together need 10019 tokens, 1000 left",
      "fits",
    ]);
  });

  test("leaves history its part when the running turn takes most of the prompt", () => {
    const turn = piece("always", 9_000, 1, true);
    const hits = Array.from({ length: 50 }, () => piece("memory", 50));
    const exchanges = Array.from({ length: 50 }, () => piece("history", 50));
    const sections = kept(10_000, [turn, ...hits, ...exchanges]).map((one) => one.section);
    expect(sections.filter((section) => section === "memory").length).toBe(8);
    expect(sections.filter((section) => section === "history").length).toBe(12);
  });
});
