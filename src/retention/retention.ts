/**
 * Keeps stored data from growing for ever. Each kind of data has a retention in days. A prune first reads what requests, cards,
 * schedules and Undo need, and leaves that alone whatever its age.
 */
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Ledger } from "../ports/ledger.ts";
import { type InUse, readInUse } from "./in-use.ts";
import { type Amount, nothing, type RetentionKind } from "./kinds.ts";

export interface KindReport extends Amount {
  name: string;
  days: number | null;
}

export interface Retention {
  /** Removes what is too old, or with `isDryRun` only counts it. A kind that fails does not stop the others. */
  prune(isDryRun: boolean): Promise<KindReport[]>;
  /** How much there is of each kind now. */
  sizes(): Promise<KindReport[]>;
}

export interface RetentionOptions {
  ledger: Ledger;
  kinds: readonly RetentionKind[];
  /** Folders with changes that can still be undone. */
  undoFolders(): Promise<string[]>;
  log: Log;
  now?: () => number;
}

const dayMs = 86_400_000;

export function createRetention({ ledger, kinds, undoFolders, log, now = Date.now }: RetentionOptions): Retention {
  async function pruneKind(kind: RetentionKind, isDryRun: boolean): Promise<Amount> {
    if (kind.days === null) return nothing;
    try {
      const inUse: InUse = await readInUse(ledger, await undoFolders());
      const removed = await kind.prune(now() - kind.days * dayMs, inUse, isDryRun);
      if (removed.items > 0 && !isDryRun) log.info({ ...removed }, `removed old ${kind.name}`);
      return removed;
    } catch (thrown) {
      log.error({ error: messageOf(thrown) }, `could not remove old ${kind.name}`);
      return nothing;
    }
  }

  async function sizeOfKind(kind: RetentionKind): Promise<Amount> {
    return await kind.size().catch((thrown: unknown) => {
      log.warn({ error: messageOf(thrown) }, `could not measure ${kind.name}`);
      return nothing;
    });
  }

  async function each(work: (kind: RetentionKind) => Promise<Amount>): Promise<KindReport[]> {
    const reports: KindReport[] = [];
    for (const kind of kinds) reports.push({ name: kind.name, days: kind.days, ...(await work(kind)) });
    return reports;
  }

  return {
    prune: (isDryRun) => each((kind) => pruneKind(kind, isDryRun)),
    sizes: () => each(sizeOfKind),
  };
}
