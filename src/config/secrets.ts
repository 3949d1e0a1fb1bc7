/** Finds secrets in settings: strings whose key, or a key above it, has a secret-like name. */
import { isSecretName, type NamedSecret } from "../lib/redact.ts";
import type { JsonObject } from "../ports/message.ts";

/** Counts the last word of a value such as `Bearer abc` as a secret too, because it can appear alone. */
export function secretsIn(settings: { [skill: string]: JsonObject }, place: string): NamedSecret[] {
  const found = new Map<string, string>();
  const add = (value: string, name: string) => found.set(value, found.get(value) ?? name);
  const visit = (value: unknown, name: string, isSecret: boolean): void => {
    if (typeof value === "string") {
      if (!isSecret || value.trim() === "") return;
      add(value, name);
      add(value.trim().split(/\s+/).at(-1) ?? value, name);
      return;
    }
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value)) visit(inner, `${name}.${key}`, isSecret || isSecretName(key));
  };
  visit(settings, place, false);
  return [...found].map(([value, name]) => ({ name, value }));
}
