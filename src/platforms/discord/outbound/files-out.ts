/** Reads the files that tools send. A file that can't be attached becomes a note. */
import type { RawFile } from "discord.js";
import { formatBytes } from "../../../lib/text/format-bytes.ts";
import type { ToolFile } from "../../../ports/tool.ts";
import { readToolFiles } from "../../shared/tool-files.ts";
import { maxAttachmentBytes, maxAttachments, maxRequestBytes } from "../limits.ts";

/** For all files of one message. Leaves room for the other parts of the request. */
const maxTotalFileBytes = maxRequestBytes - 1024 * 1024;

export interface ReadFiles {
  files: RawFile[];
  notes: string[];
}

export async function readFiles(wanted: ToolFile[]): Promise<ReadFiles> {
  const { found, notes } = await readToolFiles(wanted, (size) =>
    size <= maxAttachmentBytes
      ? undefined
      : `it has ${formatBytes(size)}, and Discord accepts at most ${formatBytes(maxAttachmentBytes)}`,
  );
  return { files: found.map(({ name, mimeType, content }) => ({ name, data: content, contentType: mimeType })), notes };
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
