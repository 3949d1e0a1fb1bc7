/**
 * The folders of memory in the workspace, and the folder name for a scope. Every character outside of `A-Za-z0-9._:@-`
 * is percent-encoded so that a name can be decoded, contains no separator, and is never `.`, `..` or empty.
 */
import { join } from "node:path";
import type { MemoryScope } from "../ports/message.ts";

export type MemoryKind = "episode" | "knowledge" | "feedback";

/** `document` stands for the operator's files in `knowledge/`, which memory reads and never writes. */
export type PassageKind = MemoryKind | "document";

export const branches: Record<MemoryKind, string> = {
  episode: "brain/hippocampus/episodes",
  knowledge: "brain/hippocampus/knowledge",
  feedback: "brain/basalganglia",
};

export const memoryKinds: readonly MemoryKind[] = ["episode", "knowledge", "feedback"];

export function scopeFolder(workspace: string, kind: MemoryKind, scope: MemoryScope): string {
  return join(workspace, branches[kind], folderNameOf(scope));
}

/** Every scope has a folder name, and no two scopes share one. */
export function folderNameOf(scope: string): string {
  if (scope === "") return "%";
  if (/^\.+$/.test(scope)) return "%2E".repeat(scope.length);
  // Iterate by code point so that an unpaired surrogate, which UTF-8 can't represent, is encoded separately.
  return Array.from(scope, (character) => (/[A-Za-z0-9._:@-]/.test(character) ? character : encoded(character))).join(
    "",
  );
}

/** Returns the scope of a folder name. A name that is not validly encoded is taken literally. */
export function scopeOfFolder(name: string): string {
  if (name === "%") return "";
  try {
    return name
      .split(/%u([0-9A-F]{4})/)
      .map((part, index) =>
        index % 2 === 0 ? decodeURIComponent(part) : String.fromCharCode(Number.parseInt(part, 16)),
      )
      .join("");
  } catch {
    return name;
  }
}

function encoded(character: string): string {
  if (!character.isWellFormed()) return `%u${character.charCodeAt(0).toString(16).toUpperCase()}`;
  return Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
}

/** Times in memory are UTC, like the days of its files. */
export function timeOf(at: number): string {
  return new Date(at).toISOString().slice(11, 19);
}
