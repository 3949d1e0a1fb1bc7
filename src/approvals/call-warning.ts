/** Warns of a call whose text could mislead its reader. */
import type { Json, JsonObject } from "../ports/message.ts";
import type { ToolCall } from "../ports/tool.ts";
import { accent, coveringLine, escapeHidden } from "./card-text.ts";
import { lookAlikeWarning } from "./look-alikes.ts";

const maxNamedCharacters = 8;

export function callWarning(call: ToolCall): string | undefined {
  const texts = [call.name, ...allStrings(call.input)];
  const warnings = [
    oddCharacters(texts),
    coveredLetters(texts),
    lookAlikeWarning(texts, escapeHidden),
    longBlanks(texts),
  ];
  const found = warnings.filter((warning) => warning !== undefined);
  return found.length === 0 ? undefined : found.join(" ");
}

/** Returns all keys and string values. Avoids recursion, because arguments can be nested thousands of levels deep. */
function allStrings(input: JsonObject): string[] {
  const strings: string[] = [];
  const open: Json[] = [input];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value === "string") strings.push(value);
    else if (Array.isArray(value)) for (const item of value) open.push(item);
    else if (typeof value === "object" && value !== null) {
      for (const [key, item] of Object.entries(value)) {
        strings.push(key);
        open.push(item);
      }
    }
  }
  return strings;
}

function oddCharacters(texts: string[]): string | undefined {
  const odd = new Set<string>();
  for (const text of texts)
    if (!plain.test(text)) for (const character of text) if (isOdd(character)) odd.add(character);
  if (odd.size === 0) return undefined;
  return `Some characters are invisible or look like others: ${namesOf(odd)}. This call may not do what it seems to.`;
}

const plain = /^[\t\n\r\x20-\x7e]*$/;

/** Compares with the text that the gate reads: in compatibility form, and without invisible characters. */
function isOdd(character: string): boolean {
  const folded = character.normalize("NFKC").replace(/(?![\t\n\r])[\p{C}\p{Default_Ignorable_Code_Point}\u2800]/gu, "");
  if (folded === character) return false;
  // Some letters of Hindi, Hebrew, Thai and others are written as two, which mean the same and are of the same script.
  const isSpelling = character.normalize("NFC") !== character || /[\u0e33\u0eb3]/.test(character);
  return !isSpelling || folded === "" || /[\p{Script=Latin}\p{Script=Common}]/u.test(folded);
}

/**
 * Marks that strike through, underline, enclose or bury letters. Marks that compose with their letter, and those of a
 * script on a letter of that script, are ordinary in Vietnamese, Hindi, Thai, Hebrew, Arabic and many others.
 */
function coveredLetters(texts: string[]): string | undefined {
  const odd = new Set<string>();
  for (const text of texts) {
    if (plain.test(text)) continue;
    for (const [marks] of text.matchAll(tooManyMarks)) for (const mark of marks.slice(0, 64)) odd.add(mark);
    // Normalising sorts runs of marks in quadratic time.
    const composed = text.replace(tooManyMarks, "").normalize("NFC");
    for (const [, base = "", marks = ""] of composed.matchAll(/(\P{M}?)(\p{M}+)/gsu))
      for (const mark of oddMarks(base, [...marks])) odd.add(mark);
  }
  if (odd.size === 0) return undefined;
  return `Marks strike through or cover characters: ${namesOf(odd)}. This call may not do what it seems to.`;
}

const tooManyMarks = /\p{M}{9,}/gu;
const anyAccent = new RegExp(accent);
const anyLine = new RegExp(coveringLine, "u");

function oddMarks(base: string, marks: string[]): string[] {
  const accents = marks.filter((mark) => anyAccent.test(mark));
  const others = marks.filter((mark) => !anyAccent.test(mark));
  const isLetter = /\p{L}/u.test(base);
  const maxAccents = !isLetter ? 0 : /[a-z]/i.test(base) ? 1 : 2;
  const isOwnScript = isLetter && !/\p{Script=Latin}/u.test(base);
  const isRepeated = others.some((mark, index) => mark === others[index + 1]);
  return [
    ...accents.filter((mark) => anyLine.test(mark) || accents.length > maxAccents),
    ...others.filter((mark) => anyLine.test(mark) || !isOwnScript || isRepeated),
  ].filter((mark) => !isOdd(mark));
}

function namesOf(odd: ReadonlySet<string>): string {
  const names = [...odd].slice(0, maxNamedCharacters).map(codePointName);
  return names.join(", ") + (odd.size > names.length ? ` and ${odd.size - names.length} more` : "");
}

function codePointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

function longBlanks(texts: string[]): string | undefined {
  const isLong = texts.some((text) => /\S {24,}\S/.test(text) || /\n(?:[ \t]*\n){11}/.test(text));
  return isLong ? "This call contains a long run of blanks. Read it to the end." : undefined;
}
