/**
 * SIGTERM with the real process: turns may finish within the grace period; longer ones are suspended and continue after the next
 * start. No child process is left, and the exit code is 0.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { missingRedis, redisNote } from "../doubles/redis-server.ts";
import type { RemoraProcess } from "../doubles/remora-process.ts";
import { isWhole } from "../faults/share.ts";
import { createPerson } from "./chaos/person.ts";
import {
  agentsIn,
  answerIn,
  callFor,
  createDurabilityWorld,
  type DurabilityWorld,
  eventually,
  expectNothingOpen,
  longLockMs,
  newId,
  processesWith,
  shortLockMs,
} from "./durability-world.ts";

/** Longer than anything in the tests. */
const longGrace = { shutdown: { graceMs: 120_000 } };
const shortGrace = { shutdown: { graceMs: 200 } };

let world: DurabilityWorld;
afterEach(() => world.close());

async function startAgain(): Promise<RemoraProcess> {
  const next = await world.start();
  world.front(next);
  return next;
}

const stores = ["embedded", "redis"] as const;
for (const store of stores) {
  const isSkipped = store === "redis" && missingRedis !== undefined;
  describe.skipIf(isSkipped)(`${store}${store === "redis" ? redisNote : ""}`, () => {
    const createWorld = async (config: Record<string, unknown>, lockMs = shortLockMs) => {
      world = await createDurabilityWorld({ config, lockMs, ...(store === "redis" ? { redis: {} } : {}) });
      return await world.start();
    };

    // What differs on Redis is who owns a turn and its calls. `npm run chaos` runs everything on both.
    const testAnyStore = test.skipIf(store === "redis" && !isWhole);

    testAnyStore("a running turn finishes within the grace period, without another model call", async () => {
      const remora = await createWorld(longGrace, longLockMs);
      const id = newId();
      world.model.hold(id, "after");
      await world.person.say(id, `plain ${id}`);
      await eventually(() => expect(world.model.held()).toBe(1));
      const stopped = remora.stop();
      await eventually(() => expect(remora.stderr()).toContain("a second signal stops at once"));
      world.model.open();
      expect(await stopped).toBe(0);
      await startAgain();
      expect(await answerIn(world, id)).toContain(`You said plain ${id}`);
      expect(world.model.requests.filter((request) => request.includes(id))).toHaveLength(1);
      await expectNothingOpen(await world.ledger());
    });

    testAnyStore("a stopping process accepts nothing that it could lose", async () => {
      const remora = await createWorld(longGrace);
      const id = newId();
      world.model.hold(id, "before");
      await world.person.say(id, `plain ${id}`);
      await eventually(() => expect(world.model.held()).toBe(1));
      const stopped = remora.stop();
      await eventually(() => expect(remora.stderr()).toContain("a second signal stops at once"));
      // Repeats the message until a process accepts it; the stopping one does not.
      const later = newId();
      const isTaken = world.person.say(later, `plain ${later}`);
      world.model.open();
      expect(await stopped).toBe(0);
      await startAgain();
      await isTaken;
      for (const each of [id, later]) expect(await answerIn(world, each)).toContain(`You said plain ${each}`);
    });

    test("a longer turn is suspended and continues after the next start", async () => {
      const remora = await createWorld(shortGrace);
      const id = newId();
      world.model.hold(id, "before");
      await world.person.say(id, `plain ${id}`);
      await eventually(() => expect(world.model.held()).toBe(1));
      expect(await remora.stop()).toBe(0);
      expect(await (await world.ledger()).list("turn", { states: ["running"] })).toHaveLength(1);
      world.model.open();
      await startAgain();
      expect(await answerIn(world, id)).toContain(`You said plain ${id}`);
      await expectNothingOpen(await world.ledger());
    });

    test("an interrupted tool has its effect once, and the model is told that the outcome is unknown", async () => {
      const remora = await createWorld(shortGrace);
      world.tools.hold("/m", "after");
      const id = await callFor(world, "effect_safe");
      await eventually(() => expect(world.tools.held()).toBe(1));
      expect(await remora.stop()).toBe(0);
      world.tools.open();
      await startAgain();
      expect(await answerIn(world, id)).toContain("unknown");
      expect(world.effects(id)).toBe(1);
      await expectNothingOpen(await world.ledger());
    });

    testAnyStore("an interrupted idempotent tool runs again and finishes", async () => {
      const remora = await createWorld(shortGrace);
      world.tools.hold("/m", "before");
      const id = await callFor(world, "effect_again");
      await eventually(() => expect(world.tools.held()).toBe(1));
      expect(await remora.stop()).toBe(0);
      world.tools.open();
      await startAgain();
      expect(await answerIn(world, id)).toContain(`effect ${id}`);
      await expectNothingOpen(await world.ledger());
    });

    testAnyStore("a card survives the stop, and a later click runs the call once", async () => {
      const remora = await createWorld(longGrace);
      const id = await callFor(world, "effect_ask");
      const cards = async () => agentsIn(await world.person.thread(id)).filter(({ type }) => type === "card");
      await eventually(async () => expect(await cards()).toMatchObject([{ state: "waiting" }]));
      expect(await remora.stop()).toBe(0);
      await startAgain();
      await world.person.approve(id);
      expect(await answerIn(world, id)).toContain(`effect ${id}`);
      expect(world.effects(id)).toBe(1);
      await expectNothingOpen(await world.ledger());
    });

    testAnyStore("a second signal ends the process at once, and the next start continues", async () => {
      const remora = await createWorld(longGrace);
      const id = newId();
      world.model.hold(id, "before");
      await world.person.say(id, `plain ${id}`);
      await eventually(() => expect(world.model.held()).toBe(1));
      process.kill(remora.pid, "SIGTERM");
      await eventually(() => expect(remora.stderr()).toContain("a second signal stops at once"));
      process.kill(remora.pid, "SIGINT");
      expect(await remora.exited).toBe(130);
      world.model.open();
      await startAgain();
      expect(await answerIn(world, id)).toContain(`You said plain ${id}`);
    });
  });
}

test("a running shell command ends with the process", async () => {
  world = await createDurabilityWorld({ config: shortGrace });
  const remora = await world.start([], { env: { ANTHROPIC_API_KEY: "", REMORA_MODEL: "demo/phrases" } });
  const [id, seconds] = [newId(), `3141.${Math.floor(Math.random() * 1e9)}`];
  const person = createPerson(async () => remora);
  await person.say(id, `run sleep ${seconds}`);
  const running = () => processesWith("cmdline", `sleep ${seconds}`);
  await eventually(async () => {
    await person.approve(id);
    expect(await running()).not.toEqual([]);
  });
  expect(await remora.stop()).toBe(0);
  await eventually(async () => expect(await running()).toEqual([]));
});

test("a start that waits for a service can be stopped, closes everything once, and exits with 0", async () => {
  world = await createDurabilityWorld();
  const silent = createServer(() => {}).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const asked = once(silent, "request");
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const ended = world.start([], { env: { DISCORD_TOKEN: "token", DISCORD_API_URL: url } }).catch(String);
  await asked;
  const [pid] = await processesWith("environ", `REMORA_DATA=${world.home.data} `);
  process.kill(pid ?? 0, "SIGTERM");
  const said = await ended;
  silent.closeAllConnections();
  silent.close();
  expect(said).toContain("the process ended with 0 before it was ready");
  expect(said).not.toContain("stopping failed");
});
