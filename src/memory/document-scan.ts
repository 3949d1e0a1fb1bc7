/**
 * Keeps the index of documents up to date: new, changed and removed files of `workspace/knowledge`. Runs in the search
 * thread, one file at a time so that searches can run in between.
 */
import { basename, join } from "node:path";
import { originOf } from "../ports/origin.ts";
import { type DocumentFile, type DocumentProblem, documentFiles } from "./document-files.ts";
import { type Passage, passagesOf, piecesOf } from "./markdown-sections.ts";
import { readText } from "./memory-files.ts";
import type { SearchIndex } from "./search-index.ts";

/** A document whose text another process must extract. */
export interface WaitingDocument {
  path: string;
  signature: string;
}

export interface DocumentScan {
  /** Documents that are in the index. */
  count: number;
  waiting: WaitingDocument[];
  problems: DocumentProblem[];
}

/** Unsearchable files by path, each with its version and the reason, so that each version is read only once. */
export type BadDocuments = Map<string, { signature: string; problem: string }>;

export interface ScanOptions {
  workspace: string;
  index: SearchIndex;
  bad: BadDocuments;
  pause(): Promise<void>;
}

export async function scanDocuments({ workspace, index, bad, pause }: ScanOptions): Promise<DocumentScan> {
  const { files, problems } = documentFiles(workspace);
  const known = index.documents();
  const waiting: WaitingDocument[] = [];
  for (const file of files) {
    const { path, kind, signature } = file;
    if (known.get(path) === signature) known.delete(path);
    else if (kind === "pages") {
      known.delete(path);
      waiting.push({ path, signature });
    } else if (bad.get(path)?.signature !== signature) {
      if (readDocument(workspace, file, index, bad)) known.delete(path);
      await pause();
    }
    const problem = bad.get(path)?.problem;
    if (problem !== undefined) problems.push({ path, problem });
  }
  for (const path of known.keys()) {
    index.removeDocument(path);
    await pause();
  }
  return { count: index.documents().size, waiting, problems };
}

function readDocument(workspace: string, file: DocumentFile, index: SearchIndex, bad: BadDocuments): boolean {
  const { path, info, signature } = file;
  let isUnreadable = false;
  const text = readText(join(workspace, path), info, () => {
    isUnreadable = true;
  });
  if (text === undefined || isUnreadable) {
    // A file that has been deleted meanwhile is not a problem.
    const problem = text === undefined ? "it can't be read; check its permissions" : "it is not a text file";
    if (isUnreadable) bad.set(path, { signature, problem });
    return false;
  }
  bad.delete(path);
  index.putDocument(path, signature, passagesOf(basename(path), text));
  return true;
}

/** A PDF may contain text that the operator does not see, so the text counts as written by others. */
export function pagePassages(path: string, pages: readonly string[]): Passage[] {
  const origins = [originOf("file", path)];
  return pages.flatMap((page, index) =>
    page.trim() === ""
      ? []
      : piecesOf(page.trim()).map((text) => ({
          heading: `page ${index + 1}`,
          at: "",
          text,
          trail: basename(path),
          origins,
        })),
  );
}
