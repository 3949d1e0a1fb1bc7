/**
 * Takes arguments that don't fit their tool's schema as the model meant them, where there is one such meaning: a number in
 * quotes, null for an optional argument, one value instead of a list, `file_path` instead of `path`. What the schema accepts stays as it
 * is, byte for byte, and the result fits the schema or is refused. It happens before the gate, so people approve what runs.
 *
 * It must not widen what was asked. So no value is chosen for the model (`"yes"` is not true), and an argument that the tool doesn't
 * know is left out only if it says nothing: it could be a limit, such as `dry_run: true`.
 */
import { isJsonObject } from "../lib/json.ts";
import { type NumberTexts, parseLooseJson } from "../lib/loose-json.ts";
import type { JsonObject } from "../ports/message.ts";
import type { ToolSpec } from "../ports/tool.ts";
import { renameArguments } from "./argument-names.ts";
import type { Misfit, SchemaChecker } from "./schema-check.ts";

export type FittedInput = { type: "fits"; input: JsonObject } | { type: "breaks"; reasons: string[] };

/** One round may uncover the next misfit: a text becomes a list, whose items are wrong. */
const maxRounds = 5;

/** Some models put the arguments into one of these, as their templates do. */
const wrappers: readonly string[] = ["input", "arguments", "parameters", "args", "params", "kwargs", "properties"];

/** Changes `given`. `numbers` knows how its numbers are written. */
export async function fitAsMeant(
  tool: ToolSpec,
  given: JsonObject,
  numbers: NumberTexts,
  checker: SchemaChecker,
): Promise<FittedInput> {
  let input = given;
  let reasons: string[] = [];
  for (let round = 0; round < maxRounds; round += 1) {
    const check = await checker.check(tool.parameters, input);
    if (check.type === "fits") return { type: "fits", input };
    if (check.type === "bad-schema") return { type: "breaks", reasons: [check.reason] };
    reasons = check.reasons;
    const inner = round === 0 ? unwrapped(tool, input) : undefined;
    if (inner !== undefined) input = inner;
    else if (!repair(tool, input, check.misfits, numbers)) break;
  }
  return { type: "breaks", reasons };
}

/** The arguments in `{"arguments": {…}}`, also beside the tool's name, unless the tool has an argument of that name. */
function unwrapped(tool: ToolSpec, input: JsonObject): JsonObject | undefined {
  const { name, type, ...rest } = input;
  const isEcho = (name === undefined || name === tool.name) && (type === undefined || type === "object");
  const [key, ...others] = Object.keys(rest);
  if (!isEcho || key === undefined || others.length > 0 || !wrappers.includes(key) || isOwn(tool, key))
    return undefined;
  const value = rest[key];
  const inner = typeof value === "string" ? parseLooseJson(value) : value;
  return isJsonObject(inner) ? inner : undefined;
}

function isOwn({ parameters: { properties } }: ToolSpec, key: string): boolean {
  return isJsonObject(properties) && Object.hasOwn(properties, key);
}

/** Returns false if nothing could be changed. */
function repair(tool: ToolSpec, input: JsonObject, misfits: readonly Misfit[], numbers: NumberTexts): boolean {
  const certain = misfits.filter((misfit) => !isInAlternative(misfit, misfits));
  let hasChanged = renameArguments(tool, input, certain, numbers);
  for (const [pointer, broken] of Map.groupBy(certain, ({ path }) => JSON.stringify(path))) {
    const path: string[] = JSON.parse(pointer);
    const holder = valueAt(input, path.slice(0, -1));
    const key = path.at(-1);
    for (const { keyword, params } of broken) {
      const unknown = params.additionalProperty ?? params.unevaluatedProperty;
      const owner = valueAt(input, path);
      if (!/Properties$/.test(keyword) || typeof unknown !== "string" || !isJsonObject(owner)) continue;
      if (!saysNothing(tool, unknown, owner[unknown], path.length === 0)) continue;
      delete owner[unknown];
      hasChanged = true;
    }
    if (key !== undefined && holder !== undefined && replaceValue(holder, key, broken, numbers)) hasChanged = true;
  }
  return hasChanged;
}

/** Keywords that offer several schemas, or depend on what else is there. Nothing says which part of such a schema was meant. */
const alternatives: ReadonlySet<string> = new Set(["anyOf", "oneOf", "not", "if", "contains", "propertyNames"]);

/** A value that fits none of the alternatives can still be null or a number in quotes, but nothing inside of it is certain. */
function isInAlternative({ path }: Misfit, misfits: readonly Misfit[]): boolean {
  return misfits.some(
    (other) =>
      alternatives.has(other.keyword) &&
      other.path.length < path.length &&
      other.path.every((key, index) => key === path[index]),
  );
}

function valueAt(input: JsonObject, path: readonly string[]): object | undefined {
  let value: unknown = input;
  for (const key of path) value = isHolder(value) && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
  return isHolder(value) ? value : undefined;
}

function isHolder(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** What a template makes models add: their thoughts, for nobody. */
const thoughts: ReadonlySet<string> = new Set(
  "explanation thought thoughts thinking reasoning rationale justification".split(" "),
);
/** Of a tool that others see the effects of, these may be meant for them. */
const remarks: ReadonlySet<string> = new Set("reason description purpose intent".split(" "));

/** False for an argument that could change what the tool does, if it knew it. */
function saysNothing(tool: ToolSpec, key: string, value: unknown, isTop: boolean): boolean {
  if (isEmpty(value)) return true;
  // Without it, a tool that changes something could do what the model has excluded, such as `overwrite: false`.
  if (value === false) return tool.isReadOnly;
  if (!isTop || typeof value !== "string") return false;
  const name = key.toLowerCase();
  return thoughts.has(name) || (remarks.has(name) && (tool.isReadOnly || tool.shellParameters.length > 0));
}

function isEmpty(value: unknown): boolean {
  return value === null || value === "" || (isHolder(value) && Object.keys(value).length === 0);
}

/** Breaking only these, an empty value is no value. */
const ofEmptyValues: ReadonlySet<string> = new Set(
  "type enum const pattern format minLength minItems minProperties anyOf oneOf".split(" "),
);

function replaceValue(holder: object, key: string, broken: readonly Misfit[], numbers: NumberTexts): boolean {
  if (!Object.hasOwn(holder, key)) return false;
  const value: unknown = Reflect.get(holder, key);
  const types = new Set(broken.flatMap(({ keyword, params }) => (keyword === "type" ? [params.type].flat() : [])));
  const isNone = typeof value === "string" && types.size > 0 && /^(?:null|none)?$/i.test(value);
  if (!Array.isArray(holder) && (isNone || isEmpty(value)) && broken.every(({ keyword }) => ofEmptyValues.has(keyword)))
    // If it is required, the next check says so.
    return Reflect.deleteProperty(holder, key);
  const meant = valueOfType(value, types, numbers.get(holder)?.get(key), numbers);
  return meant !== undefined && Reflect.set(holder, key, meant);
}

/** Undefined if the value has no certain form of these types. */
function valueOfType(value: unknown, types: ReadonlySet<unknown>, written: string | undefined, numbers: NumberTexts) {
  const wants = (...some: string[]) => some.some((type) => types.has(type));
  if (typeof value === "number" && wants("string")) return written ?? String(value);
  if (typeof value === "string") {
    if (wants("number", "integer") && isPlainNumber(value)) return Number(value);
    if (wants("boolean") && /^(?:true|false)$/i.test(value)) return value.toLowerCase() === "true";
    const parsed = wants("array", "object") && /^\s*[[{]/.test(value) ? parseLooseJson(value, numbers) : undefined;
    if (Array.isArray(parsed) ? wants("array") : isJsonObject(parsed) && wants("object")) return parsed;
  }
  if (Array.isArray(value) && value.length === 1 && typeof value[0] === "string" && wants("string")) return value[0];
  const isList = wants("array") && [...types].every((type) => type === "array" || type === "null");
  return isList && isOneItem(value) ? [value] : undefined;
}

/** False for numbers that would change: `007`, or more digits than fit. */
function isPlainNumber(text: string): boolean {
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text)) return false;
  const exact = text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  return String(Number(text)) === exact;
}

/** False for a text that may name several. */
function isOneItem(value: unknown): boolean {
  if (typeof value === "string") return value !== "" && !/[,;\n]|^\s*[[{]/.test(value);
  return !isEmpty(value) && !Array.isArray(value);
}
