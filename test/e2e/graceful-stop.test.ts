/**
 * SIGTERM with the real process: turns may finish within the grace period; longer ones are suspended and continue after the next
 * start. No child process is left, and the exit code is 0.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingRedis, redisNote } from "../doubles/redis-server.ts";
import type { RemoraProcess, RunningRemora } from "../doubles/remora-process.ts";
import { isWhole } from "../faults/share.ts";
import { createPerson } from "./chaos/person.ts";
import {
  agentsIn,
  answerIn,
  createDurabilityWorld,
  type DurabilityWorld,
  eventually,
  expectNothingOpen,
  newId,
  processesWith,
  type WorldOptions,
} from "./durability-world.ts";

/** Longer than anything in the tests. */
const longGrace = { shutdown: { graceMs: 120_000 } };
const shortGrace = { shutdown: { graceMs: 200 } };
/** Longer than a busy machine holds a process up; `npm run chaos` alone waits for one to expire. */
const lockMs = 10_000;

let world: DurabilityWorld;
const worlds: DurabilityWorld[] = [];
afterAll(() => Promise.all(worlds.map((each) => each.close())));

async function openWorld(options: WorldOptions): Promise<void> {
  world = await createDurabilityWorld(options);
  worlds.push(world);
}

const stores = ["embedded", "redis"] as const;
for (const store of stores) {
  const isSkipped = store === "redis" && missingRedis !== undefined;
  describe.skipIf(isSkipped)(`${store}${store === "redis" ? redisNote : ""}`, () => {
    /** Continues on the home of the one before it, which has ended. */
    let next: RemoraProcess | undefined;

    async function start(config: Record<string, unknown>): Promise<RemoraProcess> {
      await world.configure(config);
      next = await world.start();
      world.front(next);
      return next;
    }

    /** A signal is the same on both stores, so on Redis a plain run stops one within its own process. */
    async function startToSuspend(): Promise<RunningRemora> {
      if (store === "embedded" || isWhole) return await start(shortGrace);
      await world.configure(shortGrace);
      return await world.startHere();
    }

    beforeAll(() => openWorld({ lockMs, ...(store === "redis" ? { redis: {} } : {}) }));

    // What differs on Redis is who owns a turn and its calls. `npm run chaos` runs everything on both.
    const testAnyStore = test.skipIf(store === "redis" && !isWhole);

    testAnyStore(
      "a running turn finishes within the grace period, without another model call; a message that comes then is not lost",
      async () => {
        const remora = await start(longGrace);
        const id = newId();
        world.model.hold(id, "after");
        await world.person.say(id, `plain ${id}`);
        await eventually(() => expect(world.model.held()).toBe(1));
        const stopped = remora.stop();
        await eventually(() => expect(remora.stderr()).toContain("a second signal stops at once"));
        // Repeats the message until a process accepts it; the stopping one does not.
        const later = newId();
        const isTaken = world.person.say(later, `plain ${later}`);
        world.model.open();
        expect(await stopped).toBe(0);
        await start(longGrace);
        await isTaken;
        for (const each of [id, later]) expect(await answerIn(world, each)).toContain(`You said plain ${each}`);
        const asked = world.model.requests.filter((request) => request.includes(id) && !request.includes(later));
        expect(asked).toHaveLength(1);
        await expectNothingOpen(await world.ledger());
      },
    );

    testAnyStore("a second signal ends the process at once, and the next start continues", async () => {
      const remora = next ?? (await start(longGrace));
      const id = newId();
      world.model.hold(id, "before");
      await world.person.say(id, `plain ${id}`);
      await eventually(() => expect(world.model.held()).toBe(1));
      process.kill(remora.pid, "SIGTERM");
      await eventually(() => expect(remora.stderr()).toContain("a second signal stops at once"));
      process.kill(remora.pid, "SIGINT");
      expect(await remora.exited).toBe(130);
      world.model.open();
      await start(shortGrace);
      expect(await answerIn(world, id)).toContain(`You said plain ${id}`);
    });

    describe("work that is longer than the grace period", () => {
      const [plain, safe, again, asked] = [newId(), newId(), newId(), newId()];
      beforeAll(async () => {
        const remora = next ?? (await startToSuspend());
        const { model, person, tools } = world;
        tools.hold(safe, "after");
        tools.hold(again, "before");
        model.hold(plain, "before");
        await person.say(safe, `call effect_safe ${safe}`);
        await person.say(again, `call effect_again ${again}`);
        await person.say(asked, `call effect_ask ${asked}`);
        await person.say(plain, `plain ${plain}`);
        await eventually(() => expect([model.held(), tools.held()]).toEqual([1, 2]));
        const cards = async () => agentsIn(await person.thread(asked)).filter(({ type }) => type === "card");
        await eventually(async () => expect(await cards()).toMatchObject([{ state: "waiting" }]));
        expect(await remora.stop()).toBe(0);
        expect(await (await world.ledger()).list("turn", { states: ["running"] })).toHaveLength(3);
        model.open();
        tools.open();
        world.front(await world.startHere());
      });

      test("a turn is suspended and continues after the next start", async () => {
        expect(await answerIn(world, plain)).toContain(`You said plain ${plain}`);
      });

      test("an interrupted tool has its effect once, and the model is told that the outcome is unknown", async () => {
        expect(await answerIn(world, safe)).toContain("unknown");
        expect(world.effects(safe)).toBe(1);
      });

      test("an interrupted idempotent tool runs again and finishes", async () => {
        expect(await answerIn(world, again)).toContain(`effect ${again}`);
      });

      test("a card survives the stop, a later click runs the call once, and then nothing is open", async () => {
        await world.person.approve(asked);
        expect(await answerIn(world, asked)).toContain(`effect ${asked}`);
        expect(world.effects(asked)).toBe(1);
        await expectNothingOpen(await world.ledger());
      });
    });
  });
}

test("a running shell command ends with the process", async () => {
  await openWorld({ config: shortGrace });
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
  await openWorld({});
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
