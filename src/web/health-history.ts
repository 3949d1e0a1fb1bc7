/**
 * Keeps a history of health: one ledger entry for each change of a part's state in this process, for seven days. While
 * the ledger is unreachable, changes wait in memory, so an outage of Redis is in the history afterwards.
 */
import type { HealthChange, StatusLine } from "../ports/health.ts";
import type { Ledger } from "../ports/ledger.ts";

export interface HealthHistory {
  /** Notes changes since the last call. Call it regularly; rejects if the ledger can't be reached. */
  note(now: number): Promise<void>;
  /** Newest first. */
  list(options: { before?: number; limit: number }): Promise<{ changes: HealthChange[]; older: number | null }>;
  prune(): Promise<void>;
}

export interface HealthHistoryOptions {
  ledger: Ledger;
  role: string;
  status(): StatusLine[];
  /** Unique in all processes. */
  newId(): string;
  now?: () => number;
}

const maxKeptMs = 7 * 86_400_000;
/** More changes than these in one outage say nothing new. */
const maxWaiting = 200;
/** A part that changes all the time is noted at most this often. */
const minIntervalMs = 10_000;

export function createHealthHistory(options: HealthHistoryOptions): HealthHistory {
  const { ledger, role, status, newId, now = Date.now } = options;
  const known = new Map<string, { state: string; at: number }>();
  const waiting: { id: string; change: HealthChange }[] = [];
  let hasStarted = false;

  function look(at: number): void {
    if (!hasStarted)
      waiting.push({ id: newId(), change: { name: "process", state: "ok", detail: "started", role, at } });
    hasStarted = true;
    for (const { name, state, detail } of status()) {
      const last = known.get(name);
      if (last?.state === state || (last !== undefined && at - last.at < minIntervalMs)) continue;
      known.set(name, { state, at });
      if (waiting.length < maxWaiting) waiting.push({ id: newId(), change: { name, state, detail, role, at } });
    }
  }

  return {
    async note(at) {
      look(at);
      for (let [first] = waiting; first !== undefined; [first] = waiting) {
        const { id, change } = first;
        await ledger.create("health", id, { state: "noted", body: change, group: change.name });
        waiting.shift();
      }
    },
    async list({ before, limit }) {
      const place = before === undefined ? {} : { before };
      const entries = await ledger.list("health", { order: "newest", limit, ...place });
      const older = entries.length < limit ? null : (entries.at(-1)?.sequence ?? null);
      return { changes: entries.map(({ body }) => body), older };
    },
    prune: async () => void (await ledger.prune("health", ["noted"], now() - maxKeptMs)),
  };
}
