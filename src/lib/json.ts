/** JSON from elsewhere, which may be anything. */
import type { JsonObject } from "../ports/message.ts";

/** Returns undefined if the text is not valid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Of all texts in a value, without the names of its fields. */
export function textLengthIn(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  let length = 0;
  for (const inner of Object.values(value)) length += textLengthIn(inner);
  return length;
}
