import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readTurnLog } from "../../src/audit/turn-log.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "remora-log-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function line(at: string, event: string, fields: object): string {
  return JSON.stringify({ chain: "c", sequence: 1, prev: "0", at, event, ...fields });
}

const day = (date: string, time: string) => Date.parse(`${date}T${time}Z`);

test("lines of one turn come from all chains and days of the turn, sorted by time, on one line each", async () => {
  await writeFile(
    join(folder, "2026-11-21.a.jsonl"),
    `${[
      line("2026-11-21T23:59:00.000Z", "turn.started", { turnId: "t1", conversationId: "c", messages: 1 }),
      line("2026-11-21T23:59:01.000Z", "turn.started", { turnId: "t10", messages: 1 }),
      line("2026-11-21T23:59:02.000Z", "tool.called", { turnId: "t2", input: "about t1" }),
    ].join("\n")}\nnot json t1\n{"torn t1`,
  );
  await writeFile(
    join(folder, "2026-11-22.b.jsonl"),
    `${[
      line("2026-11-22T00:02:00.000Z", "operator.acted", { action: "turn.stop", subject: "t1" }),
      line("2026-11-22T00:01:00.000Z", "changes.kept", { turnIds: ["t0", "t1"], files: 2, text: "a\n\u202Eb" }),
    ].join("\n")}\n`,
  );
  await writeFile(
    join(folder, "2026-11-24.a.jsonl"),
    `${line("2026-11-24T00:00:00.000Z", "late", { turnId: "t1" })}\n`,
  );
  const wanted = { turnId: "t1", from: day("2026-11-21", "23:00:00"), to: day("2026-11-22", "01:00:00") };
  expect(await readTurnLog(folder, wanted)).toEqual({
    next: null,
    lines: [
      { at: "2026-11-21T23:59:00.000Z", event: "turn.started", fields: "messages: 1" },
      { at: "2026-11-22T00:01:00.000Z", event: "changes.kept", fields: 'turnIds: ["t0","t1"] · files: 2 · text: a b' },
      { at: "2026-11-22T00:02:00.000Z", event: "operator.acted", fields: "action: turn.stop · subject: t1" },
    ],
  });
});

test("a turn with very many lines comes in parts, and without files nothing is found", async () => {
  const wanted = { turnId: "t1", from: day("2026-11-21", "00:00:00"), to: day("2026-11-21", "01:00:00") };
  expect(await readTurnLog(join(folder, "missing"), wanted)).toEqual({ lines: [], next: null });
  const many = Array.from({ length: 600 }, () => line("2026-11-21T00:00:00.000Z", "x", { turnId: "t1" }));
  await writeFile(join(folder, "2026-11-21.a.jsonl"), `${many.join("\n")}\n`);
  const { lines, next } = await readTurnLog(folder, wanted);
  expect(lines).toHaveLength(500);
  const rest = await readTurnLog(folder, { ...wanted, after: next ?? "" });
  expect([rest.lines.length, rest.next]).toEqual([100, null]);
});

test("of a day with a very large log, each part reads a little, and all parts together find everything", async () => {
  const time = (minute: number) => new Date(day("2026-11-21", "00:00:00") + minute * 60_000).toISOString();
  const noise = "x".repeat(20_000);
  const all = Array.from({ length: 1_440 }, (_, minute) => [
    line(time(minute), "noise", { turnId: "other", noise }),
    line(time(minute), "noise", { turnId: "other", noise }),
    ...(minute >= 60 && minute < 1_380 && minute % 60 === 0 ? [line(time(minute), "mine", { turnId: "t1" })] : []),
  ]);
  const lines = all.flat();
  // One line is longer than any that is shown.
  lines.splice(1_000, 0, line(time(480), "mine", { turnId: "t1", noise: "y".repeat(5_000_000) }));
  await writeFile(join(folder, "2026-11-21.a.jsonl"), `${lines.join("\n")}\n`);
  const found: string[] = [];
  let parts = 0;
  for (let after: string | undefined = ""; after !== undefined; parts += 1) {
    const wanted = { turnId: "t1", from: day("2026-11-21", "00:59:00"), to: day("2026-11-21", "23:30:00") };
    const before = process.memoryUsage().external;
    const part = await readTurnLog(folder, { ...wanted, after });
    expect(process.memoryUsage().external - before).toBeLessThan(40 * 1024 * 1024);
    found.push(...part.lines.map(({ at }) => at));
    after = part.next ?? undefined;
  }
  expect(found).toEqual(Array.from({ length: 22 }, (_, hour) => time((hour + 1) * 60)));
  expect(parts).toBeGreaterThan(2);
  // Only the turn's own minutes are read, wherever in the day they are.
  const late = { turnId: "t1", from: day("2026-11-21", "21:59:00"), to: day("2026-11-21", "22:01:00") };
  expect(await readTurnLog(folder, late)).toMatchObject({ lines: [{ at: time(22 * 60) }], next: null });
});

test.each(["../../etc/passwd:0", "2026-11-21.a.jsonl:99999999999", ":", "x"])(
  "a forged place to continue (%s) reads no other file",
  async (after) => {
    await writeFile(join(folder, "2026-11-21.a.jsonl"), `${line("2026-11-21T00:00:00.000Z", "x", { turnId: "t1" })}\n`);
    const wanted = { turnId: "t1", from: day("2026-11-21", "00:00:00"), to: day("2026-11-21", "01:00:00"), after };
    expect((await readTurnLog(folder, wanted)).lines.length).toBeLessThanOrEqual(1);
  },
);
