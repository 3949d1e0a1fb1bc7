import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cosine, nearestBySigns, quantize, signsOf, signWords } from "../../src/memory/vectors.ts";

const number = fc.double({ min: -1, max: 1, noNaN: true }).map((value) => Math.fround(value) + 0);
const vectors = fc
  .integer({ min: 1, max: 70 })
  .chain((length) =>
    fc.array(fc.array(number, { minLength: length, maxLength: length }), { minLength: 1, maxLength: 40 }),
  );

describe("vectors", () => {
  test("keep their cosines when they are quantized, within two percent", () => {
    const next = numbers();
    for (let run = 0; run < 50; run++) {
      const [one, other] = [0, 1].map(() => Float32Array.from({ length: 384 }, () => next() - 0.4));
      if (one === undefined || other === undefined) throw new Error("no vectors");
      expect(cosine(quantize(one), quantize(other))).toBeCloseTo(cosine(one, other), 1.7);
    }
  });

  test("point the same way after quantizing, whatever their length, and zeros have no direction", () => {
    fc.assert(
      fc.property(vectors, ([values = []]) => {
        const vector = Float32Array.from(values);
        const similarity = cosine(quantize(vector), quantize(vector));
        const isZero = values.every((value) => value === 0);
        expect(similarity).toBeCloseTo(isZero ? 0 : 1, 5);
        expect(Math.max(...quantize(vector).map(Math.abs))).toBe(isZero ? 0 : 127);
      }),
    );
  });

  test("are chosen by their signs exactly as by counting them one by one", () => {
    fc.assert(
      fc.property(vectors, fc.integer({ min: 1, max: 50 }), (all, limit) => {
        const [asked = []] = all;
        const words = signWords(asked.length);
        const table = new Int32Array(all.length * words);
        for (const [row, one] of all.entries()) table.set(signsOf(one), row * words);
        const distance = (row: number) =>
          asked.filter((value, index) => value > 0 !== (all[row]?.[index] ?? 0) > 0).length;
        const expected = all
          .map((_, row) => row)
          .sort((one, other) => distance(one) - distance(other) || one - other)
          .slice(0, limit);
        expect(nearestBySigns(table, signsOf(asked), limit)).toEqual(expected);
      }),
    );
  });

  test("of nothing are none", () => {
    expect(nearestBySigns(new Int32Array(0), signsOf([1, -1]), 5)).toEqual([]);
    expect(nearestBySigns(new Int32Array(0), new Int32Array(0), 5)).toEqual([]);
  });
});

/** Park–Miller, so that a failure can be repeated. */
function numbers(): () => number {
  let state = 42;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
