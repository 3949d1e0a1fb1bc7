/** Lists the operator's documents in `workspace/knowledge`. Links are not followed, and hidden files are left out. */
import { readdirSync, statSync } from "node:fs";
import { extname, join } from "node:path";
import { messageOf } from "../lib/errors.ts";
import { formatBytes } from "../lib/text/format-bytes.ts";
import { type FileInfo, signatureOf } from "./memory-files.ts";

export const documentsFolder = "knowledge";

export interface DocumentFile {
  /** Relative to the workspace. */
  path: string;
  kind: "text" | "pages";
  info: FileInfo;
  signature: string;
}

/** A document that can't be searched, and why. */
export interface DocumentProblem {
  path: string;
  problem: string;
}

const textEndings = [".md", ".markdown", ".txt", ".text"];
const pageEndings = [".pdf"];
const maxTextBytes = 8 * 1024 * 1024;
const maxPagesBytes = 50 * 1024 * 1024;
const maxDepth = 6;
const maxFiles = 10_000;

export function documentFiles(workspace: string): { files: DocumentFile[]; problems: DocumentProblem[] } {
  const files: DocumentFile[] = [];
  const problems: DocumentProblem[] = [];
  let left = maxFiles;

  function add(path: string): void {
    const info = statSync(join(workspace, path), { throwIfNoEntry: false });
    if (info === undefined) return;
    const ending = extname(path).toLowerCase();
    const kind = textEndings.includes(ending) ? "text" : pageEndings.includes(ending) ? "pages" : undefined;
    const maxBytes = kind === "text" ? maxTextBytes : maxPagesBytes;
    if (kind === undefined) problems.push({ path, problem: "it is not a Markdown, text or PDF file" });
    else if (info.size > maxBytes)
      problems.push({ path, problem: `it has ${formatBytes(info.size)}; the limit is ${formatBytes(maxBytes)}` });
    else files.push({ path, kind, info, signature: signatureOf(info) });
  }

  function list(folder: string, depth: number): void {
    for (const entry of entriesIn(join(workspace, folder), (problem) => problems.push({ path: folder, problem }))) {
      const path = `${folder}/${entry.name}`;
      if (entry.name.startsWith(".")) continue;
      if (entry.isDirectory() && depth < maxDepth) list(path, depth + 1);
      else if (entry.isFile() && left-- > 0) add(path);
    }
  }

  list(documentsFolder, 0);
  if (left < 0)
    problems.push({ path: documentsFolder, problem: `it has ${maxFiles - left} files; only ${maxFiles} are searched` });
  return { files, problems };
}

function entriesIn(folder: string, onProblem: (problem: string) => void) {
  try {
    const isThere = statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
    return isThere ? readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1)) : [];
  } catch (thrown) {
    onProblem(`it can't be read (${messageOf(thrown)})`);
    return [];
  }
}
