/**
 * Folding: NFKC, without invisible characters, with one kind of blank, so that look-alikes of a text become that text.
 *
 * Most characters fold to themselves or to a text that does not depend on their neighbours: those are looked up. Only
 * what combines with its neighbours is normalised, so that a megabyte of prose in any script takes milliseconds.
 */
import type { Deadline } from "./deadline.ts";

/** Characters of a folded text (folding can make one 18 of one). */
const maxFolded = 2_097_152;
/** Characters that are folded before the deadline is looked at again. */
const foldedAtOnce = 32_768;

/** Runs of white space that are not one blank. */
const spaces = / \s+|[^\S ]\s*/g;
// Format characters (bidi, zero-width, tags), others that Unicode shows as nothing (fillers, selectors), and controls that
// are no white space.
const invisible =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  /[\p{Cf}\p{Default_Ignorable_Code_Point}\x00-\x08\x0e-\x1f\x7f-\x9f]+/gu;
// Normalising sorts runs of combining marks in quadratic time; Unicode's stream-safe format allows 30 of them.
const longMarkRun = /(\p{M}{30})\p{M}+/gu;
const plain = /^[\x20-\x7e\t\n\r]*$/;
const otherSpaces = /[^\S\n\r\t ]/g;
/** Marks, the letters of which Hangul syllables are made, and halves of characters: what they fold to depends on neighbours. */
const combining = /[\p{M}\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff\ud800-\udfff]/u;

const kinds = { unknown: 0, itself: 1, other: 2, combining: 3 } as const;
/** By code unit. Filled as characters turn up. */
const kindOf = new Uint8Array(65_536);
/** What those fold to that fold to another text, whatever is beside them. */
const otherTexts = new Map<number, string>();

/** With every run of white space as one blank. Undefined when the text would be too long, or the time is over. */
export function fold(text: string, deadline: Deadline): string | undefined {
  return foldCharacters(text, deadline)?.replace(spaces, " ");
}

/** Keeps line ends and runs of blanks, which mean something in a shell. */
export function foldCharacters(text: string, deadline: Deadline): string | undefined {
  if (plain.test(text)) return text;
  let folded = "";
  for (let start = 0; start < text.length; ) {
    if (deadline.left() <= 0 || folded.length > maxFolded) return undefined;
    const end = cutBefore(text, start + foldedAtOnce);
    folded += foldPart(text, start, end);
    start = end;
  }
  return folded.length > maxFolded ? undefined : folded;
}

/** Where a text can be cut: not between the halves of a character. Marks that are cut off only combine less. */
function cutBefore(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : Math.min(at, text.length);
}

function foldPart(text: string, start: number, end: number): string {
  let folded = "";
  let done = start;
  for (let at = start; at < end; at += 1) {
    const code = text.charCodeAt(at);
    const kind = kindOf[code] || learn(code);
    if (kind === kinds.itself) continue;
    let to = at + 1;
    while (to < end && (kindOf[text.charCodeAt(to)] || learn(text.charCodeAt(to))) === kinds.combining) to += 1;
    if (kind === kinds.other && to === at + 1) {
      folded += text.slice(done, at) + otherTexts.get(code);
    } else {
      // With the character that it combines with.
      const from = kind === kinds.other ? at : Math.max(done, at - 1);
      folded += text.slice(done, from) + normalised(text.slice(from, to));
    }
    done = to;
    at = to - 1;
  }
  return folded + text.slice(done, end);
}

function learn(code: number): number {
  const character = String.fromCharCode(code);
  const folded = normalised(character);
  const isCombining = folded === "" || combining.test(character) || combining.test(folded);
  const kind = isCombining ? kinds.combining : folded === character ? kinds.itself : kinds.other;
  kindOf[code] = kind;
  if (kind === kinds.other) otherTexts.set(code, folded);
  return kind;
}

function normalised(text: string): string {
  const visible = text.replace(invisible, "").replace(longMarkRun, "$1");
  return visible.normalize("NFKC").replace(invisible, "").replace(otherSpaces, " ");
}
