/**
 * Reads the files of a message. Sends the bot's token only to Slack's hosts. Slack answers a refused download with
 * status 200 and a sign-in page, so an unexpected HTML page counts as a failure.
 */
import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { Attachment } from "../../../ports/message.ts";
import type { SlackApi } from "../api/api.ts";

export interface FileReaderOptions {
  api: SlackApi;
  token: string;
  apiUrl?: string;
  log: Log;
  signal: AbortSignal;
}

export type FileReader = (files: readonly unknown[]) => Promise<Attachment[]>;

const fileSchema = z.object({
  id: z.string(),
  name: z.string().nullish(),
  title: z.string().nullish(),
  mimetype: z.string().nullish(),
  size: z.number().nullish(),
  mode: z.string().nullish(),
  is_external: z.boolean().nullish(),
  url_private: z.string().nullish(),
  url_private_download: z.string().nullish(),
  file_access: z.string().nullish(),
});
type File = z.infer<typeof fileSchema>;
const infoSchema = z.object({ file: fileSchema });

const maxTextBytes = 200 * 1024;
const maxImageBytes = 1024 * 1024;
const maxFiles = 20;
/** For all files of a message. Slack resends a message that is not acknowledged in time. */
const maxReadMs = 8_000;
const textTypes = /^(?:text\/|application\/(?:json|xml|yaml|x-yaml|toml|javascript|typescript|x-sh|sql|csv|x-ndjson))/;
const imageTypes = /^image\/(?:png|jpeg|gif|webp)$/;

export function createFileReader({ api, token, apiUrl, log, signal }: FileReaderOptions): FileReader {
  async function read(raw: unknown, until: AbortSignal): Promise<Attachment[]> {
    const parsed = fileSchema.safeParse(raw);
    if (!parsed.success || parsed.data.mode === "tombstone" || parsed.data.mode === "hidden_by_limit") return [];
    const named = attachmentOf(parsed.data);
    try {
      const file = await known(parsed.data);
      const about = attachmentOf(file);
      if (!isReadable(about) || file.is_external === true) return [about];
      return [await withContent(about, await download(file, about, until))];
    } catch (thrown) {
      log.warn(
        { file: parsed.data.id, error: messageOf(thrown) },
        "could not read a shared file; passing on its name only",
      );
      return [named];
    }
  }

  /** For a file of another organisation, looks up the details, because the event contains only its id. */
  async function known(file: File): Promise<File> {
    if (file.file_access !== "check_file_info") return file;
    return (await api.call("files.info", { file: file.id }, infoSchema, { patienceMs: 3_000 })).file;
  }

  async function download(file: File, about: Attachment, until: AbortSignal): Promise<Buffer> {
    const url = file.url_private_download ?? file.url_private ?? "";
    if (!isSlacks(url, apiUrl)) throw new Error(`its address is not Slack's: ${url.slice(0, 100)}`);
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${token}` },
      redirect: "error",
      signal: until,
    });
    const type = response.headers.get("content-type") ?? "";
    if (!response.ok) throw new Error(`Slack answered the download with HTTP ${response.status}`);
    if (type.startsWith("text/html") && about.mimeType !== "text/html")
      throw new Error("Slack answered with a sign-in page; the app may lack the scope files:read");
    const content = Buffer.from(await response.arrayBuffer());
    if (about.bytes > 0 && content.length !== about.bytes)
      throw new Error(`Slack sent ${content.length} bytes of ${about.bytes}`);
    return content;
  }

  return async (files) => {
    const until = AbortSignal.any([signal, AbortSignal.timeout(maxReadMs)]);
    return (await Promise.all(files.slice(0, maxFiles).map((file) => read(file, until)))).flat();
  };
}

function attachmentOf(file: File): Attachment {
  return {
    name: file.name ?? file.title ?? file.id,
    mimeType: file.mimetype ?? "application/octet-stream",
    bytes: file.size ?? 0,
  };
}

function isReadable({ mimeType, bytes }: Attachment): boolean {
  return imageTypes.test(mimeType) ? bytes <= maxImageBytes : textTypes.test(mimeType) && bytes <= maxTextBytes;
}

async function withContent(about: Attachment, content: Buffer): Promise<Attachment> {
  if (imageTypes.test(about.mimeType)) return { ...about, imageBase64: content.toString("base64") };
  const text = content.toString("utf8");
  return text.includes("\0") || text.includes("\uFFFD") ? about : { ...about, text };
}

function isSlacks(url: string, apiUrl: string | undefined): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname, host } = new URL(url);
  if (apiUrl !== undefined && host === new URL(apiUrl).host) return true;
  return protocol === "https:" && /(?:^|\.)slack\.com$/.test(hostname);
}
