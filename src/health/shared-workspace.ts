/**
 * Whether all processes on one Redis have the same workspace, and see there what the others write. Each process keeps a
 * small file in `.processes`, and its number of changes in the ledger, where the others read it.
 */
import { randomUUID } from "node:crypto";
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { writeFileAtomic } from "../lib/atomic-write.ts";
import { codeOf, messageOf } from "../lib/errors.ts";
import type { HealthCheck } from "../ports/health.ts";
import type { Ledger, ProcessRecord } from "../ports/ledger.ts";

export interface SharedWorkspace {
  check(): Promise<HealthCheck[]>;
  close(): Promise<void>;
}

/** A process that has not changed its file for this long is gone. */
const maxSilenceMs = 180_000;
const name = "shared workspace";
const todo =
  "Put the workspace on a folder that every machine mounts (NFS, EFS, a ReadWriteMany volume), and set REMORA_WORKSPACE to it everywhere";

const fileOf = (workspace: string, id: string) => join(workspace, ".processes", id);

export function createSharedWorkspace(options: { workspace: string; ledger: Ledger }): SharedWorkspace {
  const { workspace, ledger } = options;
  const id = randomUUID();
  const own = fileOf(workspace, id);
  let writes = 0;

  async function announce(): Promise<number> {
    writes++;
    await writeFileAtomic(own, `${writes}\n`);
    const body: ProcessRecord = { host: hostname(), pid: process.pid, workspace, writes };
    await ledger.create("process", id, { state: "running", body, group: "" });
    return (await ledger.transition("process", id, ["running"], "running", () => body))?.updatedAt ?? Date.now();
  }

  return {
    async check() {
      const problem = await announce().then(
        async (now) => {
          await ledger.prune("process", ["running", "ended"], now - maxSilenceMs);
          await removeLeftovers(own);
          return await problemOfFolder(own);
        },
        (thrown: unknown) => `files in ${workspace} can't be replaced (${messageOf(thrown)})`,
      );
      if (problem !== undefined) return [{ name, state: "warning", what: problem, todo }];
      return await checkSharing(options, id);
    },
    async close() {
      await rm(own, { force: true }).catch(() => {});
      await ledger.transition("process", id, ["running"], "ended").catch(() => {});
    },
  };
}

/** `ownId` is absent outside the agent's own processes. Returns nothing while no other process runs. */
export async function checkSharing(
  { workspace, ledger }: { workspace: string; ledger: Ledger },
  ownId?: string,
): Promise<HealthCheck[]> {
  const entries = await ledger.list("process", { states: ["running"] });
  const now = entries.find(({ id }) => id === ownId)?.updatedAt ?? Date.now();
  const others = entries.filter(({ id, updatedAt }) => id !== ownId && now - updatedAt < maxSilenceMs);
  if (others.length === 0) return [];
  const missing: string[] = [];
  const late: string[] = [];
  for (const { id, body } of others) {
    const seen = await readFile(fileOf(workspace, id), "utf8").catch(() => undefined);
    if (seen === undefined) missing.push(nameOf(body));
    // The process changes the file before the ledger, so the file is never behind.
    else if (Number(seen) < body.writes) late.push(nameOf(body));
  }
  if (missing.length > 0) {
    const what = `${workspace} here is not the workspace of ${missing.join(", ")}`;
    const why = "They use the same Redis, but each has memory, files and drafts of its own";
    return [{ name, state: "warning", what, why, todo }];
  }
  if (late.length > 0) {
    const what = `what ${late.join(", ")} writes to the workspace is seen here too late`;
    const why = "The folder is a copy, or its client caches files";
    return [{ name, state: "warning", what, why, todo: `${todo}. Mount NFS without nocto` }];
  }
  return [{ name, state: "ok", what: `the same for ${others.length + (ownId === undefined ? 0 : 1)} processes` }];
}

function nameOf({ host, pid, workspace }: ProcessRecord): string {
  return `process ${pid} on ${host} (${workspace})`;
}

async function problemOfFolder(own: string): Promise<string | undefined> {
  const made = await writeFile(own, "", { flag: "wx" }).then(
    () => true,
    (thrown: unknown) => codeOf(thrown) !== "EEXIST",
  );
  return made ? "its file system lets two processes create the same file, so its locks do not hold" : undefined;
}

/** Files of processes that were killed. Compares times of the same clock, that of the folder's server. */
async function removeLeftovers(own: string): Promise<void> {
  const folder = dirname(own);
  const { mtimeMs: now } = await stat(own);
  for (const file of await readdir(folder)) {
    const found = await stat(join(folder, file)).catch(() => undefined);
    if (found !== undefined && now - found.mtimeMs >= maxSilenceMs) await rm(join(folder, file), { force: true });
  }
}
