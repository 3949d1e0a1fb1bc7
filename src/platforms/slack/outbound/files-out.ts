/** Uploads files in the three steps that Slack requires. A file that can't be read or uploaded becomes a note. */

import { basename } from "node:path";
import { z } from "zod";
import { fetchDirectly } from "../../../lib/fetch-directly.ts";
import { formatBytes } from "../../../lib/text/format-bytes.ts";
import type { ToolFile } from "../../../ports/tool.ts";
import { platformError } from "../../shared/platform-error.ts";
import { readToolFiles } from "../../shared/tool-files.ts";
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
  const { found, notes } = await readToolFiles(files, (size) => {
    if (size > maxFileBytes) return `it has ${formatBytes(size)}, more than ${formatBytes(maxFileBytes)}`;
    return size === 0 ? "it is empty, and Slack does not accept empty files" : undefined;
  });
  return { found: found.map(({ name, content }) => ({ name: basename(name), bytes: content })), notes };
}

/** Nobody sees the file before `shareFiles`. */
export async function uploadFile(api: SlackApi, { name, bytes }: OutgoingFile): Promise<UploadedFile> {
  const length = bytes.byteLength;
  const address = await api.call("files.getUploadURLExternal", { filename: name, length }, addressSchema);
  const response = await fetchDirectly(address.upload_url, {
    method: "POST",
    body: Buffer.from(bytes),
    headers: { "content-type": "application/octet-stream" },
    signal: AbortSignal.timeout(maxUploadMs),
  });
  if (!response.ok) {
    const message = `Slack answered the upload with HTTP ${response.status}`;
    throw platformError("slack", "upload", message, undefined, "Slack did not take the file.");
  }
  return { id: address.file_id, title: name };
}

export function uploadText(api: SlackApi, name: string, text: string): Promise<UploadedFile> {
  return uploadFile(api, { name, bytes: Buffer.from(text) });
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
