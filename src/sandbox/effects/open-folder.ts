/** Opens folders one by one without following links, even if somebody swaps one for a link. Needs Linux (/proc). */
import {
  type BigIntStats,
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
} from "node:fs";
import { codeOf } from "../../lib/errors.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
/** Opens entries that deny reading. From Linux's fcntl.h, because Node does not export it. */
const O_PATH = 0o10000000;

/**
 * How to open a folder that denies its owner access. `peek` grants reading and `restore` also writing until the folder
 * is closed. `force` grants both until the caller restores the mode, which it must do even after a crash.
 */
export type FolderAccess = "read" | "peek" | "restore" | "force";

const neededBits: Record<FolderAccess, number> = { read: 0, peek: 0o500, restore: 0o700, force: 0o700 };

export interface OpenFolder {
  fd: number;
  access: FolderAccess;
  /** A path for system calls, valid until `close`. */
  path(name: Buffer): Buffer;
  /** Sorted by bytes. */
  names(): Buffer[];
  stat(name: Buffer): BigIntStats | undefined;
  close(): void;
}

export function openRoot(path: string, access: FolderAccess): OpenFolder {
  return asFolder(openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), access);
}

export function openChild(parent: OpenFolder, name: Buffer): OpenFolder | undefined {
  const path = parent.path(name);
  try {
    return asFolder(openFolder(path, parent.access), parent.access);
  } catch (thrown) {
    if (["ENOENT", "ENOTDIR", "ELOOP"].includes(codeOf(thrown) ?? "")) return undefined;
    throw thrown;
  }
}

function openFolder(path: Buffer, access: FolderAccess): number {
  try {
    return openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (thrown) {
    if (codeOf(thrown) !== "EACCES" || access === "read") throw thrown;
    return openUnreadable(path, O_RDONLY | O_DIRECTORY, access !== "force");
  }
}

export function openUnreadable(path: Buffer, flags: number, restores: boolean): number {
  const handle = openSync(path, O_PATH | O_NOFOLLOW | (flags & O_DIRECTORY));
  try {
    const mode = fstatSync(handle).mode & 0o7777;
    const self = `/proc/self/fd/${handle}`;
    chmodSync(self, mode | 0o700);
    const opened = openSync(self, flags);
    if (restores) fchmodSync(opened, mode);
    return opened;
  } finally {
    closeSync(handle);
  }
}

function asFolder(fd: number, access: FolderAccess): OpenFolder {
  const prefix = Buffer.from(`/proc/self/fd/${fd}/`);
  const restoredMode = grantAccess(fd, neededBits[access]);
  const path = (name: Buffer) => Buffer.concat([prefix, name]);
  return {
    fd,
    access,
    path,
    names: () => readdirSync(prefix, { encoding: "buffer" }).sort(Buffer.compare),
    stat(name) {
      try {
        return lstatSync(path(name), { bigint: true });
      } catch (thrown) {
        if (codeOf(thrown) === "ENOENT") return undefined;
        throw thrown;
      }
    },
    close() {
      if (restoredMode !== undefined && access !== "force") fchmodSync(fd, restoredMode);
      closeSync(fd);
    },
  };
}

function grantAccess(fd: number, bits: number): number | undefined {
  if (bits === 0 || process.geteuid?.() === 0) return undefined;
  const found = fstatSync(fd);
  const mode = found.mode & 0o7777;
  if ((mode & bits) === bits || found.uid !== process.geteuid?.()) return undefined;
  fchmodSync(fd, mode | bits);
  return mode;
}

/** Walks a tree in path order and keeps the parent folders open. */
export interface FolderCursor {
  root: OpenFolder;
  /** Undefined if a part is missing or not a folder. Valid until the next call. */
  at(parts: readonly Buffer[]): OpenFolder | undefined;
  close(): void;
}

/** If `checksPlace`, a folder that was moved while open counts as missing. Use this for the real folder. */
export function createFolderCursor(root: string, access: FolderAccess, checksPlace = false): FolderCursor {
  const rootFolder = openRoot(root, access);
  const rootPath = readlinkSync(`/proc/self/fd/${rootFolder.fd}`, { encoding: "buffer" });
  const opened: { name: Buffer; path: Buffer; folder: OpenFolder }[] = [];

  const isInPlace = (level: { path: Buffer; folder: OpenFolder }) =>
    !checksPlace || readlinkSync(`/proc/self/fd/${level.folder.fd}`, { encoding: "buffer" }).equals(level.path);

  function closeFrom(depth: number) {
    for (const { folder } of opened.splice(depth).reverse()) folder.close();
  }

  return {
    root: rootFolder,
    at(parts) {
      const different = opened.findIndex(
        (level, depth) => parts[depth] === undefined || !level.name.equals(parts[depth]) || !isInPlace(level),
      );
      if (different >= 0) closeFrom(different);
      for (const name of parts.slice(opened.length)) {
        const above = opened.at(-1);
        const folder = openChild(above?.folder ?? rootFolder, name);
        if (folder === undefined) return undefined;
        opened.push({ name, path: Buffer.concat([above?.path ?? rootPath, Buffer.from("/"), name]), folder });
      }
      const last = opened.at(-1);
      if (last !== undefined && !isInPlace(last)) return undefined;
      return last?.folder ?? rootFolder;
    },
    close() {
      closeFrom(0);
      rootFolder.close();
    },
  };
}
