/**
 * Follows the operator's documents in `workspace/knowledge`, in the background. The search thread reads Markdown and text;
 * other formats are read by `readPages`. Each problem is reported once.
 */
import { join } from "node:path";
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { DocumentProblem } from "./document-files.ts";
import type { Search } from "./search.ts";

/** Resolves to the text of each page, or to a sentence that says what is wrong. Rejects only when the signal aborts. */
export type ReadPages = (path: string, signal: AbortSignal) => Promise<{ pages: string[] } | { problem: string }>;

export interface DocumentsReport {
  count: number;
  problems: DocumentProblem[];
}

export interface Documents {
  /** Indexes what has changed. Calls during an update join it. Never rejects. */
  refresh(): Promise<DocumentsReport>;
  close(): void;
}

export interface DocumentsOptions {
  workspace: string;
  search: Pick<Search, "scanDocuments" | "putPages">;
  /** Without it, files with pages can't be searched. */
  readPages?: ReadPages;
  log: Log;
}

export function createDocuments({ workspace, search, readPages, log }: DocumentsOptions): Documents {
  const ended = new AbortController();
  /** By path: what was reported, so that nothing is reported twice. */
  let reported = new Map<string, string>();
  /** By path: the version of a file that can't be read, and why. */
  const unreadable = new Map<string, { signature: string; problem: string }>();
  let running: Promise<DocumentsReport> | undefined;

  async function readOne(path: string, signature: string): Promise<DocumentProblem[]> {
    const known = unreadable.get(path);
    if (known?.signature === signature) return [{ path, problem: known.problem }];
    if (readPages === undefined) return [{ path, problem: "this version of Remora can't read PDF files" }];
    const read = await readPages(join(workspace, path), ended.signal);
    if ("problem" in read) {
      unreadable.set(path, { signature, problem: read.problem });
      return [{ path, problem: read.problem }];
    }
    unreadable.delete(path);
    await search.putPages({ path, signature }, read.pages);
    return [];
  }

  async function update(): Promise<DocumentsReport> {
    try {
      const { count, waiting, problems } = await search.scanDocuments();
      const failed: DocumentProblem[] = [];
      for (const { path, signature } of waiting) failed.push(...(await readOne(path, signature)));
      const all = [...problems, ...failed];
      report(all);
      return { count: count + waiting.length - failed.length, problems: all };
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
