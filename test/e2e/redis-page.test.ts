/** Which process serves the page after the previous one died, with several processes and with a restarted one. */
import { join } from "node:path";
import { describe, expect, type TestContext, test } from "vitest";
import { missingRedis, redisNote } from "../doubles/redis-server.ts";
import { answerIn, createDurabilityWorld, type DurabilityWorld, eventually, newId } from "./durability-world.ts";

/** Longer than a start takes, also on a busy machine. */
const lockMs = 15_000;
const notServed = "another process serves the page";

describe.skipIf(missingRedis !== undefined)(`The page on Redis${redisNote}`, () => {
  async function createWorld({ onTestFinished }: TestContext): Promise<DurabilityWorld> {
    const world = await createDurabilityWorld({ redis: {}, lockMs });
    onTestFinished(() => world.close());
    return world;
  }

  async function expectAnswered(world: DurabilityWorld): Promise<void> {
    const id = newId();
    await world.person.say(id, `plain ${id}`);
    expect(await answerIn(world, id)).toContain(`You said plain ${id}`);
  }

  // Each waits until a lock has expired.
  test.concurrent("is served again by a process restarted right after a kill", async (context) => {
    const world = await createWorld(context);
    const first = await world.start();
    await first.kill();
    const again = await world.start();
    await eventually(() => expect(again.stderr()).toContain(notServed));
    world.front(again);
    await expectAnswered(world);
  });

  test.concurrent("is served by a process with another data folder after the first one ended", async (context) => {
    const world = await createWorld(context);
    const first = await world.start();
    const second = await world.start([], { data: join(world.home.data, "..", "data-of-another-machine") });
    await eventually(() => expect(second.stderr()).toContain(notServed));
    await expectAnswered(world);
    await first.kill();
    world.front(second);
    await expectAnswered(world);
  });
});
