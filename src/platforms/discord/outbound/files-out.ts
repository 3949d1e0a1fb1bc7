/** Reads the files that tools send. A file that can't be attached becomes a note. */
import { readFile, stat } from "node:fs/promises";
import type { RawFile } from "discord.js";
import { messageOf } from "../../../lib/errors.ts";
import { formatBytes } from "../../../lib/text/format-bytes.ts";
import type { ToolFile } from "../../../ports/tool.ts";
import { attachmentNote } from "../../shared/attachment-note.ts";
import { maxAttachmentBytes, maxAttachments, maxRequestBytes } from "../limits.ts";

/** For all files of one message. Leaves room for the other parts of the request. */
const maxTotalFileBytes = maxRequestBytes - 1024 * 1024;

export interface ReadFiles {
  files: RawFile[];
  notes: string[];
}

export async function readFiles(wanted: ToolFile[]): Promise<ReadFiles> {
  const files: RawFile[] = [];
  const notes: string[] = [];
  for (const { name, path, mimeType } of wanted) {
    try {
      const { size } = await stat(path);
      if (size > maxAttachmentBytes)
        throw new Error(`it has ${formatBytes(size)}, and Discord accepts at most ${formatBytes(maxAttachmentBytes)}`);
      files.push({ name, data: await readFile(path), contentType: mimeType });
    } catch (thrown) {
      notes.push(attachmentNote(name, messageOf(thrown)));
    }
  }
  return { files, notes };
}

export function batchesOf(files: RawFile[]): RawFile[][] {
  const batches: RawFile[][] = [];
  let bytes = 0;
  for (const file of files) {
    const size = Buffer.byteLength(file.data as Buffer | string);
    const last = batches.at(-1);
    if (last === undefined || last.length >= maxAttachments || bytes + size > maxTotalFileBytes) {
      batches.push([file]);
      bytes = size;
    } else {
      last.push(file);
      bytes += size;
    }
  }
  return batches;
}
