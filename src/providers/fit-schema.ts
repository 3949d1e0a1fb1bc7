/**
 * A tool's schema as every service takes it: none refuses what is left, and calls are checked against the original. References are
 * written out, alternatives at the top are joined, a type is one word, and what only a check needs is left out. Names of arguments
 * that services refuse are replaced, and put back in the call.
 *
 * Sources of the rules: test/field/README.md and test/doubles/model-rules/tool-schemas.ts. They are one file, because each works on
 * what the others leave.
 */
import { isJsonObject, parseJson } from "../lib/json.ts";
import type { Json, JsonObject } from "../ports/message.ts";

export interface FittedSchema {
  schema: JsonObject;
  /** The arguments of a call under their own names. */
  restore(inputJson: string): string;
}

export interface SchemaWishes {
  /** A type is one word with `nullable`, values are words, and few other keywords are known. */
  isGoogle: boolean;
}

/** The places where names were replaced. */
interface Names {
  keys: Map<string, { own: string; names: Names | undefined }>;
  items?: Names | undefined;
}

interface Fitting extends SchemaWishes {
  root: JsonObject;
  /** References that are being written out, so that one that has itself in it ends. */
  open: readonly string[];
  depth: number;
  budget: { left: number };
}

interface Fitted {
  schema: JsonObject;
  names?: Names | undefined;
}

const maxDepth = 8;
/** References can multiply a small schema without end. */
const maxParts = 1_500;
const maxDescription = 1_000;
const maxNote = 120;
/** Larger ones fail as grammars of local servers. */
const maxLimit = 1_000;
const types = new Set(["string", "number", "integer", "boolean", "array", "object", "null"]);
const argumentName = /^[A-Za-z0-9_.-]{1,64}$/;
const maxNameLength = 64;
const numbersOf: Readonly<Record<string, readonly string[]>> = {
  string: ["minLength", "maxLength"],
  array: ["minItems", "maxItems"],
  number: ["minimum", "maximum"],
  integer: ["minimum", "maximum"],
};

export function fitSchema(given: Record<string, unknown>, wishes: SchemaWishes): FittedSchema {
  const root = JSON.parse(JSON.stringify(given)) as JsonObject;
  const { schema, names } = fitObject(joined(root, { ...wishes, ...start(root) }, true), { ...wishes, ...start(root) });
  return {
    schema: { ...schema, type: "object", properties: isJsonObject(schema.properties) ? schema.properties : {} },
    restore(inputJson) {
      if (names === undefined) return inputJson;
      const input = parseJson(inputJson);
      return isJsonObject(input) ? JSON.stringify(restored(input, names)) : inputJson;
    },
  };
}

/** Names and types alone, for a service that refuses more and does not say what. */
export function plainSchema({ properties, required }: JsonObject): JsonObject {
  const plain = Object.entries(isJsonObject(properties) ? properties : {}).map(([name, property]) => {
    const { type, description, items } = isJsonObject(property) ? property : {};
    const list =
      type === "array" ? { items: isJsonObject(items) && isWord(items.type) ? { type: items.type } : {} } : {};
    const said = typeof description === "string" ? { description: shortened(description, maxNote) } : {};
    return [name, { ...(isWord(type) ? { type } : {}), ...list, ...said }];
  });
  return { type: "object", properties: Object.fromEntries(plain), ...(Array.isArray(required) ? { required } : {}) };
}

function isWord(type: Json | undefined): type is string {
  return typeof type === "string";
}

function start(root: JsonObject): Omit<Fitting, keyof SchemaWishes> {
  return { root, open: [], depth: 0, budget: { left: maxParts } };
}

function fitOne(given: Json | undefined, at: Fitting): Fitted {
  if (!isJsonObject(given) || at.budget.left <= 0) return { schema: anything(at) };
  at.budget.left -= 1;
  const { schema, open } = withoutReference(given, at);
  const here = { ...at, open };
  const whole = joined(schema, here, false);
  const { kinds, isNullable } = kindsOf(whole);
  const alternatives = alternativesOf(whole).filter((one) => !isNull(one));
  const one = oneOf(whole, kinds, alternatives, here);
  const canBeNull = isNullable || alternativesOf(whole).some(isNull);
  return canBeNull ? { ...one, schema: nullable(one.schema, at) } : one;
}

function oneOf(whole: JsonObject, kinds: string[], alternatives: Json[], at: Fitting): Fitted {
  const { anyOf: _any, oneOf: _one, ...rest } = whole;
  if (alternatives.length > 0 && kinds.length === 0) {
    const fitted = alternatives.map((one) => fitOne(one, deeper(at)));
    const [first] = fitted;
    if (fitted.length === 1 && first !== undefined)
      return { ...first, schema: { ...first.schema, ...saidOf(rest, [], at) } };
    return { schema: { anyOf: fitted.map(({ schema }) => schema), ...saidOf(rest, [], at) }, names: union(fitted) };
  }
  if (kinds.length > 1) {
    const fitted = kinds.map((kind) => fitKind({ ...rest, type: kind, description: "" }, kind, at));
    return { schema: { anyOf: fitted.map(({ schema }) => schema), ...saidOf(rest, [], at) }, names: union(fitted) };
  }
  return fitKind(rest, kinds[0], at);
}

function fitKind(schema: JsonObject, kind: string | undefined, at: Fitting): Fitted {
  if (kind === "object")
    return at.depth >= maxDepth ? { schema: { type: kind, ...saidOf(schema, [], at) } } : fitObject(schema, at);
  const notes: string[] = [];
  if (typeof schema.pattern === "string") notes.push(`Pattern: ${schema.pattern}`);
  const values = valuesOf(schema, kind, at, notes);
  const limits = (numbersOf[kind ?? ""] ?? []).flatMap((word): [string, number][] => {
    const limit = schema[word];
    const isSize = word.endsWith("Length") || word.endsWith("Items");
    return typeof limit === "number" && (!isSize || (limit >= 0 && limit <= maxLimit)) ? [[word, limit]] : [];
  });
  const list = kind === "array" ? fitItems(schema, at) : undefined;
  const fitted = {
    ...(kind === undefined ? (values.enum === undefined ? anything(at) : {}) : { type: kind }),
    ...values,
    ...Object.fromEntries(limits),
    ...formatOf(schema, kind, at),
    ...(list === undefined ? {} : { items: list.schema }),
    ...saidOf(schema, notes, at),
  };
  return { schema: fitted, names: list?.names && { keys: new Map(), items: list.names } };
}

/** Every list says what is in it. */
function fitItems({ items, prefixItems }: JsonObject, at: Fitting): Fitted {
  const places = [prefixItems, Array.isArray(items) ? items : []]
    .flat()
    .filter((one) => one !== undefined && one !== null);
  if (at.depth >= maxDepth) return { schema: anything(at) };
  if (places.length > 0) return fitOne(places.length === 1 ? places[0] : { anyOf: places }, deeper(at));
  return fitOne(items, deeper(at));
}

function fitObject(schema: JsonObject, at: Fitting): Fitted {
  const given = Object.entries(isJsonObject(schema.properties) ? schema.properties : {}).filter(
    ([, one]) => one !== false,
  );
  const wireNames = namesFor(given.map(([name]) => name));
  const keys: Names["keys"] = new Map();
  const properties = given.map(([own, property]) => {
    const fitted = fitOne(property, deeper(at));
    const name = wireNames.get(own) ?? own;
    if (name !== own || fitted.names !== undefined) keys.set(name, { own, names: fitted.names });
    const meaning =
      name === own || fitted.schema.description !== undefined ? {} : { description: shortened(own, maxNote) };
    return [name, { ...fitted.schema, ...meaning }] as const;
  });
  const required = [schema.required]
    .flat()
    .flatMap((own) => (typeof own === "string" ? (wireNames.get(own) ?? []) : []));
  const { additionalProperties: others } = schema;
  const more = at.isGoogle || others === undefined || others === null ? {} : otherProperties(others, at);
  return {
    schema: {
      type: "object",
      ...(properties.length === 0 && at.depth > 0 ? {} : { properties: Object.fromEntries(properties) }),
      ...(required.length === 0 ? {} : { required: [...new Set(required)] }),
      ...more,
      ...saidOf(schema, [], at),
    },
    names: keys.size === 0 ? undefined : { keys },
  };
}

function otherProperties(others: Json, at: Fitting): JsonObject {
  return { additionalProperties: isJsonObject(others) ? fitOne(others, deeper(at)).schema : others === true };
}

/** With all that `allOf` has, and at the top also what the alternatives have, of which only what all need stays needed. */
function joined(schema: JsonObject, at: Fitting, isTop: boolean): JsonObject {
  const whole = isTop ? withoutReference(schema, at).schema : schema;
  const { allOf, ...own } = whole;
  const parts = [allOf].flat().filter(isJsonObject);
  const both = parts.reduce<JsonObject>((sum, part) => merged(sum, joinedPart(part, at), true), own);
  const alternatives = [both.anyOf, both.oneOf].flat().filter(isJsonObject);
  if (alternatives.length === 0 || !(isTop || kindsOf(both).kinds.length > 0)) return both;
  const { anyOf: _any, oneOf: _one, ...rest } = both;
  const each = alternatives.map((one) => joinedPart(one, at));
  const needed = each.map(({ required }) => new Set([required].flat()));
  const common = [...(needed[0] ?? [])].filter((name) => needed.every((names) => names.has(name)));
  const sum = each.reduce<JsonObject>((so, one) => merged(so, one, false), rest);
  return merged(sum, { required: common.filter((name) => typeof name === "string") }, true);
}

function joinedPart(part: JsonObject, at: Fitting): JsonObject {
  if (at.depth >= maxDepth || at.budget.left <= 0) return {};
  at.budget.left -= 1;
  const { schema, open } = withoutReference(part, at);
  return joined(schema, { ...deeper(at), open }, false);
}

function merged(one: JsonObject, other: JsonObject, isNeeded: boolean): JsonObject {
  const { required, properties, ...more } = other;
  const names = isNeeded ? [one.required, required].flat().filter((name) => typeof name === "string") : one.required;
  const both = {
    ...(isJsonObject(properties) ? properties : {}),
    ...(isJsonObject(one.properties) ? one.properties : {}),
  };
  return {
    ...more,
    ...one,
    ...(Object.keys(both).length === 0 ? {} : { properties: both }),
    ...(names === undefined ? {} : { required: names }),
  };
}

function withoutReference(schema: JsonObject, at: Fitting): { schema: JsonObject; open: readonly string[] } {
  let [whole, open] = [schema, at.open];
  while (typeof whole.$ref === "string") {
    const { $ref: reference, ...rest } = whole;
    const target = targetOf(reference, at.root);
    const { type, ...more } = isJsonObject(target) ? target : {};
    const known = type === undefined ? {} : { type };
    whole = { ...known, ...(open.includes(reference) ? {} : more), ...rest };
    open = [...open, reference];
  }
  return { schema: whole, open };
}

function targetOf(reference: string, root: JsonObject): Json | undefined {
  if (!reference.startsWith("#")) return undefined;
  const keys = reference.slice(1).split("/").slice(1);
  return keys.reduce<Json | undefined>((at, key) => {
    const name = decoded(key).replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(at)) return at[Number(name)];
    return isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }, root);
}

function decoded(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

function kindsOf(schema: JsonObject): { kinds: string[]; isNullable: boolean } {
  const given = [schema.type].flat().filter((type) => typeof type === "string");
  const named = given.map((type) => type.toLowerCase()).filter((type) => types.has(type));
  const isNullable = named.includes("null") || schema.nullable === true || [schema.enum].flat().includes(null);
  const kinds = [...new Set(named.filter((type) => type !== "null"))];
  if (kinds.length > 0) return { kinds, isNullable };
  if (isJsonObject(schema.properties)) return { kinds: ["object"], isNullable };
  if (schema.items !== undefined || schema.prefixItems !== undefined) return { kinds: ["array"], isNullable };
  const values = enumOf(schema);
  const [first, ...others] = [...new Set(values.map((value) => typeof value))];
  const isOne = first !== undefined && others.length === 0 && types.has(first) && first !== "object";
  return { kinds: isOne ? [first] : [], isNullable };
}

function enumOf({ enum: values, const: only }: JsonObject): Json[] {
  const given = Array.isArray(values) ? values : only === undefined ? [] : [only];
  return given.filter((value) => value !== null);
}

/** The values that a kind can have. Some services refuse others, empty ones, and values of more than one kind. */
function valuesOf(schema: JsonObject, kind: string | undefined, { isGoogle }: Fitting, notes: string[]): JsonObject {
  const given = enumOf(schema);
  if (given.length === 0) return {};
  const fitting = given.filter((value) => kind === undefined || isKind(value, kind));
  const kept = [...new Map(fitting.map((value) => [JSON.stringify(value), value])).values()];
  const isTakable = !isGoogle || (kind === "string" && kept.every((value) => value !== ""));
  if (isTakable && kept.length > 0 && kept.length === new Set(given.map((value) => JSON.stringify(value))).size)
    return { enum: kept };
  notes.push(`One of ${JSON.stringify(given)}`);
  return {};
}

function isKind(value: Json, kind: string): boolean {
  if (kind === "integer") return Number.isInteger(value);
  if (kind === "array") return Array.isArray(value);
  return typeof value === kind && !Array.isArray(value);
}

function formatOf({ format }: JsonObject, kind: string | undefined, { isGoogle }: Fitting): JsonObject {
  const isTaken = typeof format === "string" && kind === "string" && (!isGoogle || format === "date-time");
  return isTaken ? { format } : {};
}

function saidOf(
  { description, default: usual }: JsonObject,
  notes: readonly string[],
  { isGoogle }: SchemaWishes,
): JsonObject {
  const said = typeof description === "string" ? description.trim() : "";
  const hasUsual = usual !== undefined && usual !== null && typeof usual !== "object";
  const usually = hasUsual && isGoogle ? [`Default: ${JSON.stringify(usual)}`] : [];
  const all = [said, ...[...notes, ...usually].map((note) => shortened(note, maxNote))].filter((part) => part !== "");
  return {
    ...(all.length === 0 ? {} : { description: shortened(all.join(" "), maxDescription) }),
    ...(hasUsual && !isGoogle ? { default: usual } : {}),
  };
}

function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}

function alternativesOf({ anyOf, oneOf: one }: JsonObject): Json[] {
  return [anyOf, one].flat().filter((each) => each !== undefined && each !== null);
}

function isNull(schema: Json): boolean {
  return isJsonObject(schema) && (schema.type === "null" || schema.const === null);
}

function nullable(schema: JsonObject, { isGoogle }: Fitting): JsonObject {
  if (isGoogle && Array.isArray(schema.anyOf))
    return { ...schema, anyOf: schema.anyOf.map((one) => (isJsonObject(one) ? { ...one, nullable: true } : one)) };
  if (isGoogle) return { ...schema, nullable: true };
  const { description, ...rest } = schema;
  if (Object.keys(rest).length === 0) return schema;
  const said = description === undefined ? {} : { description };
  const known = Array.isArray(rest.anyOf) ? rest.anyOf : [rest];
  return { anyOf: [...known, { type: "null" }], ...said };
}

/** Google wants a type everywhere. */
function anything({ isGoogle }: SchemaWishes): JsonObject {
  return isGoogle ? { type: "string" } : {};
}

function deeper(at: Fitting): Fitting {
  return { ...at, depth: at.depth + 1 };
}

function namesFor(names: readonly string[]): Map<string, string> {
  const taken = new Set(names.filter((name) => argumentName.test(name)));
  const found = new Map<string, string>();
  for (const name of names) {
    if (argumentName.test(name)) {
      found.set(name, name);
      continue;
    }
    const plain = name.replaceAll(/[^A-Za-z0-9_.-]+/g, "_").replaceAll(/^_+|_+$/g, "") || "argument";
    let fitting = plain.slice(0, maxNameLength);
    for (let count = 2; taken.has(fitting); count += 1) {
      const end = `_${count}`;
      fitting = `${plain.slice(0, maxNameLength - end.length)}${end}`;
    }
    taken.add(fitting);
    found.set(name, fitting);
  }
  return found;
}

function union(fitted: readonly Fitted[]): Names | undefined {
  const known = fitted.flatMap(({ names }) => names ?? []);
  if (known.length === 0) return undefined;
  const items = known.find((one) => one.items !== undefined)?.items;
  return { keys: new Map(known.flatMap(({ keys }) => [...keys])), ...(items === undefined ? {} : { items }) };
}

function restored(value: Json, names: Names | undefined): Json {
  if (names === undefined) return value;
  if (Array.isArray(value)) return value.map((one) => restored(one, names.items));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const known = names.keys.get(key);
      return [known?.own ?? key, restored(inner, known?.names)];
    }),
  );
}
