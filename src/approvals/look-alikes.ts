/**
 * Finds letters that pass for Latin ones, as in a package name with a Cyrillic letter. They survive normalization, so a
 * word with letters of two alphabets is suspicious.
 */

/** For regular expressions with the flag `u`. */
export const foreignLetter = String.raw`[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]`;
const foreign = new RegExp(foreignLetter, "u");
const foreigners = new RegExp(foreignLetter, "gu");
const latin = /\p{Script=Latin}/u;
const alphabets = ["Cyrillic", "Greek", "Armenian", "Cherokee"] as const;
const byAlphabet = alphabets.map((name) => ({ name, letter: new RegExp(`\\p{Script=${name}}`, "u") }));

/** The Latin letters that people read instead. */
const readAs: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ...["аa", "еe", "оo", "рp", "сc", "уy", "хx", "іi", "јj", "ѕs", "һh", "ԁd", "ԛq", "ԝw", "ӏl", "кk", "ѵv"],
    ...["АA", "ВB", "ЕE", "КK", "МM", "НH", "ОO", "РP", "СC", "ТT", "ХX", "УY", "ІI", "ЈJ", "ЅS"],
    ...["οo", "νv", "αa", "ιi", "κk", "ρp", "υu", "χx", "ΑA", "ΒB", "ΕE", "ΖZ", "ΗH", "ΙI", "ΚK", "ΜM", "ΝN"],
    ...["ΟO", "ΡP", "ΤT", "ΥY", "ΧX", "օo", "սu", "հh", "ոn"],
  ].map((pair) => [...pair] as [string, string]),
);

const maxShownLetters = 40;
const maxNamedLetters = 3;

/** The positions, in UTF-16 units, of letters from other alphabets in words that also have Latin letters. */
export function lookAlikePositions(text: string): Set<number> {
  const positions = new Set<number>();
  if (!foreign.test(text)) return positions;
  for (const { 0: word, index } of text.matchAll(/\p{L}+/gu)) {
    if (!latin.test(word)) continue;
    for (const found of word.matchAll(foreigners)) positions.add(index + found.index);
  }
  return positions;
}

/** A warning about the first such word, or undefined. `safe` makes text safe for a card. */
export function lookAlikeWarning(texts: readonly string[], safe: (text: string) => string): string | undefined {
  for (const text of texts) {
    if (!foreign.test(text)) continue;
    for (const [word] of text.matchAll(/\p{L}+/gu)) {
      const letters = [...new Set(word.match(foreigners) ?? [])];
      if (letters.length > 0 && latin.test(word))
        return `${wordText(word, letters, safe)} Deny it unless you expect this.`;
    }
  }
  return undefined;
}

function wordText(word: string, letters: string[], safe: (text: string) => string): string {
  const named = letters.slice(0, maxNamedLetters).map(letterName).join(", ");
  const more = letters.length > maxNamedLetters ? " and others" : "";
  const which = `${letters.length === 1 ? "a look-alike letter" : "look-alike letters"}, ${named}${more}`;
  const begin = (text: string) => [...text].slice(0, maxShownLetters).join("");
  if (letters.some((letter) => readAs[letter] === undefined))
    return `“${safe(begin(word))}” mixes alphabets. It has ${which}.`;
  const latinWord = [...word].map((letter) => readAs[letter] ?? letter).join("");
  return `This is not “${safe(begin(latinWord))}”. It has ${which}.`;
}

function letterName(letter: string): string {
  const alphabet = byAlphabet.find((each) => each.letter.test(letter))?.name ?? "another alphabet";
  return `U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")} (${alphabet})`;
}
