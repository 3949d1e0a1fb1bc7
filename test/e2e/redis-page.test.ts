/** Which process serves the page after the previous one died: another one, or a restarted one. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingRedis, redisNote } from "../doubles/redis-server.ts";
import type { RemoraProcess, RunningRemora } from "../doubles/remora-process.ts";
import { isWhole } from "../faults/share.ts";
import { answerIn, createDurabilityWorld, type DurabilityWorld, eventually, newId } from "./durability-world.ts";

/** Longer than a start takes, also on a busy machine. */
const lockMs = 15_000;
const notServed = "another process serves the page";

describe.skipIf(missingRedis !== undefined)(`The page on Redis${redisNote}`, () => {
  let world: DurabilityWorld;
  let first: RemoraProcess | undefined;
  beforeAll(async () => {
    world = await createDurabilityWorld({ redis: {}, lockMs });
  });
  afterAll(() => world.close());

  async function expectAnswered(): Promise<void> {
    const id = newId();
    await world.person.say(id, `plain ${id}`);
    expect(await answerIn(world, id)).toContain(`You said plain ${id}`);
  }

  async function waits(process: RunningRemora): Promise<void> {
    await eventually(() => expect(process.stderr()).toContain(notServed));
  }

  // Each waits until a lock has expired. redis-processes.test.ts restarts one right after a kill in every run.
  test.runIf(isWhole)("is served again by a process restarted right after a kill", async () => {
    const killed = await world.start();
    await expectAnswered();
    await killed.kill();
    first = await world.start();
    world.front(first);
    await waits(first);
    await expectAnswered();
  });

  test("is served by a process with another data folder after the first one ended", async () => {
    first ??= await world.start();
    const serving = await world.startHere([], { data: join(world.home.data, "..", "data-of-another-machine") });
    await waits(serving);
    await expectAnswered();
    await first.kill();
    world.front(serving);
    await expectAnswered();
  });
});
