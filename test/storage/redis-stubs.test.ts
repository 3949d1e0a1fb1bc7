/** Ended entries move from Redis to journal files. Readers of the ledger must see no difference. */
import { appendFile, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Hono } from "hono";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { searchThread } from "../../src/app/search-thread.ts";
import { createRetry } from "../../src/engine/conversation/retry-turn.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import { createMemory } from "../../src/memory/memory.ts";
import type { Leases } from "../../src/ports/cluster.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { createInMemoryLeases } from "../../src/storage/in-memory-cluster.ts";
import { createRedisConnection, type RedisConnection } from "../../src/storage/redis/connection.ts";
import { createJournalFiles, type JournalFiles } from "../../src/storage/redis/journal-files.ts";
import { createRedisLedger } from "../../src/storage/redis/ledger.ts";
import { createStubs } from "../../src/storage/redis/stubs.ts";
import { createRatings } from "../../src/turn-report/ratings.ts";
import { mountTurnSearch } from "../../src/web/endpoints/turn-search.ts";
import { ledgerConformance } from "../conformance/ledger.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";
import { missingRedis, type RedisServer, redisNote, startRedisServer } from "../doubles/redis-server.ts";

const hourMs = 3_600_000;
const later = () => Date.now() + hourMs + 1_000;

describe.skipIf(missingRedis !== undefined)(`stubs in Redis${redisNote}`, () => {
  let server: RedisServer;
  let connection: RedisConnection;
  let folder: string;
  let prefix: string;
  let prefixes = 0;
  let leases: Leases;
  let opened: JournalFiles[];
  let ledgers: Promise<Ledger>[];
  beforeAll(async () => {
    server = await startRedisServer({ persistence: "none" });
  });
  afterAll(() => server?.dispose());
  beforeEach(async () => {
    prefixes += 1;
    prefix = `{stubs-${prefixes}}:`;
    connection = createRedisConnection(server.url, silentLog);
    folder = await mkdtemp(join(tmpdir(), "remora-journals-"));
    leases = createInMemoryLeases();
    opened = [];
    ledgers = [];
  });
  afterEach(async () => {
    // Not every test needs the ledger that it opens. Closed before it is open, it would reject.
    await Promise.all(ledgers);
    await Promise.all(opened.map((journals) => journals.close()));
    await leases.close();
    await connection.close();
    await rm(folder, { recursive: true, force: true });
  });

  function open(now: () => number = Date.now) {
    const journals = createJournalFiles(folder, now);
    opened.push(journals);
    const stub = createStubs({ connection, prefix, journals, leases, log: silentLog });
    const ledger = createRedisLedger({ connection, prefix, journals });
    ledgers.push(ledger);
    return { journals, stub, ledger };
  }

  const fieldsOf = (kind: string, id: string) => server.client.hgetall(`${prefix}ledger:entry:${kind}:${id}`);

  describe("with each ended entry made a stub before each step", () => {
    ledgerConformance("the Redis ledger", async () => ({
      async open() {
        const { ledger: opening, stub } = open();
        const ledger = await opening;
        const afterStubs =
          <A extends unknown[], R>(work: (...args: A) => Promise<R>) =>
          async (...args: A): Promise<R> => {
            await stub(later());
            return await work(...args);
          };
        return {
          // The ledger stores what it is given at the call, which comes later here.
          create: (kind, id, entry) => afterStubs(ledger.create)(kind, id, structuredClone(entry)),
          get: afterStubs(ledger.get),
          transition: afterStubs(ledger.transition),
          list: afterStubs(ledger.list),
          prune: afterStubs(ledger.prune),
          close: ledger.close,
        } as Ledger;
      },
      dispose: async () => undefined,
    }));
  });

  const turn = turnRecord({ id: "t1", endedAt: 5, steps: [] });
  async function ended(ledger: Ledger): Promise<void> {
    await ledger.create("message", "test:m1", { state: "queued", body: inboundMessage(), group: "test:c1" });
    await ledger.create("turn", "t1", { state: "running", body: turn, group: "test:c1" });
    await ledger.transition("message", "test:m1", ["queued"], "answered");
    await ledger.transition("turn", "t1", ["running"], "done", (body) => ({ ...body, isDelivered: true }));
  }

  test("an ended turn stays whole for an hour; then Redis has its ids and outcome, and a private file the rest", async () => {
    const { ledger: opening, stub } = open();
    const ledger = await opening;
    await ended(ledger);
    const before = await ledger.get("turn", "t1");
    expect(await stub(Date.now() + hourMs - 60_000)).toBe(0);
    expect((await fieldsOf("turn", "t1")).body).toContain("isDelivered");
    expect(await stub(later())).toBe(2);
    expect(await fieldsOf("turn", "t1")).toMatchObject({ state: "done", group: "test:c1", body: "" });
    expect(await ledger.get("turn", "t1")).toEqual(before);
    expect(await ledger.list("turn", { group: "test:c1" })).toEqual([before]);
    expect(await ledger.create("message", "test:m1", { state: "queued", body: inboundMessage(), group: "g" })).toBe(
      false,
    );
    const [name = ""] = await readdir(folder);
    expect(name).toBe(`${new Date().toISOString().slice(0, 10)}.jsonl`);
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
    expect(await stub(later())).toBe(0);
  });

  test("open entries, and ended ones that change again, keep their body in Redis", async () => {
    const { ledger: opening, stub } = open();
    const ledger = await opening;
    await ended(ledger);
    await ledger.create("turn", "open", { state: "parked", body: { ...turn, id: "open" }, group: "test:c1" });
    await stub(later());
    expect((await fieldsOf("turn", "open")).body).not.toBe("");
    await ledger.transition("turn", "t1", ["done"], "failed", (body) => ({ ...body, failure: "late" }));
    expect((await fieldsOf("turn", "t1")).body).toContain("late");
    expect(await ledger.get("turn", "t1")).toMatchObject({
      state: "failed",
      body: { isDelivered: true, failure: "late" },
    });
    expect(await stub(later())).toBe(1);
    expect(await (await open().ledger).get("turn", "t1")).toMatchObject({ body: { failure: "late" } });
  });

  test("a crash between the file and the stub writes the line twice, and the second one counts", async () => {
    const { ledger: opening, stub, journals } = open();
    const ledger = await opening;
    await ended(ledger);
    await journals.append([{ kind: "turn", id: "t1", body: { id: "t1", failure: "an old line" } }]);
    const restarted = open();
    expect(await restarted.stub(later())).toBe(2);
    expect((await readdir(folder)).length).toBe(2);
    expect((await ledger.get("turn", "t1"))?.body).toMatchObject({ isDelivered: true });
    const lines = (await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")))).join(
      "",
    );
    expect(lines.match(/"id":"t1"/g)?.length).toBeGreaterThan(1);
    expect(await stub(later())).toBe(0);
  });

  test("each day has a file of its own, and nobody writes to another process's file", async () => {
    let now = Date.parse("2026-11-22T23:59:00Z");
    const [one, other] = [open(() => now).journals, open(() => now).journals];
    const line = (id: string) => ({ kind: "turn", id, body: { said: `“${id}”` } });
    const places = [...(await one.append([line("a"), line("b")])), ...(await other.append([line("c")]))];
    await appendFile(join(folder, "2026-11-22.jsonl"), "half a li");
    now += 120_000;
    places.push(...(await one.append([line("d")])));
    expect((await readdir(folder)).sort()).toEqual(["2026-11-22.2.jsonl", "2026-11-22.jsonl", "2026-11-23.jsonl"]);
    for (const [index, id] of ["a", "b", "c", "d"].entries())
      expect(await other.read(places[index] ?? "", "turn", id)).toEqual({ said: `“${id}”` });
    await expect(other.read(places[0] ?? "", "turn", "b")).rejects.toMatchObject({ code: "storage.journal-missing" });
  });

  test("a lost file hides its entries from lists, and a redelivered message is still known", async () => {
    const { ledger: opening, stub } = open();
    const ledger = await opening;
    await ended(ledger);
    await stub(later());
    await rm(folder, { recursive: true });
    expect(await ledger.list("turn", {})).toEqual([]);
    await expect(ledger.get("turn", "t1")).rejects.toMatchObject({ code: "storage.journal-missing" });
    expect(await ledger.create("message", "test:m1", { state: "queued", body: inboundMessage(), group: "g" })).toBe(
      false,
    );
    expect(await ledger.prune("turn", ["done"], later())).toBe(1);
    await ledger.close();
  });

  test("a call goes with its ended turn, and stays while the turn is open", async () => {
    const { ledger: opening, stub } = open();
    const ledger = await opening;
    await ended(ledger);
    await ledger.create("turn", "open", { state: "parked", body: { ...turn, id: "open" }, group: "test:c1" });
    const call = { callId: "c", name: "tool", attempts: 1, startedAt: 1 };
    for (const turnId of ["t1", "open"])
      await ledger.create("call", `${turnId}-c`, { state: "done", body: { ...call, turnId }, group: turnId });
    expect(await stub(later())).toBe(3);
    expect((await ledger.list("call", {})).map(({ id }) => id)).toEqual(["open-c"]);
    expect(await ledger.get("call", "open-c")).toMatchObject({ state: "done", body: call });
    expect(
      await ledger.transition("call", "t1-c", ["planned"], "started", () => ({ ...call, turnId: "t1" })),
    ).toBeUndefined();
    expect((await server.client.keys(`${prefix}*`)).filter((key) => key.includes("t1-c"))).toEqual([]);
  });

  test("what sweeps ask costs the same however many turns have ended", async () => {
    const { ledger: opening, stub } = open();
    const ledger = await opening;
    for (let number = 0; number < 20; number += 1)
      await ledger.create("turn", `open-${number}`, { state: "parked", body: turn, group: `test:c${number}` });
    const cost = async () => {
      const look = async () => {
        const figures = `${await server.client.info("stats")}${await server.client.info("commandstats")}`;
        const keysRead = [...figures.matchAll(/^cmdstat_(?:hmget|hget|zrange\w*|smembers|get):calls=(\d+)/gm)];
        const sum = keysRead.reduce((total, [, calls]) => total + Number(calls), 0);
        return { bytes: Number(/total_net_output_bytes:(\d+)/.exec(figures)?.[1]), sum };
      };
      await server.client.config("RESETSTAT");
      const before = await look();
      await ledger.list("turn", { states: ["running", "parked"] });
      await ledger.list("message", { states: ["queued"] });
      await ledger.list("message", { states: ["taken"] });
      await ledger.list("schedule", { dueBefore: Date.now() });
      await ledger.list("grant", { dueBefore: Date.now() });
      await stub(Date.now());
      const after = await look();
      return { bytes: after.bytes - before.bytes, sum: after.sum - before.sum };
    };
    await cost();
    const without = await cost();
    for (let number = 0; number < 1_000; number += 1) {
      await ledger.create("message", `m${number}`, { state: "answered", body: inboundMessage(), group: "test:c1" });
      await ledger.create("turn", `t${number}`, { state: "done", body: turn, group: "test:c1" });
    }
    const withWhole = await cost();
    expect(await stub(later())).toBe(2_000);
    const withStubs = await cost();
    for (const found of [withWhole, withStubs]) {
      expect(found.sum).toBe(without.sum);
      // The statistics themselves are a few digits longer.
      expect(Math.abs(found.bytes - without.bytes)).toBeLessThan(1_000);
    }
  });

  test("after an hour, a failed turn can still be tried again and rated, and the dashboard finds it by its words", async () => {
    const { ledger: opening, stub } = open();
    const ledger = await opening;
    await ended(ledger);
    await ledger.transition("turn", "t1", ["done"], "failed");
    await ledger.create("answer", "test:m9", { state: "posted", body: { turnId: "t1" }, group: "t1" });
    expect(await stub(later())).toBe(2);

    const by = inboundMessage().author;
    const again: string[] = [];
    const retry = createRetry({
      ledger,
      reports: { of: async () => ({ isSafeToRetry: true }) as never },
      barredBecause: async () => undefined,
      accept: async ({ text }) => again.push(text) > 0,
    });
    expect(await retry("t1", "test", by)).toMatchObject({ accepted: true });
    expect(again).toEqual(["hello"]);

    const memory = createMemory({
      thread: searchThread,
      ...{ workspace: folder, indexFile: ":memory:", events: createEvents(), log: silentLog, redact: (text) => text },
    });
    const ratings = createRatings({ ledger, memory, records: { refusal: async () => undefined }, isOn: true });
    const rated = await ratings.rate({ platform: "test", messageId: "m9", action: "good", by, at: Date.now() });
    expect(rated).toMatchObject({ accepted: true });
    await memory.close();

    const app = new Hono();
    mountTurnSearch(app, ledger);
    const found = await app.request("/dashboard/data/turns?text=hel&state=failed");
    expect(await found.json()).toMatchObject({ turns: [{ id: "t1" }] });
  });

  test("only one process at a time moves entries, and a damaged one does not hold up the others", async () => {
    const { ledger: opening, stub } = open();
    const ledger = await opening;
    await ended(ledger);
    await server.client.hset(`${prefix}ledger:entry:message:test:m1`, "body", "{");
    const lease = await leases.acquire("journals");
    expect(await stub(later())).toBe(0);
    await lease?.release();
    expect(await stub(later())).toBe(1);
    expect((await fieldsOf("message", "test:m1")).body).toBe("{");
  });

  test.each([
    { layout: 1, becomes: "gone" },
    { layout: 2, becomes: "due" },
  ])(
    "entries of layout $layout, whose indexes are others, are found after the next start",
    async ({ layout, becomes }) => {
      const { ledger: opening } = open();
      const before = await opening;
      await ended(before);
      const approval = { turnId: "t2", expiresAt: 5 } as never;
      await before.create("approval", "a1", { state: "open", body: approval, group: "t2" });
      for (const kind of ["turn", "message"])
        await server.client.rename(`${prefix}ledger:ended:${kind}`, `${prefix}ledger:${becomes}:${kind}`);
      await server.client.del(`${prefix}ledger:due:approval`);
      await server.client.set(`${prefix}ledger:version`, layout);
      const { ledger: again, stub } = open();
      const ledger = await again;
      expect(await server.client.get(`${prefix}ledger:version`)).toBe("3");
      expect((await ledger.list("approval", { dueBefore: 6 })).map(({ id }) => id)).toEqual(["a1"]);
      expect(await server.client.keys(`${prefix}ledger:due:*`)).toEqual([`${prefix}ledger:due:approval`]);
      expect(await stub(later())).toBe(2);
    },
  );
});
