/**
 * Redis fails during work: killed and restarted, frozen, out of memory, read-only. Turns wait or fail
 * visibly. When Redis works again, everything is answered and nothing has happened twice.
 */
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { missingRedis, redisNote } from "../doubles/redis-server.ts";
import type { RunningRemora } from "../doubles/remora-process.ts";
import { isWhole } from "../faults/share.ts";
import {
  agentsIn,
  answerIn,
  callFor,
  createDurabilityWorld,
  type DurabilityWorld,
  eventually,
  expectNothingOpen,
  newId,
} from "./durability-world.ts";

let world: DurabilityWorld;
let remora: RunningRemora;
let isUsable = false;

beforeEach(async () => {
  if (isUsable) return;
  world = await createDurabilityWorld({ redis: {} });
  remora = await world.startHere();
  isUsable = true;
});
/** The next test gets the same processes, unless they were left in a state that nobody knows. */
afterEach(async ({ task }) => {
  if (task.result?.state === "pass") return;
  isUsable = false;
  await world.close();
});
afterAll(async () => {
  if (isUsable) await world.close();
});

const readyz = async () => {
  const response = await fetch(`${remora.url}/readyz`);
  return `${response.status} ${await response.text()}`;
};

async function killRedis(): Promise<void> {
  await world.redis.kill();
  await eventually(async () => expect(await readyz()).toMatch(/^503 Redis: .*can't be reached/));
  expect((await fetch(`${remora.url}/healthz`)).status).toBe(200);
}

async function startRedis(): Promise<void> {
  await world.redis.start();
  await eventually(async () => expect(await readyz()).toBe("200 ready\n"));
}

/** Resolves when the log has got the words this many times more. */
async function logged(words: RegExp, times: number): Promise<void> {
  const from = remora.stderr().length;
  const found = () =>
    remora
      .stderr()
      .slice(from)
      .split("\n")
      .filter((line) => words.test(line)).length;
  while (found() < times) await wait(100);
}

const cardsIn = async (id: string) => agentsIn(await world.person.thread(id)).filter(({ type }) => type === "card");

describe.skipIf(missingRedis !== undefined)(`Redis in trouble${redisNote}`, () => {
  test.runIf(isWhole)("after a Redis restart during a model call, the answer arrives", async () => {
    const id = newId();
    world.model.hold(id, "before");
    await world.person.say(id, `plain ${id}`);
    await eventually(() => expect(world.model.held()).toBe(1));
    await killRedis();
    world.model.open();
    await startRedis();
    expect(await answerIn(world, id)).toContain(`You said plain ${id}`);
    await expectNothingOpen(await world.ledger());
  });

  test("after a Redis restart during a tool call, its result is saved and it has run once", async () => {
    world.tools.hold("/m", "after");
    const id = await callFor(world, "effect_safe");
    await eventually(() => expect(world.tools.held()).toBe(1));
    await killRedis();
    world.tools.open();
    await startRedis();
    expect(await answerIn(world, id)).toContain(`effect ${id}`);
    expect(world.effects(id)).toBe(1);
    await expectNothingOpen(await world.ledger());
  });

  test("a click while Redis is down is not lost and counts once", async () => {
    const id = await callFor(world, "effect_ask");
    await eventually(async () => expect(await cardsIn(id)).toMatchObject([{ state: "waiting" }]));
    await killRedis();
    const isApproved = world.person.approve(id);
    await startRedis();
    await isApproved;
    await world.person.approve(id);
    expect(await answerIn(world, id)).toContain(`effect ${id}`);
    expect(world.effects(id)).toBe(1);
    await expectNothingOpen(await world.ledger());
  });

  test("a message while Redis is down is acknowledged after it is saved, and answered once", async () => {
    await killRedis();
    const id = newId();
    const isAccepted = world.person.say(id, `plain ${id}`);
    await startRedis();
    await isAccepted;
    expect(await answerIn(world, id)).toContain(`You said plain ${id}`);
    await expectNothingOpen(await world.ledger());
  });

  test("a turn pauses during a long outage and resumes afterwards", async () => {
    const id = newId();
    world.model.hold(id, "before");
    await world.person.say(id, `plain ${id}`);
    await eventually(() => expect(world.model.held()).toBe(1));
    await killRedis();
    world.model.open();
    await logged(/the sweep of .*gave no answer|gave no answer.*the sweep of/, 3);
    await startRedis();
    expect(await answerIn(world, id)).toContain(`You said plain ${id}`);
    await expectNothingOpen(await world.ledger());
  });

  test("every turn ends once after Redis froze for longer than the leases", async () => {
    world.tools.hold("/m", "after");
    const [safe, again] = [await callFor(world, "effect_safe"), await callFor(world, "effect_again")];
    const plain = newId();
    world.model.hold(plain, "before");
    await world.person.say(plain, `plain ${plain}`);
    await eventually(() => expect([world.tools.held(), world.model.held()]).toEqual([2, 1]));
    await world.redis.client.call("CLIENT", "PAUSE", "6000", "ALL");
    world.tools.open();
    world.model.open();
    expect(await answerIn(world, plain)).toContain(`You said plain ${plain}`);
    for (const id of [safe, again]) expect(await answerIn(world, id)).toContain(`effect ${id}`);
    expect(world.effects(safe)).toBe(1);
    await expectNothingOpen(await world.ledger());
  });

  const refusals = [
    {
      what: "out of memory",
      break: () => world.redis.client.config("SET", "maxmemory", "1"),
      mend: () => world.redis.client.config("SET", "maxmemory", "0"),
    },
    {
      what: "read-only",
      break: () => world.redis.client.replicaof("127.0.0.1", "1"),
      mend: () => world.redis.client.replicaof("NO", "ONE"),
    },
  ];
  for (const refusal of isWhole ? refusals : refusals.slice(0, 1)) {
    test(`${refusal.what} in the middle of turns: they wait or fail visibly, and end when it is well again`, async () => {
      world.tools.hold("/m", "after");
      const id = await callFor(world, "effect_safe");
      const plain = newId();
      world.model.hold(plain, "before");
      await world.person.say(plain, `plain ${plain}`);
      await eventually(() => expect([world.tools.held(), world.model.held()]).toEqual([1, 1]));
      await refusal.break();
      world.tools.open();
      world.model.open();
      const later = newId();
      const isAccepted = world.person.say(later, `plain ${later}`);
      // Long enough for every retry to fail. A turn that keeps its lease waits; the sweep looks for the others.
      await logged(/the sweep of conversations failed|a turn waits for storage/, 4);
      await refusal.mend();
      await isAccepted;
      for (const each of [plain, later]) expect(await answerIn(world, each)).toMatch(/You said plain|⚠️/);
      expect(await answerIn(world, later)).toContain(`You said plain ${later}`);
      expect(await answerIn(world, id)).toMatch(/effect m|⚠️/);
      expect(world.effects(id)).toBe(1);
      await expectNothingOpen(await world.ledger());
    });
  }

  test("a process can stop during an outage, and the next start continues its work", async () => {
    // Longer than the test's timeout, so it passes only if nothing waits for it.
    const patient = { redis: { waitMs: 300_000 }, shutdown: { graceMs: 500 } };
    await world.close();
    world = await createDurabilityWorld({ redis: {}, config: patient });
    remora = await world.start();
    const [plain, safe] = [newId(), await callFor(world, "effect_again")];
    world.model.hold(plain, "before");
    await world.person.say(plain, `plain ${plain}`);
    await eventually(() => expect(world.model.held()).toBe(1));
    await killRedis();
    expect(await remora.stop()).toBe(0);
    await world.redis.start();
    world.model.open();
    world.front(await world.startHere());
    expect(await answerIn(world, plain)).toContain(`You said plain ${plain}`);
    expect(await answerIn(world, safe)).toContain(`effect ${safe}`);
    await expectNothingOpen(await world.ledger());
  });
});
