/** Folds text to NFKC without invisible characters and with one kind of blank so that patterns match disguises. */
import type { Deadline } from "./deadline.ts";

/** Folding can turn one character into 18. */
const maxFoldedCharacters = 2_097_152;
const chunkCharacters = 16_384;

const spaces = / \s+|[^\S ]\s*/g;
// Format characters, other characters without a visible form, and controls that are not white space.
const invisible =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression looks for them.
  /[\p{Cf}\p{Default_Ignorable_Code_Point}\x00-\x08\x0e-\x1f\x7f-\x9f]+/gu;
// Normalising sorts runs of marks in quadratic time. Unicode's stream-safe format allows 30 marks in a run.
const maxMarkRun = 30;
const longMarkRun = /(\p{M}{30})\p{M}+/gu;
const plain = /^[\x20-\x7e\t\n\r]*$/;
const otherSpaces = /[^\S\n\r\t ]/g;
/** Marks, and letters of Hangul syllables. Their folding depends on neighbours. */
const combining = /[\p{M}\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]/u;

const kinds = {
  unknown: 0,
  itself: 1,
  /** Folds to a different text, whatever its neighbours. */
  other: 2,
  combining: 3,
  unseen: 4,
  /** Half a surrogate pair. */
  half: 5,
} as const;
/** Indexed by code unit. Filled on first use of each character. */
const kindOf = new Uint8Array(65_536);
const otherTexts = new Map<number, string>();

export function isPlain(text: string): boolean {
  return plain.test(text);
}

export function withSingleBlanks(text: string): string {
  return text.replace(spaces, " ");
}

/** Keeps line ends and runs of blanks. Returns undefined if the result gets too long or time runs out. */
export function foldCharacters(text: string, deadline: Deadline): string | undefined {
  if (isPlain(text)) return text;
  let folded = "";
  for (let start = 0; start < text.length; ) {
    if (deadline.left() <= 0 || folded.length > maxFoldedCharacters) return undefined;
    const end = cutBefore(text, start + chunkCharacters);
    folded += foldPart(text.slice(start, end));
    start = end;
  }
  return folded.length > maxFoldedCharacters ? undefined : folded;
}

/** Never splits a surrogate pair. A combining mark at the start of the next piece is folded separately. */
function cutBefore(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : Math.min(at, text.length);
}

function foldPart(part: string): string {
  const found = { others: 0, combining: 0, unseen: 0, halves: 0, longestRun: 0 };
  let run = 0;
  for (let at = 0; at < part.length; at += 1) {
    const kind = kindAt(part, at);
    run = kind > kinds.other ? run + 1 : 0;
    if (kind === kinds.itself) continue;
    if (run > found.longestRun) found.longestRun = run;
    if (kind === kinds.other) found.others += 1;
    else if (kind === kinds.combining) found.combining += 1;
    else if (kind === kinds.unseen) found.unseen += 1;
    else found.halves += 1;
  }
  if (found.longestRun === 0) return found.others === 0 ? part : withOthers(part);
  const seen = found.unseen + found.halves === 0 ? part : part.replace(invisible, "");
  const visible = found.longestRun <= maxMarkRun ? seen : seen.replace(longMarkRun, "$1");
  const normal = visible.normalize("NFKC");
  return found.others + found.halves === 0 ? normal : withoutInvisible(normal);
}

function withOthers(part: string): string {
  let folded = "";
  let done = 0;
  for (let at = 0; at < part.length; at += 1) {
    if (kindAt(part, at) !== kinds.other) continue;
    folded += part.slice(done, at) + otherTexts.get(part.charCodeAt(at));
    done = at + 1;
  }
  return folded + part.slice(done);
}

function kindAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return kindOf[code] || learn(code);
}

function learn(code: number): number {
  const character = String.fromCharCode(code);
  const folded = withoutInvisible(character.replace(invisible, "").normalize("NFKC"));
  const kind = kindFor(code, character, folded);
  kindOf[code] = kind;
  if (kind === kinds.other) otherTexts.set(code, folded);
  return kind;
}

function kindFor(code: number, character: string, folded: string): number {
  if (code >= 0xd800 && code <= 0xdfff) return kinds.half;
  if (folded === "") return kinds.unseen;
  if (combining.test(character) || combining.test(folded)) return kinds.combining;
  return folded === character ? kinds.itself : kinds.other;
}

function withoutInvisible(text: string): string {
  return text.replace(invisible, "").replace(otherSpaces, " ");
}
