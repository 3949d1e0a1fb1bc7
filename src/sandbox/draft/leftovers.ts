/** Removes files left behind by crashed processes. Leases show which folders are in use. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Leases } from "../../ports/cluster.ts";
import { removeTree } from "../effects/remove-tree.ts";
import { draftLockNameFromId } from "./draft-locks.ts";
import type { DraftStore } from "./draft-store.ts";
import { jobCallKey, jobsLeaseName } from "./jobs.ts";

export interface LeftoversOptions {
  store: DraftStore;
  leases: Leases;
  drafts: string;
  jobs: string;
}

export async function removeLeftovers({ store, leases, drafts, jobs }: LeftoversOptions): Promise<void> {
  for (const name of await readdir(drafts)) {
    await withLock(draftLockNameFromId(name), async () => {
      if (!(await store.isOpen(name))) await removeTree(join(drafts, name));
    });
  }
  for (const owner of await readdir(jobs)) {
    await withLock(jobsLeaseName(owner), async () => {
      const ids = await readdir(join(jobs, owner));
      if (!(await isMerging(ids))) await removeTree(join(jobs, owner));
    });
  }

  async function withLock(name: string, work: () => Promise<void>): Promise<void> {
    const lease = await leases.acquire(name);
    if (lease !== undefined) await work().finally(() => lease.release());
  }

  /** An interrupted merge still needs the files in the job's folder. */
  async function isMerging(ids: readonly string[]): Promise<boolean> {
    const keys = new Set(ids.map(jobCallKey));
    for (const { id } of await store.listOpen()) {
      if ((await store.unfinished(id)).some(({ callKey }) => keys.has(callKey))) return true;
    }
    return false;
  }
}
