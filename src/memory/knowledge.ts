/** Stores notes that outlive conversations, one Markdown file per title. Changes to the same note run one at a time. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, RemoraError } from "../lib/errors.ts";
import type { FileOrder } from "../lib/file-order.ts";
import type { Redact } from "../lib/redact.ts";
import { oneLine } from "../lib/text/sanitize.ts";
import type { MemoryScope } from "../ports/message.ts";
import type { Origin } from "../ports/origin.ts";
import { asMemoryError } from "./day-files.ts";
import { markdownFiles } from "./memory-files.ts";
import { noteMarkText, readNoteMark } from "./origin-mark.ts";
import { folderNameOf, scopeFolder } from "./places.ts";

const titleCharacters = 60;

export interface Knowledge {
  /** Returns paths relative to the scope's folder. */
  list(scope: MemoryScope): Promise<string[]>;
  read(scope: MemoryScope, title: string): Promise<string | undefined>;
  /** Like `read`, with the note's origins. A note that people wrote themselves has no origins. */
  readMarked(scope: MemoryScope, title: string): Promise<{ text: string; origins: Origin[] } | undefined>;
  /** Replaces or creates the note with its origins. Resolves to the note's absolute path. */
  write(scope: MemoryScope, title: string, text: string, origins?: readonly Origin[]): Promise<string>;
  remove(scope: MemoryScope, title: string): Promise<boolean>;
}

export interface KnowledgeOptions {
  workspace: string;
  inOrder: FileOrder;
  redact: Redact;
}

export function createKnowledge({ workspace, inOrder, redact }: KnowledgeOptions): Knowledge {
  const pathOf = (scope: MemoryScope, title: string) =>
    join(scopeFolder(workspace, "knowledge", scope), noteFile(title));

  async function readMarked(scope: MemoryScope, title: string) {
    const text = await readNote(pathOf(scope, title));
    return text === undefined ? undefined : readNoteMark(text);
  }

  async function readNote(path: string): Promise<string | undefined> {
    try {
      return await readFile(path, "utf8");
    } catch (thrown) {
      if (codeOf(thrown) === "ENOENT") return undefined;
      throw asMemoryError(thrown, path);
    }
  }

  /** Rejects if the note has changed since the first call: work runs again if another process has taken the lock over. */
  function readerOf(path: string): () => Promise<string | undefined> {
    let before: { text: string | undefined } | undefined;
    return async () => {
      const text = await readNote(path);
      if (before !== undefined && before.text !== text) throw changedMeanwhile(path);
      before = { text };
      return text;
    };
  }

  return {
    list: async (scope) => markdownFiles(scopeFolder(workspace, "knowledge", scope)),
    read: async (scope, title) => (await readMarked(scope, title))?.text,
    readMarked,
    write(scope, title, newText, origins = []) {
      const path = pathOf(scope, title);
      const readSame = readerOf(path);
      return inOrder(path, async (files) => {
        try {
          await readSame();
          const head = `# ${oneLine(redact(title), titleCharacters)}\n${noteMarkText(origins)}`;
          await files.write(path, `${head}\n${redact(newText).trim()}\n`);
          return path;
        } catch (thrown) {
          throw asMemoryError(thrown, path);
        }
      });
    },
    remove(scope, title) {
      const path = pathOf(scope, title);
      const readSame = readerOf(path);
      return inOrder(path, async (files) => {
        if ((await readSame()) === undefined) return false;
        await files.remove(path);
        return true;
      });
    },
  };
}

function changedMeanwhile(path: string): RemoraError {
  return new RemoraError({
    code: "memory.changed",
    place: `memory ${path}`,
    message: "another process has changed this note meanwhile, so nothing was changed. Read it, and try again.",
  });
}

/** Returns the file name for a title. Spaces become dashes, and no title can lead to another folder. */
function noteFile(title: string): string {
  const plain = oneLine(title.replace(/\.md$/i, ""), titleCharacters).toLowerCase().replace(/\s+/g, "-");
  return `${folderNameOf(plain)}.md`;
}
