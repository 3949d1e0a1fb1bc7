/**
 * What processes that died have left on disk: drafts that no call had joined, drafts that were decided but not removed, and
 * everything of their background jobs. What is in use is known by its lease.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Leases } from "../../ports/cluster.ts";
import { removeTree } from "../effects/remove-tree.ts";
import { lockNameOfId } from "./draft-locks.ts";
import type { DraftStore } from "./draft-store.ts";
import { jobCallKey, jobsLeaseName } from "./jobs.ts";

export interface LeftoversOptions {
  store: DraftStore;
  leases: Leases;
  drafts: string;
  /** A folder for each process, named after its lease. */
  jobs: string;
}

/** Removes what nobody uses any more; what is in use is looked at again the next time. */
export async function removeLeftovers({ store, leases, drafts, jobs }: LeftoversOptions): Promise<void> {
  for (const name of await readdir(drafts)) {
    await withLock(lockNameOfId(name), async () => {
      if (!(await store.isOpen(name))) await removeTree(join(drafts, name));
    });
  }
  for (const owner of await readdir(jobs)) {
    await withLock(jobsLeaseName(owner), async () => {
      const ids = await readdir(join(jobs, owner));
      if (!(await areJoining(ids))) await removeTree(join(jobs, owner));
    });
  }

  async function withLock(name: string, work: () => Promise<void>): Promise<void> {
    const lease = await leases.acquire(name);
    if (lease !== undefined) await work().finally(() => lease.release());
  }

  /** Files of a job that was joining a draft are taken from the job's folder. */
  async function areJoining(ids: readonly string[]): Promise<boolean> {
    const keys = new Set(ids.map(jobCallKey));
    for (const { id } of await store.listOpen()) {
      if ((await store.unfinished(id)).some(({ callKey }) => keys.has(callKey))) return true;
    }
    return false;
  }
}
