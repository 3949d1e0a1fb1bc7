import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Ledger } from "../../src/ports/ledger.ts";
import { type DueKind, dueFields } from "../../src/storage/due-fields.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { ledgerConformance } from "../conformance/ledger.ts";

ledgerConformance("the SQLite ledger", async () => {
  const folder = await mkdtemp(join(tmpdir(), "remora-ledger-"));
  const opened: Ledger[] = [];
  return {
    async open() {
      const ledger = createSqliteLedger({ path: join(folder, "deeper", "ledger.db") });
      opened.push(ledger);
      return ledger;
    },
    async dispose() {
      await Promise.all(opened.map((ledger) => ledger.close()));
      await rm(folder, { recursive: true });
    },
  };
});

const body = { turnId: "turn", callId: "call", name: "tool", attempts: 0, startedAt: 1 };

function startWriter(...task: string[]): ChildProcess {
  const script = fileURLToPath(new URL("ledger-writer.ts", import.meta.url));
  return spawn(process.execPath, [script, ...task], { stdio: ["ignore", "pipe", "inherit"] });
}

describe("the SQLite ledger as a file", () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "remora-ledger-"));
    path = join(folder, "ledger.db");
  });
  afterEach(() => rm(folder, { recursive: true }));

  test("works in memory", async () => {
    const ledger = createSqliteLedger({ path: ":memory:" });
    expect(await ledger.create("call", "a", { state: "planned", body, group: "turn" })).toBe(true);
    expect(await ledger.get("call", "a")).toBeDefined();
    await ledger.close();
  });

  test("what a resolved promise said is there after kill -9, and the file is sound", async () => {
    for (let round = 0; round < 3; round += 1) {
      const file = join(folder, `round-${round}.db`);
      const writer = startWriter("write", file);
      let said = "";
      writer.stdout?.on("data", (chunk: Buffer) => {
        said += chunk.toString();
        if (said.split("\n").length > 100 * (round + 1)) writer.kill("SIGKILL");
      });
      const [, signal] = await once(writer, "close");
      expect(signal).toBe("SIGKILL");
      const ids = said.split("\n").slice(0, -1);
      expect(ids.length).toBeGreaterThanOrEqual(100 * (round + 1));
      const ledger = createSqliteLedger({ path: file });
      const kept = await ledger.list("call", { states: ["done"] });
      expect(kept.slice(0, ids.length).map((entry) => entry.id)).toEqual(ids);
      expect(kept.every((entry) => entry.id === `k${entry.body.attempts}`)).toBe(true);
      await ledger.close();
      const raw = new DatabaseSync(file);
      expect(raw.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
      raw.close();
    }
  });

  test("of several processes exactly one wins each entry, and no guarded change is lost", async () => {
    const count = 2_000;
    const ledger = createSqliteLedger({ path });
    await ledger.create("call", "counter", { state: "planned", body, group: "turn" });
    for (let number = 0; number < count; number += 1) {
      await ledger.create("call", `k${number}`, { state: "planned", body, group: "turn" });
    }
    const writers = [1, 2, 3].map(() => startWriter("claim", path, String(count)));
    const won = await Promise.all(
      writers.map(async (writer) => JSON.parse(writer.stdout === null ? "[]" : await text(writer.stdout)) as string[]),
    );
    expect(won.flat().sort()).toEqual(Array.from({ length: count }, (_, number) => `k${number}`).sort());
    expect((await ledger.get("call", "counter"))?.body.attempts).toBe(3 * count);
    await ledger.close();
  });

  test("a file of a newer version is refused with both versions named, and left as it is", async () => {
    await createSqliteLedger({ path }).close();
    const raw = new DatabaseSync(path);
    raw.exec("PRAGMA user_version = 7");
    raw.close();
    const before = await readFile(path);
    expect(() => createSqliteLedger({ path })).toThrow(/schema version 7.*versions up to 2/);
    expect(await readFile(path)).toEqual(before);
  });

  test("another program's database is refused, and left as it is", async () => {
    const raw = new DatabaseSync(path);
    raw.exec("CREATE TABLE theirs (id TEXT)");
    raw.close();
    expect(() => createSqliteLedger({ path })).toThrow(expect.objectContaining({ code: "storage.foreign" }));
    const again = new DatabaseSync(path);
    expect(again.prepare("SELECT name FROM sqlite_master").all()).toEqual([{ name: "theirs" }]);
    again.close();
  });

  test("a damaged file is named, with what to do, and left as it is", async () => {
    await writeFile(path, "this is no database, and long enough to be looked at");
    expect(() => createSqliteLedger({ path })).toThrow(
      expect.objectContaining({ code: "storage.corrupt", message: expect.stringContaining(path) }),
    );
    expect(await readFile(path, "utf8")).toContain("this is no database");
  });

  test("damage that is found later rejects with the file's name", async () => {
    const first = createSqliteLedger({ path });
    for (let number = 0; number < 200; number += 1) {
      await first.create("call", `k${number}`, { state: "planned", body, group: "turn" });
    }
    await first.close();
    const bytes = await readFile(path);
    bytes.fill(0xa5, 4_096);
    await writeFile(path, bytes);
    const ledger = createSqliteLedger({ path });
    await expect(ledger.list("call", {})).rejects.toMatchObject({
      code: "storage.corrupt",
      message: expect.stringContaining(path),
    });
    await ledger.close();
  });

  test("lists leave out an entry that can't be read, and report it once", async () => {
    const noted: string[] = [];
    const ledger = createSqliteLedger({ path, damaged: { note: (kind, id) => noted.push(`${kind} ${id}`) } });
    for (const id of ["a", "b", "c", "d"]) await ledger.create("call", id, { state: "planned", body, group: "turn" });
    const raw = new DatabaseSync(path);
    raw.exec("UPDATE entry SET body = '{\"turnId\":' WHERE id = 'b'; UPDATE entry SET body = 'null' WHERE id = 'c'");
    raw.close();
    expect((await ledger.list("call", {})).map(({ id }) => id)).toEqual(["a", "d"]);
    expect(noted).toEqual(["call b", "call c"]);
    // The call may have run, so nothing treats it as absent.
    await expect(ledger.get("call", "b")).rejects.toMatchObject({ code: "storage.corrupt" });
    expect(await ledger.create("call", "b", { state: "planned", body, group: "turn" })).toBe(false);
    await ledger.close();
  });

  test("an entry that is no JSON is named", async () => {
    const ledger = createSqliteLedger({ path });
    await ledger.create("call", "a", { state: "planned", body, group: "turn" });
    const raw = new DatabaseSync(path);
    raw.exec("UPDATE entry SET body = '{'");
    raw.close();
    await expect(ledger.get("call", "a")).rejects.toMatchObject({
      code: "storage.corrupt",
      message: expect.stringContaining("call a"),
    });
    await ledger.close();
  });

  test("a folder that can't be made is named, with what to do", async () => {
    await writeFile(join(folder, "file"), "");
    expect(() => createSqliteLedger({ path: join(folder, "file", "ledger.db") })).toThrow(
      expect.objectContaining({
        code: "storage.unreachable",
        message: expect.stringContaining("Check that the folder"),
      }),
    );
  });

  test("lists by state and by group use an index", async () => {
    await createSqliteLedger({ path }).close();
    const raw = new DatabaseSync(path);
    const plan = (sql: string) => JSON.stringify(raw.prepare(`EXPLAIN QUERY PLAN ${sql}`).all("[]"));
    const states = "state IN (SELECT value FROM json_each(?))";
    expect(plan(`SELECT * FROM entry WHERE kind = 'call' AND ${states}`)).toContain("entry_by_state");
    expect(plan(`SELECT * FROM entry WHERE kind = 'call' AND "group" = 'g' AND +${states}`)).toContain(
      "entry_by_group",
    );
    raw.close();
  });

  test("lists of what is due use an index, also in a file of an earlier version", async () => {
    await createSqliteLedger({ path }).close();
    const raw = new DatabaseSync(path);
    for (const kind of Object.keys(dueFields)) raw.exec(`DROP INDEX entry_due_${kind}`);
    raw.exec("PRAGMA user_version = 1");
    const prepare = vi.spyOn(DatabaseSync.prototype, "prepare");
    onTestFinished(() => prepare.mockRestore());
    const ledger = createSqliteLedger({ path });
    for (const [kind, { states }] of Object.entries(dueFields)) {
      prepare.mockClear();
      await ledger.list(kind as DueKind, { dueBefore: 1, states: [...states] as never });
      const plan = raw.prepare(`EXPLAIN QUERY PLAN ${prepare.mock.lastCall?.[0]}`).all();
      const reads = plan.map(({ detail }) => detail).filter((detail) => /^(?:SCAN|SEARCH) entry/.test(String(detail)));
      expect(reads).toEqual([`SEARCH entry USING INDEX entry_due_${kind} (<expr><?)`]);
    }
    await ledger.close();
    raw.close();
  });
});

describe("changes of one turn of the event loop", () => {
  let folder: string;
  let ledger: Ledger;
  let database: DatabaseSync;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "remora-ledger-"));
    const exec = vi.spyOn(DatabaseSync.prototype, "exec");
    ledger = createSqliteLedger({ path: join(folder, "ledger.db") });
    database = exec.mock.contexts[0] as DatabaseSync;
    exec.mockRestore();
  });
  afterEach(async () => {
    await ledger.close();
    await rm(folder, { recursive: true });
  });

  const made = (id: string, more = {}) =>
    ledger.create("call", id, { state: "planned", body: { ...body, ...more }, group: "turn" });

  function otherConnection(): DatabaseSync {
    const other = new DatabaseSync(join(folder, "ledger.db"));
    onTestFinished(() => other.close());
    return other;
  }

  test("share a commit, and each is on disk when its promise resolves", async () => {
    const exec = vi.spyOn(DatabaseSync.prototype, "exec");
    onTestFinished(() => exec.mockRestore());
    const other = otherConnection();
    const seen = await Promise.all(
      Array.from({ length: 50 }, async (_, number) => {
        await made(`k${number}`);
        return other.prepare("SELECT count(*) AS count FROM entry WHERE id = ?").get(`k${number}`)?.count;
      }),
    );
    expect(seen).toEqual(Array.from({ length: 50 }, () => 1));
    expect(exec.mock.calls.filter(([sql]) => sql === "COMMIT")).toHaveLength(1);
  });

  test("no promise resolves before the commit, and no change is kept if it fails", async () => {
    const exec = vi.spyOn(DatabaseSync.prototype, "exec").mockImplementation(function (this: DatabaseSync, sql) {
      if (sql === "COMMIT") throw Object.assign(new Error("disk full"), { errcode: 13 });
      return this.prepare(sql).run() as unknown as undefined;
    });
    const all = await Promise.allSettled([made("a"), made("b"), ledger.get("call", "a")]);
    exec.mockRestore();
    expect(all).toEqual([
      { status: "rejected", reason: expect.objectContaining({ code: "storage.full", isRetryable: true }) },
      { status: "rejected", reason: expect.objectContaining({ code: "storage.full" }) },
      { status: "fulfilled", value: undefined },
    ]);
    expect(await ledger.list("call", {})).toEqual([]);
    expect(await made("a")).toBe(true);
  });

  test("a change that does not fit on a full disk does not undo the others", async () => {
    const { page_count: pages } = database.prepare("PRAGMA page_count").get() as { page_count: number };
    database.exec(`PRAGMA max_page_count = ${pages + 4}`);
    const large = { name: "x".repeat(100_000) };
    const all = await Promise.allSettled([made("a"), made("b", large), made("c")]);
    expect(all).toMatchObject([
      { status: "fulfilled", value: true },
      { status: "rejected", reason: { code: "storage.full" } },
      { status: "fulfilled", value: true },
    ]);
    expect((await ledger.list("call", {})).map(({ id }) => id)).toEqual(["a", "c"]);
  });

  test("a change that throws does not undo the others", async () => {
    await made("a");
    const broken = ledger.transition("call", "a", ["planned"], "done", () => {
      throw new Error("a bug in the change");
    });
    const all = await Promise.allSettled([made("b"), broken, made("c")]);
    expect(all.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect((await ledger.list("call", {})).map(({ id, state }) => `${id} ${state}`)).toEqual([
      "a planned",
      "b planned",
      "c planned",
    ]);
  });

  test("run in the order of the calls, and a read sees those before it", async () => {
    const [, before, , after] = await Promise.all([
      made("a"),
      ledger.get("call", "a"),
      ledger.transition("call", "a", ["planned"], "started"),
      ledger.list("call", { states: ["started"] }),
    ]);
    expect(before?.state).toBe("planned");
    expect(after.map(({ id }) => id)).toEqual(["a"]);
  });

  test("a body is stored as it was at the call, even if the caller changes it afterwards", async () => {
    const mine = { ...body };
    const making = ledger.create("call", "a", { state: "planned", body: mine, group: "turn" });
    mine.attempts = 9;
    await making;
    expect((await ledger.get("call", "a"))?.body.attempts).toBe(0);
  });

  test("take the file's lock only while they are written", async () => {
    const other = otherConnection();
    const making = made("a");
    other.exec("PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; ROLLBACK");
    expect(await making).toBe(true);
  });

  test("fail together while another process has the lock; reads continue", async () => {
    database.exec("PRAGMA busy_timeout = 0");
    const other = otherConnection();
    other.exec("BEGIN IMMEDIATE");
    const all = await Promise.allSettled([made("a"), ledger.get("call", "a"), made("b")]);
    other.exec("ROLLBACK");
    expect(all).toMatchObject([
      { status: "rejected", reason: { code: "storage.busy", isRetryable: true } },
      { status: "fulfilled", value: undefined },
      { status: "rejected", reason: { code: "storage.busy" } },
    ]);
    expect(await made("a")).toBe(true);
  });

  test("waiting changes are committed before the ledger closes", async () => {
    const making = made("a");
    await ledger.close();
    expect(await making).toBe(true);
    expect(otherConnection().prepare("SELECT id FROM entry").all()).toEqual([{ id: "a" }]);
  });
});
