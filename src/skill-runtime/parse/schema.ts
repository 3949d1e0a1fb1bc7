/**
 * Converts a tool's parameters to a JSON Schema of an object. Skills write them in these forms:
 *
 *   nothing, or `{}`                              an object without properties
 *   `{ type: object, properties, required }`      used unchanged
 *   `arg: { type, description, required }`        a flat map; required unless it has `required: false` or a default
 *   `- { name, type, description, required }`     a flat map written as a list
 *
 * A flat map may have arguments called `type` or `properties`; the values of those keys decide which form it is.
 */
import { isJsonObject } from "../../lib/json.ts";
import type { Json, JsonObject } from "../../ports/message.ts";
import type { JsonSchema } from "../../ports/tool.ts";

export interface ToolParameters {
  schema: JsonSchema;
  /** Arguments with `format: shell`. The schema for models omits this format, because it is Remora's own. */
  shellParameters: string[];
  problems: string[];
}

const typeNames = new Set(["string", "number", "integer", "boolean", "array", "object", "null"]);
const otherTypeNames: { [name: string]: string } = {
  str: "string",
  text: "string",
  int: "integer",
  float: "number",
  bool: "boolean",
  list: "array",
  dict: "object",
  map: "object",
};

export function toToolParameters(written: Json | undefined): ToolParameters {
  const problems: string[] = [];
  const schema = toSchema(written, problems);
  const shellParameters: string[] = [];
  const properties = Object.entries(isJsonObject(schema.properties) ? schema.properties : {}).map(
    ([name, property]) => {
      if (!isJsonObject(property) || property.format !== "shell") return [name, property] as const;
      shellParameters.push(name);
      const { format: _, ...rest } = property;
      return [name, rest] as const;
    },
  );
  return { schema: { ...schema, properties: Object.fromEntries(properties) }, shellParameters, problems };
}

function toSchema(written: Json | undefined, problems: string[]): JsonObject {
  if (written === undefined || written === null) return emptySchema();
  if (Array.isArray(written)) return fromList(written, problems);
  if (!isJsonObject(written)) {
    problems.push("its parameters are not a map: it is offered without parameters");
    return emptySchema();
  }
  if (isJsonSchema(written)) return { ...written, type: "object", properties: written.properties ?? {} };
  return fromFlatMap(Object.entries(written), problems);
}

function emptySchema(): JsonObject {
  return { type: "object", properties: {}, required: [] };
}

function isJsonSchema(written: JsonObject): boolean {
  if (written.type === "object") return true;
  if (written.type !== undefined) return false;
  const { properties } = written;
  if (isJsonObject(properties)) return Object.values(properties).every(isJsonObject);
  return typeof written.$ref === "string" || ["anyOf", "oneOf", "allOf"].some((word) => Array.isArray(written[word]));
}

function fromList(written: Json[], problems: string[]): JsonObject {
  problems.push("its parameters are a list: a map from argument to { type, description } is usual");
  const entries = written.flatMap((entry): [string, Json][] => {
    if (!isJsonObject(entry) || typeof entry.name !== "string") return [];
    const { name, ...property } = entry;
    return [[name, property]];
  });
  return fromFlatMap(entries, problems);
}

function fromFlatMap(entries: [string, Json][], problems: string[]): JsonObject {
  const required: string[] = [];
  const properties = entries.map(([name, written]) => {
    const { isRequired, property } = toProperty(name, written, problems);
    if (isRequired) required.push(name);
    return [name, property] as const;
  });
  return { type: "object", properties: Object.fromEntries(properties), required };
}

function toProperty(name: string, written: Json, problems: string[]): { isRequired: boolean; property: JsonObject } {
  if (!isJsonObject(written)) return { isRequired: true, property: fromShorthand(written) };
  const { required, optional, ...rest } = written;
  const isRequired = typeof required === "boolean" ? required : optional !== true && !("default" in rest);
  // In a flat map, a nested object keeps its own list of required properties.
  if (Array.isArray(required)) return { isRequired: true, property: { ...rest, required } };
  const { type } = rest;
  if (typeof type !== "string" || typeNames.has(type)) return { isRequired, property: rest };
  const known = Object.hasOwn(otherTypeNames, type.toLowerCase()) ? otherTypeNames[type.toLowerCase()] : undefined;
  problems.push(`the type ${type} of ${name} is not a JSON Schema type: it was read as ${known ?? "string"}`);
  return { isRequired, property: { ...rest, type: known ?? "string" } };
}

function fromShorthand(written: Json): JsonObject {
  if (typeof written !== "string") return { type: "string" };
  if (typeNames.has(written)) return { type: written };
  const known = Object.hasOwn(otherTypeNames, written) ? otherTypeNames[written] : undefined;
  return known === undefined ? { type: "string", description: written } : { type: known };
}
