/** Explains schema problems to people, with suggestions of known keys. */
import { z } from "zod";
import { closestName } from "../lib/closest-name.ts";
import type { ConfigProblem } from "./environment.ts";
import { configSchema } from "./schema.ts";

const maxShownCharacters = 80;

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
): ConfigProblem[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => {
      const path = [...issue.path, key];
      return { place: placeOf(path), key: path.join("."), message: `unknown key. ${nearestKeys(issue.path, key)}` };
    });
  }
  const value = issue.path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key], raw);
  const shown = value === undefined ? "no value" : JSON.stringify(value).slice(0, maxShownCharacters);
  return [
    { place: placeOf(issue.path), key: issue.path.join("."), message: `${shown} can't be used: ${issue.message}.` },
  ];
}

function nearestKeys(path: readonly PropertyKey[], unknownKey: string): string {
  const known = knownKeys(path);
  const near =
    closestName(unknownKey, known) ??
    known.find((key) => key.toLowerCase().startsWith(unknownKey.toLowerCase().slice(0, 3)));
  const hint = near === undefined ? "" : `Did you mean "${near}"? `;
  return known.length === 0 ? "Remove it." : `${hint}Known keys here: ${known.join(", ")}.`;
}

function knownKeys(path: readonly PropertyKey[]): string[] {
  const at = path.reduce<unknown>((schema, key) => shapeOf(schema)[key], configSchema);
  return Object.keys(shapeOf(at));
}

/** Also of an object that is optional or has a default. */
function shapeOf(schema: unknown): Readonly<Record<PropertyKey, unknown>> {
  let inner = schema;
  while (inner instanceof z.ZodNullable || inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault)
    inner = inner.unwrap();
  return inner instanceof z.ZodObject ? inner.shape : {};
}
