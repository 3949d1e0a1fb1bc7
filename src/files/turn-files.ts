/**
 * Fetches the files of messages:
 *
 *   1. check the announced size and the number of files, and make room (folder-inbox.ts)
 *   2. download the file into the working folder (download.ts), unless an earlier run of the turn has done it
 *   3. mark the folder with the file's origin, before the file gets its name
 *   4. inspect the file; transcribe speech
 */
import { lstat, mkdir, realpath } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { codeOf, messageOf, RemoraError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { formatBytes } from "../lib/text/format-bytes.ts";
import { shorten } from "../lib/text/shorten.ts";
import { atPlace } from "../lib/working-folder.ts";
import type { Drafts } from "../ports/draft.ts";
import type { FileInspector, FileLook } from "../ports/file-inspector.ts";
import type { FileOrigins } from "../ports/file-origins.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Attachment } from "../ports/message.ts";
import { originOf } from "../ports/origin.ts";
import type { Platform } from "../ports/platform.ts";
import { type Transcribe, type TurnFiles, transcriptionIsOff, type WantedFile } from "../ports/turn-files.ts";
import type { Payer } from "../ports/usage.ts";
import { type DownloadOutcome, download, tooLarge } from "./download.ts";
import { createFolderInboxes, type InboxFile } from "./folder-inbox.ts";
import {
  maxDownloadMs,
  maxFilesPerMessage,
  maxInlineBytesPerMessage,
  maxInlineTextBytes,
  maxSummaryCharacters,
} from "./limits.ts";
import { earlierMessageFolder, fileNames, inboxFolder, messageFolder } from "./safe-names.ts";

export interface TurnFilesOptions {
  ledger: Ledger;
  fileOrigins: Pick<FileOrigins, "markFolder">;
  platform(name: string): Pick<Platform, "openFile"> | undefined;
  inspector: FileInspector;
  transcribe?: Transcribe;
  drafts: Pick<Drafts, "hides">;
  /** Creates missing working folders below this folder. All others must exist. */
  filesRoot: string;
  limits: { maxBytes: number; inboxBytes: number; downloadMs?: number };
  log: Log;
}

type Inspected = Pick<Attachment, "mimeType" | "summary" | "text" | "imageBase64" | "imageMimeType" | "problem">;

export function createTurnFiles(options: TurnFilesOptions): TurnFiles {
  const { ledger, fileOrigins, inspector, transcribe, limits, log } = options;
  const inboxes = createFolderInboxes(ledger, limits.inboxBytes);

  /** Chooses another name if a draft has removed `inbox`, which would hide the file from later commands. */
  async function visibleInbox(conversationId: string, root: string): Promise<string> {
    for (let number = 2, name = inboxFolder; ; name = `${inboxFolder}-${number++}`)
      if (!(await options.drafts.hides(conversationId, root, name))) return name;
  }

  async function saved(
    file: InboxFile,
    attachment: Attachment,
    { message, index, keepsChanged = false }: WantedFile,
    signal: AbortSignal,
  ) {
    const { platform } = message;
    const { root, folder, name } = file;
    const { bytes, name: shownName } = attachment;
    const open = options.platform(platform)?.openFile;
    if (bytes > 0 && (await inboxes.isComplete(file, bytes))) {
      const found = await sizeOf(file);
      if (found === bytes) return { type: "saved", bytes } satisfies DownloadOutcome;
      if (found !== undefined && keepsChanged)
        return failed(
          `It was saved before as ${file.folder}/${file.name}, and has been changed since. Rename that file to fetch it again.`,
        );
    }
    if (open === undefined) return failed("Files can't be fetched from there.");
    if (!(await inboxes.reserve(file, bytes > 0 ? bytes : limits.maxBytes)))
      return failed(inboxFull(limits.inboxBytes));
    const outcome = await download(
      {
        ...{ file, index, announcedBytes: bytes, maxBytes: limits.maxBytes },
        maxMs: limits.downloadMs ?? maxDownloadMs,
        open: (until) => open(attachment, until),
        async onWritten(written) {
          await fileOrigins.markFolder(root, folder, [originOf("attachment", shownName)]);
          await inboxes.complete({ root, folder, name }, written);
        },
      },
      signal,
    ).catch(async (thrown: unknown) => {
      await inboxes.release(file);
      throw thrown;
    });
    if (outcome.type === "failed") await inboxes.release(file);
    return outcome;
  }

  async function inspected(
    { root, folder, name }: InboxFile,
    { mimeType, voice, bytes }: Attachment,
    payer: Payer,
    hasRoom: boolean,
    signal: AbortSignal,
  ): Promise<Inspected> {
    return await atPlace({ workingFolder: root, path: join(folder, name) }, async ({ path }) => {
      const look = await inspector.inspect({ path, name }, signal);
      const isAudio = /^audio\//.test(look.mimeType) || /^audio\//.test(mimeType);
      if (!isAudio && voice === undefined) return inspectedOf(look, hasRoom);
      const length = voice === undefined || voice.seconds === 0 ? {} : { seconds: voice.seconds };
      const recording = { path, name, mimeType: look.mimeType, bytes, ...length, payer };
      const heard = (await transcribe?.(recording, signal)) ?? { problem: transcriptionIsOff };
      if (voice !== undefined) return { mimeType: look.mimeType, ...heard };
      const marked = "text" in heard ? { text: `[audio file, transcribed]\n${heard.text}` } : heard;
      return { ...inspectedOf({ mimeType: look.mimeType, summary: look.summary }, false), ...marked };
    });
  }

  return {
    async fetch(wanted, signal) {
      const { message, index, workingFolder, payer } = wanted;
      const { attachments } = message;
      const attachment = attachments[index];
      if (attachment === undefined) throw new TypeError(`message ${message.id} has no attachment ${index}`);
      const { source: _source, ...described } = attachment;
      const withProblem = (problem: string): Attachment => {
        log.info({ messageId: message.id, file: described.name, problem }, "could not read a file of a message");
        return { ...described, problem };
      };
      if (index >= maxFilesPerMessage)
        return withProblem(
          `I read at most ${maxFilesPerMessage} files of one message. Send the others in another one.`,
        );
      if (described.bytes > limits.maxBytes) return withProblem(tooLarge(described.bytes, limits.maxBytes));
      const root = await openFolder(workingFolder, options.filesRoot);
      if (root === undefined)
        return withProblem("The working folder of this conversation does not exist. An operator must create it.");
      const top = await visibleInbox(message.conversationId, root);
      const earlier = `${top}/${earlierMessageFolder(message)}`;
      const folder = (await inboxes.has(root, earlier)) ? earlier : `${top}/${messageFolder(message)}`;
      const file = { root, folder, name: fileNames(attachments)[index] ?? "file" };
      const outcome = await saved(file, attachment, wanted, signal);
      if (outcome.type === "failed") return withProblem(outcome.problem);
      const hasRoom = inlineBytes(attachments) < maxInlineBytesPerMessage;
      const found = { ...described, bytes: outcome.bytes, path: `${folder}/${file.name}` };
      return { ...found, ...(await inspected(file, found, payer, hasRoom, signal).catch(goneWhileRead)) };
    },
  };
}

function failed(problem: string): DownloadOutcome {
  return { type: "failed", problem };
}

function inboxFull(inboxBytes: number): string {
  return `The files of this message have more than ${formatBytes(inboxBytes)} together, the limit of the inbox (setting files.inboxMegabytes). Send fewer files at a time.`;
}

/** Another program may remove or replace the file right after it has been saved. */
function goneWhileRead(thrown: unknown): Pick<Attachment, "problem"> {
  const isPath = thrown instanceof RemoraError && thrown.code === "filesystem.path";
  if (isPath || codeOf(thrown) === "ENOENT") return { problem: `The saved file can't be read: ${messageOf(thrown)}` };
  throw thrown;
}

function inlineBytes(attachments: readonly Attachment[]): number {
  return attachments.reduce((sum, { text = "", imageBase64 = "" }) => sum + text.length + imageBase64.length, 0);
}

function inspectedOf({ mimeType, summary, text, image, problem }: FileLook, hasRoom: boolean): Inspected {
  const isShort = hasRoom && text !== undefined && Buffer.byteLength(text) <= maxInlineTextBytes;
  const picture = hasRoom ? image : undefined;
  return {
    mimeType,
    ...(isShort ? { text } : { summary: shorten(summary, maxSummaryCharacters) }),
    ...(picture === undefined ? {} : { imageBase64: picture.base64 }),
    ...(picture === undefined || picture.mimeType === mimeType ? {} : { imageMimeType: picture.mimeType }),
    ...(problem === undefined ? {} : { problem }),
  };
}

async function openFolder(folder: string, filesRoot: string): Promise<string | undefined> {
  if (resolve(folder).startsWith(resolve(filesRoot) + sep)) await mkdir(folder, { recursive: true });
  return await realpath(folder).catch((thrown: unknown) => {
    if (codeOf(thrown) === "ENOENT" || codeOf(thrown) === "EACCES") return undefined;
    throw thrown;
  });
}

/** Undefined if there is no such file. */
async function sizeOf({ root, folder, name }: InboxFile): Promise<number | undefined> {
  try {
    const path = join(folder, name);
    const found = await atPlace({ workingFolder: root, path }, (place) => lstat(place.path));
    return found.isFile() ? found.size : undefined;
  } catch {
    return undefined;
  }
}
