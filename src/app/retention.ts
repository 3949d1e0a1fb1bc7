/** Builds the retention of stored data, for the running agent and for `remora prune`; and measures what else there is. */
import { join } from "node:path";
import { auditFolderOf } from "../audit/files.ts";
import { historySettings } from "../config/derive.ts";
import type { Settings } from "../config/settings.ts";
import { snapshotTurn } from "../context/explain.ts";
import { createHistory } from "../context/history-store.ts";
import { snapshotFolder } from "../context/snapshot.ts";
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { folderNameOf } from "../memory/places.ts";
import type { StorageSize } from "../ports/storage-size.ts";
import { conversationKinds, type HistoryRetention } from "../retention/conversation-kinds.ts";
import { fileKinds } from "../retention/file-kinds.ts";
import { sizeOf } from "../retention/files.ts";
import { createRetention, type Retention } from "../retention/retention.ts";
import { draftsFolderOf } from "../sandbox/draft/draft-folders.ts";
import { createUndoJournal } from "../sandbox/effects/undo-journal.ts";
import type { StoredRecords } from "../storage/durable-state.ts";
import { logsFolderOf } from "../storage/folders.ts";

export interface RetentionLinks {
  records: Pick<StoredRecords, "ledger" | "store">;
  history: HistoryRetention;
  log: Log;
}

const remeasureMs = 10 * 60_000;

export function buildRetention(settings: Settings, { records: { ledger }, history, log }: RetentionLinks): Retention {
  const { workspace, config } = settings;
  const { historyDays, taskFileDays, outputDays, snapshotDays, folderDays } = config.retention;
  const undo = createUndoJournal(join(draftsFolderOf(workspace), "undo"));
  return createRetention({
    ...{ ledger, log },
    kinds: [
      ...conversationKinds(ledger, history, historyDays),
      ...fileKinds({
        ...{ workspace, ledger, folderNameOf, snapshotTurn, snapshotFolder },
        days: { taskFiles: taskFileDays, outputs: outputDays, snapshots: snapshotDays, folders: folderDays },
      }),
    ],
    undoFolders: async () => (await undo.list()).map(({ base }) => base),
  });
}

/** For a command, which has no history of its own. */
export function openRetention(settings: Settings, records: RetentionLinks["records"], log: Log): Retention {
  const history = createHistory({ store: records.store, log, ...historySettings(settings) });
  return buildRetention(settings, { records, history, log });
}

/** The last measured sizes. Measures in the background, because a large workspace takes a while. */
export function createStorageSizes(settings: Settings, retention: Pick<Retention, "sizes">, log: Log) {
  let measured: StorageSize[] | undefined;
  let measuredAt = Number.NEGATIVE_INFINITY;
  let isMeasuring = false;

  async function measure(): Promise<void> {
    const kinds = (await retention.sizes()).map(({ name, days, items, bytes }) => ({
      ...{ name, items, bytes },
      kept: days === null ? "until people delete it" : days === 1 ? "1 day" : `${days} days`,
    }));
    const others = await Promise.all(
      otherPlaces(settings).map(async ({ path, ...rest }) => ({
        ...rest,
        ...(await sizeOf(path.folder, path.isMeant)),
      })),
    );
    measured = [...kinds, ...others];
    measuredAt = performance.now();
  }

  return (): StorageSize[] | undefined => {
    const isDue = performance.now() - measuredAt > remeasureMs;
    if (!isDue || isMeasuring) return measured;
    isMeasuring = true;
    void measure()
      .catch((thrown: unknown) => log.warn({ error: messageOf(thrown) }, "could not measure what is stored"))
      .finally(() => {
        isMeasuring = false;
      });
    return measured;
  };
}

/** What other parts keep and remove by rules of their own. */
function otherPlaces({ workspace, data, config }: Settings) {
  const { undo } = config.safety;
  const within = (folder: string) => ({ folder, isMeant: () => true });
  const database = (name: string) => ({
    folder: data,
    isMeant: (file: { name: string }) => file.name.startsWith(name),
  });
  return [
    {
      name: "undo copies",
      path: within(join(workspace, "drafts", "undo")),
      kept: `${undo.days} days, up to ${undo.megabytes} MB`,
    },
    {
      name: "open drafts",
      path: within(join(workspace, "drafts", "open")),
      kept: "until they are decided, or 24 hours",
    },
    {
      name: "memory",
      path: within(join(workspace, "brain", "hippocampus")),
      kept: keptDays(config.memory.retentionDays),
    },
    {
      name: "audit log",
      path: within(auditFolderOf(workspace)),
      kept: keptDays(config.events.retentionDays),
    },
    { name: "log files", path: within(logsFolderOf(data)), kept: keptDays(config.log.keepDays) },
    { name: "chat log", path: database("chat-log.db"), kept: keptDays(config.chatLog.retentionDays) },
    { name: "ledger", path: database("ledger.db"), kept: "30 days after the end" },
    { name: "page chat", path: database("local.db"), kept: "until people delete it" },
  ];
}

function keptDays(days: number | null): string {
  return days === null ? "until people delete it" : `${days} days`;
}
