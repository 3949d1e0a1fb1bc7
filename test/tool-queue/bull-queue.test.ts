/** What the queue keeps in Redis, and what it does with trouble of its own. */
import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { TurnAbort } from "../../src/lib/abort.ts";
import { RemoraError } from "../../src/lib/errors.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { Toolbox } from "../../src/ports/tool.ts";
import { missingRedis, type RedisServer, redisNote, startRedisServer } from "../doubles/redis-server.ts";
import { type RedisCluster, startRedisCluster } from "../storage/redis-topologies.ts";
import {
  type BullWorld,
  createWorld,
  eventsOf,
  failed,
  jobOf,
  never,
  ok,
  openQueue,
  startQueueProcess,
} from "./bull-world.ts";

describe.skipIf(missingRedis !== undefined)(`the queue on BullMQ and its Redis${redisNote}`, () => {
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

  /** All that stands in Redis below the world.prefix, as text. */
  async function everythingInRedis(): Promise<string> {
    const keys = await server.client.keys(`${world.prefix}*`);
    const dumps = await Promise.all(keys.map((key) => server.client.dumpBuffer(key)));
    return [...keys, ...dumps.map((dump) => dump?.toString("latin1"))].join("\n");
  }

  describe("what is kept in Redis", () => {
    test("is no result and no secret of one, and of finished jobs the newest hundred", async () => {
      const { queue } = await world.open(async (call) =>
        call.name === "bad" ? { ...failed("a-secret-output"), isRetryable: false } : ok("a-secret-output"),
      );
      const calls = Array.from({ length: 130 }, (_, index) => [`g${index}`, `b${index}`]).flat();
      await Promise.all(
        calls.map((id) => queue.run(jobOf(id, {}, { name: id.startsWith("g") ? "good" : "bad" }), never)),
      );
      await vi.waitFor(async () => expect(await server.client.llen(world.bullKey("active"))).toBe(0));
      expect(await server.client.zcard(world.bullKey("completed"))).toBe(100);
      expect(await server.client.zcard(world.bullKey("failed"))).toBe(100);
      expect(await server.client.exists(world.bullKey("turn-g0"))).toBe(0);
      expect(await everythingInRedis()).not.toContain("a-secret-output");
    });

    test("is below the world.prefix, all of it in one slot of a cluster", async () => {
      const before = new Set(await server.client.keys("*"));
      const { queue } = await world.open(async () => ok());
      await queue.run(jobOf("c1"), never);
      const made = (await server.client.keys("*")).filter((key) => !before.has(key));
      expect(made.length).toBeGreaterThan(3);
      expect(made.filter((key) => !key.startsWith(world.prefix))).toEqual([]);
    });

    test("a job that nobody here has put there is not run, and stops nothing", async () => {
      const runs: string[] = [];
      const { queue } = await world.open(async ({ id }) => {
        runs.push(id);
        return id === "c1" ? await wait(100, ok()) : ok();
      }, {});
      const asked = queue.run(jobOf("c1"), never);
      await server.client.hset(world.bullKey("foreign"), {
        name: "x",
        data: '{"rm":"-rf"}',
        opts: "{}",
        timestamp: "1",
      });
      await server.client.lpush(world.bullKey("wait"), "foreign");
      await server.client.zadd(world.bullKey("marker"), 0, "0");
      await vi.waitFor(async () =>
        expect(await server.client.zscore(world.bullKey("failed"), "foreign")).not.toBeNull(),
      );
      expect(await asked).toMatchObject({ status: "ok" });
      expect(await queue.run(jobOf("c2"), never)).toMatchObject({ status: "ok" });
      expect(runs).toEqual(["c1", "c2"]);
    });
  });

  describe("a thousand jobs at once", () => {
    test("all get their results, and nothing is left of the waiting for them", async () => {
      const warnings: Error[] = [];
      const warn = (warning: Error) => warnings.push(warning);
      process.on("warning", warn);
      const worker = await world.open(async ({ id }) => ok(id), { timing: { lockMs: 5_000 } });
      const asker = await world.open(async () => ok(), { runs: false });
      const jobs = Array.from({ length: 1_000 }, (_, index) => `c${index}`);
      const results = await Promise.all(jobs.map((id) => asker.queue.run(jobOf(id), never)));
      expect(results.map(({ text }) => text)).toEqual(jobs);
      expect(eventsOf(worker.events, "tool.completed")).toHaveLength(1_000);
      expect([asker.queue.counts(), worker.queue.counts()]).toEqual(Array(2).fill({ waiting: 0, running: 0 }));
      process.off("warning", warn);
      expect(warnings).toEqual([]);
    });
  });

  test("a job that two live processes ask for runs in one of them, and both get its result", async () => {
    const runs: string[] = [];
    const run =
      (where: string): Toolbox["run"] =>
      async () => {
        runs.push(where);
        return await wait(50, ok(where));
      };
    const both = await Promise.all([world.open(run("one")), world.open(run("other"))]);
    const asked = both.flatMap(({ queue }) => [queue.run(jobOf("c1"), never), queue.run(jobOf("c1"), never)]);
    const results = await Promise.all(asked);
    expect(runs).toHaveLength(1);
    expect(results).toEqual(results.map(() => expect.objectContaining({ status: "ok", text: runs[0], attempts: 1 })));
    const events = both.flatMap((one) => one.events.map(({ name }) => name));
    expect(events).toEqual(["tool.called", "tool.completed"]);
  });

  describe("what can't be done", () => {
    test("a job that Redis does not take fails with a sentence, and is not run later", async () => {
      let runs = 0;
      const { queue } = await world.open(async () => {
        runs += 1;
        return ok();
      });
      await queue.run(jobOf("c0"), never);
      await server.client.config("SET", "maxmemory", "1");
      try {
        const result = await queue.run(jobOf("c1"), never);
        expect(result).toMatchObject({ status: "failed", attempts: 0 });
        expect(result.text).toMatch(/^Not run: the call could not be put into the queue\. .*OOM/);
      } finally {
        await server.client.config("SET", "maxmemory", "0");
      }
      expect(await queue.run(jobOf("c1"), never)).toMatchObject({ status: "failed", attempts: 0 });
      expect(runs).toBe(1);
    });

    /** A ledger whose named steps fail as on a full disk. */
    function failing(isFailing: (step: string, to?: string) => boolean): (ledger: Ledger) => Ledger {
      const full = () => new RemoraError({ code: "storage.full", place: "ledger", message: "the disk is full." });
      return (ledger) => ({
        ...ledger,
        async create(kind, id, entry) {
          if (isFailing("create")) throw full();
          return await ledger.create(kind, id, entry);
        },
        async transition(kind, id, from, to, change) {
          if (isFailing("transition", to)) throw full();
          return await ledger.transition(kind, id, from, to, change);
        },
      });
    }

    test("what can't be planned or started is not run, and the model reads why", async () => {
      for (const step of ["create", "transition"]) {
        let runs = 0;
        const run = async () => {
          runs += 1;
          return ok();
        };
        const { queue } = await world.open(run, {
          within: failing((one) => one === step),
          prefix: `{${randomUUID()}}:`,
        });
        const result = await queue.run(jobOf(step), never);
        expect(result).toMatchObject({
          status: "failed",
          attempts: 0,
          text: expect.stringContaining("the disk is full"),
        });
        expect(runs).toBe(0);
      }
    });

    test("a result that can't be kept is given all the same", async () => {
      const { queue } = await world.open(async () => ok("it worked"), {
        within: failing((_step, to) => to === "done"),
      });
      expect(await queue.run(jobOf("c1"), never)).toMatchObject({ status: "ok", text: "it worked" });
    });

    test("a result that can't be kept for a while is held until it can", async () => {
      let refusals = 3;
      const busy = new RemoraError({ code: "storage.full", place: "ledger", message: "is full.", isRetryable: true });
      const within = (ledger: Ledger): Ledger => ({
        ...ledger,
        async transition(kind, id, from, to, change) {
          if (to === "done" && refusals-- > 0) throw busy;
          return await ledger.transition(kind, id, from, to, change);
        },
      });
      const one = await world.open(async () => ok("it worked"), { within });
      expect(await one.queue.run(jobOf("c1"), never)).toMatchObject({ status: "ok", text: "it worked" });
      expect(await one.stateOf("c1")).toBe("done");
      expect(eventsOf(one.events, "tool.completed")).toHaveLength(1);
    });

    test("a stop does not wait for ever for a ledger that is away", async () => {
      const away = new RemoraError({
        code: "storage.unreachable",
        place: "ledger",
        message: "is away.",
        isRetryable: true,
      });
      const within = (ledger: Ledger): Ledger => ({ ...ledger, create: () => Promise.reject(away) });
      const { queue } = await world.open(async () => ok(), { within, timing: { maxStopMs: 50 } });
      const stop = new AbortController();
      const asked = queue.run(jobOf("c1"), stop.signal);
      stop.abort(new TurnAbort("stopped"));
      expect(await asked).toMatchObject({
        status: "interrupted",
        text: expect.stringContaining("could not be reached"),
      });
    });
  });

  describe("an abort while the ledger is asked whether the tool may run", () => {
    /** Aborts as soon as the call is `started`, before anybody knows. */
    const abortingOnStart =
      (abort: AbortController, reason: TurnAbort) =>
      (ledger: Ledger): Ledger => ({
        ...ledger,
        async transition(kind, id, from, to, change) {
          const entry = await ledger.transition(kind, id, from, to, change);
          if (to === "started") abort.abort(reason);
          return entry;
        },
      });

    test("as a stop means that it is known not to have run", async () => {
      const stop = new AbortController();
      let runs = 0;
      const run = async () => {
        runs += 1;
        return ok();
      };
      const { queue } = await world.open(run, { within: abortingOnStart(stop, new TurnAbort("stopped")) });
      expect(await queue.run(jobOf("c1"), stop.signal)).toMatchObject({
        status: "interrupted",
        text: expect.stringContaining("Not run"),
      });
      expect(runs).toBe(0);
    });

    test("as a shutdown leaves it for the next start, also when it may not run twice", async () => {
      const down = new AbortController();
      let runs = 0;
      const run = async () => {
        runs += 1;
        return ok();
      };
      const first = await world.open(run, { within: abortingOnStart(down, new TurnAbort("shutdown")) });
      expect(await first.queue.run(jobOf("c1"), down.signal)).toMatchObject({ status: "interrupted" });
      await first.queue.close();
      expect([runs, await first.stateOf("c1")]).toEqual([0, "waiting"]);
      const next = await world.open(run);
      expect(await next.queue.run(jobOf("c1"), never)).toMatchObject({ status: "ok" });
      expect(runs).toBe(1);
    });
  });

  test("secrets reach neither the result, nor the ledger, nor the events, nor what Redis keeps of a failure", async () => {
    const secret = "a-very-secret-value";
    const run: Toolbox["run"] = async ({ name }) => (name === "good" ? ok(secret) : failed(`${secret} is wrong`));
    const one = await world.open(run, { secrets: [secret] });
    const [good, bad] = [jobOf("c1", {}, { name: "good" }), jobOf("c2", {}, { name: "bad" })];
    const results = await Promise.all([one.queue.run(good, never), one.queue.run(bad, never)]);
    expect(results.map(({ status }) => status)).toEqual(["ok", "failed"]);
    const told = [results, one.events, await one.ledger.list("call", {}), await everythingInRedis()];
    expect(JSON.stringify(told)).not.toContain(secret);
  });

  test("a worker that may not look at the list of connections decides once an attempt must have run into its time-out", async () => {
    await server.client.call("ACL", "SETUSER", "narrow", "on", ">word", "~*", "&*", "+@all", "-client|list");
    const narrow = `redis://narrow:word@127.0.0.1:${new URL(world.proxy.url).port}`;
    const settings = { url: server.url, prefix: world.prefix, runs: true, ledgerFile: join(world.folder, "ledger.db") };
    const killed = await startQueueProcess(settings);
    const job = jobOf("c1", { timeoutMs: 2_000 }, { name: "hang", input: { file: join(world.folder, "c1.txt") } });
    void killed.run(job);
    await vi.waitFor(() => expect(eventsOf(killed.events, "tool.called")).toHaveLength(1), 5_000);
    await killed.kill();
    const one = await world.open(async () => ok(), { url: narrow });
    const result = await one.queue.run(job, never);
    expect(result).toMatchObject({ status: "interrupted", attempts: 1 });
    expect(result.durationMs).toBeGreaterThanOrEqual(2_000);
  });
});

describe.skipIf(missingRedis !== undefined)(`the queue on BullMQ and a Redis cluster${redisNote}`, () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startRedisCluster(3);
  });
  afterAll(() => cluster.dispose());

  test("works there as anywhere, also where a worker does not answer for longer than its lock", async () => {
    const folder = await mkdtemp(join(tmpdir(), "remora-cluster-"));
    const runs: string[] = [];
    const run: Toolbox["run"] = async ({ id }) => {
      runs.push(id);
      return runs.length === 1 ? failed("503") : ok();
    };
    const settings = { url: cluster.url, prefix: "{remora}:", runs: true };
    const blocked = await startQueueProcess(settings);
    const blocking = jobOf("c1", {}, { name: "block", input: { file: join(folder, "c1.txt"), ms: 1_000 } });
    const asked = blocked.run(blocking);
    await vi.waitFor(() => readFile(join(folder, "c1.txt")), 5_000);
    const one = await openQueue({ ...settings, run });
    expect(await one.queue.run(jobOf("c2"), never)).toMatchObject({ status: "ok", attempts: 2 });
    expect(await one.queue.run(blocking, never)).toMatchObject({ status: "ok", text: "blocked", attempts: 1 });
    expect(await asked).toMatchObject({ status: "ok", text: "blocked" });
    expect(runs).toEqual(["c2", "c2"]);
    await one.close();
    expect(await blocked.close()).toBe(0);
    await rm(folder, { recursive: true });
  });
});
