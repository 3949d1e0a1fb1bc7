/** Explains schema problems to people, with suggestions of known keys. */
import { z } from "zod";
import { closestName } from "../lib/closest-name.ts";
import { type ConfigProblem, type Environment, readVariable } from "./environment.ts";
import { configSchema, providerNames } from "./schema.ts";

const maxShownCharacters = 80;
const secretSettings = /^(?:apiKey|clientSecret|headers|secrets)$/;

/** What to write instead of a value. A message in the schema itself counts before these. */
export const wordsFor: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case "invalid_value":
      return `write ${oneOf(issue.values.map(String))}`;
    case "invalid_type":
      return kinds[issue.expected];
    case "too_small":
      return sizeText(issue.origin, issue.minimum, issue.inclusive === false ? "more than" : "at least");
    case "too_big":
      return sizeText(issue.origin, issue.maximum, issue.inclusive === false ? "less than" : "at most");
    default:
      return undefined;
  }
};

const kinds: Partial<Record<string, string>> = {
  number: "write a number",
  int: "write a whole number",
  string: "write a text",
  boolean: "write true or false",
  array: 'write a list, such as ["one", "two"]',
  object: "write settings with their names",
  record: "write names with their values",
};

function sizeText(origin: string, limit: number | bigint, atLeast: string): string | undefined {
  if (origin === "number" || origin === "int") return `write a number, ${atLeast} ${limit}`;
  if (origin === "array") return `list ${atLeast} ${limit}`;
  if (origin !== "string") return undefined;
  return limit === 1 && atLeast === "at least"
    ? "write a text that is not empty"
    : `write ${atLeast} ${limit} characters`;
}

function oneOf(values: string[]): string {
  return values.length < 2 ? values.join("") : `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;
}

export function issueProblems(
  issue: z.core.$ZodIssue,
  raw: unknown,
  placeOf: (path: readonly PropertyKey[]) => string,
  /** Of the whole file. */
  schema: z.ZodType = configSchema,
): ConfigProblem[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => {
      const path = [...issue.path, key];
      return {
        place: placeOf(path),
        key: path.join("."),
        message: `unknown key. ${nearestKeys(schema, issue.path, key)}`,
      };
    });
  }
  const value = issue.path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key], raw);
  const isSecret = value !== undefined && issue.path.some((key) => secretSettings.test(String(key)));
  const shown = isSecret ? "its value" : value === undefined ? "no value" : shownValue(value);
  return [
    { place: placeOf(issue.path), key: issue.path.join("."), message: `${shown} can't be used: ${issue.message}.` },
  ];
}

/** REMORA_MODEL is written `provider/model`, or only a provider. Nothing else may answer in its place. */
export function modelProblems(env: Environment, placeOf: (name: string) => string): ConfigProblem[] {
  const value = readVariable(env, "REMORA_MODEL");
  if (value === undefined || (providerNames as readonly string[]).includes(value)) return [];
  const clean = value.replaceAll(/[\s"'`‘-‟«»]+/g, "");
  const [, written = "", rest] = /^([^/]*)(?:\/(.*))?$/s.exec(clean) ?? [];
  const provider = providerNames.find((name) => name === written.toLowerCase());
  if (provider !== undefined && rest !== "" && value === `${provider}/${rest}`) return [];
  const examples: Record<string, string> = { ...defaultModels(), demo: "phrases" };
  const meant = provider === undefined ? guessOf(clean) : `${provider}/${rest || examples[provider]}`;
  const what = provider !== undefined && rest === "" ? "names no model" : "is not written provider/model";
  const foreign = provider === undefined && rest !== undefined ? foreignText : "";
  return [{ place: placeOf("REMORA_MODEL"), key: "", message: `"${value}" ${what}. Write ${meant}.${foreign}` }];
}

const foreignText =
  " The provider is anthropic, openai, ollama or demo; other services are openai, with OPENAI_BASE_URL (docs/models.md).";

function guessOf(model: string): string {
  const isOllama = !model.includes("/") && model.includes(":");
  return `${/^claude/i.test(model) ? "anthropic" : isOllama ? "ollama" : "openai"}/${model}`;
}

function defaultModels() {
  const { anthropic, openai } = configSchema.parse({}).models;
  return { anthropic: anthropic.model, openai: openai.model, ollama: "MODEL" };
}

/** A group with the wrong type may hold a secret. */
function shownValue(value: unknown): string {
  return JSON.stringify(value, (key, inner: unknown) => (secretSettings.test(key) ? "…" : inner)).slice(
    0,
    maxShownCharacters,
  );
}

function nearestKeys(schema: z.ZodType, path: readonly PropertyKey[], unknownKey: string): string {
  const known = knownKeys(schema, path);
  const near =
    closestName(unknownKey, known) ??
    known.find((key) => key.toLowerCase().startsWith(unknownKey.toLowerCase().slice(0, 3)));
  const hint = near === undefined ? "" : `Did you mean "${near}"? `;
  return known.length === 0 ? "Remove it." : `${hint}Known keys here: ${known.join(", ")}.`;
}

function knownKeys(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  const at = path.reduce<unknown>((outer, key) => {
    const inner = unwrapped(outer);
    return inner instanceof z.ZodArray ? inner.element : shapeOf(inner)[key];
  }, schema);
  return Object.keys(shapeOf(at));
}

function shapeOf(schema: unknown): Readonly<Record<PropertyKey, unknown>> {
  const inner = unwrapped(schema);
  return inner instanceof z.ZodObject ? inner.shape : {};
}

/** What is inside of something that is optional or has a default. */
function unwrapped(schema: unknown): unknown {
  let inner = schema;
  while (inner instanceof z.ZodNullable || inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault)
    inner = inner.unwrap();
  return inner;
}
