/**
 * Writes counts to the ledger, by compare-and-set, so that several processes can count. Counts that arrive during a
 * write are collected and written once per entry. The write that counts a call also releases its reservation.
 */
import { setImmediate } from "node:timers/promises";
import { messageOf, RemoraError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Ledger } from "../ports/ledger.ts";
import { summed, type UsageCount, type UsageRecord } from "../ports/usage.ts";

export interface Addition {
  id: string;
  subject: string;
  /** Absent to only release a reservation. */
  more?: UsageCount;
  name?: string;
  releases?: string;
}

export interface Counter {
  /** Resolves once all is written. A failure is logged, and never rejects. */
  add(additions: readonly Addition[]): Promise<void>;
}

interface Pending {
  subject: string;
  more: UsageCount | undefined;
  name: string | undefined;
  releases: Set<string>;
}

/** Another process may create or remove the entry between two tries, but not forever. */
export const maxUsageTries = 20;

/** An entry that exists, and that no change applies to: its state is none that Remora writes. */
export function damagedUsage(id: string): RemoraError {
  return new RemoraError({
    code: "storage.corrupt",
    place: "ledger",
    message: `has an entry in an unknown state (usage ${id}). Stop Remora and restore a backup of the file, or delete that row.`,
  });
}

export function createCounter(ledger: Ledger, log: Log): Counter {
  let last: Promise<unknown> = Promise.resolve();
  let batch: { pending: Map<string, Pending>; written: Promise<void> } | undefined;

  async function write(id: string, { subject, more, name, releases }: Pending): Promise<void> {
    const change = (known: UsageRecord): UsageRecord => {
      const held = (known.held ?? []).filter((one) => !releases.has(one.id));
      const { held: _held, ...rest } = known;
      return {
        ...rest,
        ...(more === undefined ? {} : summed(known, { ...more, day: known.day })),
        ...(name === undefined ? {} : { name }),
        ...(held.length === 0 ? {} : { held }),
      };
    };
    const body = more === undefined ? undefined : { ...more, ...(name === undefined ? {} : { name }) };
    for (let tries = 0; tries < maxUsageTries; tries++) {
      // Both at once, because the ledger runs them in order and in one commit: the second does nothing after the first.
      const [changed, isCreated] = await Promise.all([
        ledger.transition("usage", id, ["counted"], "counted", change),
        body !== undefined && ledger.create("usage", id, { state: "counted", body, group: subject }),
      ]);
      if (changed !== undefined || body === undefined || isCreated) return;
    }
    throw damagedUsage(id);
  }

  function startBatch() {
    const pending = new Map<string, Pending>();
    // Many turns count in the same entries, and those of one turn of the event loop are written together. Begins to wait
    // now, so that these writes share the commit of what the caller writes next.
    const collected = setImmediate();
    const work = async () => {
      await collected;
      batch = undefined;
      try {
        // All at once, because the ledger commits the changes of one turn of the event loop together.
        await Promise.all(Array.from(pending, ([id, one]) => write(id, one)));
      } catch (thrown) {
        log.error({ error: messageOf(thrown) }, "could not count usage");
      }
    };
    const written = last.then(work, work);
    last = written;
    return { pending, written };
  }

  return {
    add(additions) {
      batch ??= startBatch();
      const { pending, written } = batch;
      for (const { id, subject, more, name, releases } of additions) {
        const known = pending.get(id);
        const sum = known?.more === undefined || more === undefined ? (more ?? known?.more) : summed(known.more, more);
        const released = known?.releases ?? new Set();
        if (releases !== undefined) released.add(releases);
        pending.set(id, { subject, more: sum, name: name ?? known?.name, releases: released });
      }
      return written;
    },
  };
}
