/**
 * Renders a tool call as text that hides nothing and truncates nothing. Escaping is one-to-one, so two different calls
 * never have the same text.
 */
import { setImmediate } from "node:timers/promises";
import type { Mask } from "../lib/redact.ts";
import type { Json } from "../ports/message.ts";
import type { ToolCall } from "../ports/tool.ts";
import { canonicalJson } from "./hash.ts";
import { foreignLetter, lookAlikePositions } from "./look-alikes.ts";

/** Control, format, private-use, surrogate and ignorable characters, and all whitespace but the ordinary space. */
const hidden = String.raw`[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}`;
/** These are common in scripts. A text's own pictures are escaped. Not `\r` and `\t`, which a script can contain as well. */
const pictures = new Map([
  ["\r", "␍"],
  ["\t", "␉"],
]);
/** For letters of any script. */
export const accent = String.raw`[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]`;
/** Lines through, under and over characters, marks that span two, and those that enclose one. */
export const coveringLine = String.raw`[\u0305\u0332-\u0338\u033f\u0347\u035c-\u0362\u1dcd\u20d0-\u20ff\ufe20-\ufe2f\p{Me}]`;
/** Also the fourth mark on a character, and marks of other scripts on what a command is made of. */
const coveringMark = String.raw`${coveringLine}|${accent}(?<=${accent}{4})|(?!${accent})\p{M}(?<=[ -~\p{Script=Latin}]\p{M})`;
const byCodePoint = String.raw`(?![\r\t])(?:${hidden})|[␍␉]|${foreignLetter}|${coveringMark}`;
/** Also matches backslashes that could start an escape, and the third backtick of a code fence. */
const slashes = String.raw`(?<!\\)\\+(?!\\)`;
const escaped = new RegExp(
  String.raw`${slashes}(?=u\{|${byCodePoint})|[\r\t]|${byCodePoint}|(?<=\u0060\u0060)\u0060`,
  "gu",
);
/** The same for the bytes of files: many NULs, and bytes that are no UTF-8 (text-bytes.ts). */
const bytes = String.raw`\0{9,}|[\uDC80-\uDCFF]+`;
const fileParts = new RegExp(String.raw`(${slashes}(?=x\{)|(?:${slashes})?(?:${bytes})|[\n\t])`, "u");
/** Some marks that cover letters are of a foreign script. */
const anyForeignLetter = new RegExp(`(?!${coveringLine})${foreignLetter}`, "u");
const hiddenOnly = new RegExp(hidden, "gu");
const plainKey = /^[\w.-]+$/;
/** No platform's form accepts longer JSON. */
const maxEditCharacters = 20_000;

/**
 * Escapes invisible, direction-changing and fence-ending characters as in `\u{202E}`, letters that pass for Latin ones, and
 * marks that strike through, cover or bury characters. Shows carriage returns as ␍ and tabs as ␉. The result is one line.
 */
export function escapeHidden(text: string): string {
  const lookAlikes = lookAlikePositions(text);
  return text.replace(escaped, (found, at: number) => {
    if (!found.startsWith("\\"))
      return isPlainLetter(found, at) ? found : (pictures.get(found) ?? codePointEscape(found));
    const next = at + found.length;
    return isPlainLetter(text.slice(next, next + 2), next) ? found : found + found;
  });

  function isPlainLetter(character: string, at: number): boolean {
    return anyForeignLetter.test([...character][0] ?? "") && !lookAlikes.has(at);
  }
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

/**
 * The text of files, as `escapeHiddenLines`. Bytes that are no UTF-8 are `\x{E9}`, and many NULs `\u{0 ×12}`. Different
 * bytes never look alike. Takes rests, because files are large.
 */
export async function escapeFile(text: string): Promise<string> {
  const shown: string[] = [];
  let end = performance.now() + maxSliceMs;
  for (let from = 0; from < text.length; ) {
    // Nothing that is escaped together contains a line break.
    const lineEnd = text.indexOf("\n", from + sliceCharacters);
    const to = lineEnd === -1 ? text.length : lineEnd + 1;
    shown.push(escapeFileLines(text.slice(from, to)));
    from = to;
    if (performance.now() < end) continue;
    await setImmediate();
    end = performance.now() + maxSliceMs;
  }
  return shown.join("");
}

/** As `escapeFile`, for a short text. */
export function escapeFileLines(text: string): string {
  return text.split(fileParts).map(escapePart).join("");
}

const maxSliceMs = 8;
const sliceCharacters = 16 * 1024;

function escapePart(part: string, index: number): string {
  if (index % 2 === 0) return escapeHidden(part);
  const [, backslashes = "", found = ""] = /^(\\*)(.*)$/s.exec(part) ?? [];
  const doubled = backslashes + backslashes;
  if (found.startsWith("\0")) return `${doubled}\\u{0 ×${found.length}}`;
  if (found === "" || found === "\n" || found === "\t") return doubled + found;
  const hex = Array.from(found, (byte) => (byte.charCodeAt(0) - 0xdc00).toString(16).toUpperCase());
  return `${doubled}\\x{${hex.join(" ")}}`;
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
