/** Which process serves the page after the previous one died, with several processes and with a restarted one. */
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { missingRedis, redisNote } from "../doubles/redis-server.ts";
import { answerIn, createDurabilityWorld, type DurabilityWorld, newId } from "./durability-world.ts";

/** Longer than a start takes, also on a busy machine. */
const lockMs = 30_000;
const notServed = "another process serves the page";

describe.skipIf(missingRedis !== undefined)(`The page on Redis${redisNote}`, () => {
  let world: DurabilityWorld;
  beforeEach(async () => {
    world = await createDurabilityWorld({ redis: {}, lockMs });
  });
  afterEach(() => world.close());

  async function expectAnswered(): Promise<void> {
    const id = newId();
    await world.person.say(id, `plain ${id}`);
    expect(await answerIn(world, id)).toContain(`You said plain ${id}`);
  }

  test("is served again by a process restarted right after a kill", async () => {
    const first = await world.start();
    await first.kill();
    const again = await world.start();
    expect(again.stderr()).toContain(notServed);
    world.front(again);
    await expectAnswered();
  });

  test("is served by a process with another data folder after the first one ended", async () => {
    const first = await world.start();
    const second = await world.start([], { data: join(world.home.data, "..", "data-of-another-machine") });
    expect(second.stderr()).toContain(notServed);
    await expectAnswered();
    await first.kill();
    world.front(second);
    await expectAnswered();
  });
});
