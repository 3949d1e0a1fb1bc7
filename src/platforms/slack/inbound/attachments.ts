/**
 * Describes the files of a message, and opens them when a turn needs them. Sends the bot's token only to Slack's hosts.
 * Slack may answer a refused download with status 200 and a sign-in page, which counts as a refusal. A canvas comes as HTML.
 */
import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { Attachment } from "../../../ports/message.ts";
import type { ShownFile } from "../../../ports/shown-message.ts";
import { deletedFile, isRefused, isStoredThere, requestFile, streamOf } from "../../shared/file-download.ts";
import { platformError } from "../../shared/platform-error.ts";
import type { SlackApi } from "../api/api.ts";
import { isSlackError } from "../api/api-problems.ts";
import { canvasText, isSignInPage, peeked } from "./canvas.ts";
import { firstWord, recordIn, wordIn } from "./raw-values.ts";

export interface SlackFilesOptions {
  api: SlackApi;
  token: string;
  apiUrl?: string;
  log: Log;
  signal: AbortSignal;
}

export interface SlackFiles {
  /** A clip that `author` recorded is a voice note. Another person's clip, shared again, is a file. */
  describe(files: readonly SlackFile[], author: string): Promise<Attachment[]>;
  /** As `Platform.openFile`. */
  open(attachment: Attachment, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
}

const text = z.string().nullish().catch(undefined);
const number = z.number().nullish().catch(undefined);

const fileSchema = z.object({
  ...{ id: z.string(), name: text, title: text, mimetype: text, filetype: text, mode: text, user: text, subtype: text },
  ...{ size: number, duration_ms: number, is_external: z.boolean().nullish().catch(undefined) },
  ...{ url_private: text, url_private_download: text, file_access: text },
});
type File = z.infer<typeof fileSchema>;
const infoSchema = z.object({ file: fileSchema });
const sourceSchema = z.object({ id: z.string(), url: z.string().optional(), isCanvas: z.boolean().optional() });

/** A file of a message as `shownFiles` reads it. */
export interface SlackFile extends ShownFile {
  /** Absent if Slack's file object can't be read. */
  raw?: File;
  /** Of a quoted message: where that stands. */
  channel?: string;
}

const maxDescribed = 100;
/** Short, because Slack resends a message that is not acknowledged in time. */
const maxInfoMs = 3_000;
const goneErrors = ["file_not_found", "file_deleted", "access_denied", "not_visible"];

export function createSlackFiles({ api, token, apiUrl, log, signal: closed }: SlackFilesOptions): SlackFiles {
  async function describe({ raw, ...file }: SlackFile, author: string): Promise<Attachment> {
    // A quoted clip is not the author's own words, even if they have recorded it.
    const speaker = file.from === undefined ? author : undefined;
    if (raw === undefined || file.problem !== undefined) return attachmentOf(file, raw, speaker);
    const found = await known(raw);
    return attachmentOf({ ...file, ...(found === raw ? {} : describedFile(found)) }, found, speaker);
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
  async function currentSource(id: string): Promise<{ url: string; isCanvas: boolean }> {
    try {
      const file = await infoOf(id);
      const problem = refusalOf(file);
      if (problem !== undefined) throw platformError("slack", "file-refused", problem);
      return { url: urlOf(file) ?? "", isCanvas: isCanvas(file) };
    } catch (thrown) {
      throw isSlackError(thrown, ...goneErrors) ? deletedFile("slack") : thrown;
    }
  }

  async function request(url: string, signal: AbortSignal): Promise<Response> {
    if (!isStoredThere(url, apiUrl, (host) => /(?:^|\.)slack\.com$/.test(host)))
      throw platformError("slack", "file-elsewhere", "the file is not stored in Slack. Upload the file itself.");
    return await requestFile(url, { authorization: `Bearer ${token}` }, AbortSignal.any([signal, closed]));
  }

  /** Undefined if Slack has refused, with a status or with its sign-in page. */
  async function contentOf(response: Response, isOfCanvas: boolean): Promise<AsyncIterable<Uint8Array> | undefined> {
    if (isRefused(response)) return undefined;
    const body = streamOf("slack", response);
    if (!(response.headers.get("content-type") ?? "").startsWith("text/html")) return body;
    const { head, whole } = await peeked(body);
    if (!isSignInPage(head)) return isOfCanvas ? canvasText(whole) : whole;
    await whole.return(undefined);
    return undefined;
  }

  return {
    describe: (files, author) =>
      Promise.all(
        files.map(async (file, index) =>
          index < maxDescribed ? await describe(file, author) : attachmentOf(file, undefined),
        ),
      ),
    async open({ source }, signal) {
      const { id, url, isCanvas: isKnownCanvas = false } = sourceSchema.parse(source);
      const first = url === undefined ? await currentSource(id) : { url, isCanvas: isKnownCanvas };
      const response = await request(first.url, signal);
      const content = await contentOf(response, first.isCanvas);
      if (content !== undefined) return content;
      await response.body?.cancel().catch(() => {});
      const current = await currentSource(id);
      const again = await request(current.url, signal);
      const found = await contentOf(again, current.isCanvas);
      if (found !== undefined) return found;
      await again.body?.cancel().catch(() => {});
      if (again.status === 404 || again.status === 410) throw deletedFile("slack");
      const advice = "An administrator must give the app the scope files:read and install it again.";
      throw platformError("slack", "file-refused", `Slack refuses to give me the file. ${advice}`);
    },
  };
}

/** As a person sees them. An object that is no file, or has no id, is named. */
export function shownFiles(raws: readonly unknown[], from?: { from: string; channel?: string }): SlackFile[] {
  return raws.map((raw): SlackFile => {
    const { data } = fileSchema.safeParse(raw);
    const whose = from === undefined ? {} : from;
    if (data !== undefined) return { ...describedFile(data), raw: data, ...whose };
    const fields = recordIn(raw);
    const name = firstWord(fields.name, fields.title, fields.id, typeof raw === "object" ? "" : raw) || "file";
    return {
      id: wordIn(fields.id),
      name,
      problem: "Slack does not say where this file is, so I can't open it.",
      ...whose,
    };
  });
}

function describedFile(file: File): SlackFile {
  const problem = refusalOf(file);
  const url = urlOf(file);
  const name = firstWord(file.name, file.title) || file.id;
  const isOfCanvas = isCanvas(file);
  return {
    id: file.id,
    name: isOfCanvas && !/\.md$/.test(name) ? `${firstWord(file.title) || name}.md` : name,
    ...(isOfCanvas ? { mimeType: "text/markdown" } : file.mimetype ? { mimeType: file.mimetype } : {}),
    // A canvas is measured in the form in which Slack keeps it.
    ...(isOfCanvas || !file.size ? {} : { bytes: file.size }),
    ...(url === undefined || problem !== undefined ? {} : { url }),
    ...(problem === undefined ? {} : { problem }),
  };
}

/** Without an author, no file counts as a voice note. */
function attachmentOf(shown: SlackFile, file: File | undefined, author?: string): Attachment {
  const { id, name, mimeType = "application/octet-stream", bytes = 0, url, problem } = shown;
  const isVoice = file?.subtype === "slack_audio" && author !== undefined && file.user === author;
  const more = file !== undefined && isCanvas(file) ? { isCanvas: true } : {};
  const source = { id, ...(url === undefined ? {} : { url }), ...more };
  return {
    ...{ name, mimeType, bytes },
    ...(isVoice ? { voice: { seconds: (file.duration_ms ?? 0) / 1000 } } : {}),
    ...(problem === undefined ? { source } : { problem }),
  };
}

/** Explains why Slack does not provide the file's content, to anybody or to this app. */
function refusalOf(file: File): string | undefined {
  const { is_external, file_access, mode } = file;
  if (file_access === "file_not_found" || mode === "tombstone") return "The file was deleted. Send it again.";
  if (mode === "hidden_by_limit")
    return "Slack hides this file, because the workspace has reached its limit. Send it again.";
  if (!isCanvas(file) && (is_external === true || mode === "external"))
    return "The file is not stored in Slack, so I can't open it. Upload the file itself.";
  const isOpen = file_access === undefined || file_access === null || openAccess.has(file_access);
  return isOpen ? undefined : "Slack does not let me open this file. Share it in this conversation, or upload it here.";
}

const openAccess: ReadonlySet<string> = new Set(["visible", "check_file_info"]);
/** Documents that people write in Slack: it keeps them in a form of its own, and gives them as HTML. */
const documents: ReadonlySet<string> = new Set(["quip", "canvas", "docs", "space", "post"]);

function isCanvas({ mode, filetype, mimetype }: File): boolean {
  return documents.has(mode ?? "") || documents.has(filetype ?? "") || mimetype === "application/vnd.slack-docs";
}

function urlOf(file: File): string | undefined {
  const { url_private: url, url_private_download: download } = file;
  return firstWord(...(isCanvas(file) ? [url, download] : [download, url])) || undefined;
}
