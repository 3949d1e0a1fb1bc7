/** Completes or reverts changes that were being kept or undone when a crash interrupted them. */
import {
  entryIds,
  type JournalEntry,
  keptId,
  readChanges,
  readEntryFile,
  removeEntry,
  undoId,
} from "./journal-entry.ts";
import type { RawPath } from "./raw-path.ts";
import { removeStaging } from "./staging-area.ts";
import { dropEntry, execute, finish, revert } from "./transaction.ts";

export interface Recovered {
  id: string;
  kind: JournalEntry["kind"];
  base: string;
  /** `notRestored` lists paths in neither the old nor the new state. After `failed`, the next startup tries again. */
  outcome: "completed" | "reverted" | "failed";
  notRestored: RawPath[];
}

/** Must be called once at startup, before anything is kept or undone. */
export async function recoverKeeps(undoFolder: string): Promise<Recovered[]> {
  const recovered: Recovered[] = [];
  for (const id of await entryIds(undoFolder)) {
    const found = await recoverEntry(undoFolder, id);
    if (found !== undefined) recovered.push(found);
  }
  return recovered;
}

export async function recoverEntry(journal: string, id: string): Promise<Recovered | undefined> {
  const entry = await readEntryFile(journal, id);
  if (entry === undefined) {
    await removeEntry(journal, id);
    return undefined;
  }
  switch (entry.state) {
    case "preparing":
      await dropEntry(journal, entry);
      return undefined;
    case "done":
      await removeStaging(journal, entry);
      await endUndo(journal, entry);
      return undefined;
    case "incomplete":
      return undefined;
    case "applying":
    case "reverting":
      return resume(journal, entry);
    default:
      return entry.state satisfies never;
  }
}

async function resume(journal: string, entry: JournalEntry): Promise<Recovered> {
  const { id, kind, base } = entry;
  const changes = await readChanges(journal, id);
  const work = { journal, entry, changes };
  const about = { id, kind, base, notRestored: [] };
  if (entry.state === "applying") {
    const outcome = await execute({ ...work, direction: "forward" });
    if (outcome.type === "ok") {
      await endUndo(journal, await finish(journal, entry, changes));
      return { ...about, outcome: "completed" };
    }
  }
  const notRestored = await revert(work, { type: "ok" });
  const isLeft = (await readEntryFile(journal, id))?.state === "reverting";
  return { ...about, outcome: isLeft ? "failed" : "reverted", notRestored };
}

/** Removes the entries of an undo and of the changes it undid so that neither can be undone again. */
export async function endUndo(journal: string, entry: JournalEntry): Promise<void> {
  if (entry.kind !== "undo") return;
  for (const id of [keptId(entry.id), undoId(keptId(entry.id))]) {
    await removeEntry(journal, id);
  }
}
