/**
 * Turns the parameters of an offered tool into a schema that calls can be checked against. Requests have it in the form that each
 * service takes (providers/fit-schema.ts). Keeps only known keywords: no dialects, ids or regular
 * expressions, whose matching may take forever. Reduces a schema that does not compile or is too long to names, types
 * and descriptions. At worst the model needs a second attempt, because the tool's own program checks its arguments too.
 */
import { isJsonObject } from "../../lib/json.ts";
import type { Json, JsonObject } from "../../ports/message.ts";
import type { JsonSchema } from "../../ports/tool.ts";
import { withoutUnseen } from "../parse/text.ts";

export type FitSchema = { schema: JsonSchema; problem?: string } | { refused: string };

const maxBytes = 24_000;
const maxArguments = 100;
const maxDepth = 16;
const maxText = 1_000;
/** Longer ones are no names. Requests have others for those that a service refuses (providers/fit-schema.ts). */
const maxArgumentName = 200;
const typeNames = new Set(["string", "number", "integer", "boolean", "array", "object", "null"]);

const plainWords = new Set([
  ...["type", "enum", "const", "default", "examples", "required", "format", "title", "deprecated", "readOnly", "$ref"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"],
  ...["minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "dependentRequired"],
]);
const schemaWords = new Set([
  ...["items", "prefixItems", "contains", "additionalProperties", "propertyNames", "unevaluatedProperties"],
  ...["anyOf", "oneOf", "allOf", "not", "if", "then", "else"],
]);
const mapWords = new Set(["properties", "$defs", "definitions", "dependentSchemas"]);
/** Returns the reason if a schema does not compile. Creating a probe is slow, so use one for many schemas. */
export type SchemaProbe = (schema: JsonSchema) => string | undefined;

export async function createSchemaProbe(): Promise<SchemaProbe> {
  const { Ajv2020 } = await import("ajv/dist/2020.js");
  const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false, addUsedSchema: false });
  return (schema) => {
    try {
      ajv.compile(schema);
      return undefined;
    } catch (thrown) {
      return thrown instanceof Error ? thrown.message : "it can't be compiled";
    }
  };
}

export function fitSchema(written: unknown, probe: SchemaProbe): FitSchema {
  const given = asJson(written);
  if (given === undefined)
    return { schema: emptySchema(), problem: "its parameters are not JSON: it is offered without parameters" };
  const cleaned = cleanSchema(given, 0);
  const properties = isJsonObject(cleaned.properties) ? cleaned.properties : {};
  const schema: JsonObject = { ...cleaned, type: "object", properties };
  const names = Object.keys(properties);
  const odd = names.find((name) => name.trim() === "" || name.length > maxArgumentName || withoutUnseen(name) !== name);
  if (odd !== undefined)
    return { refused: `its argument ${JSON.stringify(shortName(odd))} has a name that models can't read` };
  if (names.length > maxArguments) return { refused: `it has ${names.length} arguments; the limit is ${maxArguments}` };
  const problem = sizeProblem(schema) ?? probe(schema);
  if (problem === undefined) return { schema };
  const simple = simplified(schema);
  const left = sizeProblem(simple);
  return left === undefined
    ? { schema: simple, problem: `its parameters were simplified: ${problem}` }
    : { refused: left };
}

function shortName(name: string): string {
  return name.slice(0, 80).toWellFormed();
}

function asJson(written: unknown): JsonObject | undefined {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(written ?? {}));
    return isJsonObject(copy) ? copy : undefined;
  } catch {
    return undefined;
  }
}

function emptySchema(): JsonObject {
  return { type: "object", properties: {} };
}

function sizeProblem(schema: JsonObject): string | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(schema));
  return bytes <= maxBytes ? undefined : `they have ${bytes} bytes; the limit is ${maxBytes}`;
}

function cleanSchema(schema: JsonObject, depth: number): JsonObject {
  if (depth > maxDepth) return {};
  const entries = Object.entries(schema).flatMap(([word, value]): [string, Json][] => {
    if (word === "description") return typeof value === "string" ? [[word, clean(value)]] : [];
    if (plainWords.has(word)) return [[word, value]];
    if (schemaWords.has(word)) return [[word, cleanAny(value, depth + 1)]];
    if (mapWords.has(word) && isJsonObject(value)) return [[word, cleanMap(value, depth + 1)]];
    return [];
  });
  return Object.fromEntries(entries);
}

function cleanAny(value: Json, depth: number): Json {
  if (Array.isArray(value)) return depth > maxDepth ? [] : value.map((one) => cleanAny(one, depth + 1));
  return isJsonObject(value) ? cleanSchema(value, depth) : value;
}

function cleanMap(map: JsonObject, depth: number): JsonObject {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, cleanAny(value, depth)]));
}

function clean(text: string): string {
  const seen = withoutUnseen(text).trim();
  return seen.length <= maxText ? seen : `${seen.slice(0, maxText - 1).toWellFormed()}…`;
}

function simplified({ properties, required }: JsonObject): JsonObject {
  const entries = Object.entries(isJsonObject(properties) ? properties : {});
  const names = entries.map(([name]) => name);
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, property]) => [name, simpleProperty(property)])),
    required: Array.isArray(required)
      ? [...new Set(required.filter((name) => typeof name === "string" && names.includes(name)))]
      : [],
  };
}

function simpleProperty(property: Json): JsonObject {
  const { type, description } = isJsonObject(property) ? property : {};
  return {
    ...(typeof type === "string" && typeNames.has(type) ? { type } : {}),
    ...(typeof description === "string" ? { description: description.slice(0, 200).toWellFormed() } : {}),
  };
}
