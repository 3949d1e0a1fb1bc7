/**
 * Exports or forgets what memory contains about people. For a scope, this covers everything in it. For a person, it
 * covers their DM and, in channels, their decisions and the turns that they took part in. Other people's words and
 * shared knowledge are kept.
 */
import { readFile, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import type { FileOrder, OrderedFiles } from "../lib/file-order.ts";
import type { MemoryScope } from "../ports/message.ts";
import { asMemoryError, dayOfFile, readEditable } from "./day-files.ts";
import { parseDay } from "./episodes.ts";
import { parseFeedback } from "./feedback.ts";
import { foldersByScope, markdownFiles } from "./memory-files.ts";
import type { MemoryKind } from "./places.ts";

/** `userId` is the platform's id of a person, as in `Author`. The scope of their direct messages is `dm:<userId>`. */
export type MemoryOwner = { scope: MemoryScope } | { userId: string };

export interface Forgotten {
  files: number;
  entries: number;
}

export interface ExportedFile {
  /** Relative to the workspace, with `/` as separator. */
  path: string;
  text: string;
}

interface MemoryFile {
  kind: MemoryKind;
  path: string;
}

/** Rejects with a RemoraError at the first file that can't be changed. Removals before that are not undone. */
export async function forgetMemory(
  { workspace, inOrder }: { workspace: string; inOrder: FileOrder },
  owner: MemoryOwner,
): Promise<Forgotten> {
  const forgotten: Forgotten = { files: 0, entries: 0 };
  for (const file of filesOf(workspace, isOwn(owner))) {
    await changing(join(workspace, file.path), inOrder, (path, files) => files.remove(path));
    forgotten.files++;
  }
  if ("scope" in owner) {
    await removeFolders(workspace, isOwn(owner));
    return forgotten;
  }
  await removeFolders(workspace, isOwn(owner));
  for (const { kind, path } of filesOf(workspace, (scope) => !isOwn(owner)(scope))) {
    await changing(join(workspace, path), inOrder, async (absolute, files) => {
      const { kept, removed } = split(kind, (await readEditable(absolute)) ?? "", owner.userId);
      if (removed.length === 0) return;
      await files.write(absolute, kept);
      forgotten.entries += removed.length;
    });
  }
  return forgotten;
}

/** Exports only the person's own entries from files that other people share. */
export async function exportMemory(workspace: string, owner: MemoryOwner): Promise<ExportedFile[]> {
  const exported: ExportedFile[] = [];
  const all = "scope" in owner ? isOwn(owner) : () => true;
  for (const { kind, path, scope } of filesOf(workspace, all)) {
    const text = await readFile(join(workspace, path), "utf8").catch((thrown) => {
      throw asMemoryError(thrown, path);
    });
    const own = isOwn(owner)(scope) || "scope" in owner ? text : split(kind, text, owner.userId).removed.join("\n");
    if (own !== "") exported.push({ path, text: own });
  }
  return exported;
}

function isOwn(owner: MemoryOwner): (scope: string) => boolean {
  const own = "scope" in owner ? owner.scope : `dm:${owner.userId}`;
  return (scope) => scope === own;
}

function filesOf(workspace: string, isWanted: (scope: string) => boolean): (MemoryFile & { scope: string })[] {
  return [...foldersByScope(workspace)].flatMap(([scope, folders]) =>
    isWanted(scope)
      ? folders.flatMap(({ kind, folder }) =>
          markdownFiles(join(workspace, folder)).map((path) => ({ kind, scope, path: `${folder}/${path}` })),
        )
      : [],
  );
}

async function removeFolders(workspace: string, isWanted: (scope: string) => boolean): Promise<void> {
  for (const [scope, folders] of foldersByScope(workspace)) {
    if (!isWanted(scope)) continue;
    for (const { folder } of folders) await rm(join(workspace, folder), { recursive: true, force: true });
  }
}

/** Waits for pending writes to the same day's file so that none restores what was removed. */
async function changing(
  path: string,
  inOrder: FileOrder,
  work: (path: string, files: OrderedFiles) => Promise<void>,
): Promise<void> {
  const key = dayOfFile(path) === undefined ? path : join(path, "..", dayOfFile(basename(path)) ?? "");
  await inOrder(key, async (files) => {
    try {
      await work(path, files);
    } catch (thrown) {
      throw asMemoryError(thrown, path);
    }
  });
}

function split(kind: MemoryKind, text: string, userId: string): { kept: string; removed: string[] } {
  if (kind === "episode") {
    const { preamble, entries } = parseDay(text);
    const isTheirs = (entry: (typeof entries)[number]) => entry.marker?.userIds.includes(userId) === true;
    return {
      kept: preamble + entries.flatMap((entry) => (isTheirs(entry) ? [] : [entry.raw])).join(""),
      removed: entries.flatMap((entry) => (isTheirs(entry) ? [entry.raw] : [])),
    };
  }
  if (kind === "knowledge") return { kept: text, removed: [] };
  const lines = text.split("\n");
  const isTheirs = (line: string) => parseFeedback(line)[0]?.by?.id === userId;
  return { kept: lines.filter((line) => !isTheirs(line)).join("\n"), removed: lines.filter(isTheirs) };
}
