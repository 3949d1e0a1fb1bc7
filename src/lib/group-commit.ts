/**
 * Lets all changes of one turn of the event loop share a transaction, because a commit costs more than most changes. A
 * promise settles after the commit, so nobody acts on what is not on disk. Steps run in the order of the calls. The
 * transaction begins and ends without a pause, so other connections wait no longer than for one change.
 */
import type { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers";
import { inTransaction, isBusy } from "./sqlite.ts";

export interface GroupCommit {
  /** `work` must only read and write the database, because it may run again. If it throws, only its changes are undone. */
  write<T>(work: () => T): Promise<T>;
  /** Runs at once, or after the waiting changes if there are any, so that it sees them. */
  read<T>(work: () => T): Promise<T>;
  /** Commits the waiting changes now. */
  flush(): void;
}

interface Step {
  isWrite: boolean;
  work(): unknown;
  resolve(value: unknown): void;
  reject(reason: unknown): void;
}

export function createGroupCommit(database: DatabaseSync): GroupCommit {
  let waiting: Step[] = [];

  function add<T>(isWrite: boolean, work: () => T): Promise<T> {
    if (waiting.length === 0) setImmediate(flush);
    return new Promise<T>((resolve, reject) => {
      waiting.push({ isWrite, work, resolve: resolve as Step["resolve"], reject });
    });
  }

  function flush(): void {
    const steps = waiting;
    waiting = [];
    if (steps.length === 0) return;
    let hasBegun = false;
    try {
      const values = inTransaction(database, () => {
        hasBegun = true;
        return steps.map(({ work }) => work());
      });
      for (const [index, { resolve }] of steps.entries()) resolve(values[index]);
    } catch (thrown) {
      runEach(steps, hasBegun ? undefined : { thrown });
    }
  }

  /**
   * The group was rolled back, so each step runs alone. Once a write has waited for another process's lock in vain, the
   * other writes fail without waiting again.
   */
  function runEach(steps: Step[], refusal: { thrown: unknown } | undefined): void {
    for (const { isWrite, work, resolve, reject } of steps) {
      try {
        if (isWrite && refusal !== undefined) throw refusal.thrown;
        resolve(isWrite ? inTransaction(database, work) : work());
      } catch (thrown) {
        if (isWrite && isBusy(thrown)) refusal = { thrown };
        reject(thrown);
      }
    }
  }

  return {
    write: (work) => add(true, work),
    read: async (work) => (waiting.length === 0 ? work() : await add(false, work)),
    flush,
  };
}
