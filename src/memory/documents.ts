/**
 * Tracks changes to the operator's documents in `workspace/knowledge`, in the background. The search thread reads
 * Markdown and text; other formats are read by `readPages`. Each problem is reported once.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { ifMissing, messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { type DocumentProblem, documentsFolder } from "./document-files.ts";
import type { Search } from "./search.ts";

/** `pages` contains the texts that could be read. `problem` says what is missing. */
export interface PagesRead {
  pages: string[];
  problem?: string;
}

/** Rejects if the signal aborts, or if the file can't be opened. */
export type ReadPages = (path: string, signal: AbortSignal) => Promise<PagesRead>;

export interface DocumentsReport {
  count: number;
  problems: DocumentProblem[];
}

export interface Documents {
  /** Indexes what has changed. Calls during an update share its result. Never rejects. */
  refresh(): Promise<DocumentsReport>;
  close(): void;
}

export interface DocumentsOptions {
  workspace: string;
  search: Pick<Search, "scanDocuments" | "putPages">;
  /** If absent, files with pages can't be searched. */
  readPages?: ReadPages;
  log: Log;
}

export function createDocuments({ workspace, search, readPages, log }: DocumentsOptions): Documents {
  const ended = new AbortController();
  /** Reported problems by path so that none is reported twice. */
  let reported = new Map<string, string>();
  /** Unreadable files by path, each with its version and the reason. */
  const unreadable = new Map<string, { signature: string; problem: string }>();
  let running: Promise<DocumentsReport> | undefined;
  let wasEmpty = false;

  async function readOne(path: string, signature: string): Promise<DocumentProblem[]> {
    const known = unreadable.get(path);
    if (known?.signature === signature) return [{ path, problem: known.problem }];
    if (readPages === undefined) return [{ path, problem: "this version of Remora can't read PDF files" }];
    const { pages, problem } = await readFile(readPages, path);
    if (pages.length > 0) await search.putPages({ path, signature }, pages);
    else if (problem !== undefined) unreadable.set(path, { signature, problem });
    return problem === undefined ? [] : [{ path, problem }];
  }

  async function readFile(read: ReadPages, path: string): Promise<PagesRead> {
    try {
      return await read(join(workspace, path), ended.signal);
    } catch (thrown) {
      if (ended.signal.aborted) throw thrown;
      return { pages: [], problem: `it can't be read (${messageOf(thrown)})` };
    }
  }

  async function update(): Promise<DocumentsReport> {
    try {
      // A scan would keep the search thread running.
      if (wasEmpty && (await isEmpty(join(workspace, documentsFolder)))) return { count: 0, problems: [] };
      const { count, waiting, problems } = await search.scanDocuments();
      wasEmpty = count + waiting.length + problems.length === 0;
      for (const { path, signature } of waiting) problems.push(...(await readOne(path, signature)));
      report(problems);
      const read = waiting.filter(({ path, signature }) => unreadable.get(path)?.signature !== signature);
      return { count: readPages === undefined ? count : count + read.length, problems };
    } catch (thrown) {
      if (!ended.signal.aborted) log.warn({ error: messageOf(thrown) }, "could not update the index of documents");
      return { count: 0, problems: [] };
    }
  }

  function report(problems: readonly DocumentProblem[]): void {
    for (const { path, problem } of problems) {
      if (reported.get(path) !== problem) log.warn({ path }, `a document can't be searched: ${problem}`);
    }
    reported = new Map(problems.map(({ path, problem }) => [path, problem]));
  }

  return {
    refresh() {
      running ??= update().finally(() => {
        running = undefined;
      });
      return running;
    },
    close: () => ended.abort(),
  };
}

async function isEmpty(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch(ifMissing([]));
  return names.length === 0;
}
