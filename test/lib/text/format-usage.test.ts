import fc from "fast-check";
import { expect, test } from "vitest";
import { formatNumber } from "../../../src/lib/text/format-number.ts";
import { cachedShare, formatDollars, tokensText } from "../../../src/lib/text/format-usage.mjs";
import type { Usage } from "../../../src/ports/provider.ts";

test.each([
  [0, "$0.00"],
  [0.00234, "$0.00234"],
  [0.0123456, "$0.0123"],
  [0.02, "$0.02"],
  [0.2, "$0.20"],
  [0.347, "$0.347"],
  [1.5, "$1.50"],
  [2, "$2.00"],
  [9.999, "$10"],
  [10, "$10"],
  [12.34, "$12.3"],
  [99.96, "$100"],
  [100.01, "$100"],
  [1234.5, "$1,235"],
  [1_000_000, "$1,000,000"],
  [0.00001234, "$0.0000123"],
  [0.0000001, "<$0.000001"],
  [-0.5, "-$0.50"],
  [Number.NaN, "$?"],
  [Number.POSITIVE_INFINITY, "$?"],
])("%s dollars are written as %s", (amount, text) => {
  expect(formatDollars(amount)).toBe(text);
});

test("what is written is within half a unit of the third digit of the amount, whatever the amount", () => {
  fc.assert(
    fc.property(fc.double({ min: 0.000001, max: 1e9, noNaN: true }), (amount) => {
      const written = Number(formatDollars(amount).replace(/[$,]/g, ""));
      expect(Math.abs(written - amount)).toBeLessThanOrEqual(amount * 0.00501);
    }),
  );
});

const usage = (
  inputTokens: unknown,
  cacheReadTokens: unknown,
  cacheWriteTokens: unknown,
  outputTokens: unknown = 300,
) => ({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }) as Usage;

test.each([
  ["a part", usage(200, 4_100, 900), "5,200 in, 300 out; 4,100 of 5,200 from the cache (78 %), 900 written to it"],
  ["nothing yet", usage(200, 0, 5_000), "5,200 in, 300 out; nothing from the cache, 5,000 written to it"],
  ["reads alone", usage(0, 5_200, 0), "5,200 in, 300 out; 5,200 of 5,200 from the cache (100 %)"],
  ["nearly everything", usage(1, 5_199, 0), "5,200 in, 300 out; 5,199 of 5,200 from the cache (99 %)"],
  ["hardly anything", usage(9_999, 1, 0), "10,000 in, 300 out; 1 of 10,000 from the cache (less than 1 %)"],
  ["no word of a cache", usage(5_200, 0, 0), "5,200 in, 300 out"],
  ["an old record without counts of a cache", usage(5_200, undefined, undefined), "5,200 in, 300 out"],
  ["nothing at all", usage(0, 0, 0, 0), "0 in, 0 out"],
  ["counts that can't be", usage(-5, Number.NaN, Number.POSITIVE_INFINITY, null), "0 in, 0 out"],
  ["huge counts", usage(9e15, 9e15, 0), /^18,000,000,000,000,000 in, 300 out; 9,.* from the cache \(50 %\)$/],
])("what a call used is said in words: %s", (_name, used, said) => {
  const text = tokensText([used], formatNumber);
  if (typeof said === "string") expect(text).toBe(said);
  else expect(text).toMatch(said);
});

test("a share of the cache is between nothing and everything, whatever a service counts", () => {
  const count = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(null, undefined, "7", 1e308));
  fc.assert(
    fc.property(count, count, count, (input, read, written) => {
      const share = cachedShare([usage(input, read, written)]) ?? "0 %";
      expect(share).toMatch(/^(?:less than 1|\d{1,2}|100) %$/);
    }),
  );
});
