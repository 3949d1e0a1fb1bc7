/** Says which files a backup leaves out: what the next start makes again, and secrets. Paths start at their folder. */
import { isTemporaryName } from "../lib/atomic-write.ts";
import type { Exclude } from "./find-files.ts";

/** Where a restore unpacks, and the beginning of the folders to which it moves what was there. */
export const stagingName = ".remora-restore";
export const asidePrefix = "before-restore-";

const isOwnFolder = (path: string) => path === stagingName || path.startsWith(asidePrefix);
const isPartOfDatabase = (path: string) => /\.db-(?:wal|shm|journal)$/.test(path);
/** Made again at the start: what says which process runs, the search index, and the sandbox's own files. */
const derived = /^(?:(?:process-\d+\/)?(?:process\.(?:db|pid)|running\.json|memory\.db)|sandbox)$/;

export function excludedFromData(hasSecrets: boolean): Exclude {
  return (path) => {
    if (isOwnFolder(path) || isPartOfDatabase(path) || derived.test(path)) return "";
    return path === "page-token" && !hasSecrets ? "" : undefined;
  };
}

/** Temporary files are those of an atomic write, before their renames. `.processes` says which processes run. */
export const excludedFromWorkspace: Exclude = (path) =>
  isOwnFolder(path) || path === ".processes" || (path.startsWith("brain/") && isTemporaryName(path)) ? "" : undefined;

export function isAuditFile(path: string): boolean {
  return /^brain\/corpus\/[^/]+\.jsonl$/.test(path);
}

/** The end of a chain of the audit log. */
export function isHead(path: string): boolean {
  return path.startsWith("audit/");
}
