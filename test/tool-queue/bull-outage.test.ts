/** A Redis that is away, comes back, or has forgotten: nothing is lost, and nothing runs twice. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { TurnAbort } from "../../src/lib/abort.ts";
import type { ToolAttempt, Toolbox } from "../../src/ports/tool.ts";
import { missingRedis, type RedisServer, redisNote, startRedisServer } from "../doubles/redis-server.ts";
import { type BullWorld, createWorld, eventsOf, failed, jobOf, never, ok, startQueueProcess } from "./bull-world.ts";

describe.skipIf(missingRedis !== undefined)(`the queue on BullMQ through outages of Redis${redisNote}`, () => {
  let server: RedisServer;
  let world: BullWorld;
  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server.dispose());
  beforeEach(async () => {
    world = await createWorld(server);
  });
  afterEach(() => world.dispose());

  describe("while Redis is away", () => {
    test("a job waits, and runs when it is back", async () => {
      world.proxy.shut();
      const { queue, ledger } = await world.open(async () => ok());
      const asked = queue.run(jobOf("c1"), never);
      await vi.waitFor(async () => expect((await ledger.get("call", "turn-c1"))?.state).toBe("planned"));
      world.proxy.open();
      expect(await asked).toMatchObject({ status: "ok", attempts: 1 });
    });

    test("a stop ends a job that has not begun, and it does not begin when Redis is back", async () => {
      const runs: string[] = [];
      const { queue } = await world.open(async ({ id }) => {
        runs.push(id);
        return ok();
      });
      await queue.run(jobOf("c0"), never);
      world.proxy.shut();
      const stop = new AbortController();
      const asked = queue.run(jobOf("c1"), stop.signal);
      stop.abort(new TurnAbort("stopped"));
      expect(await asked).toMatchObject({
        status: "interrupted",
        attempts: 0,
        text: expect.stringContaining("Not run"),
      });
      world.proxy.open();
      expect(await queue.run(jobOf("c2"), never)).toMatchObject({ status: "ok" });
      expect(runs).toEqual(["c0", "c2"]);
    });

    test("a shutdown leaves the job for the next start", async () => {
      world.proxy.shut();
      const first = await world.open(async () => ok("never"));
      const down = new AbortController();
      const asked = first.queue.run(jobOf("c1"), down.signal);
      down.abort(new TurnAbort("shutdown"));
      expect(await asked).toMatchObject({ status: "interrupted", attempts: 0 });
      await first.queue.close();
      expect(await first.stateOf("c1")).toBe("planned");
      world.proxy.open();
      const next = await world.open(async () => ok());
      expect(await next.queue.run(jobOf("c1"), never)).toMatchObject({ status: "ok" });
    });

    test("a tool that runs goes on, and its result is given at once", async () => {
      const { promise, resolve } = Promise.withResolvers<ToolAttempt>();
      let runs = 0;
      const { queue } = await world.open(() => {
        runs += 1;
        return promise;
      });
      const asked = queue.run(jobOf("c1"), never);
      await vi.waitFor(() => expect(runs).toBe(1));
      world.proxy.shut();
      resolve(ok("while it was away"));
      expect(await asked).toMatchObject({ status: "ok", text: "while it was away", attempts: 1 });
      world.proxy.open();
      expect(await queue.run(jobOf("c2"), never)).toMatchObject({ status: "ok" });
      expect(runs).toBe(2);
    });

    test("a retry waits for it", async () => {
      let runs = 0;
      const one = await world.open(async () => {
        runs += 1;
        if (runs > 1) return ok();
        world.proxy.shut();
        return failed("503");
      });
      const asked = one.queue.run(jobOf("c1"), never);
      await vi.waitFor(async () => expect(await one.stateOf("c1")).toBe("waiting"));
      world.proxy.open();
      expect(await asked).toMatchObject({ status: "ok", attempts: 2 });
    });

    test("closing does not wait for it, and the process ends by itself", async () => {
      world.proxy.shut();
      const settings = {
        url: world.proxy.url,
        prefix: world.prefix,
        runs: true,
        ledgerFile: join(world.folder, "ledger.db"),
        timing: {},
      };
      const one = await startQueueProcess(settings);
      const asked = one.run(jobOf("c1"));
      const exited = one.close();
      expect(await asked).toMatchObject({ status: "interrupted", attempts: 0 });
      expect(await exited).toBe(0);
    });
  });

  describe("a Redis that is killed and started again in the middle of a job", () => {
    test("loses nothing, and nothing runs twice: with the ledger in it, and what it keeps on its disk", async () => {
      const hold = Promise.withResolvers<void>();
      const runs: string[] = [];
      const run: Toolbox["run"] = async ({ id }) => {
        runs.push(id);
        if (id !== "c9") await hold.promise;
        return ok(id);
      };
      const one = await world.open(run, { url: server.url, ledgerFile: undefined });
      const asked = Array.from({ length: 8 }, (_, index) => one.queue.run(jobOf(`c${index}`), never));
      await vi.waitFor(() => expect(runs).toHaveLength(4));
      await server.kill();
      hold.resolve();
      await server.start();
      expect((await Promise.all(asked)).map(({ status, text }) => [status, text])).toEqual(
        asked.map((_, index) => ["ok", `c${index}`]),
      );
      expect(runs.sort()).toEqual(asked.map((_, index) => `c${index}`));
      expect(eventsOf(one.events, "tool.completed")).toHaveLength(8);
      expect(await one.queue.run(jobOf("c9"), never)).toMatchObject({ status: "ok" });
    });

    test("loses nothing also when it has forgotten everything: jobs are added again", async () => {
      const hold = Promise.withResolvers<void>();
      const runs: string[] = [];
      const one = await world.open(async ({ id }) => {
        runs.push(id);
        if (runs.length <= 4) await hold.promise;
        return ok(id);
      });
      const asked = Array.from({ length: 8 }, (_, index) => one.queue.run(jobOf(`c${index}`), never));
      await vi.waitFor(() => expect(runs).toHaveLength(4));
      await server.client.flushall();
      hold.resolve();
      expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(asked.map(() => "ok"));
      expect(runs.sort()).toEqual(asked.map((_, index) => `c${index}`));
    });

    test("a job that BullMQ has ended without us is added again", async () => {
      const asker = await world.open(async () => ok(), { runs: false });
      const asked = asker.queue.run(jobOf("c1"), never);
      await vi.waitFor(async () =>
        expect(await server.client.lrange(world.bullKey("wait"), 0, -1)).toEqual(["turn-c1"]),
      );
      await server.client.hset(world.bullKey("turn-c1"), "data", "{}");
      await world.open(async () => ok());
      expect(await asked).toMatchObject({ status: "ok", attempts: 1 });
    });
  });

  describe("a message that gets lost", () => {
    test("costs time and nothing else: the ledger is looked at every so often", async () => {
      // Two buses that don't hear each other.
      const asker = await world.open(async () => ok(), { runs: false, busPrefix: `{${randomUUID()}}:` });
      await world.open(async () => ok("elsewhere"));
      expect(await asker.queue.run(jobOf("c1"), never)).toMatchObject({ status: "ok", text: "elsewhere" });
    });
  });
});
