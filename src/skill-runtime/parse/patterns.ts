/**
 * Reads patterns with their line numbers: a list of strings, one string, or `{ pattern, reason, level }`. Drops only
 * empty patterns, which would match every call. The gate matches an invalid expression as literal text.
 */
import { RE2JS } from "re2js";
import { isAlias, isMap, isSeq, type Node } from "yaml";
import type { GateRule } from "../../ports/gate.ts";
import type { Notes } from "./diagnostics.ts";
import { type FieldName, type Fields, isPlainString, scalarText } from "./yaml-fields.ts";

/** Stands for each tool that the plugin offers, in patterns and reasons of a skill with `provides_tools: true`. */
export const offeredToolMark = "{offered_tool}";

/** A block string (`|` or `>`) ends with a line break that the author does not mean and no call contains. */
const endOfBlock = /\n+$/;

interface Pattern {
  pattern: string;
  reason?: string;
  line: number;
}

export function readRules(fields: Fields, skill: string, file: string, notes: Notes): GateRule[] {
  const rulesOf = (name: FieldName, kind: GateRule["kind"]) =>
    readPatterns(fields, name, notes).map((pattern): GateRule => ({ kind, ...pattern, skill, file }));
  return [...rulesOf("danger_patterns", "danger"), ...rulesOf("confirm_patterns", "confirm")];
}

function readPatterns(fields: Fields, name: FieldName, notes: Notes): Pattern[] {
  return fields.all(name).flatMap((field): Pattern[] => {
    const value = resolved(field.node, fields);
    if (value === null) return [];
    if (isSeq(value)) {
      return value.items.flatMap((item) => readPattern(resolved(item, fields), field.line, name, fields, notes));
    }
    notes.warn(field.line, "not-a-list", `${name} should be a list: its value was read as one pattern`);
    return readPattern(value, field.line, name, fields, notes);
  });
}

function readPattern(node: Node | null, near: number, name: FieldName, fields: Fields, notes: Notes): Pattern[] {
  const written = isMap(node) ? resolved(node.get("pattern", true), fields) : node;
  const source = written ?? node;
  const line = source === null ? near : fields.lineOf(source);
  if (source !== null && !isPlainString(source) && scalarText(source) !== undefined) {
    notes.warn(line, "not-a-string", `a pattern of ${name} is not a text: put it in quotes`);
  }
  const text = (scalarText(source) ?? textOfLine(source, line, name, fields, notes)).replace(endOfBlock, "");
  if (text.trim() === "") {
    notes.warn(line, "empty-pattern", `an empty pattern of ${name} was ignored: it would match every call`);
    return [];
  }
  if (!isRegularExpression(text)) {
    notes.warn(line, "invalid-pattern", `not a valid regular expression, so it is matched as literal text: ${text}`);
  }
  const reason = isMap(node) ? scalarText(node.get("reason", true) as Node | null) : undefined;
  return [{ pattern: text, ...(reason === undefined ? {} : { reason }), line }];
}

/** Resolves an alias to its anchor so that the rules there apply here too. */
function resolved(node: unknown, fields: Fields): Node | null {
  return (isAlias(node) ? (node.resolve(fields.document) ?? node) : (node ?? null)) as Node | null;
}

/** An entry such as `- rm: -rf` is a map in YAML, but its author meant text. */
function textOfLine(node: Node | null, line: number, name: FieldName, fields: Fields, notes: Notes): string {
  if (node === null || (!isMap(node) && fields.sourceOf(node) === "")) return "";
  notes.warn(line, "not-a-string", `YAML does not read a pattern of ${name} as text: put it in quotes`);
  return fields.sourceOf(node);
}

function isRegularExpression(pattern: string): boolean {
  try {
    new RegExp(pattern, "i");
    return true;
  } catch {
    // Try RE2 too, because it accepts some syntax that JavaScript does not, such as a leading `(?i)`.
  }
  try {
    RE2JS.compile(pattern);
    return true;
  } catch {
    return false;
  }
}
