/** Reads facts about the machine that the sandbox needs. */
import { constants, existsSync, readFileSync } from "node:fs";
import { access, lstat, readdir, readFile, readlink } from "node:fs/promises";
import { release } from "node:os";
import { join } from "node:path";
import type { SystemFolder } from "./mounts.ts";

/** Views show only these folders of the machine. */
const systemPaths = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/** Names in /proc that programs need. They describe the entire machine and can't be written. */
const shownInProc = new Set([
  ...[
    "cpuinfo",
    "meminfo",
    "stat",
    "uptime",
    "loadavg",
    "version",
    "filesystems",
    "vmstat",
    "cgroups",
    "sysvipc",
    "sys",
  ],
  ...["self", "thread-self", "mounts", "net"],
]);
const shells = ["/bin/bash", "/usr/bin/bash", "/bin/sh"];

/** Keeps links as links, because distributions with a merged /usr have them. */
export async function systemFolders(): Promise<SystemFolder[]> {
  const folders = await Promise.all(
    systemPaths.map(async (path): Promise<SystemFolder[]> => {
      const found = await lstat(path).catch(() => undefined);
      if (found?.isSymbolicLink()) return [{ path, link: await readlink(path) }];
      return found?.isDirectory() ? [{ path }] : [];
    }),
  );
  return folders.flat();
}

/** Lists names in /proc that a view must not show. Runs for each view, because kernel modules add names. */
export async function maskedProcNames(): Promise<{ maskedFiles: string[]; maskedFolders: string[] }> {
  // Don't ask for file types here, because Node would fail to stat a process that has just ended.
  const names = (await readdir("/proc")).filter((name) => !/^\d+$/.test(name) && !shownInProc.has(name));
  const found = await Promise.all(names.map((name) => lstat(join("/proc", name)).catch(() => undefined)));
  return {
    maskedFiles: names.filter((_name, index) => found[index]?.isFile()),
    maskedFolders: names.filter((_name, index) => found[index]?.isDirectory()),
  };
}

export async function findShell(): Promise<string> {
  for (const path of shells) {
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return "/bin/sh";
}

export async function mountPoints(): Promise<string[]> {
  const text = await readFile("/proc/self/mountinfo", "utf8");
  const unescaped = (path: string) =>
    path.replace(/\\([0-7]{3})/g, (_all, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
  return text.split("\n").flatMap((line) => {
    const path = line.split(" ")[4];
    return path === undefined ? [] : [unescaped(path)];
  });
}

export function isKernelAtLeast(major: number, minor: number): boolean {
  const [ownMajor = 0, ownMinor = 0] = release().split(".").map(Number.parseFloat);
  return ownMajor > major || (ownMajor === major && ownMinor >= minor);
}

export function pageBytes(): number {
  const pageSizeKey = 6n;
  const usual = 4_096;
  if (!existsSync("/proc/self/auxv")) return usual;
  const vector = readFileSync("/proc/self/auxv");
  for (let offset = 0; offset + 16 <= vector.length; offset += 16)
    if (vector.readBigUInt64LE(offset) === pageSizeKey) return Number(vector.readBigUInt64LE(offset + 8));
  return usual;
}
