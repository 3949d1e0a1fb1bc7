import { expect, test } from "vitest";
import { formatNumber } from "../../../src/lib/text/format-number.ts";

test.each([0, 7, 999, 1_000, 12_345, 123_456, 1_234_567, -1_234, -123, 1.5, 1_234.567])(
  "%d is shown as in English",
  (value) => {
    expect(formatNumber(value)).toBe(value.toLocaleString("en"));
  },
);
