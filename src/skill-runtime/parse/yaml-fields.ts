/**
 * Reads the fields of a frontmatter, each with its YAML node, line and source:
 *
 *   1. parse as YAML; limit aliases, and merge or instantiate nothing
 *   2. refuse a file with tools or patterns that has an error, because a safety rule must never be guessed
 *   3. repair any other file: replace tabs and quote plain values, else use only its `name:` and `description:` lines
 *
 * Field names ignore case, hyphens and underscores. Of repeated fields, the first counts; of patterns, all lists count.
 */
import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  LineCounter,
  type Node,
  type ParsedNode,
  parseDocument,
  visit,
} from "yaml";
import type { Notes } from "./diagnostics.ts";

export interface Field {
  /** The line number in the file, starting at 1. */
  line: number;
  /** Null if the value is missing or could not be parsed. Then only `source` counts. */
  node: ParsedNode | null;
  source: string;
}

export interface Fields {
  all(name: FieldName): Field[];
  first(name: FieldName): Field | undefined;
  lineOf(node: { range?: readonly number[] | null | undefined }): number;
  sourceOf(node: { range?: readonly number[] | null | undefined }): string;
  document: Document;
}

export const fieldNames = [
  "name",
  "description",
  "version",
  "triggers",
  "tools",
  "danger_patterns",
  "confirm_patterns",
  "requires",
  "gate_tests",
  "provides_tools",
  "permissions",
] as const;
export type FieldName = (typeof fieldNames)[number];

const retiredFields = new Map([
  ["readonly", "read_only no longer has an effect: commands run on a draft, and people approve the changes; remove it"],
]);

const maxAliases = 100;
const bySpelling = new Map<string, FieldName>(fieldNames.map((name) => [plainSpelling(name), name]));
/** Matches files that may contain fields on which safety depends. */
const safetyField =
  /(?:danger|confirm)[_-]?patterns|^[ \t{,?"']*(?:tools|provides[_-]?tools|gate[_-]?tests)["']?[ \t]*:/im;

/** Returns undefined if the file must not be loaded; `notes` then says why. */
export function readFields(yaml: string, linesAbove: number, notes: Notes): Fields | undefined {
  const parsed = parse(yaml);
  if (typeof parsed === "string") {
    notes.error(linesAbove + 1, "yaml-refused", `the frontmatter can't be used: ${parsed}`);
    return undefined;
  }
  const [error] = parsed.document.errors;
  if (error === undefined) return collect(parsed, yaml, linesAbove, notes);
  const line = linesAbove + parsed.lines.linePos(error.pos[0]).line;
  const what = error.message.split("\n")[0]?.replace(/ at line \d+, column \d+:?$/, "") ?? "";
  if (parsed.document.errors.some((other) => other.code === "RESOURCE_EXHAUSTION")) {
    notes.error(line, "yaml-refused", `the frontmatter can't be used: ${what}`);
    return undefined;
  }
  if (safetyField.test(yaml)) {
    const why = "the file has tools or patterns, and Remora never guesses those";
    notes.error(line, "yaml-error", `YAML error: ${what}. The skill is not loaded, because ${why}: quote the value`);
    return undefined;
  }
  notes.warn(line, "yaml-repaired", `YAML error: ${what}. The value was read as plain text: put it in quotes`);
  const repaired = quotePlainValues(yaml);
  const again = parse(repaired);
  if (typeof again !== "string" && again.document.errors.length === 0)
    return collect(again, repaired, linesAbove, notes);
  const bare = bareLines(yaml);
  const last = parse(bare);
  return typeof last === "string" ? undefined : collect(last, bare, linesAbove, notes);
}

interface Parsed {
  document: ReturnType<typeof parseDocument>;
  lines: LineCounter;
}

function parse(yaml: string): Parsed | string {
  const lines = new LineCounter();
  try {
    const document = parseDocument(yaml, { uniqueKeys: false, logLevel: "silent", lineCounter: lines });
    // Expand aliases only to count them, because nested aliases can make a small file huge.
    if (document.errors.length === 0 && yaml.includes("*") && hasAlias(document.contents)) {
      if (hasCircle(document)) return "an alias contains itself";
      document.toJS({ maxAliasCount: maxAliases });
    }
    return { document, lines };
  } catch (thrown) {
    if (thrown instanceof ReferenceError && /alias/i.test(thrown.message)) {
      return /excessive/i.test(thrown.message) ? "its aliases expand to too much data" : thrown.message;
    }
    return "it can't be parsed as YAML";
  }
}

/** Most files with a `*` have it in their text. Expanding them would take a tenth of the time that parsing takes. */
function hasAlias(node: unknown): boolean {
  if (isAlias(node)) return true;
  if (isPair(node)) return hasAlias(node.key) || hasAlias(node.value);
  return isCollection(node) && node.items.some(hasAlias);
}

/** Finds an alias that contains itself and would expand forever. The alias count does not catch it. */
function hasCircle(document: Document): boolean {
  const anchored = new Map<string, unknown>();
  let isCircular = false;
  visit(document, {
    Value(_key, node) {
      if (node.anchor !== undefined) anchored.set(node.anchor, node);
    },
    Alias(_key, { source }, path) {
      if (!path.includes(anchored.get(source) as never)) return undefined;
      isCircular = true;
      return visit.BREAK;
    },
  });
  return isCircular;
}

function collect({ document, lines }: Parsed, yaml: string, linesAbove: number, notes: Notes): Fields {
  const found = new Map<FieldName, Field[]>();
  const lineOf: Fields["lineOf"] = (node) => linesAbove + lines.linePos(node.range?.[0] ?? 0).line;
  const sourceOf: Fields["sourceOf"] = (node) => yaml.slice(node.range?.[0] ?? 0, node.range?.[1] ?? 0).trim();
  for (const pair of isMap(document.contents) ? document.contents.items : []) {
    if (!isScalar(pair.key)) continue;
    const spelled = String(pair.key.source ?? pair.key.value);
    const line = lineOf(pair.key);
    const retired = retiredFields.get(plainSpelling(spelled));
    if (retired !== undefined) notes.warn(line, "retired-field", retired);
    const name = bySpelling.get(plainSpelling(spelled));
    if (name === undefined) continue;
    if (spelled !== name)
      notes.warn(line, "field-spelling", `the field ${spelled} was read as ${name}: use that spelling`);
    const others = found.get(name) ?? [];
    if (others.length > 0) notes.warn(line, "repeated-field", `${name} is repeated${whatCounts(name)}`);
    const node = pair.value as ParsedNode | null;
    found.set(name, [...others, { line, node, source: lineSource(yaml, pair.key.range?.[1] ?? 0, node) }]);
  }
  noteRepeatedKeys(document, lineOf, notes);
  const all = (name: FieldName) => found.get(name) ?? [];
  return { all, first: (name) => all(name)[0], lineOf, sourceOf, document };
}

function noteRepeatedKeys(document: Document, lineOf: Fields["lineOf"], notes: Notes): void {
  visit(document, {
    Map(_key, { items }, path) {
      if (path.length <= 1) return;
      const seen = new Set<string>();
      for (const { key } of items) {
        const name = scalarText(key as Node | null);
        if (name === undefined) continue;
        if (seen.has(name))
          notes.warn(lineOf(key as Node), "repeated-key", `${name} is repeated: the first one counts`);
        seen.add(name);
      }
    },
  });
}

function whatCounts(name: FieldName): string {
  return name.endsWith("_patterns") ? ": both lists count; join them" : ": the first one counts; remove one";
}

/** Returns the source from the colon to the end of the value, including tags and anchors. */
function lineSource(yaml: string, keyEnd: number, node: ParsedNode | null): string {
  const end = Math.max(node?.range?.[1] ?? keyEnd, keyEnd);
  return yaml
    .slice(keyEnd, end)
    .replace(/^\s*:\s*/, "")
    .trim();
}

function plainSpelling(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, "");
}

/** Quotes top-level values that are plain or invalid YAML. Line numbers do not change. */
function quotePlainValues(yaml: string): string {
  const lines = yaml.split("\n").map((line) => line.replace(/^[\t ]+/, (indent) => indent.replaceAll("\t", "  ")));
  const result: string[] = [];
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? "";
    const [, key, value] = /^([A-Za-z_][\w-]*)[ \t]*:[ \t]+(\S.*)$/.exec(line) ?? [];
    if (key === undefined || value === undefined || !needsQuotes(value)) {
      result.push(line);
      continue;
    }
    const more: string[] = [];
    while (/^\s+\S/.test(lines[index + 1] ?? "")) more.push(lines[++index]?.trim() ?? "");
    result.push(`${key}: ${JSON.stringify([value.trim(), ...more].join(" "))}`, ...more.map(() => ""));
  }
  return result.join("\n");
}

function needsQuotes(value: string): boolean {
  if (/^[|>]/.test(value)) return false;
  if (!/^["'[{&!]/.test(value)) return true;
  const alone = parse(value);
  return typeof alone === "string" || alone.document.errors.length > 0;
}

/** Keeps only `name` and `description`. Line numbers do not change. */
function bareLines(yaml: string): string {
  const bare = yaml.split("\n").map((line) => {
    const [, key, value = ""] = /^(name|description)[ \t]*:(.*)$/i.exec(line) ?? [];
    return key === undefined ? "" : `${key}: ${JSON.stringify(value.trim().replace(/^(["'])(.*)\1$/, "$2"))}`;
  });
  return bare.join("\n");
}

export function scalarText(node: Node | null | undefined): string | undefined {
  if (!isScalar(node) || node.value === null) return undefined;
  return typeof node.value === "string" ? node.value : String(node.source ?? node.value);
}

export function isPlainString(node: Node | null | undefined): boolean {
  return isScalar(node) && typeof node.value === "string" && node.tag === undefined && node.anchor === undefined;
}
