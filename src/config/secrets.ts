/** Secrets in the settings of skills: what stands under a key that is called like one, wherever it is nested. */
import type { JsonObject } from "../core/message.ts";

const secretKey = /token|secret|passw(?:or)?d|passphrase|api[_-]?key|authorization|credential|private[_-]?key/i;

/** Of `Bearer abc` both the whole and the last word, because either may turn up alone. */
export function secretsIn(settings: { [skill: string]: JsonObject }): string[] {
  const found = new Set<string>();
  const visit = (value: unknown, isSecret: boolean): void => {
    if (typeof value === "string") {
      if (!isSecret || value.trim() === "") return;
      found.add(value);
      found.add(value.trim().split(/\s+/).at(-1) ?? value);
      return;
    }
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value)) visit(inner, isSecret || secretKey.test(key));
  };
  visit(settings, false);
  return [...found];
}
