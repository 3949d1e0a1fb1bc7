/**
 * Derived forms of a call, against which the patterns are tried once more:
 *
 *   decoded  the tool and all string values in one line, and the tool with each value by itself
 *   folded   the same in NFKC, without invisible characters, every run of white space as one blank
 *
 * Forms only add texts; they never replace the exact one.
 */
import type { Json, JsonObject } from "../ports/message.ts";
import { keysIn, stringsIn } from "./arguments.ts";
import type { Deadline } from "./deadline.ts";
import { foldCharacters, isPlain, withSingleBlanks } from "./fold.ts";

/** A text to try the patterns on, and the name it goes by in a match. */
export interface Form {
  text: string;
  name: "exact" | "decoded" | "folded" | "shell" | "tag";
}

/** Values beyond this are tried together, a line each: anchors then no longer bind to a single value. */
const maxSeparateValues = 500;
/** Characters of a value that stands in the line of all values; a longer one is tried by itself and in the exact string. */
const maxJoinedValue = 65_536;

/** The forms of one call without its shell reading. Not complete: the time was over, or a folded text was too long. */
export function formsOf(
  tool: string,
  exact: string,
  input: JsonObject,
  deadline: Deadline,
): { forms: Form[]; isComplete: boolean } {
  const strings = stringsIn(input);
  const forms: Form[] = [];
  const seen = new Set([exact]);
  const add = (text: string, name: Form["name"]) => {
    if (seen.has(text)) return;
    seen.add(text);
    forms.push({ text, name });
  };
  for (const text of decodedTexts(strings)) add(`${tool} ${text}`, "decoded");
  // Each text is folded once, however many forms it is in.
  const folds = new Map<string, string>();
  for (const text of new Set(strings)) {
    const folded = foldCharacters(text, deadline);
    if (folded === undefined) return { forms, isComplete: false };
    folds.set(text, folded);
  }
  const foldOf = (text: string) => folds.get(text) ?? text;
  const json = foldedJson(exact.slice(tool.length + 1), input, foldOf, deadline);
  if (json === undefined) return { forms, isComplete: false };
  add(withSingleBlanks(`${tool} ${json}`), "folded");
  for (const text of decodedTexts(strings.map(foldOf))) add(withSingleBlanks(`${tool} ${text}`), "folded");
  return { forms, isComplete: true };
}

/** All values in one line, each by itself, and what is beyond that together. */
function decodedTexts(strings: readonly string[]): string[] {
  const values = [...new Set(strings)];
  const joined = strings.length === 1 ? strings : strings.filter((value) => value.length <= maxJoinedValue);
  const rest = values.slice(maxSeparateValues);
  return [joined.join(" "), ...values.slice(0, maxSeparateValues), ...(rest.length === 0 ? [] : [rest.join("\n")])];
}

/** The JSON text with its strings folded. Undefined when the time is over. */
function foldedJson(
  json: string,
  input: JsonObject,
  foldOf: (text: string) => string,
  deadline: Deadline,
): string | undefined {
  if (!keysIn(input).every(isPlain)) return foldCharacters(json, deadline);
  return JSON.stringify(input, (_key, value: Json) => (typeof value === "string" ? foldOf(value) : value));
}
