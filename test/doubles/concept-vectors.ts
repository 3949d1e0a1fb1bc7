/** Deterministic vectors in which synonyms of a small list are equal. Stands in for a model; says nothing about one. */
import { createHash } from "node:crypto";

const synonyms = `
dog puppy canine hound|boat ship vessel yacht|buy purchase acquire|adopt adopted|paint painted|repair fix mend repaired
|holiday vacation leave|car automobile vehicle|doctor physician|red crimson scarlet|allergic intolerant sick
|peanuts nuts groundnuts|begin start commence|meeting call appointment|boss manager supervisor|child kid toddler`;

const concepts = new Map(
  synonyms.split("|").flatMap((line) => {
    const words = line.trim().split(/\s+/);
    return words.map((word) => [word, words[0] ?? word] as const);
  }),
);
const stopWords = new Set(
  "a an and are did do does for has have how i in is it my of on our the to was what when where which who with you your about we".split(
    " ",
  ),
);
const directions = new Map<string, Float64Array>();

export function conceptVector(text: string, dimensions: number): number[] {
  const sum = new Float64Array(dimensions);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ["nothing"]) {
    const weight = stopWords.has(word) ? 0.05 : 1;
    const direction = directionOf(concepts.get(word) ?? word, dimensions);
    for (let index = 0; index < dimensions; index++) sum[index] = (sum[index] ?? 0) + weight * (direction[index] ?? 0);
  }
  const length = Math.hypot(...sum);
  return Array.from(sum, (value) => value / length);
}

/** Pseudo-random directions are nearly orthogonal. */
function directionOf(concept: string, dimensions: number): Float64Array {
  const key = `${dimensions} ${concept}`;
  const known = directions.get(key);
  if (known !== undefined) return known;
  const direction = new Float64Array(dimensions);
  for (let index = 0; index < dimensions; index += 32) {
    const bytes = createHash("sha256").update(`${index} ${concept}`).digest();
    for (let byte = 0; byte < 32 && index + byte < dimensions; byte++)
      direction[index + byte] = (bytes[byte] ?? 0) - 127.5;
  }
  directions.set(key, direction);
  return direction;
}
