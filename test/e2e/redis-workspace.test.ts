/** Several processes on one Redis write one memory in one slow folder, which each knows by another path. */
import { cp, mkdir, readdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { missingRedis, redisNote } from "../doubles/redis-server.ts";
import { createDurabilityWorld, type DurabilityWorld, eventually, longLockMs, newId } from "./durability-world.ts";

const slowFiles = pathToFileURL(join(import.meta.dirname, "..", "faults", "slow-files.ts")).href;

let world: DurabilityWorld;
beforeEach(async () => {
  world = await createDurabilityWorld({ redis: {}, lockMs: longLockMs, config: { health: { everySeconds: 1 } } });
});
afterEach(() => world.close());

const beside = (name: string) => join(world.home.workspace, "..", name);
const workerIn = (workspace: string) =>
  world.start(["--role", "worker"], {
    env: { REMORA_WORKSPACE: workspace, NODE_OPTIONS: `--import ${slowFiles}` },
  });

async function episodes(): Promise<string> {
  const folder = join(world.home.workspace, "brain", "hippocampus");
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const days = names.filter((name) => name.endsWith(".md"));
  return (await Promise.all(days.map((name) => readFile(join(folder, name), "utf8")))).join("");
}

describe.skipIf(missingRedis !== undefined)(`a workspace shared by machines${redisNote}`, () => {
  test("has every turn once, and a process with another workspace is named", async () => {
    await symlink(world.home.workspace, beside("mounted"));
    const front = await world.startHere(["--role", "platforms"]);
    await Promise.all([workerIn(world.home.workspace), workerIn(beside("mounted"))]);
    const ids = Array.from({ length: 12 }, newId);
    await Promise.all(ids.map((id) => world.person.say(id, `plain ${id}`)));
    await eventually(async () => {
      const text = await episodes();
      const entries = text.split(/^## /m);
      for (const id of ids) expect(entries.filter((entry) => entry.includes(`plain ${id}\n`))).toHaveLength(1);
      expect(text.match(/<!-- turn=/g)).toHaveLength(ids.length);
    });
    expect(front.stderr()).not.toContain("is not the workspace of");
    await mkdir(beside("elsewhere"));
    await cp(join(world.home.workspace, "skills"), join(beside("elsewhere"), "skills"), { recursive: true });
    const odd = await world.startHere(["--role", "worker"], { env: { REMORA_WORKSPACE: beside("elsewhere") } });
    for (const process of [front, odd])
      await eventually(() => expect(process.stdout() + process.stderr()).toContain("is not the workspace of"));
  });
});
