/**
 * Renders a tool call as text that hides nothing and truncates nothing. Escaping is one-to-one, so two different calls
 * never have the same text.
 */
import type { Mask } from "../lib/redact.ts";
import type { Json, JsonObject } from "../ports/message.ts";
import type { ToolCall } from "../ports/tool.ts";
import { canonicalJson } from "./hash.ts";

/** Control, format, private-use, surrogate and ignorable characters, and all whitespace but the ordinary space. */
const hidden = String.raw`[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}`;
/** Also matches backslashes that could start an escape, and the third backtick of a code fence. */
const escaped = new RegExp(String.raw`\\+(?=u\{|${hidden})|${hidden}|(?<=\u0060\u0060)\u0060`, "gu");
const hiddenOnly = new RegExp(hidden, "gu");
const plainKey = /^[\w.-]+$/;
/** No platform's form accepts longer JSON. */
const maxEditCharacters = 20_000;
const maxNamedCharacters = 8;
const maxShownLetters = 40;

/** Escapes invisible, direction-changing and fence-ending characters as in `\u{202E}`. The result is one line. */
export function escapeHidden(text: string): string {
  return text.replace(escaped, (found) => (found.startsWith("\\") ? found + found : codePointEscape(found)));
}

/** Makes text safe for a card: masked, escaped, and on one line. */
export function cleaner(mask: Mask): (text: string) => string {
  return (text) =>
    escapeHidden(
      mask(text)
        .trim()
        .replace(/\s*\n\s*/g, " "),
    );
}

/** Does not escape line breaks and tabs, because a diff needs them. */
export function escapeHiddenLines(text: string): string {
  return text
    .split(/([\n\t])/)
    .map((part, index) => (index % 2 === 1 ? part : escapeHidden(part)))
    .join("");
}

function codePointEscape(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`;
}

/** Masks each value before escaping it, and then the complete text, because two parts can form one secret. */
export function callText(call: ToolCall, mask: Mask): string {
  const lines = Object.entries(call.input).map(([key, value]) => argumentText(key, value, mask));
  const text = [escapeHidden(call.name), ...(lines.length === 0 ? ["(no arguments)"] : lines)].join("\n");
  return mask(text);
}

export function isMasked(call: ToolCall, mask: Mask): boolean {
  return callText(call, mask) !== callText(call, (text) => text);
}

function argumentText(key: string, value: Json, mask: Mask): string {
  const name = plainKey.test(key) ? key : escapeHidden(JSON.stringify(key));
  if (typeof value !== "string") return `${name}: ${escapeHidden(mask(canonicalJson(value)))}`;
  const clean = mask(value);
  if (!clean.includes("\n")) return `${name}: "${escapeHidden(clean)}"`;
  // Prefix each line with a bar, or it could look like another argument or the end of the call.
  const lines = clean.split("\n").map((line) => `  | ${escapeHidden(line)}`);
  return [`${name}:`, ...lines].join("\n");
}

/** Returns undefined if the JSON is too long for a form, or contains a secret. */
export function editableJson(call: ToolCall, mask: Mask): string | undefined {
  const members = Object.entries(call.input).map(([key, value]) => `  ${JSON.stringify(key)}: ${canonicalJson(value)}`);
  const json = members.length === 0 ? "{}" : `{\n${members.join(",\n")}\n}`;
  if (json.length > maxEditCharacters) return undefined;
  const hidesNothing = mask(json) === json && !isMasked(call, mask);
  return hidesNothing ? withoutHidden(json) : undefined;
}

/** Escapes hidden characters inside strings. Outside strings, only line breaks are hidden; they are kept. */
function withoutHidden(json: string): string {
  return json.replace(hiddenOnly, (found) => (found === "\n" ? found : [...codeUnits(found)].join("")));
}

function* codeUnits(text: string): Generator<string> {
  for (let index = 0; index < text.length; index++) {
    yield `\\u${text.charCodeAt(index).toString(16).padStart(4, "0")}`;
  }
}

export function callWarning(call: ToolCall): string | undefined {
  const texts = [call.name, ...allStrings(call.input)];
  const warnings = [oddCharacters(texts), mixedAlphabets(texts), longBlanks(texts)];
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
  const changed = texts.filter((text) => folded(text) !== text);
  if (changed.length === 0) return undefined;
  const odd = new Set<string>();
  for (const text of changed) for (const character of text) if (folded(character) !== character) odd.add(character);
  const names = [...odd].slice(0, maxNamedCharacters).map(codePointName);
  const more = odd.size > names.length ? ` and ${odd.size - names.length} more` : "";
  const which = names.length === 0 ? "combining accents" : names.join(", ") + more;
  return `Some characters are invisible or look like others: ${which}. This call may not do what it seems to.`;
}

/** Folds as the gate does: normalises compatibility forms and removes invisible characters. */
function folded(text: string): string {
  return text.normalize("NFKC").replace(/(?![\t\n\r])[\p{C}\p{Default_Ignorable_Code_Point}\u2800]/gu, "");
}

function codePointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

const foreignLetter = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u;

/** Finds a word with letters of two alphabets: look-alikes of Latin letters survive folding, so a mix is suspicious. */
function mixedAlphabets(texts: string[]): string | undefined {
  for (const text of texts) {
    for (const [word] of text.matchAll(/\p{L}+/gu)) {
      if (!/\p{Script=Latin}/u.test(word) || !foreignLetter.test(word)) continue;
      const letters = [...word]
        .slice(0, maxShownLetters)
        .map((letter) => (foreignLetter.test(letter) ? codePointEscape(letter) : escapeHidden(letter)));
      return `A word mixes alphabets: ${letters.join("")}.`;
    }
  }
  return undefined;
}

function longBlanks(texts: string[]): string | undefined {
  const isLong = texts.some((text) => /\S {24,}\S/.test(text) || /\n(?:[ \t]*\n){11}/.test(text));
  return isLong ? "This call contains a long run of blanks. Read it to the end." : undefined;
}
