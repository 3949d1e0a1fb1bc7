/**
 * Shrinks vectors to a quarter of their size: one byte per component. The signs alone, one bit per component, suffice
 * to choose candidates, and are fast enough for 100,000 passages (docs/decisions/19-vectors-without-an-extension.md).
 */

/** Scales the vector so that its largest component is 127. Cosines hardly change. */
export function quantize(vector: Float32Array): Int8Array {
  let largest = 0;
  for (const value of vector) largest = Math.max(largest, Math.abs(value));
  const scale = largest === 0 ? 0 : 127 / largest;
  return Int8Array.from(vector, (value) => Math.round(value * scale));
}

/** One bit per component: whether it is positive. */
export function signsOf(vector: ArrayLike<number>): Int32Array {
  const signs = new Int32Array(signWords(vector.length));
  for (let index = 0; index < vector.length; index++) {
    const word = index >> 5;
    if ((vector[index] ?? 0) > 0) signs[word] = (signs[word] ?? 0) | (1 << (index & 31));
  }
  return signs;
}

export function signWords(dimensions: number): number {
  return (dimensions + 31) >> 5;
}

export function cosine(one: ArrayLike<number>, other: ArrayLike<number>): number {
  let [product, ofOne, ofOther] = [0, 0, 0];
  for (let index = 0; index < one.length; index++) {
    const [a, b] = [one[index] ?? 0, other[index] ?? 0];
    product += a * b;
    ofOne += a * a;
    ofOther += b * b;
  }
  return ofOne === 0 || ofOther === 0 ? 0 : product / Math.sqrt(ofOne * ofOther);
}

/** Returns the positions of the `limit` vectors in `table` whose signs differ least from `asked`. */
export function nearestBySigns(table: Int32Array, asked: Int32Array, limit: number): number[] {
  const words = asked.length;
  const count = words === 0 ? 0 : Math.floor(table.length / words);
  const distances = new Uint16Array(count);
  const rowsByDistance = new Uint32Array(words * 32 + 1);
  for (let row = 0; row < count; row++) {
    let distance = 0;
    for (let word = 0, at = row * words; word < words; word++, at++)
      distance += bitsIn((table[at] ?? 0) ^ (asked[word] ?? 0));
    distances[row] = distance;
    rowsByDistance[distance] = (rowsByDistance[distance] ?? 0) + 1;
  }
  const wanted = Math.min(limit, count);
  let [farthest, within] = [0, rowsByDistance[0] ?? 0];
  while (within < wanted) within += rowsByDistance[++farthest] ?? 0;
  const near: number[] = [];
  for (let row = 0; row < count; row++) if ((distances[row] ?? 0) <= farthest) near.push(row);
  return near.sort((one, other) => (distances[one] ?? 0) - (distances[other] ?? 0) || one - other).slice(0, wanted);
}

function bitsIn(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
