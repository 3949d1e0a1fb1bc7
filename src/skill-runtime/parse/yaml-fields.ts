/**
 * The fields of a frontmatter, each with its YAML node, its line and its source text:
 *
 *   1. parsed as YAML; aliases are capped, none may stand inside of what it names, and nothing is merged or instantiated
 *   2. a YAML error in a file that has tools or patterns ends here: a safety rule must never be guessed
 *   3. otherwise tabs become spaces and plain top-level values are quoted, and it is parsed again
 *   4. and if that fails too, the lines that start with `name:` and `description:` are taken as they stand
 *
 * Known fields are found in any spelling of case, hyphens and underscores; the first of two with the same name counts.
 */
import { type Document, isMap, isScalar, LineCounter, type Node, type ParsedNode, parseDocument, visit } from "yaml";
import type { Notes } from "./diagnostics.ts";

export interface Field {
  /** 1-based, in the file. */
  line: number;
  /** Null: the field has no value, or the value could not be parsed and only `source` counts. */
  node: ParsedNode | null;
  /** The value as it is written after the colon. */
  source: string;
}

export interface Fields {
  /** All fields of that name, in the file's order; several only where the file repeats it. */
  all(name: FieldName): Field[];
  first(name: FieldName): Field | undefined;
  /** 1-based line of a node in the file. */
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

/** Fields that meant something once, by their plain spelling, and what to tell their author. */
const retiredFields = new Map([
  [
    "readonly",
    "read_only has no effect any more: commands run on a draft, and people approve what they changed; remove it",
  ],
]);

const maxAliases = 100;
const bySpelling = new Map<string, FieldName>(fieldNames.map((name) => [plainSpelling(name), name]));
/** Rather found once too often: in doubt the file has them. */
const safetyField =
  /(?:danger|confirm)[_-]?patterns|^[ \t{,?"']*(?:tools|provides[_-]?tools|gate[_-]?tests)["']?[ \t]*:/im;

/** Undefined when the file must not be loaded; `notes` says why. */
export function readFields(yaml: string, linesAbove: number, notes: Notes): Fields | undefined {
  const parsed = parse(yaml);
  if (typeof parsed === "string") {
    notes.error(linesAbove + 1, "yaml-refused", `the frontmatter is not read: ${parsed}`);
    return undefined;
  }
  const [error] = parsed.document.errors;
  if (error === undefined) return collect(parsed, yaml, linesAbove, notes);
  const line = linesAbove + parsed.lines.linePos(error.pos[0]).line;
  const what = error.message.split("\n")[0]?.replace(/ at line \d+, column \d+:?$/, "") ?? "";
  if (parsed.document.errors.some((other) => other.code === "RESOURCE_EXHAUSTION")) {
    notes.error(line, "yaml-refused", `the frontmatter is not read: ${what}`);
    return undefined;
  }
  if (safetyField.test(yaml)) {
    const why = "the file has tools or patterns, and those are never guessed";
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

/** A string says why the text is refused as a whole. */
function parse(yaml: string): Parsed | string {
  const lines = new LineCounter();
  try {
    const document = parseDocument(yaml, { uniqueKeys: false, logLevel: "silent", lineCounter: lines });
    // Only to count: expanding is what makes a small file with aliases huge.
    if (document.errors.length === 0 && yaml.includes("*")) {
      if (hasCircle(document)) return "an alias stands inside of what it names, so that it has no end";
      document.toJS({ maxAliasCount: maxAliases });
    }
    return { document, lines };
  } catch (thrown) {
    if (thrown instanceof ReferenceError && /alias/i.test(thrown.message)) {
      return /excessive/i.test(thrown.message) ? "its aliases unfold into too much data" : thrown.message;
    }
    return "it can't be parsed as YAML";
  }
}

/** What is in a circle is not too much to the count of aliases, and unfolds for ever. */
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
      notes.warn(line, "field-spelling", `the field ${spelled} was read as ${name}: write it like that`);
    const others = found.get(name) ?? [];
    if (others.length > 0) notes.warn(line, "repeated-field", `${name} is given a second time${whatCounts(name)}`);
    const node = pair.value as ParsedNode | null;
    found.set(name, [...others, { line, node, source: lineSource(yaml, pair.key.range?.[1] ?? 0, node) }]);
  }
  noteRepeatedKeys(document, lineOf, notes);
  const all = (name: FieldName) => found.get(name) ?? [];
  return { all, first: (name) => all(name)[0], lineOf, sourceOf, document };
}

/** Below the top: there a field given twice may add something, and what is unknown is left alone. */
function noteRepeatedKeys(document: Document, lineOf: Fields["lineOf"], notes: Notes): void {
  visit(document, {
    Map(_key, { items }, path) {
      if (path.length <= 1) return;
      const seen = new Set<string>();
      for (const { key } of items) {
        const name = scalarText(key as Node | null);
        if (name === undefined) continue;
        if (seen.has(name))
          notes.warn(lineOf(key as Node), "repeated-key", `${name} is given a second time: the first one counts`);
        seen.add(name);
      }
    },
  });
}

function whatCounts(name: FieldName): string {
  return name.endsWith("_patterns")
    ? ": the patterns of both count; join the lists"
    : ": the first one counts; remove one";
}

/** What stands after the colon up to the value's end, with tags and anchors that the node leaves out. */
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

/** Quotes every top-level value that is plain text or no YAML by itself; the number of lines stays the same. */
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

/** Only `name` and `description`, each as what follows its first colon; the number of lines stays the same. */
function bareLines(yaml: string): string {
  const bare = yaml.split("\n").map((line) => {
    const [, key, value = ""] = /^(name|description)[ \t]*:(.*)$/i.exec(line) ?? [];
    return key === undefined ? "" : `${key}: ${JSON.stringify(value.trim().replace(/^(["'])(.*)\1$/, "$2"))}`;
  });
  return bare.join("\n");
}

/** The text that a person reads in a scalar: its value if it is a string, its source text if it is a number, boolean or date. */
export function scalarText(node: Node | null | undefined): string | undefined {
  if (!isScalar(node) || node.value === null) return undefined;
  return typeof node.value === "string" ? node.value : String(node.source ?? node.value);
}

/** Nothing but a string, as it is written: no alias, tag or anchor that YAML makes something else of. */
export function isPlainString(node: Node | null | undefined): boolean {
  return isScalar(node) && typeof node.value === "string" && node.tag === undefined && node.anchor === undefined;
}
