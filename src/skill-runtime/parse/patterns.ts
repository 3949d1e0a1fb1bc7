/**
 * The patterns of a SKILL.md, each with its line: a string, one string instead of a list, or `{ pattern, reason, level }`.
 *
 * No pattern is ever dropped but an empty one (it would match every call), and that is said. What is no regular expression
 * stays as it is written, and the gate matches it as literal text; what YAML read as a map is taken as the line's text.
 */
import { RE2JS } from "re2js";
import { isAlias, isMap, isSeq, type Node } from "yaml";
import type { GateRule } from "../../ports/gate.ts";
import type { Notes } from "./diagnostics.ts";
import { type FieldName, type Fields, isPlainString, scalarText } from "./yaml-fields.ts";

/** In the patterns of a skill with `provides_tools: true`, and in their reasons: each tool that its plugin offers. */
export const offeredToolMark = "{offered_tool}";

/** A block (`|` or `>`) ends with a line end, which no call has: the author means what stands before it. */
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
    notes.warn(field.line, "not-a-list", `${name} should be a list: its value was taken as one pattern`);
    return readPattern(value, field.line, name, fields, notes);
  });
}

function readPattern(node: Node | null, near: number, name: FieldName, fields: Fields, notes: Notes): Pattern[] {
  const written = isMap(node) ? resolved(node.get("pattern", true), fields) : node;
  const source = written ?? node;
  const line = source === null ? near : fields.lineOf(source);
  if (source !== null && !isPlainString(source) && scalarText(source) !== undefined) {
    notes.warn(line, "not-a-string", `a pattern of ${name} is no text: put it in quotes`);
  }
  const text = (scalarText(source) ?? textOfLine(source, line, name, fields, notes)).replace(endOfBlock, "");
  if (text.trim() === "") {
    notes.warn(line, "empty-pattern", `an empty pattern of ${name} was ignored: it would match every call`);
    return [];
  }
  if (!isRegularExpression(text)) {
    notes.warn(line, "invalid-pattern", `no regular expression, so it is matched as literal text: ${text}`);
  }
  const reason = isMap(node) ? scalarText(node.get("reason", true) as Node | null) : undefined;
  return [{ pattern: text, ...(reason === undefined ? {} : { reason }), line }];
}

/** An alias stands for what it names: its rules must hold here too. */
function resolved(node: unknown, fields: Fields): Node | null {
  return (isAlias(node) ? (node.resolve(fields.document) ?? node) : (node ?? null)) as Node | null;
}

/** An entry such as `- rm: -rf` is a map to YAML; its author meant the line. */
function textOfLine(node: Node | null, line: number, name: FieldName, fields: Fields, notes: Notes): string {
  if (node === null || (!isMap(node) && fields.sourceOf(node) === "")) return "";
  notes.warn(line, "not-a-string", `YAML reads a pattern of ${name} as something else than text: put it in quotes`);
  return fields.sourceOf(node);
}

/** In either of the two dialects that the gate can run. */
function isRegularExpression(pattern: string): boolean {
  try {
    new RegExp(pattern, "i");
    return true;
  } catch {
    // RE2 knows a few words that JavaScript does not, such as `(?i)` in front.
  }
  try {
    RE2JS.compile(pattern);
    return true;
  } catch {
    return false;
  }
}
