/**
 * Keeps the inbox of a working folder within its limits. The ledger says which files were saved there. To make room,
 * removes the oldest messages' files, but only unchanged ones, so nobody's work is lost.
 */
import { createHash } from "node:crypto";
import { lstat, readdir, readlink, realpath, rmdir, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf, ifMissing, RemoraError } from "../lib/errors.ts";
import { createKeyedMutex } from "../lib/keyed-mutex.ts";
import { atPlace, fileProblem, type Place } from "../lib/working-folder.ts";
import type { FolderInbox, InboxEntry, InboxMessage, Ledger } from "../ports/ledger.ts";
import { maxInboxMessages } from "./limits.ts";

export interface InboxFile {
  /** The real working folder. */
  root: string;
  /** The message's folder, relative to the working folder. */
  folder: string;
  name: string;
}

export interface WrittenFile {
  bytes: number;
  changedAtMs: number;
}

export interface FolderInboxes {
  /**
   * Makes room for a file that is about to be saved. Resolves to false if removing other messages' files can't suffice.
   */
  reserve(file: InboxFile, bytes: number): Promise<boolean>;
  /** The file is complete and gets its name next. */
  complete(file: InboxFile, written: WrittenFile): Promise<void>;
  release(file: InboxFile): Promise<void>;
  /** Whether files of a message were saved in this folder and not removed to make room. */
  has(root: string, folder: string): Promise<boolean>;
  /** True if the file was saved completely, with this size. It may have been changed or removed since. */
  isComplete(file: InboxFile, bytes: number): Promise<boolean>;
}

export const temporaryPrefix = ".fetching-";

export function createFolderInboxes(ledger: Ledger, maxBytes: number): FolderInboxes {
  const inOrder = createKeyedMutex();
  const idOf = (root: string) => createHash("sha256").update(root).digest("hex");

  async function messagesOf(root: string): Promise<InboxMessage[]> {
    return (await ledger.get("inbox", idOf(root)))?.body.messages ?? [];
  }

  async function change(root: string, to: (messages: InboxMessage[]) => InboxMessage[]): Promise<void> {
    const id = idOf(root);
    const body: FolderInbox = { root, messages: to([]) };
    if (await ledger.create("inbox", id, { state: "kept", body, group: id })) return;
    await ledger.transition("inbox", id, ["kept"], "kept", ({ messages }) => ({ root, messages: to(messages) }));
  }

  return {
    reserve: (file, bytes) =>
      inOrder(file.root, async () => {
        const { root, folder, name } = file;
        const others = withoutFile(await messagesOf(root), file);
        const removed = oldestToRemove(others, folder, maxBytes - bytes);
        if (removed === undefined) return false;
        // Remove files first: after a crash, an entry without files is harmless, but files without an entry stay forever.
        for (const message of removed) await removeFiles(root, message);
        const gone = new Set(removed.map((message) => message.folder));
        await change(root, (messages) =>
          withFile(
            messages.filter((message) => !gone.has(message.folder)),
            folder,
            { name, bytes, isComplete: false },
          ),
        );
        return true;
      }),
    complete: ({ root, folder, name }, written) =>
      change(root, (messages) => withFile(messages, folder, { name, ...written, isComplete: true })),
    release: (file) => change(file.root, (messages) => withoutFile(messages, file)),
    has: async (root, folder) => (await messagesOf(root)).some((message) => message.folder === folder),
    async isComplete({ root, folder, name }, bytes) {
      const message = (await messagesOf(root)).find((each) => each.folder === folder);
      return message?.files.some((file) => file.name === name && file.isComplete && file.bytes === bytes) ?? false;
    },
  };
}

/** Undefined if removing all other messages' files would not make enough room. */
function oldestToRemove(
  messages: readonly InboxMessage[],
  ownFolder: string,
  maxBytes: number,
): InboxMessage[] | undefined {
  const others = messages.filter(({ folder }) => folder !== ownFolder);
  let bytes = messages.reduce((sum, message) => sum + sizeOf(message), 0);
  let count = others.length;
  const removed: InboxMessage[] = [];
  while (bytes > maxBytes || count >= maxInboxMessages) {
    const oldest = others[removed.length];
    if (oldest === undefined) return undefined;
    removed.push(oldest);
    bytes -= sizeOf(oldest);
    count -= 1;
  }
  return removed;
}

function sizeOf({ files }: InboxMessage): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

function withFile(messages: readonly InboxMessage[], folder: string, file: InboxEntry) {
  const known = messages.find((message) => message.folder === folder);
  if (known === undefined) return [...messages, { folder, files: [file] }];
  const files = [...known.files.filter(({ name }) => name !== file.name), file];
  return messages.map((message) => (message === known ? { folder, files } : message));
}

function withoutFile(messages: readonly InboxMessage[], { folder, name }: InboxFile): InboxMessage[] {
  return messages
    .map((message) => {
      if (message.folder !== folder) return message;
      return { folder, files: message.files.filter((file) => file.name !== name) };
    })
    .filter(({ files }) => files.length > 0);
}

/** `atPlace` follows links inside the working folder, but what happens to a message's files must not happen elsewhere. */
export async function checkFolder(place: Place, expected: string): Promise<void> {
  const opened = dirname(place.path);
  const real = opened.startsWith("/proc/self/fd/") ? await readlink(opened) : await realpath(opened);
  if (real !== expected)
    throw fileProblem(place.shown, "leads elsewhere, because a folder on the way is a link: remove or rename the link");
}

async function removeFiles(root: string, { folder, files }: InboxMessage): Promise<void> {
  try {
    await atPlace({ workingFolder: root, path: join(folder, "any") }, async (place) => {
      await checkFolder(place, join(root, folder));
      const opened = dirname(place.path);
      for (const file of files) await unlinkUnchanged(join(opened, file.name), file);
      for (const name of await readdir(opened))
        if (name.startsWith(temporaryPrefix)) await unlink(join(opened, name)).catch(ifMissing(undefined));
    });
    await atPlace({ workingFolder: root, path: folder }, (place) => rmdir(place.path));
  } catch (thrown) {
    // Keep files that people or commands added, and folders that replaced ours.
    const isTheirs = thrown instanceof RemoraError && thrown.code === "filesystem.path";
    const known = ["ENOENT", "ENOTEMPTY", "EEXIST", "ENOTDIR", "EACCES", "EPERM", "EROFS", "ELOOP"];
    if (!isTheirs && !known.includes(codeOf(thrown) ?? "")) throw thrown;
  }
}

async function unlinkUnchanged(path: string, { bytes, changedAtMs }: InboxEntry): Promise<void> {
  const found = await lstat(path).catch(ifMissing(undefined));
  const isUnchanged = found?.isFile() && found.size === bytes && found.mtimeMs === changedAtMs;
  if (isUnchanged) await unlink(path).catch(ifMissing(undefined));
}
