/** Describes a tool for a model in less text than its JSON Schema, or in a schema without what tells the model nothing. */
import type { JsonSchema, ToolSpec } from "../../ports/tool.ts";

/** Limits that are rarely reached. A call that exceeds one is told so. */
const minorKeys = new Set(["minLength", "maxLength", "minItems", "maxItems"]);

/** One line per argument, `?` for those that may be left out. Arguments that only JSON Schema can express stay as they are. */
export function describeTool({ name, description, parameters }: ToolSpec): string {
  const { type: _object, properties = {}, required, additionalProperties: _others, ...more } = parameters;
  const head = `### ${name}\n${description}`;
  if (!isObject(properties) || Object.keys(more).length > 0) return `${head}\nInput: ${JSON.stringify(parameters)}`;
  const isRequired = (key: string) => Array.isArray(required) && required.includes(key);
  const lines = Object.entries(properties).map(([key, schema]) => {
    return `- ${key}${isRequired(key) ? "" : "?"}: ${argumentText(schema)}`;
  });
  return [head, ...(lines.length === 0 ? ["Input: {}"] : lines)].join("\n");
}

function argumentText(schema: unknown): string {
  if (!isObject(schema)) return JSON.stringify(schema);
  const { description, ...rest } = schema;
  const type = typeText(rest) ?? JSON.stringify(rest);
  return typeof description === "string" ? `${type}. ${description}` : type;
}

/** Undefined for what only JSON Schema can express. */
function typeText(schema: JsonSchema): string | undefined {
  const entries = Object.entries(schema).filter(([key]) => !minorKeys.has(key));
  const { type, items, enum: values, minimum, maximum, format: _hint, ...more } = Object.fromEntries(entries);
  if (Object.keys(more).length > 0 || typeof type !== "string" || type === "object") return undefined;
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(" | ");
  if (type === "array") {
    const inner = isObject(items) && items.description === undefined ? typeText(items) : undefined;
    return inner === undefined ? undefined : `list of ${inner}`;
  }
  return minimum === undefined && maximum === undefined ? type : `${type} ${minimum ?? ""}..${maximum ?? ""}`;
}

/** A model does not reach such a limit by accident. */
const rarelyReached = new Map([
  ["maxLength", 100],
  ["maxItems", 10],
]);

/**
 * The schema as requests define it: without limits that are rarely reached and the ban on other arguments. A call that breaks them is
 * refused all the same, and told why. Besides, servers make grammars of schemas, and some versions of llama.cpp refuse a whole request for
 * one `maxLength` of 2,000 (ggml-org/llama.cpp#25746, #27087). Only in plain objects and lists: elsewhere a limit may be what tells
 * alternatives apart.
 */
export function briefSchema(schema: JsonSchema): JsonSchema {
  const { properties, items } = schema;
  const kept = Object.entries(schema).filter(([key, value]) => !isMinor(key, value, schema));
  return {
    ...Object.fromEntries(kept),
    ...(isObject(properties) ? { properties: mapValues(properties, briefly) } : {}),
    ...(isObject(items) ? { items: briefly(items) } : {}),
  };
}

function briefly(value: unknown): unknown {
  return isObject(value) ? briefSchema(value) : value;
}

function isMinor(key: string, value: unknown, { properties }: JsonSchema): boolean {
  if (key === "additionalProperties") return value === false && isObject(properties);
  if (typeof value !== "number") return false;
  return key === "minLength" || key === "minItems" ? value <= 1 : value >= (rarelyReached.get(key) ?? Infinity);
}

function mapValues(values: JsonSchema, change: (value: unknown) => unknown): JsonSchema {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, change(value)]));
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
