/**
 * Describes the files of a message, and opens them when a turn needs them. Sends the bot's token only to Slack's hosts.
 * Slack may answer a refused download with status 200 and a sign-in page, so an unexpected HTML page counts as a refusal.
 */
import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { Attachment } from "../../../ports/message.ts";
import { deletedFile, isRefused, isStoredThere, requestFile, streamOf } from "../../shared/file-download.ts";
import { platformError } from "../../shared/platform-error.ts";
import type { SlackApi } from "../api/api.ts";
import { isSlackError } from "../api/api-problems.ts";

export interface SlackFilesOptions {
  api: SlackApi;
  token: string;
  apiUrl?: string;
  log: Log;
  signal: AbortSignal;
}

export interface SlackFiles {
  /** A clip that `author` recorded is a voice note. Another person's clip, shared again, is a file. */
  describe(files: readonly unknown[], author: string): Promise<Attachment[]>;
  /** As `Platform.openFile`. */
  open(attachment: Attachment, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
}

const fileSchema = z.object({
  id: z.string(),
  name: z.string().nullish(),
  title: z.string().nullish(),
  mimetype: z.string().nullish(),
  size: z.number().nullish(),
  mode: z.string().nullish(),
  user: z.string().nullish(),
  subtype: z.string().nullish(),
  duration_ms: z.number().nullish(),
  is_external: z.boolean().nullish(),
  url_private: z.string().nullish(),
  url_private_download: z.string().nullish(),
  file_access: z.string().nullish(),
});
type File = z.infer<typeof fileSchema>;
const infoSchema = z.object({ file: fileSchema });
const sourceSchema = z.object({ id: z.string(), url: z.string().optional() });

const maxDescribed = 100;
/** Short, because Slack resends a message that is not acknowledged in time. */
const maxInfoMs = 3_000;
const goneErrors = ["file_not_found", "file_deleted", "access_denied", "not_visible"];

export function createSlackFiles({ api, token, apiUrl, log, signal: closed }: SlackFilesOptions): SlackFiles {
  async function describe(raw: unknown, author: string): Promise<Attachment[]> {
    const parsed = fileSchema.safeParse(raw);
    if (!parsed.success || parsed.data.mode === "tombstone" || parsed.data.mode === "hidden_by_limit") return [];
    return [attachmentOf(await known(parsed.data), author)];
  }

  /** Looks up the details of another organization's file, because the event contains only its id. */
  async function known(file: File): Promise<File> {
    if (file.file_access !== "check_file_info") return file;
    try {
      return await infoOf(file.id, maxInfoMs);
    } catch (thrown) {
      log.warn(
        { file: file.id, error: messageOf(thrown) },
        "could not look up a shared file; trying again in its turn",
      );
      return file;
    }
  }

  async function infoOf(id: string, maxRetryMs?: number): Promise<File> {
    return (await api.call("files.info", { file: id }, infoSchema, maxRetryMs === undefined ? {} : { maxRetryMs }))
      .file;
  }

  /** Asks Slack for the file, because its reason for a refusal says more than the status of a download. */
  async function currentUrl(id: string): Promise<string> {
    try {
      const file = await infoOf(id);
      const problem = refusalOf(file);
      if (problem !== undefined) throw platformError("slack", "file-refused", problem);
      return urlOf(file) ?? "";
    } catch (thrown) {
      throw isSlackError(thrown, ...goneErrors) ? deletedFile("slack") : thrown;
    }
  }

  async function request(url: string, signal: AbortSignal): Promise<Response> {
    if (!isStoredThere(url, apiUrl, (host) => /(?:^|\.)slack\.com$/.test(host)))
      throw platformError("slack", "file-elsewhere", "the file is not stored in Slack. Upload the file itself.");
    return await requestFile(url, { authorization: `Bearer ${token}` }, AbortSignal.any([signal, closed]));
  }

  return {
    describe: async (files, author) =>
      (await Promise.all(files.slice(0, maxDescribed).map((file) => describe(file, author)))).flat(),
    async open({ source, mimeType }, signal) {
      const { id, url } = sourceSchema.parse(source);
      const isUsable = (response: Response) => !isRefused(response) && !isSignIn(response, mimeType);
      const response = await request(url ?? (await currentUrl(id)), signal);
      if (isUsable(response)) return streamOf("slack", response);
      await response.body?.cancel();
      const again = await request(await currentUrl(id), signal);
      if (isUsable(again)) return streamOf("slack", again);
      await again.body?.cancel();
      if (again.status === 404 || again.status === 410) throw deletedFile("slack");
      const advice = "An administrator must give the app the scope files:read and install it again.";
      throw platformError("slack", "file-refused", `Slack refuses to give me the file. ${advice}`);
    },
  };
}

/** Slack may give only the id. The details are then looked up when the file is opened. */
export function fileAttachments(raw: unknown): Attachment[] {
  const { data } = fileSchema.safeParse(raw);
  return data === undefined ? [] : [attachmentOf(data)];
}

/** Without an author, no file counts as a voice note. */
function attachmentOf(file: File, author?: string): Attachment {
  const problem = refusalOf(file);
  const url = urlOf(file);
  const isVoice = file.subtype === "slack_audio" && author !== undefined && file.user === author;
  return {
    name: file.name ?? file.title ?? file.id,
    mimeType: file.mimetype ?? "application/octet-stream",
    bytes: file.size ?? 0,
    ...(isVoice ? { voice: { seconds: (file.duration_ms ?? 0) / 1000 } } : {}),
    ...(problem === undefined ? { source: { id: file.id, ...(url === undefined ? {} : { url }) } } : { problem }),
  };
}

/** Explains why Slack does not provide the file's content, to anybody or to this app. */
function refusalOf({ is_external, file_access, mode }: File): string | undefined {
  if (is_external === true || mode === "external")
    return "The file is not stored in Slack, so I can't open it. Upload the file itself.";
  if (file_access === "file_not_found" || mode === "tombstone") return "The file was deleted. Send it again.";
  const isOpen = file_access === undefined || file_access === null || openAccess.has(file_access);
  return isOpen ? undefined : "Slack does not let me open this file. Share it in this conversation, or upload it here.";
}

const openAccess: ReadonlySet<string> = new Set(["visible", "check_file_info"]);

function urlOf({ url_private_download, url_private }: File): string | undefined {
  return url_private_download ?? url_private ?? undefined;
}

function isSignIn({ headers }: Response, mimeType: string): boolean {
  return (headers.get("content-type") ?? "").startsWith("text/html") && mimeType !== "text/html";
}
