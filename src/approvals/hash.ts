/** Creates unguessable ids, and the hash that ties an approval to one call. */
import { hash, randomBytes } from "node:crypto";
import type { Json } from "../ports/message.ts";
import type { ToolCall } from "../ports/tool.ts";

/** Returns 128 random bits as base64url. Never begins with a dash so that people can type it after a command. */
export function createApprovalId(): string {
  for (;;) {
    const id = randomBytes(16).toString("base64url");
    if (!id.startsWith("-")) return id;
  }
}

export interface CallPlace {
  workingFolder: string;
  /** Changes with the content of the tool's skill. Empty for a tool without a skill. */
  skillFile: string;
}

/** Hashes are equal if and only if tool, arguments (in any key order), working folder and skill file are equal. */
export function hashOf(call: Pick<ToolCall, "name" | "input">, place: CallPlace): string {
  const parts = [call.name, canonicalJson(call.input), place.workingFolder, place.skillFile];
  return hash("sha256", JSON.stringify(parts));
}

/** JSON with sorted keys. Avoids recursion, because arguments can be nested thousands of levels deep. */
export function canonicalJson(root: Json): string {
  const written: string[] = [];
  /** Pending output, as a stack: strings are written as they are, values must be serialised first. */
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
