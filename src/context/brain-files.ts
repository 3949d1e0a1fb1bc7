/**
 * Reads the agent's character and procedures: `brain/identity/*.md` (`soul.md`, then `people.md`, then by name) and
 * `brain/prefrontal/*.md`. Reads a file again if its modification time or size has changed. HTML comments are notes
 * among owners and never reach the model.
 */
import { closeSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { codeOf, messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";

export interface BrainFile {
  /** Relative to the workspace, with `/` as separator. */
  path: string;
  text: string;
}

/** More than any budget allows for one file. */
const maxFileBytes = 256 * 1024;
const maxFilesPerFolder = 50;
const firstNames = ["soul.md", "people.md"];

export interface BrainFiles {
  identity(): BrainFile[];
  procedures(): BrainFile[];
}

export function createBrainFiles(workspace: string, log: Log): BrainFiles {
  const known = new Map<string, { stamp: string; text: string }>();

  function filesOf(folder: string): BrainFile[] {
    const path = (name: string) => `${folder}/${name}`;
    return namesIn(join(workspace, folder), log)
      .map((name) => ({ path: path(name), text: textOf(path(name)) }))
      .filter((file) => file.text !== "");
  }

  function textOf(path: string): string {
    try {
      const stats = statSync(join(workspace, path));
      const stamp = `${stats.mtimeMs}:${stats.size}`;
      const cached = known.get(path);
      if (cached?.stamp === stamp) return cached.text;
      const text = stats.isFile() ? cleanText(readHead(join(workspace, path))) : "";
      known.set(path, { stamp, text });
      return text;
    } catch (thrown) {
      known.delete(path);
      if (codeOf(thrown) !== "ENOENT") log.warn({ path, error: messageOf(thrown) }, "can't read a brain file");
      return "";
    }
  }

  return {
    identity: () => filesOf("brain/identity"),
    procedures: () => filesOf("brain/prefrontal"),
  };
}

function namesIn(folder: string, log: Log): string[] {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith(".md") && !name.startsWith("."));
    return names.toSorted(byRank).slice(0, maxFilesPerFolder);
  } catch (thrown) {
    if (codeOf(thrown) !== "ENOENT") log.warn({ folder, error: messageOf(thrown) }, "can't read a brain folder");
    return [];
  }
}

function byRank(one: string, other: string): number {
  return rankOf(one) - rankOf(other) || (one < other ? -1 : 1);
}

function rankOf(name: string): number {
  const index = firstNames.indexOf(name);
  return index === -1 ? firstNames.length : index;
}

function readHead(path: string): string {
  const file = openSync(path, "r");
  try {
    const buffer = Buffer.allocUnsafe(maxFileBytes);
    return new TextDecoder().decode(buffer.subarray(0, readSync(file, buffer, 0, maxFileBytes, 0)));
  } finally {
    closeSync(file);
  }
}

/** Removes comments, control characters, and blank lines at start and end. An unclosed comment is kept as text. */
function cleanText(text: string): string {
  const kept: string[] = [];
  let at = 0;
  for (let start = text.indexOf("<!--"); start !== -1; start = text.indexOf("<!--", at)) {
    const end = text.indexOf("-->", start);
    if (end === -1) break;
    kept.push(text.slice(at, start));
    at = end + "-->".length;
  }
  kept.push(text.slice(at));
  return kept
    .join("")
    .replace(/[^\P{Cc}\n\t]/gu, "")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}
