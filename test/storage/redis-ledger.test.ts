import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { createRedisConnection, type RedisConnection } from "../../src/storage/redis/connection.ts";
import { createRedisLedger } from "../../src/storage/redis/ledger.ts";
import {
  changeEntryScript,
  createEntryScript,
  moveEntryScript,
  pruneEntriesScript,
} from "../../src/storage/redis/ledger-scripts.ts";
import { ledgerConformance } from "../conformance/ledger.ts";
import { missingRedis, type RedisServer, redisNote, startRedisServer } from "../doubles/redis-server.ts";
import { type RedisProxy, startRedisProxy } from "./redis-proxy.ts";

const body = { turnId: "turn", callId: "call", name: "tool", attempts: 0, startedAt: 1 };
const planned = { state: "planned" as const, body, group: "turn" };
const countUp = (was: typeof body) => ({ ...was, attempts: was.attempts + 1 });

describe.skipIf(missingRedis !== undefined)(`Redis${redisNote}`, () => {
  let server: RedisServer;
  let connection: RedisConnection;
  let prefix: string;
  let prefixes = 0;
  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server?.dispose());
  beforeEach(() => {
    prefixes += 1;
    prefix = `{test-${prefixes}}:`;
    connection = createRedisConnection(server.url, silentLog);
  });
  afterEach(() => connection.close());

  const keys = async () => (await server.client.keys(`${prefix}*`)).map((key) => key.slice(prefix.length)).sort();

  ledgerConformance("the Redis ledger", async () => ({
    open: () => createRedisLedger({ connection, prefix }),
    dispose: async () => undefined,
  }));

  describe("the keys of a ledger", () => {
    test("nothing but the layout, the sequence and the names of states is left once everything is pruned", async () => {
      const ledger = await createRedisLedger({ connection, prefix });
      for (let number = 0; number < 500; number += 1) {
        await ledger.create("call", `k${number}`, { ...planned, group: `g${number % 7}` });
        await ledger.transition("call", `k${number}`, ["planned"], number % 2 === 0 ? "started" : "waiting");
        await ledger.transition("call", `k${number}`, ["started", "waiting"], "done", countUp);
      }
      expect(await ledger.prune("call", ["done", "started"], Date.now() + 60_000)).toBe(500);
      expect(await ledger.list("call", {})).toEqual([]);
      const kept = (await keys()).filter((key) => !key.startsWith("ledger:done:"));
      expect(kept).toEqual(["ledger:sequence", "ledger:states:call", "ledger:version"]);
    });

    test("what a step leaves behind for those who ask again has a time to live", async () => {
      const ledger = await createRedisLedger({ connection, prefix, waitMs: 2_000 });
      await ledger.create("call", "a", planned);
      await ledger.transition("call", "a", ["planned"], "started");
      const [key = "none", ...others] = (await keys()).filter((name) => name.startsWith("ledger:done:"));
      expect(others).toEqual([]);
      const left = await server.client.pttl(prefix + key);
      expect(left).toBeGreaterThan(2_000);
      expect(left).toBeLessThanOrEqual(12_000);
    });

    test("pruning looks at when an entry was changed, not only at when it was made", async () => {
      const ledger = await createRedisLedger({ connection, prefix });
      for (const id of ["a", "b", "c"]) await ledger.create("call", id, planned);
      const madeAt = (await ledger.get("call", "c"))?.createdAt ?? 0;
      await expect.poll(() => Date.now()).toBeGreaterThan(madeAt + 1);
      const moved = await ledger.transition("call", "b", ["planned"], "planned", countUp);
      expect(await ledger.prune("call", ["planned"], moved?.updatedAt ?? 0)).toBe(2);
      expect((await ledger.list("call", {})).map((entry) => entry.id)).toEqual(["b"]);
    });

    test("a long list comes in pages, whole and in order", async () => {
      const ledger = await createRedisLedger({ connection, prefix });
      const ids = Array.from({ length: 450 }, (_, number) => `k${number}`);
      for (const id of ids)
        await ledger.create("call", id, { ...planned, state: id.endsWith("7") ? "done" : "planned" });
      const listed = async (options: Parameters<typeof ledger.list<"call">>[1]) =>
        (await ledger.list("call", options)).map((entry) => entry.id);
      expect(await listed({})).toEqual(ids);
      expect(await listed({ order: "newest", limit: 201 })).toEqual(ids.toReversed().slice(0, 201));
      expect(await listed({ states: ["done", "done"], group: "turn" })).toEqual(ids.filter((id) => id.endsWith("7")));
    });

    test("a prefix that would scatter the keys over a cluster is refused", async () => {
      await expect(createRedisLedger({ connection, prefix: "remora:" })).rejects.toMatchObject({
        code: "config.redis-prefix",
      });
    });

    test("lists leave out an entry that can't be read, and report it", async () => {
      const noted: string[] = [];
      const damaged = { note: (kind: string, id: string) => void noted.push(`${kind} ${id}`) };
      const ledger = await createRedisLedger({ connection, prefix, damaged });
      for (const id of ["a", "b", "c"]) await ledger.create("call", id, planned);
      await server.client.hset(`${prefix}ledger:entry:call:b`, "body", "[]");
      expect((await ledger.list("call", {})).map(({ id }) => id)).toEqual(["a", "c"]);
      expect(noted).toEqual(["call b"]);
    });

    test("an entry that is no JSON is named", async () => {
      const ledger = await createRedisLedger({ connection, prefix });
      await ledger.create("call", "a", planned);
      await server.client.hset(`${prefix}ledger:entry:call:a`, "body", "{");
      await expect(ledger.get("call", "a")).rejects.toMatchObject({
        code: "storage.corrupt",
        message: expect.stringContaining("call a"),
      });
    });

    test("an entry whose hash is gone does not hide the others, and is pruned away", async () => {
      const ledger = await createRedisLedger({ connection, prefix });
      for (const id of ["a", "b", "c"]) await ledger.create("call", id, planned);
      await server.client.del(`${prefix}ledger:entry:call:b`);
      expect((await ledger.list("call", {})).map((entry) => entry.id)).toEqual(["a", "c"]);
      expect(await ledger.prune("call", ["planned"], Date.now() + 60_000)).toBe(2);
      expect((await keys()).filter((key) => key.startsWith("ledger:state:"))).toEqual([]);
    });
  });

  describe("a ledger of a newer version", () => {
    test("is refused with both versions named, and left as it is", async () => {
      await server.client.set(`${prefix}ledger:version`, "7");
      await expect(createRedisLedger({ connection, prefix })).rejects.toMatchObject({
        code: "storage.newer",
        message: expect.stringMatching(/schema version 7.*versions up to 3/),
      });
      expect(await keys()).toEqual(["ledger:version"]);
    });

    test("is refused also when the newer one came while this one was running", async () => {
      const ledger = await createRedisLedger({ connection, prefix });
      await ledger.create("call", "a", planned);
      await server.client.set(`${prefix}ledger:version`, "4");
      for (const attempt of [
        () => ledger.create("call", "b", planned),
        () => ledger.transition("call", "a", ["planned"], "done"),
        () => ledger.transition("call", "a", ["planned"], "done", countUp),
        () => ledger.get("call", "a"),
        () => ledger.list("call", {}),
        () => ledger.prune("call", ["planned"], Date.now() + 60_000),
      ]) {
        await expect(attempt()).rejects.toMatchObject({ code: "storage.newer" });
      }
      await server.client.set(`${prefix}ledger:version`, "3");
      expect(await ledger.get("call", "a")).toMatchObject(planned);
    });
  });

  describe("several processes", () => {
    function startWriter(...task: string[]): ChildProcess {
      const script = fileURLToPath(new URL("redis-ledger-writer.ts", import.meta.url));
      return spawn(process.execPath, [script, ...task], { stdio: ["ignore", "pipe", "inherit"] });
    }

    test("exactly one wins each entry, and no guarded change is lost", async () => {
      const count = 1_000;
      const ledger = await createRedisLedger({ connection, prefix });
      await ledger.create("call", "counter", planned);
      const ids = Array.from({ length: count }, (_, number) => `k${number}`);
      await Promise.all(ids.map((id) => ledger.create("call", id, planned)));
      const writers = [1, 2, 3].map(() => startWriter("claim", server.url, prefix, String(count)));
      const won = await Promise.all(
        writers.map(async ({ stdout }) => JSON.parse(stdout === null ? "[]" : await text(stdout)) as string[]),
      );
      expect(won.flat().sort()).toEqual(ids.toSorted());
      expect((await ledger.get("call", "counter"))?.body.attempts).toBe(3 * count);
    });

    test("what a resolved promise said is there after kill -9 of the process that heard it", async () => {
      const writer = startWriter("write", server.url, prefix);
      let said = "";
      writer.stdout?.on("data", (chunk: Buffer) => {
        said += chunk.toString();
        if (said.split("\n").length > 100) writer.kill("SIGKILL");
      });
      await once(writer, "close");
      const ids = said.split("\n").slice(0, -1);
      const ledger = await createRedisLedger({ connection, prefix });
      const kept = await ledger.list("call", { states: ["done"] });
      expect(kept.slice(0, ids.length).map((entry) => entry.id)).toEqual(ids);
      expect(kept.every((entry) => entry.id === `k${entry.body.attempts}`)).toBe(true);
    });
  });

  describe("what a process has seen before", () => {
    let [one, other]: Ledger[] = [];
    beforeEach(async () => {
      [one, other] = [await createRedisLedger({ connection, prefix }), await createRedisLedger({ connection, prefix })];
      await one.create("call", "a", planned);
    });

    test("does not decide over what another one has written since", async () => {
      const refusing = (was: typeof body) => (was.attempts === 0 ? undefined : countUp(was));
      expect(await other?.transition("call", "a", ["planned"], "started", countUp)).toMatchObject({ state: "started" });
      expect(await one?.transition("call", "a", ["planned"], "done", countUp)).toBeUndefined();
      await other?.transition("call", "a", ["started"], "waiting", countUp);
      expect(await one?.transition("call", "a", ["waiting"], "started", refusing)).toMatchObject({
        state: "started",
        body: { attempts: 3 },
      });
      expect(await other?.get("call", "a")).toEqual(await one?.get("call", "a"));
    });

    test("is another entry than one of the same id that was made after it was pruned", async () => {
      await other?.transition("call", "a", ["planned"], "done");
      expect(await other?.prune("call", ["done"], Date.now() + 60_000)).toBe(1);
      await other?.create("call", "a", { ...planned, body: { ...body, attempts: 10 } });
      expect(await one?.transition("call", "a", ["planned"], "started", countUp)).toMatchObject({
        body: { attempts: 11 },
      });
    });

    test("may be gone: then there is nothing to change", async () => {
      await other?.transition("call", "a", ["planned"], "done");
      await other?.prune("call", ["done"], Date.now() + 60_000);
      expect(await one?.transition("call", "a", ["planned"], "started", countUp)).toBeUndefined();
    });
  });

  describe("an answer that is lost on its way", () => {
    let proxy: RedisProxy;
    let broken: RedisConnection;
    let ledger: Ledger;
    let other: Ledger;
    beforeEach(async () => {
      proxy = await startRedisProxy(server);
      broken = createRedisConnection(proxy.url, silentLog);
      ledger = await createRedisLedger({ connection: broken, prefix });
      other = await createRedisLedger({ connection, prefix });
      // Once each, so that the server knows the scripts and the next request is the one that counts.
      await ledger.create("call", "first", planned);
      await ledger.transition("call", "first", ["planned"], "started");
      await ledger.transition("call", "first", ["started"], "done", countUp);
      await ledger.prune("call", ["done"], Date.now() + 60_000);
    });
    afterEach(async () => {
      await broken.close();
      await proxy.close();
    });

    test("a creator that asks again is told that it has created, and nobody else is", async () => {
      const lost = proxy.loseAnswer(createEntryScript.hash);
      const created = ledger.create("call", "a", planned);
      await lost;
      expect(await other.create("call", "a", { ...planned, body: { ...body, attempts: 9 } })).toBe(false);
      expect(await created).toBe(true);
      expect(await ledger.create("call", "a", planned)).toBe(false);
      expect((await other.get("call", "a"))?.body.attempts).toBe(0);
    });

    test("a request that never arrived happens once", async () => {
      const lost = proxy.loseRequest(createEntryScript.hash);
      const created = ledger.create("call", "a", planned);
      await lost;
      expect(await created).toBe(true);
      expect(await other.list("call", {})).toHaveLength(1);
    });

    test("a creator that was too late is told so, though its first request was lost", async () => {
      const lost = proxy.loseRequest(createEntryScript.hash);
      proxy.shut();
      const created = ledger.create("call", "a", planned);
      expect(await other.create("call", "a", planned)).toBe(true);
      proxy.open();
      await lost;
      expect(await created).toBe(false);
    });

    test("who moved an entry hears it, also when it has moved on meanwhile", async () => {
      await ledger.create("call", "a", planned);
      const lost = proxy.loseAnswer(moveEntryScript.hash);
      const moved = ledger.transition("call", "a", ["planned"], "started");
      await lost;
      proxy.shut();
      expect(await other.transition("call", "a", ["planned"], "started")).toBeUndefined();
      expect(await other.transition("call", "a", ["started"], "waiting", countUp)).toMatchObject({ state: "waiting" });
      proxy.open();
      expect(await moved).toMatchObject({ id: "a", state: "started" });
      expect(await ledger.get("call", "a")).toMatchObject({ state: "waiting", body: { attempts: 1 } });
    });

    test("who changed an entry hears exactly what it wrote, also when others have written since", async () => {
      await ledger.create("call", "a", planned);
      const lost = proxy.loseAnswer(changeEntryScript.hash);
      const changed = ledger.transition("call", "a", ["planned"], "started", countUp);
      await lost;
      proxy.shut();
      const after = await other.transition("call", "a", ["started"], "started", (was) => ({ ...was, attempts: 50 }));
      proxy.open();
      const mine = await changed;
      expect(mine).toMatchObject({ id: "a", state: "started", group: "turn", body: { attempts: 1 } });
      expect(mine?.sequence).toBe(after?.sequence);
      expect(await ledger.get("call", "a")).toEqual(after);
    });

    test("a change that leads back to its own state counts once", async () => {
      await ledger.create("call", "a", planned);
      const lost = proxy.loseAnswer(changeEntryScript.hash);
      const changed = ledger.transition("call", "a", ["planned"], "planned", countUp);
      await lost;
      expect((await changed)?.body.attempts).toBe(1);
      expect((await other.get("call", "a"))?.body.attempts).toBe(1);
    });

    test("pruning counts what it removed before the cut", async () => {
      for (const id of ["a", "b", "c"]) await ledger.create("call", id, { ...planned, state: "done" });
      const lost = proxy.loseAnswer(pruneEntriesScript.hash);
      const pruned = ledger.prune("call", ["done"], Date.now() + 60_000);
      await lost;
      expect(await pruned).toBe(3);
    });

    test("a refused step changes nothing, even if its first request arrives after that", async () => {
      await ledger.create("call", "a", planned);
      const late = proxy.delay(moveEntryScript.hash);
      const moved = ledger.transition("call", "a", ["planned"], "started");
      const held = await late;
      proxy.shut();
      await other.transition("call", "a", ["planned"], "waiting");
      proxy.open();
      expect(await moved).toBeUndefined();
      const back = await other.transition("call", "a", ["waiting"], "planned");
      const before = await server.client.info("commandstats");
      held.deliver();
      const calls = (stats: string) => Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]);
      await expect.poll(async () => calls(await server.client.info("commandstats"))).toBe(calls(before) + 1);
      expect(await other.get("call", "a")).toEqual(back);
    });

    test("however often the connection is cut, each of many changes counts once", async () => {
      await ledger.create("call", "a", planned);
      for (let round = 0; round < 20; round += 1) {
        const lost =
          round % 2 === 0 ? proxy.loseAnswer(changeEntryScript.hash) : proxy.loseRequest(changeEntryScript.hash);
        const changes = [ledger, other, ledger].map((each) =>
          each.transition("call", "a", ["planned"], "planned", countUp),
        );
        expect((await Promise.all(changes)).every((entry) => entry !== undefined)).toBe(true);
        await lost;
      }
      expect((await other.get("call", "a"))?.body.attempts).toBe(60);
    });
  });
});
