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
    isCut: false,
    lines: [
      { at: "2026-11-21T23:59:00.000Z", event: "turn.started", fields: "messages: 1" },
      { at: "2026-11-22T00:01:00.000Z", event: "changes.kept", fields: 'turnIds: ["t0","t1"] · files: 2 · text: a b' },
      { at: "2026-11-22T00:02:00.000Z", event: "operator.acted", fields: "action: turn.stop · subject: t1" },
    ],
  });
});

test("a turn with very many lines is cut, and without files nothing is found", async () => {
  const wanted = { turnId: "t1", from: day("2026-11-21", "00:00:00"), to: day("2026-11-21", "01:00:00") };
  expect(await readTurnLog(join(folder, "missing"), wanted)).toEqual({ lines: [], isCut: false });
  const many = Array.from({ length: 600 }, () => line("2026-11-21T00:00:00.000Z", "x", { turnId: "t1" }));
  await writeFile(join(folder, "2026-11-21.a.jsonl"), `${many.join("\n")}\n`);
  const { lines, isCut } = await readTurnLog(folder, wanted);
  expect([lines.length, isCut]).toEqual([500, true]);
});
