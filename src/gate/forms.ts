/**
 * Derived forms of a call, against which the patterns are tried once more:
 *
 *   decoded  the tool and all string values in one line, and the tool with each value by itself
 *   folded   the same in NFKC, without invisible characters, every run of white space as one blank
 *
 * Forms only add texts; they never replace the exact one.
 */
import { stringsIn } from "./arguments.ts";
import type { Deadline } from "./deadline.ts";
import { fold } from "./fold.ts";

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
  input: unknown,
  deadline: Deadline,
): { forms: Form[]; isComplete: boolean } {
  const strings = stringsIn(input);
  const values = [...new Set(strings)];
  const forms: Form[] = [];
  const seen = new Set([exact]);
  const add = (text: string, name: Form["name"]) => {
    if (seen.has(text)) return;
    seen.add(text);
    forms.push({ text, name });
  };
  const joined = strings.length === 1 ? strings : strings.filter((value) => value.length <= maxJoinedValue);
  add(`${tool} ${joined.join(" ")}`, "decoded");
  for (const value of values.slice(0, maxSeparateValues)) add(`${tool} ${value}`, "decoded");
  if (values.length > maxSeparateValues) add(`${tool} ${values.slice(maxSeparateValues).join("\n")}`, "decoded");
  for (const text of [...seen]) {
    const folded = fold(text, deadline);
    if (folded === undefined) return { forms, isComplete: false };
    add(folded, "folded");
  }
  return { forms, isComplete: true };
}
