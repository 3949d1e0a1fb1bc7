/** Files with a retention: task files, long outputs, journals, copies of posted files, snapshots, and working folders. */
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import type { Ledger } from "../ports/ledger.ts";
import type { Scope } from "../ports/message.ts";
import {
  type FoundFile,
  foldersIn,
  newestChange,
  pruneFilesBelow,
  removeFolder,
  removeLeftovers,
  sizeOf,
} from "./files.ts";
import { hasTurns, type InUse } from "./in-use.ts";
import { type Amount, type RetentionKind, sumOf } from "./kinds.ts";

export interface FileKindsOptions {
  workspace: string;
  ledger: Ledger;
  /** The name of a scope's folder below `files` and `outputs`. */
  folderNameOf(scope: Scope): string;
  /** The turn that a snapshot's file name contains. */
  snapshotTurn(fileName: string): string | undefined;
  snapshotFolder: string;
  days: { taskFiles: number | null; outputs: number | null; snapshots: number | null; folders: number | null };
}

/** Only interrupted turns need these copies, to send their files again. */
const outboxDays = 7;
/** The ledger removes ended turns after 30 days. Their journals follow. */
const journalDays = 31;

export function fileKinds({ workspace, ledger, days, ...options }: FileKindsOptions): RetentionKind[] {
  /** While the ledger has a turn, `/remora why` and the dashboard show it. */
  async function isTurnOver(turnId: string | undefined): Promise<boolean> {
    return turnId === undefined || (await ledger.get("turn", turnId)) === undefined;
  }

  function kind(
    name: string,
    folder: string,
    kept: number | null,
    turnOf: (file: FoundFile) => string | undefined,
    isMeant: (file: FoundFile) => boolean = () => true,
  ): RetentionKind {
    const path = join(workspace, folder);
    return {
      ...{ name, days: kept },
      size: () => sizeOf(path, isMeant),
      prune: (before, _inUse, isDryRun) =>
        pruneFilesBelow(
          path,
          async (file) => isMeant(file) && file.changedAt < before && (await isTurnOver(turnOf(file))),
          isDryRun,
        ),
    };
  }

  return [
    kind(
      "task files",
      "brain/motor/tasks",
      days.taskFiles,
      ({ name }) => /^TASK-(.+)\.md$/.exec(name)?.[1],
      ({ name }) => /^TASK-.+\.md$/.test(name),
    ),
    // Named after their call: <turn>-<call>.txt
    kind("long outputs", "outputs", days.outputs, ({ name }) => /([^/-]+)-[^/]*$/.exec(name)?.[1]),
    kind("journals of turns", "journals", journalDays, () => undefined),
    kind("copies of posted files", "outbox", outboxDays, () => undefined),
    kind("prompt snapshots", options.snapshotFolder, days.snapshots, ({ name }) => options.snapshotTurn(name)),
    workingFolders(join(workspace, "files"), days.folders, ledger, options.folderNameOf),
  ];
}

/** A folder goes as a whole: when neither a request nor a file in it is younger, and nothing needs it. */
function workingFolders(
  root: string,
  days: number | null,
  ledger: Ledger,
  folderNameOf: (scope: Scope) => string,
): RetentionKind {
  async function isNeeded(name: string, inUse: InUse, scopes: ReadonlyMap<string, string[]>): Promise<boolean> {
    const path = join(root, name);
    const real = await realpath(path).catch(() => path);
    if (inUse.folders.has(path) || inUse.folders.has(real)) return true;
    if ([...inUse.scopes].some((scope) => folderNameOf(scope) === name)) return true;
    for (const conversationId of scopes.get(name) ?? []) if (await hasTurns(ledger, conversationId)) return true;
    return false;
  }

  return {
    ...{ name: "working folders", days },
    async size() {
      const { bytes } = await sizeOf(root);
      return { items: (await foldersIn(root)).length, bytes };
    },
    async prune(before, inUse, isDryRun) {
      if (!isDryRun) await removeLeftovers(root);
      const scopes = new Map<string, string[]>();
      for (const { id, group } of await ledger.list("conversation", {})) {
        const name = folderNameOf(group as Scope);
        scopes.set(name, [...(scopes.get(name) ?? []), id]);
      }
      let removed: Amount = sumOf();
      for (const name of await foldersIn(root)) {
        const path = join(root, name);
        const changedAt = await newestChange(path);
        if (changedAt === undefined || changedAt >= before || (await isNeeded(name, inUse, scopes))) continue;
        removed = sumOf(removed, { items: 1, bytes: (await sizeOf(path)).bytes });
        if (!isDryRun) await removeFolder(path);
      }
      return removed;
    },
  };
}
