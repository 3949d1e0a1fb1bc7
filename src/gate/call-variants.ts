/**
 * Builds variants of a call that the gate matches too. They never replace the exact match string:
 *
 *   decoded  the tool and all string values in one line, and the tool with each single value
 *   folded   the decoded texts in NFKC, without invisible characters, with each run of white space as one blank
 */
import type { Json, JsonObject } from "../ports/message.ts";
import { keysIn, stringsIn } from "./arguments.ts";
import type { Deadline } from "./deadline.ts";
import { foldCharacters, isPlain, withSingleBlanks } from "./fold.ts";

export interface CallVariant {
  text: string;
  name: "exact" | "decoded" | "folded" | "shell" | "tag";
}

/** Values beyond this number are joined, one per line, so `$` does not match at the end of each. */
const maxSeparateValues = 500;
/** A value longer than this is matched only separately and in the exact string. */
const maxJoinedCharacters = 65_536;

/** Returns all variants except the shell reading. Incomplete if time runs out or a folded text gets too long. */
export function callVariants(
  tool: string,
  exact: string,
  input: JsonObject,
  deadline: Deadline,
): { variants: CallVariant[]; isComplete: boolean } {
  const strings = stringsIn(input);
  const variants: CallVariant[] = [];
  const seen = new Set([exact]);
  const add = (text: string, name: CallVariant["name"]) => {
    if (seen.has(text)) return;
    seen.add(text);
    variants.push({ text, name });
  };
  for (const text of decodedTexts(strings)) add(`${tool} ${text}`, "decoded");
  const folds = new Map<string, string>();
  for (const text of new Set(strings)) {
    const folded = foldCharacters(text, deadline);
    if (folded === undefined) return { variants, isComplete: false };
    folds.set(text, folded);
  }
  const foldOf = (text: string) => folds.get(text) ?? text;
  const json = foldedJson(exact.slice(tool.length + 1), input, foldOf, deadline);
  if (json === undefined) return { variants, isComplete: false };
  add(withSingleBlanks(`${tool} ${json}`), "folded");
  for (const text of decodedTexts(strings.map(foldOf))) add(withSingleBlanks(`${tool} ${text}`), "folded");
  return { variants, isComplete: true };
}

function decodedTexts(strings: readonly string[]): string[] {
  const values = [...new Set(strings)];
  const joined = strings.length === 1 ? strings : strings.filter((value) => value.length <= maxJoinedCharacters);
  const rest = values.slice(maxSeparateValues);
  return [joined.join(" "), ...values.slice(0, maxSeparateValues), ...(rest.length === 0 ? [] : [rest.join("\n")])];
}

function foldedJson(
  json: string,
  input: JsonObject,
  foldOf: (text: string) => string,
  deadline: Deadline,
): string | undefined {
  if (!keysIn(input).every(isPlain)) return foldCharacters(json, deadline);
  return JSON.stringify(input, (_key, value: Json) => (typeof value === "string" ? foldOf(value) : value));
}
