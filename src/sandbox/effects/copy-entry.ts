/** Copies one file or link with its mode and modification time. Shares blocks where the file system can. */
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  futimesSync,
  linkSync,
  openSync,
  readlinkSync,
  readSync,
  symlinkSync,
  writeSync,
} from "node:fs";
import { copyFile } from "node:fs/promises";
import { codeOf, RemoraError } from "../../lib/errors.ts";
import { openFile } from "./entry-state.ts";
import type { OpenFolder } from "./open-folder.ts";

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, COPYFILE_EXCL, COPYFILE_FICLONE } = constants;
/** Up to this size, a synchronous copy is faster than one in the thread pool. */
const maxSyncCopyBytes = 64 * 1024;

/** `to` must not exist. If this rejects, the caller must remove what is at `to`. */
export async function copyEntry(from: { folder: OpenFolder; name: Buffer }, to: Buffer): Promise<void> {
  const stat = from.folder.stat(from.name);
  if (stat?.isSymbolicLink()) {
    symlinkSync(readlinkSync(from.folder.path(from.name), { encoding: "buffer" }), to);
    return;
  }
  const source = openFile(from.folder, from.name);
  if (source === undefined) throw denied();
  try {
    const { size } = fstatSync(source);
    if (size <= maxSyncCopyBytes) {
      copySync(source, size, to);
    } else {
      await copyFile(`/proc/self/fd/${source}`, to, COPYFILE_EXCL | COPYFILE_FICLONE);
      chmodSync(to, 0o600);
    }
    const target = openSync(to, O_WRONLY | O_NOFOLLOW);
    try {
      if (stat !== undefined) futimesSync(target, Number(stat.atimeMs) / 1000, Number(stat.mtimeNs) / 1e9);
      fchmodSync(target, Number((stat?.mode ?? 0o600n) & 0o7777n));
    } finally {
      closeSync(target);
    }
  } finally {
    closeSync(source);
  }
}

function copySync(source: number, size: number, to: Buffer): void {
  const target = openSync(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    const buffer = Buffer.allocUnsafe(size + 1);
    for (let at = 0; ; ) {
      const bytes = readSync(source, buffer, 0, buffer.length, at);
      if (bytes === 0) break;
      for (let written = 0; written < bytes; ) written += writeSync(target, buffer, written, bytes - written);
      at += bytes;
    }
  } finally {
    closeSync(target);
  }
}

export function tryLink(from: Buffer, to: Buffer): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (thrown) {
    if (codeOf(thrown) === "EMLINK" || codeOf(thrown) === "EPERM") return false;
    throw thrown;
  }
}

function denied(): RemoraError {
  return new RemoraError({
    code: "EACCES",
    place: "effects",
    message: "permission denied, so it can't be copied",
  });
}
