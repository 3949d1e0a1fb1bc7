/** Ids that can't be guessed, and the hash that ties an approval to one call. */
import { createHash, randomBytes } from "node:crypto";
import type { Json } from "../ports/message.ts";
import type { ToolCall } from "../ports/tool.ts";

/** 128 random bits, base64url; never begins with a dash, so that it can be typed after a command. */
export function createApprovalId(): string {
  for (;;) {
    const id = randomBytes(16).toString("base64url");
    if (!id.startsWith("-")) return id;
  }
}

/** Where and with what definition a call runs, besides what it says. */
export interface CallPlace {
  workingFolder: string;
  /** What tells one content of the tool's skill from another; empty where there is none. */
  skillFile: string;
}

/** Two calls have the same hash exactly when tool, arguments (in any order of keys), working folder and skill file are the same. */
export function hashOf(call: Pick<ToolCall, "name" | "input">, place: CallPlace): string {
  const parts = [call.name, canonicalJson(call.input), place.workingFolder, place.skillFile];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/** JSON text with the keys of every object in order. Without recursion: arguments may be nested thousands deep. */
export function canonicalJson(root: Json): string {
  const written: string[] = [];
  /** What is left to write, last first: text as it is, or values. */
  const open: (string | { value: Json })[] = [{ value: root }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === "string") written.push(next);
    else if (typeof next.value !== "object" || next.value === null) written.push(JSON.stringify(next.value));
    else for (const part of partsOf(next.value).reverse()) open.push(part);
  }
  return written.join("");
}

function partsOf(value: Json[] | { [key: string]: Json }): (string | { value: Json })[] {
  if (Array.isArray(value)) {
    const items = value.flatMap((item, index) => (index === 0 ? [{ value: item }] : [",", { value: item }]));
    return ["[", ...items, "]"];
  }
  const members = Object.entries(value)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([key, item], index) => [`${index === 0 ? "" : ","}${JSON.stringify(key)}:`, { value: item }]);
  return ["{", ...members, "}"];
}
