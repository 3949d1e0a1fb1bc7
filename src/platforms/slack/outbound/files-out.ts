/** Uploads files in the three steps that Slack requires. A file that can't be read or uploaded becomes a note. */
import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import { formatBytes } from "../../../lib/text/format-bytes.ts";
import type { ToolFile } from "../../../ports/tool.ts";
import { attachmentNote } from "../../shared/attachment-note.ts";
import { anyAnswer, type SlackApi } from "../api/api.ts";

export interface OutgoingFile {
  name: string;
  bytes: Uint8Array;
}

export interface UploadedFile {
  id: string;
  title: string;
}

const addressSchema = z.object({ upload_url: z.string(), file_id: z.string() });
const maxFileBytes = 100 * 1024 * 1024;
const maxUploadMs = 120_000;

/** `notes` contains one line of Markdown for each file that can't be read. */
export async function readFiles(files: readonly ToolFile[]): Promise<{ found: OutgoingFile[]; notes: string[] }> {
  const found: OutgoingFile[] = [];
  const notes: string[] = [];
  for (const { name, path } of files) {
    try {
      const { size } = await stat(path);
      if (size > maxFileBytes) throw new Error(`it has ${formatBytes(size)}, more than ${formatBytes(maxFileBytes)}`);
      if (size === 0) throw new Error("it is empty, and Slack does not accept empty files");
      found.push({ name: basename(name), bytes: await readFile(path) });
    } catch (thrown) {
      notes.push(attachmentNote(name, messageOf(thrown)));
    }
  }
  return { found, notes };
}

/** Nobody sees the file before `shareFiles`. */
export async function uploadFile(api: SlackApi, { name, bytes }: OutgoingFile): Promise<UploadedFile> {
  const length = bytes.byteLength;
  const address = await api.call("files.getUploadURLExternal", { filename: name, length }, addressSchema);
  const response = await fetch(address.upload_url, {
    method: "POST",
    body: Buffer.from(bytes),
    headers: { "content-type": "application/octet-stream" },
    signal: AbortSignal.timeout(maxUploadMs),
  });
  if (!response.ok) throw new Error(`Slack answered the upload with HTTP ${response.status}`);
  return { id: address.file_id, title: name };
}

export async function shareFiles(
  api: SlackApi,
  place: { channel: string; thread: string | null },
  files: readonly UploadedFile[],
): Promise<void> {
  const thread = place.thread === null ? {} : { thread_ts: place.thread };
  const args = { files, channel_id: place.channel, ...thread };
  await api.call("files.completeUploadExternal", args, anyAnswer, { isOnce: true });
}
