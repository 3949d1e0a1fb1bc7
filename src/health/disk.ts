/** Whether a folder can be written, to the disk and not only to its cache, and whether there is room for more. */
import { randomUUID } from "node:crypto";
import { open, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, messageOf } from "../lib/errors.ts";
import { isDiskFull, isOutOfFiles } from "../lib/shortage.ts";
import { formatBytes } from "../lib/text/format-bytes.ts";
import type { HealthCheck } from "../ports/health.ts";

export interface DiskFolder {
  /** `data` or `workspace`. */
  name: string;
  path: string;
}

export const probeFilePrefix = ".remora-write-test-";
const probeBytes = 16 * 1024;
/** Below this multiple of the minimum, people are warned. */
const warningFactor = 5;

export async function checkDisk({ name: folder, path }: DiskFolder, minFreeBytes: number): Promise<HealthCheck> {
  const name = `disk ${folder}`;
  try {
    await writeProbe(path);
    const { bavail, bsize, type } = await statfs(path);
    if (folder === "data" && isNetworkFileSystem(type)) return { name, state: "warning", ...sharedData };
    const free = bavail * bsize;
    const room = `${formatBytes(free)} free for the ${folder} folder`;
    if (free >= minFreeBytes * warningFactor) return { name, state: "ok", what: room };
    const todo = "Free some space";
    if (free >= minFreeBytes) return { name, state: "warning", what: `only ${room}`, todo };
    return {
      ...{ name, state: "broken", what: `only ${room}`, todo },
      why: "That is less than health.minFreeMegabytes, so nothing new is accepted",
    };
  } catch (thrown) {
    return { name, state: "broken", ...explain(folder, thrown) };
  }
}

const sharedData = {
  what: "the data folder is on a network file system",
  why: "Its databases need locks that may not hold there",
  todo: "Set REMORA_DATA to a folder on a local disk",
};

/** `type` as `statfs` gives it: NFS, SMB (three clients), Ceph, Lustre. */
export function isNetworkFileSystem(type: number): boolean {
  return [0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0xc36400, 0xbd00bd0].includes(type);
}

/** Removes the file even if the disk is full in the middle of it. */
async function writeProbe(path: string): Promise<void> {
  const file = join(path, `${probeFilePrefix}${randomUUID()}`);
  try {
    const handle = await open(file, "wx", 0o600);
    try {
      await handle.writeFile(Buffer.alloc(probeBytes, 1));
      await handle.sync();
    } finally {
      await handle.close();
    }
  } finally {
    await rm(file, { force: true });
  }
}

/** Without the path, because `/readyz` and `/remora status` show the text. */
function explain(folder: string, thrown: unknown): Pick<HealthCheck, "what" | "why" | "todo"> {
  if (isDiskFull(thrown)) return { what: `the disk of the ${folder} folder is full`, todo: "Free some space" };
  const what = `the ${folder} folder can't be written`;
  if (isOutOfFiles(thrown))
    return { what, why: "Too many files are open", todo: "Raise the limit of open files (ulimit -n, LimitNOFILE)" };
  switch (codeOf(thrown)) {
    case "EACCES":
    case "EPERM":
      return { what, why: "This user may not write there", todo: "Correct its owner and permissions" };
    case "EROFS":
      return { what, why: "The file system is read-only", todo: "Mount it writable" };
    case "ENOENT":
      return { what, why: "The folder does not exist", todo: "Create it, or run doctor --fix" };
    default:
      return { what, why: codeOf(thrown) ?? messageOf(thrown), todo: "Check the disk" };
  }
}
