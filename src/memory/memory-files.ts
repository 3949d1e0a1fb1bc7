/**
 * The Markdown files of memory as the index reads them: which there are, whether they changed, what they say.
 *
 * Made for folders that people change by hand: links are not followed, what is no text is passed over, and of a file
 * bigger than anyone reads only the end is taken, where the newest entries are.
 */
import { hash } from "node:crypto";
import { closeSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { codeOf, messageOf } from "../lib/errors.ts";
import { dayOfFile } from "./day-files.ts";
import { parseFeedback } from "./feedback.ts";
import type { Passage } from "./markdown-sections.ts";
import { branches, type MemoryKind, memoryKinds, scopeOfFolder } from "./places.ts";

const readableBytes = 8 * 1024 * 1024;
/** Folders inside a scope's folder that are looked into. */
const deepest = 6;
/** Feedback lines that make one passage. */
const feedbackLines = 8;

export interface FileInfo {
  size: number;
  mtimeMs: number;
  ctimeMs: number;
  ino: number;
}

type ScopeFolders = ReadonlyMap<string, { kind: MemoryKind; folder: string }[]>;

/** A folder's time may stand still for so long while things are put into it. */
const settledMs = 50;

/**
 * `foldersByScope`, listed again only after a folder was added, renamed or removed: with a thousand of them that takes
 * longer than the search itself.
 */
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

/** The folders of every scope, relative to the workspace; several spellings of one scope are one scope. */
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

/** Paths of the Markdown files below a folder, relative to it, `/`-separated, in a stable order. */
export function markdownFiles(folder: string, depth = 0): string[] {
  return entriesOf(folder)
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((entry) => {
      if (entry.isDirectory() && depth < deepest) {
        return markdownFiles(join(folder, entry.name), depth + 1).map((path) => `${entry.name}/${path}`);
      }
      return entry.isFile() && /\.(?:md|markdown)$/i.test(entry.name) ? [entry.name] : [];
    });
}

/** Another signature means that the file must be read again. */
export function signatureOf({ size, mtimeMs, ctimeMs, ino }: FileInfo): string {
  return `${size} ${mtimeMs} ${ctimeMs} ${ino}`;
}

/** Undefined when it can't be read now; empty when it is no text. */
export function readText(path: string, info: FileInfo, onProblem: (message: string) => void): string | undefined {
  try {
    const start = Math.max(0, info.size - readableBytes);
    if (start > 0) onProblem(`${path} has ${info.size} bytes; only its last ${readableBytes} are searched`);
    const bytes = readFrom(path, start, Math.min(info.size, readableBytes));
    if (bytes.subarray(0, 8_192).includes(0)) {
      onProblem(`${path} is not searched, because it is no text`);
      return "";
    }
    // What is no UTF-8 becomes U+FFFD; the rest of the file is still found.
    return bytes.toString("utf8");
  } catch (thrown) {
    if (codeOf(thrown) !== "ENOENT") onProblem(`${path} can't be read, so it is not searched (${messageOf(thrown)})`);
    return undefined;
  }
}

/** Feedback files in passages of a few lines each: a line alone says too little. */
export function feedbackPassages(path: string, text: string): Passage[] {
  const day = dayOfFile(path) ?? "";
  const lines = parseFeedback(text);
  const passages: Passage[] = [];
  for (let start = 0; start < lines.length; start += feedbackLines) {
    const some = lines.slice(start, start + feedbackLines);
    const said = some.map(
      ({ tool, outcome, by, summary }) => `${tool}: ${outcome}${by === undefined ? "" : ` by ${by.name}`} — ${summary}`,
    );
    const at = day === "" ? "" : `${day}T${some[0]?.time ?? "00:00:00"}.000Z`;
    passages.push({
      heading: `Decisions and outcomes, ${day}`,
      at,
      text: said.join("\n"),
      trail: basename(path, ".md"),
      origins: [],
    });
  }
  return passages;
}

/** The same for passages that need no new entry in the index. */
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
    // Missing, not a folder, or not ours to read: nothing to search there.
    return [];
  }
}
