/** Reads the files that tools attach. A file that can't be attached becomes a note, in standard Markdown. */
import { readFile, stat } from "node:fs/promises";
import { messageOf } from "../../lib/errors.ts";
import { asCode } from "../../lib/text/sanitize.ts";
import type { ToolFile } from "../../ports/tool.ts";

export interface ReadFile {
  name: string;
  mimeType: string;
  content: Buffer;
}

const maxNameLength = 200;

export function attachmentNote(name: string, why: string): string {
  return `⚠️ I couldn't attach the file ${asCode(name, maxNameLength)}: ${why}`;
}

/** `problemOf` says why a file of this size can't be attached, if so. */
export async function readToolFiles(
  files: readonly ToolFile[],
  problemOf: (bytes: number) => string | undefined,
): Promise<{ found: ReadFile[]; notes: string[] }> {
  const found: ReadFile[] = [];
  const notes: string[] = [];
  for (const { name, path, mimeType } of files) {
    try {
      const problem = problemOf((await stat(path)).size);
      if (problem === undefined) found.push({ name, mimeType, content: await readFile(path) });
      else notes.push(attachmentNote(name, problem));
    } catch (thrown) {
      notes.push(attachmentNote(name, messageOf(thrown)));
    }
  }
  return { found, notes };
}
