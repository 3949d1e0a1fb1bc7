/** Files of tools on their way to Discord. What can't be attached is said, not left out. */
import { readFile, stat } from "node:fs/promises";
import type { RawFile } from "discord.js";
import { messageOf } from "../../../lib/errors.ts";
import { formatBytes } from "../../../lib/text/format-bytes.ts";
import type { ToolFile } from "../../../ports/tool.ts";

/** What every server takes; those with more boosts take more. */
export const maxFileBytes = 10 * 1024 * 1024;
/** Of one message, together and in number. */
const mostTogether = 24 * 1024 * 1024;
const mostFiles = 10;

export interface ReadFiles {
  files: RawFile[];
  /** Standard Markdown. */
  notes: string[];
}

export async function readFiles(wanted: ToolFile[]): Promise<ReadFiles> {
  const files: RawFile[] = [];
  const notes: string[] = [];
  for (const { name, path, mimeType } of wanted) {
    try {
      const { size } = await stat(path);
      if (size > maxFileBytes)
        throw new Error(`it has ${formatBytes(size)}, and Discord accepts at most ${formatBytes(maxFileBytes)}`);
      files.push({ name, data: await readFile(path), contentType: mimeType });
    } catch (thrown) {
      notes.push(notAttached(name, messageOf(thrown)));
    }
  }
  return { files, notes };
}

export function notAttached(name: string, why: string): string {
  return `⚠️ I couldn't attach the file \`${name.replaceAll("`", "'")}\`: ${why}`;
}

/** As many as one message takes, then the rest. */
export function batchesOf(files: RawFile[]): RawFile[][] {
  const batches: RawFile[][] = [];
  let bytes = 0;
  for (const file of files) {
    const size = Buffer.byteLength(file.data as Buffer | string);
    const last = batches.at(-1);
    if (last === undefined || last.length >= mostFiles || bytes + size > mostTogether) {
      batches.push([file]);
      bytes = size;
    } else {
      last.push(file);
      bytes += size;
    }
  }
  return batches;
}
