/**
 * Records that can't be read. Lists leave them out, so that one of them never prevents a start or stops a sweep. They stay
 * where they are: reading one by its id still fails, because a call whose record is damaged must not run again. Only values
 * of the store count as missing, and the next write replaces them.
 */
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";

export interface DamagedRecords {
  note(kind: string, id: string, thrown: unknown): void;
  /** Such as `turn t1`, in the order in which they were found. */
  list(): string[];
}

const maxNoted = 1_000;

export function createDamagedRecords(log: Log): DamagedRecords {
  const found = new Set<string>();
  return {
    note(kind, id, thrown) {
      const name = `${kind} ${id}`;
      if (found.has(name) || found.size >= maxNoted) return;
      found.add(name);
      log.error({ record: name, error: messageOf(thrown) }, "a record can't be read and is left out");
    },
    list: () => [...found],
  };
}
