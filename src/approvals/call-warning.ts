/** Warns of a call whose text could mislead its reader. */
import type { Json, JsonObject } from "../ports/message.ts";
import type { ToolCall } from "../ports/tool.ts";
import { escapeHidden } from "./card-text.ts";
import { lookAlikeWarning } from "./look-alikes.ts";

const maxNamedCharacters = 8;

export function callWarning(call: ToolCall): string | undefined {
  const texts = [call.name, ...allStrings(call.input)];
  const warnings = [oddCharacters(texts), lookAlikeWarning(texts, escapeHidden), longBlanks(texts)];
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

function longBlanks(texts: string[]): string | undefined {
  const isLong = texts.some((text) => /\S {24,}\S/.test(text) || /\n(?:[ \t]*\n){11}/.test(text));
  return isLong ? "This call contains a long run of blanks. Read it to the end." : undefined;
}
