/** Which process serves the page after the previous one died: another one, or a restarted one. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingRedis, redisNote } from "../doubles/redis-server.ts";
import type { RemoraProcess } from "../doubles/remora-process.ts";
import { answerIn, createDurabilityWorld, type DurabilityWorld, eventually, newId } from "./durability-world.ts";

/** Longer than a start takes, also on a busy machine. */
const lockMs = 15_000;
const notServed = "another process serves the page";

describe.skipIf(missingRedis !== undefined)(`The page on Redis${redisNote}`, () => {
  let world: DurabilityWorld;
  let serving: RemoraProcess;
  beforeAll(async () => {
    world = await createDurabilityWorld({ redis: {}, lockMs });
  });
  afterAll(() => world.close());

  async function expectAnswered(): Promise<void> {
    const id = newId();
    await world.person.say(id, `plain ${id}`);
    expect(await answerIn(world, id)).toContain(`You said plain ${id}`);
  }

  // Each waits until a lock has expired.
  test("is served by a process with another data folder after the first one ended", async () => {
    const first = await world.start();
    serving = await world.start([], { data: join(world.home.data, "..", "data-of-another-machine") });
    await eventually(() => expect(serving.stderr()).toContain(notServed));
    await expectAnswered();
    await first.kill();
    world.front(serving);
    await expectAnswered();
  });

  test("is served again by a process restarted right after a kill", async () => {
    await serving.kill();
    const again = await world.startHere();
    world.front(again);
    await eventually(() => expect(again.stderr()).toContain(notServed));
    await expectAnswered();
  });
});
