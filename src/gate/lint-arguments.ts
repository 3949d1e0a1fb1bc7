/**
 * Warns about patterns that can't match what they name: a key that the tool does not have, and a space that JSON does not
 * have. Patterns are matched against the tool's name, a space, and the arguments as `JSON.stringify` writes them.
 */
import type { GateRules } from "../ports/gate.ts";
import type { ToolSpec } from "../ports/tool.ts";
import type { GateDiagnostic } from "./compile.ts";

type Tool = Pick<ToolSpec, "name" | "parameters">;

export function lintArguments({ rules }: GateRules, tools: readonly Tool[]): GateDiagnostic[] {
  return rules.flatMap(({ pattern, file, line }) =>
    [...spaceWarnings(pattern), ...keyWarnings(pattern, tools)].map((warning) => ({
      ...{ path: file, line, severity: "warning" as const },
      ...warning,
    })),
  );
}

function spaceWarnings(pattern: string) {
  const spaced = /"(\w+)"(?: :|: (?![?*{|]))/.exec(pattern);
  if (spaced === null) return [];
  const message = `never matches the argument \`${spaced[1]}\`: arguments have no space at the colon, as in \`"${spaced[1]}":"x"\`; remove the space`;
  return [{ code: "gate.json-space", message }];
}

/** Only for a pattern that begins with the whole name of a tool, whose schema allows no other keys. */
function keyWarnings(pattern: string, tools: readonly Tool[]) {
  const name = hasAlternatives(pattern) ? undefined : /^\^([\w-]+)(?: |\\s)/.exec(pattern)?.[1]?.toLowerCase();
  const tool = tools.find((one) => one.name.toLowerCase() === name);
  const keys = tool === undefined ? undefined : keysOf(tool.parameters);
  if (tool === undefined || keys === undefined) return [];
  const known = new Set([...keys].map((key) => key.toLowerCase()));
  const unknown = [...pattern.matchAll(/[{,*+ ]"(\w+)":/g)]
    .map(([, key = ""]) => key)
    .find((key) => !known.has(key.toLowerCase()));
  if (unknown === undefined) return [];
  const has = keys.size === 0 ? "it has none" : `it has ${[...keys].join(", ")}`;
  const message = `names the argument \`${unknown}\`, which \`${tool.name}\` does not have; ${has}`;
  return [{ code: "gate.unknown-argument", message }];
}

/** Outside of groups: the text after `|` does not begin with the tool's name. */
function hasAlternatives(pattern: string): boolean {
  let rest = pattern.replaceAll(/\\./g, "");
  for (let before = ""; before !== rest; ) {
    before = rest;
    rest = rest.replaceAll(/\([^()]*\)/g, "");
  }
  return rest.includes("|");
}

/** All names in a schema; undefined if other ones are possible. */
function keysOf(schema: unknown): Set<string> | undefined {
  const keys = new Set<string>();
  return isClosed(schema, keys) ? keys : undefined;
}

const valueTypes = new Set(["string", "number", "integer", "boolean", "null"]);
const maxDepth = 20;

function isClosed(schema: unknown, keys: Set<string>, depth = 0): boolean {
  if (typeof schema !== "object" || schema === null || depth > maxDepth) return false;
  const {
    type,
    properties,
    additionalProperties,
    items,
    enum: values,
    const: value,
  } = schema as Record<string, unknown>;
  if (typeof type === "string" && valueTypes.has(type)) return true;
  if (Array.isArray(values) || value !== undefined) return true;
  if (type === "array") return isClosed(items, keys, depth + 1);
  if (type !== "object" || additionalProperties !== false || "patternProperties" in schema) return false;
  return Object.entries((properties as Record<string, unknown> | undefined) ?? {}).every(([key, inner]) => {
    keys.add(key);
    return isClosed(inner, keys, depth + 1);
  });
}
