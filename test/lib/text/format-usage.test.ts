import fc from "fast-check";
import { expect, test } from "vitest";
import { formatDollars } from "../../../src/lib/text/format-usage.mjs";

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
