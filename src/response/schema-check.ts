/** Checks arguments against their tool's JSON Schema. Never coerces or adds values: the tool gets exactly these. */
import type { ErrorObject, ValidateFunction } from "ajv";
import { closestName } from "../lib/closest-name.ts";
import { messageOf } from "../lib/errors.ts";
import { isJsonObject } from "../lib/json.ts";
import type { JsonObject } from "../ports/message.ts";
import type { JsonSchema, ToolSpec } from "../ports/tool.ts";

/** One keyword that a value breaks. `path` has the keys to the value, `params` what the keyword says (ajv's `params`). */
export interface Misfit {
  path: string[];
  keyword: string;
  params: { [name: string]: unknown };
}

type SchemaCheck =
  | { type: "fits" }
  /** Each reason is a short clause, e.g. `limit must be integer, not "many"`. */
  | { type: "breaks"; reasons: string[]; misfits: Misfit[] }
  | { type: "bad-schema"; reason: string };

export interface SchemaChecker {
  check(schema: JsonSchema, input: JsonObject): Promise<SchemaCheck>;
}

type Compiled = { validate: ValidateFunction } | { reason: string };
type Compile = (schema: JsonSchema) => ValidateFunction;

const maxReasons = 5;
const maxShownCharacters = 40;

export function createSchemaChecker(): SchemaChecker {
  const compiled = new WeakMap<JsonSchema, Compiled>();
  const dialects = new Map<boolean, Promise<Compile>>();

  async function compile(schema: JsonSchema): Promise<Compiled> {
    // Remove `$schema`, because ajv would look up the meta-schema by name. The code below chooses the dialect.
    const { $schema: dialect, ...rest } = schema;
    const isNew = typeof dialect === "string" && /20(?:19-09|20-12)/.test(dialect);
    try {
      const opened = dialects.get(isNew) ?? openDialect(isNew);
      dialects.set(isNew, opened);
      return { validate: (await opened)(rest) };
    } catch (thrown) {
      return { reason: messageOf(thrown) };
    }
  }

  return {
    async check(schema, input) {
      const known = compiled.get(schema) ?? (await compile(schema));
      compiled.set(schema, known);
      if ("reason" in known) return { type: "bad-schema", reason: known.reason };
      try {
        const fits: unknown = known.validate(input);
        if (fits === true) return { type: "fits" };
        if (fits !== false) return { type: "bad-schema", reason: "asynchronous schemas can't be used" };
      } catch (thrown) {
        return { type: "breaks", reasons: [`they can't be checked (${messageOf(thrown)})`], misfits: [] };
      }
      const errors = known.validate.errors ?? [];
      return { type: "breaks", reasons: reasonsOf(errors), misfits: errors.map(misfitOf) };
    },
  };
}

const options = { strict: false, allErrors: true, validateFormats: false, logger: false, verbose: true } as const;
/** The meta-schema takes longer to compile than a tool's schema, so one instance checks all schemas. */
const unchecked = { ...options, validateSchema: false };

async function openDialect(isNew: boolean): Promise<Compile> {
  const Dialect = isNew ? (await import("ajv/dist/2020.js")).Ajv2020 : (await import("ajv")).Ajv;
  const meta = new Dialect(options);
  return (schema) => {
    meta.validateSchema(schema, true);
    // An instance for each schema, so that two skills may use the same `$id`.
    return new Dialect(unchecked).compile(schema);
  };
}

function misfitOf({ instancePath, keyword, params }: ErrorObject): Misfit {
  return { path: keysOf(instancePath), keyword, params };
}

/** From a JSON pointer. */
function keysOf(pointer: string): string[] {
  const keys = pointer.split("/").slice(1);
  return keys.map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function reasonsOf(errors: ErrorObject[]): string[] {
  const reasons = [...new Set(errors.map(reasonOf))];
  const more = reasons.length - maxReasons;
  return more > 0 ? [...reasons.slice(0, maxReasons), `and ${more} more`] : reasons;
}

function reasonOf({ instancePath, message = "is wrong", keyword, params, data, parentSchema }: ErrorObject): string {
  const path = keysOf(instancePath);
  const subject = path.length === 0 ? "" : `${nameOf(path)} `;
  switch (keyword) {
    case "required":
      return `${nameOf([...path, String(params.missingProperty)])} is missing`;
    case "additionalProperties":
    case "unevaluatedProperties": {
      const key = String(params.additionalProperty ?? params.unevaluatedProperty);
      return `${subject}has the unknown argument ${shown(key)}${knownText(key, parentSchema?.properties)}`;
    }
    case "enum":
      return `${subject}must be one of ${JSON.stringify(params.allowedValues)}, not ${shown(data)}`;
    case "type":
      return `${subject}must be ${[params.type].flat().join(" or ")}, not ${shown(data)}`;
    default:
      return `${subject}${message}`;
  }
}

/** As in `files[0].name`. */
function nameOf(path: readonly string[]): string {
  return path.map((key, index) => (/^\d+$/.test(key) ? `[${key}]` : index === 0 ? key : `.${key}`)).join("");
}

function knownText(key: string, properties: unknown): string {
  if (!isJsonObject(properties)) return "";
  const known = Object.keys(properties);
  const near = closestName(key, known);
  if (near !== undefined) return ` (did you mean ${near}?)`;
  return known.length === 0 ? " (it takes none)" : ` (it takes ${known.join(", ")})`;
}

/** Of lists and objects only what they are: to write a deep one would fill the stack. */
function shown(value: unknown): string {
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "a list" : "an object";
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > maxShownCharacters ? `${text.slice(0, maxShownCharacters)}…` : text;
}

export async function describeMisfit(specs: ToolSpec[], tool: string, input: JsonObject): Promise<string | undefined> {
  const spec = specs.find((known) => known.name === tool);
  if (spec === undefined) return `The tool ${tool} is no longer available here.`;
  const checked = await createSchemaChecker().check(spec.parameters, input);
  if (checked.type === "fits") return undefined;
  const reasons = checked.type === "breaks" ? checked.reasons.join("; ") : checked.reason;
  return `These arguments don't fit ${tool}: ${reasons}.`;
}
