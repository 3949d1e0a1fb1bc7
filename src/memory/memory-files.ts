/**
 * Reads the Markdown files of memory for the index. People can change these folders, so links are not followed and
 * binary files are skipped. Only the end of a huge file is read, because the newest entries are there.
 */
import { hash } from "node:crypto";
import { closeSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { isTemporaryName } from "../lib/atomic-write.ts";
import { codeOf, messageOf } from "../lib/errors.ts";
import { distinctOrigins, type Origin, originOfPerson } from "../ports/origin.ts";
import { dayOfFile } from "./day-files.ts";
import { type FeedbackLine, isTurnWithoutTools, parseFeedbackLine, ratedAnswer } from "./feedback.ts";
import type { Passage } from "./markdown-sections.ts";
import { branches, type MemoryKind, memoryKinds, scopeOfFolder } from "./places.ts";

const maxReadBytes = 8 * 1024 * 1024;
const maxDepth = 6;
const linesPerPassage = 8;

export interface FileInfo {
  size: number;
  mtimeMs: number;
  ctimeMs: number;
  ino: number;
}

type ScopeFolders = ReadonlyMap<string, { kind: MemoryKind; folder: string }[]>;

/** A folder's modification time may lag behind its content by this much. */
const settledMs = 50;

/** Caches `foldersByScope`, because listing a thousand folders takes longer than the search. */
export function createFolderList(workspace: string): () => ScopeFolders {
  let listed: { signature: string; folders: ScopeFolders } | undefined;
  return () => {
    const infos = memoryKinds.map((kind) => infoOf(join(workspace, branches[kind])));
    const signature = infos.map((info) => (info === undefined ? "" : signatureOf(info))).join("\n");
    if (listed?.signature === signature) return listed.folders;
    const newest = Math.max(...infos.map((info) => info?.mtimeMs ?? 0));
    const isSettled = Date.now() - newest > settledMs;
    const folders = foldersByScope(workspace);
    listed = isSettled ? { signature, folders } : undefined;
    return folders;
  };
}

function infoOf(path: string): FileInfo | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** Returns each scope's folders, relative to the workspace. There may be several, with names encoded differently. */
export function foldersByScope(workspace: string): ScopeFolders {
  const found = new Map<string, { kind: MemoryKind; folder: string }[]>();
  for (const kind of memoryKinds) {
    for (const entry of entriesOf(join(workspace, branches[kind]))) {
      if (!entry.isDirectory()) continue;
      const scope = scopeOfFolder(entry.name);
      found.set(scope, [...(found.get(scope) ?? []), { kind, folder: `${branches[kind]}/${entry.name}` }]);
    }
  }
  return found;
}

/** Leaves out what a killed process has left of a write or a removal. */
export function markdownFiles(folder: string, depth = 0): string[] {
  return entriesOf(folder)
    .filter(({ name }) => !isTemporaryName(name))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((entry) => {
      if (entry.isDirectory() && depth < maxDepth) {
        return markdownFiles(join(folder, entry.name), depth + 1).map((path) => `${entry.name}/${path}`);
      }
      return entry.isFile() && /\.(?:md|markdown)$/i.test(entry.name) ? [entry.name] : [];
    });
}

export function signatureOf({ size, mtimeMs, ctimeMs, ino }: FileInfo): string {
  return `${size} ${mtimeMs} ${ctimeMs} ${ino}`;
}

/** Returns undefined if the file can't be read now, and an empty text if it is binary. */
export function readText(path: string, info: FileInfo, onProblem: (message: string) => void): string | undefined {
  try {
    const start = Math.max(0, info.size - maxReadBytes);
    if (start > 0) onProblem(`${path} has ${info.size} bytes; search covers only the last ${maxReadBytes}`);
    const bytes = readFrom(path, start, Math.min(info.size, maxReadBytes));
    if (bytes.subarray(0, 8_192).includes(0)) {
      onProblem(`${path} is not searched because it is not a text file`);
      return "";
    }
    // Invalid UTF-8 becomes U+FFFD; the rest of the file can still be found.
    return bytes.toString("utf8");
  } catch (thrown) {
    if (codeOf(thrown) !== "ENOENT") onProblem(`${path} can't be read, so it is not searched (${messageOf(thrown)})`);
    return undefined;
  }
}

/** Groups a few feedback lines into each passage, because a single line has too few words to find. */
export function feedbackPassages(path: string, text: string): Passage[] {
  const day = dayOfFile(path) ?? "";
  const lines = text
    .split(/\r?\n/)
    .flatMap((line) => (isTurnWithoutTools(line) ? [] : (parseFeedbackLine(line) ?? [])));
  const passages: Passage[] = [];
  for (let start = 0; start < lines.length; start += linesPerPassage) {
    const some = lines.slice(start, start + linesPerPassage);
    const said = some.map(
      ({ tool, outcome, by, summary }) => `${tool}: ${outcome}${by === undefined ? "" : ` by ${by.name}`} — ${summary}`,
    );
    const at = day === "" ? "" : `${day}T${some[0]?.time ?? "00:00:00"}.000Z`;
    passages.push({
      heading: `Decisions and outcomes, ${day}`,
      at,
      text: said.join("\n"),
      trail: basename(path, ".md"),
      origins: distinctOrigins(some.flatMap(originsOfLine)),
    });
  }
  return passages;
}

/** A rating contains the words of the person who gave it; other lines were written by Remora. */
function originsOfLine({ tool, by }: FeedbackLine): Origin[] {
  return tool === ratedAnswer && by !== undefined ? [originOfPerson(by)] : [];
}

export function hashOf({ heading, trail, at, text, origins }: Passage): string {
  return hash("sha1", [heading, trail, at, text, JSON.stringify(origins)].join("\0"), "base64").slice(0, 20);
}

function readFrom(path: string, start: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  const file = openSync(path, "r");
  try {
    let read = 0;
    while (read < length) {
      const count = readSync(file, bytes, read, length - read, start + read);
      if (count === 0) break;
      read += count;
    }
    return bytes.subarray(0, read);
  } finally {
    closeSync(file);
  }
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // The path is missing, not a folder, or not readable, so there is nothing to search.
    return [];
  }
}
