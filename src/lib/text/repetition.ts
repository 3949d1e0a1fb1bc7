/**
 * Notices a text that repeats itself without end, as small models do: its tail is one unit, again and again. Tables, lists, code and
 * songs repeat themselves too, but not exactly, or not for so long.
 */

export interface RepetitionWatch {
  /** True once the text so far ends in a repetition. */
  add(piece: string): boolean;
}

/** Longer units are not looked for. */
const maxUnit = 4_000;
/** So that a unit of any length stands there at least four times. */
const extraUnits = 3;
/** A look at the tail costs as much as some hundred characters. */
const charactersBetweenLooks = 250;

/** `minCharacters`: how long the repetition must be, besides three of its units. */
export function createRepetitionWatch(minCharacters: number): RepetitionWatch {
  const kept = minCharacters + extraUnits * maxUnit;
  let tail = "";
  let unseen = 0;
  return {
    add(piece) {
      tail += piece;
      unseen += piece.length;
      if (unseen < charactersBetweenLooks) return false;
      unseen = 0;
      tail = tail.slice(-kept);
      return unitAtEnd(tail, minCharacters) !== undefined;
    },
  };
}

/** The text with the first unit of the repetition at its end, and without the others. */
export function withoutRepetition(text: string, minCharacters: number): string {
  const unit = unitAtEnd(text.slice(-minCharacters - extraUnits * maxUnit), minCharacters);
  if (unit === undefined) return text;
  let start = text.length - unit;
  while (start > 0 && text[start - 1] === text[start - 1 + unit]) start -= 1;
  return text.slice(0, start + unit).trimEnd();
}

/** Length of the unit that the tail repeats. */
function unitAtEnd(tail: string, minCharacters: number): number | undefined {
  const lengths = commonEnds(tail);
  for (let unit = 1; unit <= maxUnit; unit += 1) {
    // The tail has the period `unit` as far back as it equals itself, moved by one unit.
    if (unit + (lengths[unit] ?? 0) >= minCharacters + extraUnits * unit) return unit;
  }
  return undefined;
}

/** For each distance from the end: how many characters before it equal those at the end (the Z function of the reversed text). */
function commonEnds(text: string): Uint32Array {
  const { length } = text;
  const lengths = new Uint32Array(length);
  const at = (index: number) => text.charCodeAt(length - 1 - index);
  let [left, right] = [0, 0];
  for (let index = 1; index < length; index += 1) {
    let common = index < right ? Math.min(right - index, lengths[index - left] ?? 0) : 0;
    while (index + common < length && at(common) === at(index + common)) common += 1;
    lengths[index] = common;
    if (index + common > right) [left, right] = [index, index + common];
  }
  return lengths;
}
