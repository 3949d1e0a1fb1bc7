/** Converts YAML nodes to plain JSON and strings. */
import { type Document, isAlias, isMap, isScalar, isSeq, type Node } from "yaml";
import type { Json } from "../../ports/message.ts";
import type { Notes } from "./diagnostics.ts";
import { type Field, type Fields, isPlainString, scalarText } from "./yaml-fields.ts";

/** Deeper than any schema or test that people write. */
const maxDepth = 64;

/** Values that JSON lacks become null. Of repeated keys, the first one counts. `__proto__` is an ordinary key. */
export function toJson(node: unknown, document: Document, depth = 0): Json {
  if (depth > maxDepth) return null;
  if (isAlias(node)) return toJson(node.resolve(document), document, depth + 1);
  if (isSeq(node)) return node.items.map((item) => toJson(item, document, depth + 1));
  if (isMap(node)) {
    const entries = new Map<string, Json>();
    for (const pair of node.items) {
      const key = scalarText(pair.key as Node | null);
      if (key !== undefined && !entries.has(key)) entries.set(key, toJson(pair.value, document, depth + 1));
    }
    return Object.fromEntries(entries);
  }
  if (!isScalar(node)) return null;
  const { value } = node;
  if (typeof value === "number") return Number.isFinite(value) ? value : String(node.source);
  return typeof value === "string" || typeof value === "boolean" ? value : null;
}

/** Falls back to the source line if YAML does not parse the field as a string. Returns undefined if it is blank. */
export function textOf(field: Field | undefined, name: string, notes: Notes): string | undefined {
  if (field === undefined || field.node === null) return undefined;
  const { node, line, source } = field;
  if (isPlainString(node)) return blankToUndefined(scalarText(node));
  if (isScalar(node) && node.value === null) return undefined;
  notes.warn(line, "not-a-string", `YAML does not read the value of ${name} as text: put it in quotes`);
  return blankToUndefined(source);
}

export function textsOf(field: Field | undefined, name: string, fields: Fields, notes: Notes): string[] {
  if (field === undefined || field.node === null) return [];
  if (!isSeq(field.node)) {
    const text = textOf(field, name, notes);
    if (text === undefined) return [];
    notes.warn(field.line, "not-a-list", `${name} should be a list: the text was split at its commas`);
    return text.split(",").flatMap((part) => blankToUndefined(part) ?? []);
  }
  return field.node.items.flatMap((item) => {
    const text = isScalar(item) && item.value === null ? undefined : (scalarText(item) ?? fields.sourceOf(item));
    if (!isPlainString(item)) {
      notes.warn(fields.lineOf(item), "not-a-string", `an entry of ${name} is not a text: put it in quotes`);
    }
    return blankToUndefined(text) ?? [];
  });
}

function blankToUndefined(text: string | undefined): string | undefined {
  const trimmed = text?.trim();
  return trimmed === "" ? undefined : trimmed;
}
