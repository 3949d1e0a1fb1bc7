import { createHash } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type AuditLog, createAuditLog } from "../../src/audit/audit-log.ts";
import { exportAudit } from "../../src/audit/export.ts";
import { verifyAudit } from "../../src/audit/verify.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import type { Log } from "../../src/lib/log.ts";
import { silentLog } from "../../src/lib/log.ts";
import { createMasker } from "../../src/lib/redact.ts";
import { stallNext } from "../doubles/stalled-files.ts";

const dayMs = 86_400_000;
const secret = 'a-very-"secret"-value';
let home: string;
let corpus: string;
let headsFolder: string;
let clock: number;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "remora-audit-"));
  corpus = join(home, "corpus");
  headsFolder = join(home, "heads");
  clock = Date.UTC(2026, 10, 21, 12);
  // Events have the time of the machine.
  vi.useFakeTimers({ toFake: ["Date"], now: clock });
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(home, { recursive: true, force: true });
});

function start(log: Log = silentLog) {
  const events = createEvents();
  const mask = createMasker([{ name: "CLOUD_KEY", value: secret }]);
  const audit = createAuditLog({
    ...{ events, folder: corpus, headsFolder, retentionDays: 30, mask, log },
    now: () => clock,
  });
  const say = (message: string) => events.emit("platform.disconnected", { platform: "local", message });
  return { events, audit, say };
}

/** A chain with these events, ended as a process ends. */
async function chainOf(...messages: string[]): Promise<void> {
  const { audit, say } = start();
  for (const message of messages) say(message);
  await audit.close();
  clock += 1_000;
}

const undoing = (undoId: string) => ({ draftId: "d1", undoId, approvalId: "a1", by: "ann" });

function record(audit: AuditLog, undoId: string): Promise<void> {
  return audit.record("changes.undoing", undoing(undoId));
}

function files(): string[] {
  return readdirSync(corpus).toSorted();
}

function fileAt(index: number): string {
  return join(corpus, files().at(index) ?? "");
}

function linesIn(path: string): string[] {
  return readFileSync(path, "utf8").trimEnd().split("\n");
}

function rewrite(path: string, change: (lines: string[]) => string[]): void {
  writeFileSync(path, `${change(linesIn(path)).join("\n")}\n`);
}

async function exported(since: number): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of exportAudit(corpus, since)) lines.push(line);
  return lines;
}

async function problems() {
  return (await verifyAudit({ folder: corpus, headsFolder })).problems.map(({ file, line, kind }) => ({
    file,
    line,
    kind,
  }));
}

describe("lines", () => {
  test("every event is one, in order, with its number and the hash of the line before it", async () => {
    await chainOf(...Array.from({ length: 500 }, (_, index) => `${index}`));
    expect(files()).toEqual([expect.stringMatching(/^2026-11-21\.[a-z0-9-]+\.jsonl$/)]);
    const [first, ...lines] = linesIn(fileAt(0)).map((line) => JSON.parse(line));
    expect(first).toMatchObject({ sequence: 1, prev: "0".repeat(64), event: "audit.started", after: [] });
    expect(lines.map(({ message }) => message)).toEqual(Array.from({ length: 500 }, (_, index) => `${index}`));
    expect(lines.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 500 }, (_, index) => index + 2));
    expect(await verifyAudit({ folder: corpus, headsFolder })).toEqual({
      chains: 1,
      lines: 501,
      problems: [],
      notes: [],
    });
  });

  test("configured secrets are masked before JSON escapes them, and nothing by its looks", async () => {
    const looks = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz";
    await chainOf(`token ${secret}\n${looks}`);
    const text = readFileSync(fileAt(0), "utf8");
    expect(text).not.toContain("a-very-");
    expect(JSON.parse(linesIn(fileAt(0))[1] ?? "").message).toBe(
      `token [CLOUD_KEY, ${secret.length} characters]\n${looks}`,
    );
  });

  test("what is recorded is in the file when that resolves, and a thousand at once are written together", async () => {
    const { audit } = start();
    const ids = Array.from({ length: 1_000 }, (_, index) => `u${index}`);
    await Promise.all(ids.map((id) => record(audit, id)));
    expect(linesIn(fileAt(0)).flatMap((line) => JSON.parse(line).undoId ?? [])).toEqual(ids);
    await audit.close();
    expect(await problems()).toEqual([]);
  });

  test("a chain goes on over midnight in the next day's file", async () => {
    const { audit } = start();
    await record(audit, "u1");
    clock += dayMs;
    await record(audit, "u2");
    await audit.close();
    expect(files().map((name) => name.slice(0, 10))).toEqual(["2026-11-21", "2026-11-22"]);
    expect(await problems()).toEqual([]);
  });

  test("chains of several processes side by side, and those that follow them, are in order", async () => {
    const [one, other] = [start(), start()];
    await Promise.all([record(one.audit, "u1"), record(other.audit, "u2")]);
    clock += 1_000;
    await chainOf("while both still write");
    await Promise.all([record(one.audit, "u3"), record(other.audit, "u4")]);
    await Promise.all([one.audit.close(), other.audit.close()]);
    await chainOf("after both");
    expect(files()).toHaveLength(4);
    expect(await problems()).toEqual([]);
  });
});

describe("verify finds", () => {
  beforeEach(async () => {
    await chainOf("a", "b", "c", "d", "e");
    await chainOf("later");
  });

  test("a line that was deleted in the middle", async () => {
    const path = fileAt(0);
    rewrite(path, (lines) => lines.toSpliced(2, 1));
    expect(await problems()).toEqual([{ file: files()[0], line: 3, kind: "deleted" }]);
  });

  test("a line that was changed", async () => {
    rewrite(fileAt(0), (lines) => lines.with(3, (lines[3] ?? "").replace('"c"', '"x"')));
    expect(await problems()).toEqual([{ file: files()[0], line: 4, kind: "changed" }]);
  });

  test("a line that is no JSON any more", async () => {
    rewrite(fileAt(0), (lines) => lines.with(3, "{"));
    expect(await problems()).toEqual([{ file: files()[0], line: 4, kind: "changed" }]);
  });

  test("two lines that were swapped", async () => {
    rewrite(fileAt(0), (lines) => lines.with(2, lines[3] ?? "").with(3, lines[2] ?? ""));
    const found = await problems();
    expect(new Set(found.map(({ kind }) => kind))).toEqual(new Set(["reordered"]));
    expect(found[0]).toMatchObject({ file: files()[0], line: 3 });
  });

  test.each([0, 1])("the last line of a chain, deleted or changed (chain %i)", async (index) => {
    const kept = readFileSync(fileAt(index), "utf8");
    rewrite(fileAt(index), (lines) => lines.slice(0, -1));
    expect((await problems())[0]).toMatchObject({ file: files()[index], kind: "deleted" });
    writeFileSync(fileAt(index), kept.replace(/"message":"(?:e|later)"/, '"message":"x"'));
    const line = linesIn(fileAt(index)).length;
    expect((await problems())[0]).toEqual({ file: files()[index], line, kind: "changed" });
  });

  test("the first line of a chain that was deleted", async () => {
    rewrite(fileAt(0), (lines) => lines.slice(1));
    expect((await problems())[0]).toEqual({ file: files()[0], line: 1, kind: "deleted" });
  });

  test("a file that was deleted, the newest one too", async () => {
    const [first = "", second = ""] = files();
    renameSync(join(corpus, second), join(home, "kept"));
    expect(await problems()).toEqual([{ file: expect.stringContaining(".jsonl"), line: 0, kind: "deleted" }]);
    renameSync(join(home, "kept"), join(corpus, second));
    expect(await problems()).toEqual([]);
    rmSync(join(corpus, first));
    expect((await problems()).map(({ kind }) => kind)).toContain("deleted");
  });

  test("the end of an earlier chain, also where the data folder's note of it is gone", async () => {
    rmSync(headsFolder, { recursive: true });
    rewrite(fileAt(0), (lines) => lines.slice(0, -2));
    expect(await problems()).toEqual([{ file: files()[0], line: 0, kind: "deleted" }]);
  });
});

test("a line that somebody adds to a chain that has ended is found", async () => {
  await chainOf("a");
  await chainOf("b");
  const path = fileAt(0);
  const last = linesIn(path).at(-1) ?? "";
  const { chain, sequence, at } = JSON.parse(last);
  const prev = createHash("sha256").update(last).digest("hex");
  appendFileSync(path, `${JSON.stringify({ chain, sequence: sequence + 1, prev, at, event: "approval.answered" })}\n`);
  expect(await problems()).toEqual([{ file: files()[0], line: 3, kind: "added" }]);
});

describe("a line that was cut off", () => {
  test("by a crash is in order before the next start and after it, and can't be changed then", async () => {
    await chainOf("a", "b");
    const path = fileAt(0);
    appendFileSync(path, '{"chain":"half a li');
    expect(await problems()).toEqual([]);
    await chainOf("after the crash");
    await chainOf("and later");
    expect(await problems()).toEqual([]);
    appendFileSync(path, "more");
    expect(await problems()).toEqual([{ file: files()[0], line: 4, kind: "changed" }]);
  });

  test("as the very first of a process is in order, too", async () => {
    await chainOf("a");
    writeFileSync(join(corpus, "2026-11-21.zzz-1.jsonl"), '{"chain":"zz');
    await chainOf("b");
    expect(await problems()).toEqual([]);
  });
});

describe("the retention", () => {
  async function overMonths() {
    const long = start();
    for (let day = 0; day < 3; day++) {
      await record(long.audit, `u${day}`);
      clock += 20 * dayMs;
    }
    return long;
  }

  test("removes files past it, says so, and verify accepts exactly that", async () => {
    await chainOf("ended long ago");
    const { audit } = await overMonths();
    writeFileSync(join(corpus, "notes.txt"), "");
    const before = files().filter((name) => name.endsWith(".jsonl"));
    await audit.prune();
    await record(audit, "last");
    await audit.close();
    expect(before).toHaveLength(4);
    expect(files()).toEqual([...before.slice(3), expect.stringMatching(/^2027-/), "notes.txt"].toSorted());
    expect(await problems()).toEqual([]);
    await chainOf("the next start");
    expect(await problems()).toEqual([]);
  });

  test.each(["prunes too", "starts"])(
    "may end while another process %s: neither fails, and verify accepts it",
    async (what) => {
      await chainOf("ended long ago");
      await chainOf("ended then, too");
      clock += 100 * dayMs;
      const [one, other] = [start(), start()];
      const stall = stallNext("open", (path = "") => path.endsWith(".jsonl") && path.includes("2026-"));
      const stalled = what === "starts" ? record(one.audit, "u1") : one.audit.prune();
      await stall.begun;
      await other.audit.prune();
      stall.end();
      await stalled;
      for (const { audit } of [one, other]) await audit.close();
      expect(files().filter((name) => name.startsWith("2026-"))).toEqual([]);
      expect(await problems()).toEqual([]);
    },
  );

  test("does not excuse what else is missing", async () => {
    const { audit } = await overMonths();
    await audit.prune();
    await audit.close();
    rmSync(fileAt(0));
    expect((await problems()).map(({ kind }) => kind)).toContain("deleted");
  });

  test("does not take a file that was renamed for an old one", async () => {
    await chainOf("inconvenient");
    const renamed = files()[0]?.replace("2026-", "2020-") ?? "";
    renameSync(fileAt(0), join(corpus, renamed));
    const { audit } = start();
    await audit.prune();
    await record(audit, "u1");
    await audit.close();
    expect(files()).toContain(renamed);
    expect(await problems()).toEqual([{ file: renamed, line: 0, kind: "reordered" }]);
  });

  test("is not believed when it names what can't have been old enough", async () => {
    await chainOf("inconvenient");
    const [file = ""] = files();
    const chain = file.slice("2026-11-21.".length, -".jsonl".length);
    rmSync(join(corpus, file));
    for (const name of [file, file.replace("2026-", "2020-")]) {
      const { audit } = start();
      await audit.record("audit.pruned" as never, { files: [{ file: name, chain, sequence: 99, hash: "" }] } as never);
      await audit.close();
    }
    expect((await problems()).map(({ kind }) => kind)).toContain("deleted");
  });

  test("forgets where chains stood that it has removed", async () => {
    await chainOf("ended long ago");
    for (const name of readdirSync(headsFolder)) utimesSync(join(headsFolder, name), 0, 0);
    clock += 100 * dayMs;
    const { audit } = start();
    await audit.prune();
    clock += 100 * dayMs;
    await audit.prune();
    await audit.close();
    expect(readdirSync(headsFolder)).toHaveLength(1);
    expect(await problems()).toEqual([]);
  });

  test("files from before there were chains are told, checked from the first start on, and removed in their time", async () => {
    mkdirSync(corpus);
    const old = join(corpus, "2026-11-20.jsonl");
    writeFileSync(old, '{"at":"2026-11-20T12:00:00.000Z","event":"turn.started"}\n');
    const { notes, problems: none } = await verifyAudit({ folder: corpus, headsFolder });
    expect([notes.length, none]).toEqual([1, []]);
    await chainOf("the first with a chain");
    expect(await problems()).toEqual([]);
    appendFileSync(old, "{}\n");
    expect(await problems()).toEqual([{ file: "2026-11-20.jsonl", line: 0, kind: "changed" }]);
    rmSync(old);
    expect(await problems()).toEqual([{ file: "2026-11-20.jsonl", line: 0, kind: "deleted" }]);
  });
});

describe("a write that fails", () => {
  test("rejects for all who wait, is reported once, and leaves the chain whole; what was lost is counted", async () => {
    const reports: string[] = [];
    const log = { ...silentLog, error: (_fields: object, message: string) => reports.push(message) };
    const { audit, say } = start(log);
    await record(audit, "u1");
    // Nobody, root included, makes a folder in place of a file.
    renameSync(corpus, join(home, "away"));
    writeFileSync(corpus, "");
    say("lost");
    await expect(record(audit, "u2")).rejects.toMatchObject({ code: "audit.write" });
    await expect(record(audit, "u3")).rejects.toThrow("the action was not taken");
    expect(reports).toEqual(["the audit log can't be written"]);
    rmSync(corpus);
    renameSync(join(home, "away"), corpus);
    await record(audit, "u4");
    await audit.close();
    const lines = linesIn(fileAt(0)).map((line) => JSON.parse(line));
    expect(lines.map(({ event }) => event)).toEqual([
      "audit.started",
      "changes.undoing",
      "audit.lost",
      "changes.undoing",
    ]);
    expect(lines[2]).toMatchObject({ lines: 1 });
    expect(await problems()).toEqual([]);
  });

  test("a file that is taken away while it is written is found to be missing, and the chain goes on", async () => {
    const { audit } = start();
    await record(audit, "u1");
    rmSync(fileAt(0));
    await record(audit, "u2");
    await audit.close();
    expect(existsSync(fileAt(0))).toBe(true);
    expect((await problems())[0]).toMatchObject({ line: 1, kind: "deleted" });
  });
});

test("an export has the lines of all chains from a time on, in the order of their times", async () => {
  await chainOf("old");
  // Events of the bus carry the real time.
  clock = Math.max(clock, Date.now()) + dayMs;
  const since = clock;
  await chainOf("new");
  await chainOf("newer");
  const lines = await exported(since);
  expect(lines.map((line) => JSON.parse(line).event)).toEqual(["audit.started", "audit.started"]);
  const all = await exported(0);
  expect(all.flatMap((line) => JSON.parse(line).message ?? [])).toEqual(
    expect.arrayContaining(["old", "new", "newer"]),
  );
  for (const line of all) expect(linesIn(fileAt(0)).concat(linesIn(fileAt(1)), linesIn(fileAt(2)))).toContain(line);
});

test("a listener that throws keeps no other from hearing", () => {
  const thrown: unknown[] = [];
  const events = createEvents((problem) => thrown.push(problem));
  const heard: string[] = [];
  events.listen(() => {
    throw new Error("broken listener");
  });
  const stop = events.listen((event) => heard.push(event.name));
  events.emit("platform.connected", { platform: "local" });
  stop();
  events.emit("platform.connected", { platform: "local" });
  expect(heard).toEqual(["platform.connected"]);
  expect(thrown).toHaveLength(2);
});
