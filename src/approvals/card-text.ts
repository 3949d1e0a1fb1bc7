/**
 * A tool call as text that shows everything and hides nothing:
 *
 *   escapeHidden   characters that can't be seen, that turn text around, or that end a code block, as `\u{202E}`
 *   callTextOf     tool and arguments, one or more lines each; a value can't pretend to be another argument
 *   editJsonOf     the arguments for editing, where invisible characters are JSON escapes and come back as they were
 *   warningOf      the line that says that the text does not read as it looks
 *   isMasked       whether a configured secret stands in it, and people see its name instead
 *
 * Escaping is one-to-one: two different calls never give the same text. Nothing is cut here.
 */

import type { Mask } from "../lib/redact.ts";
import type { Json, JsonObject } from "../ports/message.ts";
import type { ToolCall } from "../ports/tool.ts";
import { canonicalJson } from "./hash.ts";

/** Control, format, unassigned, private and surrogate characters, what is ignored in display, and every blank but the space. */
const hidden = String.raw`[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}`;
/** A run of backslashes is doubled where it could be read as the start of an escape; the third backtick on would end a code block. */
const escaped = new RegExp(String.raw`\\+(?=u\{|${hidden})|${hidden}|(?<=\u0060\u0060)\u0060`, "gu");
const hiddenOnly = new RegExp(hidden, "gu");
const plainKey = /^[\w.-]+$/;

/** One line of plain text, also when `text` has many. */
export function escapeHidden(text: string): string {
  return text.replace(escaped, (found) => (found.startsWith("\\") ? found + found : escapeOf(found)));
}

/** Many lines of plain text, such as a diff: line ends and tabs stay, everything else that can't be seen is escaped. */
export function escapeHiddenLines(text: string): string {
  return text
    .split(/([\n\t])/)
    .map((part, index) => (index % 2 === 1 ? part : escapeHidden(part)))
    .join("");
}

function escapeOf(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`;
}

/** Secrets are taken out of the values before they are escaped, and of the whole again, in case two parts make one. */
export function callTextOf(call: ToolCall, mask: Mask): string {
  const lines = Object.entries(call.input).map(([key, value]) => argumentText(key, value, mask));
  const text = [escapeHidden(call.name), ...(lines.length === 0 ? ["(no arguments)"] : lines)].join("\n");
  return mask(text);
}

export function isMasked(call: ToolCall, mask: Mask): boolean {
  return callTextOf(call, mask) !== callTextOf(call, (text) => text);
}

function argumentText(key: string, value: Json, mask: Mask): string {
  const name = plainKey.test(key) ? key : escapeHidden(JSON.stringify(key));
  if (typeof value !== "string") return `${name}: ${escapeHidden(mask(canonicalJson(value)))}`;
  const clean = mask(value);
  if (!clean.includes("\n")) return `${name}: "${escapeHidden(clean)}"`;
  // Every line of a value begins with the bar, so that no line of it reads as an argument or as the end of the call.
  const lines = clean.split("\n").map((line) => `  | ${escapeHidden(line)}`);
  return [`${name}:`, ...lines].join("\n");
}

/** Characters of JSON; no platform's form takes more. */
const longestEdit = 20_000;

/** Undefined when it is too long, or when a secret would have to be shown or would come back as its mark. */
export function editJsonOf(call: ToolCall, mask: Mask): string | undefined {
  const members = Object.entries(call.input).map(([key, value]) => `  ${JSON.stringify(key)}: ${canonicalJson(value)}`);
  const json = members.length === 0 ? "{}" : `{\n${members.join(",\n")}\n}`;
  if (json.length > longestEdit) return undefined;
  const hidesNothing = mask(json) === json && !isMasked(call, mask);
  return hidesNothing ? withoutHidden(json) : undefined;
}

/** JSON text stays JSON text of the same value: outside strings it has no such characters but line ends. */
function withoutHidden(json: string): string {
  return json.replace(hiddenOnly, (found) => (found === "\n" ? found : [...codeUnits(found)].join("")));
}

function* codeUnits(text: string): Generator<string> {
  for (let index = 0; index < text.length; index++) {
    yield `\\u${text.charCodeAt(index).toString(16).padStart(4, "0")}`;
  }
}

/** Undefined when the call reads as it looks. */
export function warningOf(call: ToolCall): string | undefined {
  const texts = [call.name, ...stringsOf(call.input)];
  const warnings = [oddCharacters(texts), mixedAlphabets(texts), longBlanks(texts)];
  const found = warnings.filter((warning) => warning !== undefined);
  return found.length === 0 ? undefined : found.join(" ");
}

/** All keys and string values; without recursion, because arguments may be nested thousands deep. */
function stringsOf(input: JsonObject): string[] {
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
  const names = [...odd].slice(0, 8).map(codePointName);
  const more = odd.size > names.length ? ` and ${odd.size - names.length} more` : "";
  const which = names.length === 0 ? "accents written apart from their letters" : names.join(", ") + more;
  return `Some characters are invisible or imitate others: ${which}. The call may not read as it looks.`;
}

/** As the gate reads a call beside its exact form: compatibility forms made plain, invisible characters out. */
function folded(text: string): string {
  return text.normalize("NFKC").replace(/(?![\t\n\r])[\p{C}\p{Default_Ignorable_Code_Point}\u2800]/gu, "");
}

function codePointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

const foreignLetter = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u;

/** Folding leaves letters of other alphabets that look Latin; within one word they are no accident. */
function mixedAlphabets(texts: string[]): string | undefined {
  for (const text of texts) {
    for (const [word] of text.matchAll(/\p{L}+/gu)) {
      if (!/\p{Script=Latin}/u.test(word) || !foreignLetter.test(word)) continue;
      const letters = [...word]
        .slice(0, 40)
        .map((letter) => (foreignLetter.test(letter) ? escapeOf(letter) : escapeHidden(letter)));
      return `A word mixes alphabets: ${letters.join("")}.`;
    }
  }
  return undefined;
}

function longBlanks(texts: string[]): string | undefined {
  const isLong = texts.some((text) => /\S {24,}\S/.test(text) || /\n(?:[ \t]*\n){11}/.test(text));
  return isLong ? "A long run of blanks stands in it: read it to its end." : undefined;
}
