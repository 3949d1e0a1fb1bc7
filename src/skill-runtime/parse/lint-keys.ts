/**
 * Finds keys of a SKILL.md that are nearly right, and so have no effect: misspelled fields, misspelled keys of tools and
 * schemas, `required` inside a property of a JSON Schema, and triggers that are written like patterns. These are hints;
 * the skill loads without them.
 */
import { isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, type YAMLMap } from "yaml";
import { closestName } from "../../lib/closest-name.ts";
import { createDiagnostics } from "./diagnostics.ts";
import { splitFrontmatter } from "./frontmatter.ts";
import { fieldNames } from "./yaml-fields.ts";

export interface KeyHint {
  line: number;
  message: string;
}

/** Other programs read these fields, and Remora ignores them. */
const otherFields = [
  "license",
  "compatibility",
  "metadata",
  "allowed-tools",
  "author",
  "homepage",
  "tags",
  "read_only",
];
const toolKeys = [
  ...["name", "description", "parameters", "inputSchema", "input_schema", "readOnly", "read_only", "idempotent"],
  ...[
    "untrusted",
    "outward",
    "timeout",
    "folder",
    "ask",
    "doing",
    "done",
    "many",
    "always",
    "asksTaintedWith",
    "personal",
  ],
];
/** Words of other formats for `parameters`. */
const otherParameterNames = ["schema", "params", "args", "arguments", "input", "inputs", "input_parameters"];
const schemaKeys = [
  ...[
    "type",
    "description",
    "title",
    "default",
    "enum",
    "const",
    "examples",
    "format",
    "items",
    "properties",
    "required",
  ],
  ...["additionalProperties", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern"],
  ...["minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "prefixItems", "contains", "minProperties"],
  ...["maxProperties", "propertyNames", "patternProperties", "anyOf", "oneOf", "allOf", "not", "if", "then", "else"],
  ...["nullable", "optional", "deprecated", "readOnly", "writeOnly", "$ref", "$defs", "definitions", "contentEncoding"],
];
const maxDepth = 10;
/** Signs of regular expressions and wildcards. Words such as `c++` have none of them. */
const patternSigns = /\.[*+]|\\[bdsw]|^\^|\w\*$|^\*\w|\[[^\]]+\]|\(\?/i;

export function lintKeys(bytes: Uint8Array): KeyHint[] {
  const split = splitFrontmatter(bytes, createDiagnostics(""));
  if (split === undefined) return [];
  const lines = new LineCounter();
  const document = parseDocument(split.yaml, { lineCounter: lines, merge: false });
  const hints: KeyHint[] = [];
  const add = (key: Node, message: string) =>
    hints.push({ line: split.linesAbove + lines.linePos(key.range?.[0] ?? 0).line, message });
  if (document.errors.length > 0 || !isMap(document.contents)) return [];

  for (const { key, name, value } of entriesOf(document.contents)) {
    misspelled(key, name, [...fieldNames, ...otherFields], "field");
    if (name === "triggers" && isSeq(value)) for (const trigger of value.items) lintTrigger(trigger);
    if (name === "tools" && isSeq(value)) for (const tool of value.items) if (isMap(tool)) lintTool(tool);
  }
  return hints;

  function misspelled(key: Node, name: string, known: readonly string[], what: string): void {
    const plain = (text: string) => text.toLowerCase().replaceAll(/[-_]/g, "");
    if (known.some((one) => plain(one) === plain(name))) return;
    const near = closestName(name, known);
    if (near !== undefined) add(key, `\`${name}\` is no ${what}, so it has no effect. Did you mean \`${near}\`?`);
  }

  function lintTrigger(trigger: unknown): void {
    if (!isScalar(trigger) || typeof trigger.value !== "string" || !patternSigns.test(trigger.value)) return;
    add(
      trigger as Node,
      `the trigger \`${trigger.value}\` matches only as it stands, with its signs: write words, not a pattern`,
    );
  }

  function lintTool(tool: YAMLMap): void {
    const has = new Set(entriesOf(tool).map(({ name }) => name));
    for (const { key, name, value } of entriesOf(tool)) {
      if (otherParameterNames.includes(name) && !has.has("parameters"))
        add(key, `\`${name}\` is no key of a tool, so it takes no arguments. Did you mean \`parameters\`?`);
      else misspelled(key, name, toolKeys, "key of a tool");
      const isSchema = ["parameters", "inputSchema", "input_schema"].includes(name) && isMap(value);
      if (isSchema && entriesOf(value).some((entry) => entry.name === "properties" || entry.name === "type"))
        lintSchema(value, 0);
    }
  }

  function lintSchema(schema: YAMLMap, depth: number): void {
    if (depth > maxDepth) return;
    for (const { key, name, value } of entriesOf(schema)) {
      misspelled(key, name, schemaKeys, "word of JSON Schema");
      if (name === "items" && isMap(value)) lintSchema(value, depth + 1);
      if (name !== "properties" || !isMap(value)) continue;
      for (const property of entriesOf(value)) {
        if (property.name === "required" && isSeq(property.value))
          add(property.key, "`required` is inside `properties`, so it is an argument. Move it beside `properties`.");
        if (!isMap(property.value)) continue;
        const required = entriesOf(property.value).find((entry) => entry.name === "required");
        if (required !== undefined && isScalar(required.value))
          add(
            required.key,
            `\`required\` inside \`${property.name}\` has no effect. List the name beside \`properties\`: required: [${property.name}]`,
          );
        lintSchema(property.value, depth + 1);
      }
    }
  }
}

function entriesOf(map: YAMLMap): { key: Node; name: string; value: unknown }[] {
  return map.items.flatMap(({ key, value }) =>
    isScalar(key) ? [{ key: key as Node, name: String(key.value), value }] : [],
  );
}
