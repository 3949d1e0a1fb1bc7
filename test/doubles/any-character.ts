/**
 * Any code point except surrogates, as a unit of drawn strings. fast-check's own unit "binary" makes tables of a million
 * characters first, which takes a second and stays in the memory of the worker.
 */
import fc from "fast-check";

const highestCodePoint = 0x10ffff;
const firstSurrogate = 0xd800;
const surrogates = 0x800;

export const anyCharacter = fc.integer({ min: 0, max: highestCodePoint - surrogates }).map(
  (number) => String.fromCodePoint(number < firstSurrogate ? number : number + surrogates),
  (character) => {
    if (typeof character !== "string" || [...character].length !== 1) throw new Error("not a character");
    const number = character.codePointAt(0) ?? 0;
    return number < firstSurrogate ? number : number - surrogates;
  },
);
