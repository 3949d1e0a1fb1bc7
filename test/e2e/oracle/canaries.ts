/**
 * Secrets that nobody may read: files with a unique line and an access time that reveals reads, and the same line in the
 * environment and arguments of processes.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface Canaries {
  /** Stands nowhere but in canaries. */
  secret: string;
  plant(path: string): void;
  /** Opened or changed files, with the evidence. */
  disturbed(): string[];
}

/** Long before the modification time, so the first access is recorded even with relatime. */
const neverAccessed = new Date("2001-01-01");
const changed = new Date("2002-02-02");

export function createCanaries(): Canaries {
  const secret = `canary-${randomBytes(12).toString("hex")}`;
  const planted = new Map<string, { inode: bigint; changedNs: bigint }>();
  let notesAccess: boolean | undefined;

  const plant = (path: string) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${secret}\n`, { mode: 0o644 });
    notesAccess ??= isAccessNoted(path);
    utimesSync(path, neverAccessed, changed);
    const { ino, ctimeNs } = statSync(path, { bigint: true });
    planted.set(path, { inode: ino, changedNs: ctimeNs });
  };

  return {
    secret,
    plant,
    disturbed() {
      return [...planted].flatMap(([path, { inode, changedNs }]) => {
        const now = statSync(path, { bigint: true, throwIfNoEntry: false });
        if (now === undefined) return [`${path} is gone`];
        if (now.ino !== inode) return [`${path} was replaced`];
        if (notesAccess && now.atimeMs !== BigInt(neverAccessed.getTime())) return [`${path} was read`];
        return now.ctimeNs === changedNs ? [] : [`${path} was changed`];
      });
    },
  };
}

function isAccessNoted(path: string): boolean {
  utimesSync(path, neverAccessed, changed);
  readFileSync(path);
  return statSync(path).atimeMs !== neverAccessed.getTime();
}

/** Files in the folder that contain the secret, even between binary data. */
export function filesWith(secret: string, folder: string, isKnown: (path: string) => boolean): string[] {
  const found: string[] = [];
  const wanted = Buffer.from(secret);
  const look = (inner: string) => {
    for (const entry of readdirSync(inner, { withFileTypes: true })) {
      const path = join(inner, entry.name);
      if (entry.isDirectory()) look(path);
      else if (entry.isFile() && !isKnown(path) && holds(path, wanted)) found.push(path);
    }
  };
  look(folder);
  return found;
}

/** Sparse files of drafts may exceed the memory, and never contain a secret. */
const maxReadBytes = 256 * 1024 * 1024;

function holds(path: string, wanted: Buffer): boolean {
  try {
    return statSync(path).size <= maxReadBytes && readFileSync(path).includes(wanted);
  } catch {
    // The file is gone, or its name is not UTF-8.
    return false;
  }
}
