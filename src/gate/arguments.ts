/**
 * Serialises arguments once, parses them back and freezes them so that the gate judges exactly what runs. `JSON.parse`
 * turns `__proto__` into an ordinary own key. This file must not recurse. It refuses deep arguments well before
 * `JSON.stringify` overflows, so code that gets a judged input may recurse.
 */
import { isJsonObject } from "../lib/json.ts";
import type { JsonObject } from "../ports/message.ts";

const maxArgumentBytes = 1_048_576;
const maxArgumentDepth = 1_000;
/** Limits the number of values on all levels together, because each takes time even if the JSON is short. */
const maxValues = 50_000;

export type ReadArguments =
  | { type: "ok"; text: string; input: JsonObject }
  | {
      type: "refused";
      text: string;
      why: "unserialisable-args" | "args-too-large" | "args-too-deep" | "args-too-many" | "args-not-an-object";
    };

export function readArguments(args: unknown): ReadArguments {
  const text = serialise(args);
  if (text === "too-many") return { type: "refused", text: "", why: "args-too-many" };
  if (text === undefined) return { type: "refused", text: "", why: "unserialisable-args" };
  if (text.length > maxArgumentBytes || Buffer.byteLength(text) > maxArgumentBytes) {
    return { type: "refused", text, why: "args-too-large" };
  }
  const input: unknown = JSON.parse(text);
  if (!isJsonObject(input)) return { type: "refused", text, why: "args-not-an-object" };
  return freezeDeeply(input) ? { type: "ok", text, input } : { type: "refused", text, why: "args-too-deep" };
}

/** Returning `too-many` is unambiguous, because a serialised string would have quotes. */
function serialise(args: unknown): string | "too-many" | undefined {
  let left = maxValues;
  try {
    const text: unknown = JSON.stringify(args, (_key, value: unknown) => {
      left -= 1;
      if (left < 0) throw new RangeError("too many values");
      return value;
    });
    return typeof text === "string" ? text : undefined;
  } catch {
    return left < 0 ? "too-many" : undefined;
  }
}

function freezeDeeply(root: object): boolean {
  let level: object[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxArgumentDepth) return false;
    const next: object[] = [];
    for (const item of level) {
      Object.freeze(item);
      for (const value of Object.values(item)) if (typeof value === "object" && value !== null) next.push(value);
    }
    level = next;
  }
  return true;
}

export function stringsIn(root: unknown): string[] {
  const strings: string[] = [];
  visit(root, (value) => {
    if (typeof value === "string") strings.push(value);
  });
  return strings;
}

export function keysIn(root: unknown): string[] {
  const keys: string[] = [];
  visit(root, (value) => {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) keys.push(...Object.keys(value));
  });
  return keys;
}

function visit(root: unknown, look: (value: unknown) => void): void {
  const open: unknown[] = [root];
  while (open.length > 0) {
    const value = open.pop();
    look(value);
    if (typeof value !== "object" || value === null) continue;
    const children: unknown[] = Array.isArray(value) ? value : Object.values(value);
    for (let index = children.length - 1; index >= 0; index -= 1) open.push(children[index]);
  }
}
