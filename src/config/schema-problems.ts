/** Explains schema problems to people, with suggestions of known keys. */
import { z } from "zod";
import { closestName } from "../lib/closest-name.ts";
import type { ConfigProblem } from "./environment.ts";
import { configSchema } from "./schema.ts";

const maxShownCharacters = 80;
const secretSettings = /^(?:apiKey|clientSecret|headers|secrets)$/;

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
  const isSecret = value !== undefined && issue.path.some((key) => secretSettings.test(String(key)));
  const shown = isSecret ? "its value" : value === undefined ? "no value" : shownValue(value);
  return [
    { place: placeOf(issue.path), key: issue.path.join("."), message: `${shown} can't be used: ${issue.message}.` },
  ];
}

/** A group with the wrong type may hold a secret. */
function shownValue(value: unknown): string {
  return JSON.stringify(value, (key, inner: unknown) => (secretSettings.test(key) ? "…" : inner)).slice(
    0,
    maxShownCharacters,
  );
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
