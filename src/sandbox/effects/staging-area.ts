/** Stores file versions while changes are kept or undone, on the base folder's file system so that renames work. */
import { fstatSync, mkdirSync, readFileSync, rmdirSync, unlinkSync } from "node:fs";
import { codeOf } from "../../lib/errors.ts";
import { entryFolder, type JournalEntry } from "./journal-entry.ts";
import { type OpenFolder, openChild, openRoot } from "./open-folder.ts";
import { createPace } from "./pace.ts";

export interface StagingArea {
  before: OpenFolder;
  after: OpenFolder;
  gone: OpenFolder;
  close(): void;
}

const folderNames = ["before", "after", "gone"] as const;

export function nameAt(index: number): Buffer {
  return Buffer.from(String(index));
}

export function isSameFileSystem(one: string, other: string): boolean {
  const [first, second] = [openRoot(one, "read"), openRoot(other, "read")];
  try {
    return fstatSync(first.fd).dev === fstatSync(second.fd).dev && mountId(first.fd) === mountId(second.fd);
  } finally {
    first.close();
    second.close();
  }
}

function mountId(fd: number): string | undefined {
  return /^mnt_id:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1];
}

/** Creates missing folders. Throws if somebody replaced a folder. */
export function openStaging(journal: string, entry: JournalEntry): StagingArea {
  const root = openStagingRoot(journal, entry, true);
  if (root === undefined) throw Object.assign(new Error("its staging folder was replaced"), { code: "ENOTDIR" });
  try {
    const open = (name: string): OpenFolder => {
      makeFolder(root, name);
      const folder = openChild(root, Buffer.from(name));
      if (folder === undefined) throw Object.assign(new Error("its staging folder was replaced"), { code: "ENOTDIR" });
      return folder;
    };
    const [before, after, gone] = [open("before"), open("after"), open("gone")];
    const close = () => {
      for (const folder of [before, after, gone]) folder.close();
    };
    return { before, after, gone, close };
  } finally {
    root.close();
  }
}

/** Removes a staging folder in base. In the journal, keeps only the old versions. */
export async function removeStaging(journal: string, entry: JournalEntry): Promise<void> {
  const pace = createPace();
  const root = openStagingRoot(journal, entry, false);
  if (root === undefined) return;
  try {
    for (const name of folderNames) {
      if (name === "before" && !entry.isElsewhere) continue;
      const folder = openChild(root, Buffer.from(name));
      if (folder === undefined) continue;
      for (const file of folder.names()) {
        unlinkSync(folder.path(file));
        if (pace.isDue()) await pace.rest();
      }
      folder.close();
      rmdirSync(root.path(Buffer.from(name)));
    }
  } finally {
    root.close();
  }
  if (entry.isElsewhere) {
    const base = openRoot(entry.base, "restore");
    rmdirSync(base.path(stagingName(entry)));
    base.close();
  }
}

function openStagingRoot(journal: string, entry: JournalEntry, makes: boolean): OpenFolder | undefined {
  if (!entry.isElsewhere) return openRoot(entryFolder(journal, entry.id), "read");
  const base = openRoot(entry.base, "restore");
  try {
    const name = stagingName(entry);
    if (makes) makeFolder(base, name.toString());
    return openChild(base, name);
  } finally {
    base.close();
  }
}

function stagingName(entry: JournalEntry): Buffer {
  return Buffer.from(`.remora-${entry.id}`);
}

function makeFolder(parent: OpenFolder, name: string): void {
  try {
    mkdirSync(parent.path(Buffer.from(name)), { mode: 0o700 });
  } catch (thrown) {
    if (codeOf(thrown) !== "EEXIST") throw thrown;
  }
}
