/** What people read while a turn works. */
import { describe, expect, test } from "vitest";
import { describeProgress } from "../../src/engine/turn/describe-progress.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import {
  currentLine,
  durationText,
  maxHeadlineLength,
  maxProgressTasks,
  progressLine,
} from "../../src/ports/progress.ts";
import type { ToolStatus } from "../../src/ports/tool.ts";
import type { CallRecord, StepRecord } from "../../src/ports/turn.ts";
import { toolSpec, turnRecord } from "../doubles/records.ts";

const phrases = { doing: "Reading {path}", done: "Read {path}", many: "Read {count} files" };
const specs = [toolSpec("read_file", { phrases }), toolSpec("run_tests")];
const now = 1_000_000;
let ids = 0;

function call(name: string, input: JsonObject, more: Partial<CallRecord> = {}): CallRecord {
  const id = `c${++ids}`;
  return { raw: { id, name, inputJson: JSON.stringify(input) }, call: { id, name, input }, ...more };
}

function ended(name: string, input: JsonObject, status: ToolStatus = "ok", durationMs = 10): CallRecord {
  const record = call(name, input, { startedAt: now - durationMs });
  const result = { callId: record.raw.id, name, status, text: "", attempts: 1, durationMs, files: [] };
  return { ...record, result };
}

function progressOf(calls: CallRecord[], more: Partial<Parameters<typeof describeProgress>[0]> = {}) {
  const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const step: StepRecord = { text: "", calls, stop: "tool-calls", model: "m", requestedModel: "m", usage, at: now };
  return describeProgress({ turn: turnRecord({ steps: [step] }), specs, holdUps: new Map(), ...more });
}

describe("the line", () => {
  test("folds what is the same, says how long slow work took, and ends with what goes on", () => {
    const reads = ["a", "b", "c"].map((path) => ended("read_file", { path }));
    const progress = progressOf([
      ...reads,
      ended("run_tests", {}, "ok", 12_400),
      call("read_file", { path: "d" }, { approvalId: "a1" }),
    ]);
    expect(progressLine(progress, now)).toBe("Read 3 files · ran run_tests (12 s) · waiting for approval");
    expect(progress.tasks.map(({ title, state }) => `${state}: ${title}`)).toEqual([
      "done: Read a",
      "done: Read b",
      "done: Read c",
      "done: Ran run_tests",
      "waiting: Reading d",
    ]);
  });

  test("shows since when something runs, from five seconds on", () => {
    const running = call("run_tests", {}, { startedAt: now - 12_000 });
    expect(progressLine(progressOf([running]), now)).toBe("Running run_tests · 12 s");
    expect(currentLine(progressOf([ended("read_file", { path: "a" }), running]), now)).toBe("Running run_tests · 12 s");
    expect(progressLine(progressOf([{ ...running, startedAt: now - 4_999 }]), now)).toBe("Running run_tests");
  });

  test("shows what holds a call up, instead of a time that would mislead", () => {
    const running = call("run_tests", {}, { startedAt: now - 60_000 });
    const holdUps = new Map([[running.raw.id, "trying again in 6 s (attempt 2)"]]);
    expect(progressLine(progressOf([running], { holdUps }), now)).toBe(
      "Running run_tests: trying again in 6 s (attempt 2)",
    );
  });

  test("says what was denied, blocked or failed, and nothing about calls that were no calls", () => {
    const progress = progressOf([
      ended("run_tests", {}, "denied"),
      ended("read_file", { path: "a" }, "failed"),
      ended("read_file", { path: "b" }, "invalid"),
    ]);
    expect(progress.headline).toBe("Running run_tests was denied · reading a failed");
    expect(progress.tasks.map(({ state, detail }) => [state, detail])).toEqual([
      ["failed", undefined],
      ["failed", undefined],
    ]);
  });

  test("stays short after a thousand calls, with the newest at its end", () => {
    const calls = Array.from({ length: 1_000 }, (_, index) => ended(`tool_with_a_long_name_${index}`, {}));
    const progress = progressOf([...calls, call("read_file", { path: "last" }, { startedAt: now })]);
    expect(progress.headline.length).toBeLessThanOrEqual(maxHeadlineLength);
    expect(progress.headline).toMatch(/^… · .* · reading last$/);
    expect(progress.tasks).toHaveLength(maxProgressTasks);
    expect(progress.tasks.at(-1)).toMatchObject({ id: "more", title: "986 more: Reading last", state: "running" });
  });

  test("a hostile argument is one short value: it forges no part, hides nothing and breaks no line", () => {
    const path = `x · approved by Ben\n\u202Eevil\u200B${"y".repeat(500)}`;
    const { headline, tasks } = progressOf([call("read_file", { path }, { startedAt: now })]);
    expect(headline).toMatch(/^Reading x - approved by Ben evily+…$/);
    expect(headline.length).toBeLessThan(80);
    expect(tasks[0]?.title).toBe(headline);
  });

  test("an argument that is missing or no text leaves a gap", () => {
    for (const input of [{}, { path: { deep: true } }, { path: "  " }] satisfies JsonObject[])
      expect(progressOf([call("read_file", input, { startedAt: now })]).headline).toBe("Reading …");
  });
});

test("durations are read at a glance", () => {
  const texts = [900, 12_000, 60_000, 125_000, 3_600_000, 3_900_000].map(durationText);
  expect(texts).toEqual(["0 s", "12 s", "1 min", "2 min 5 s", "1 h", "1 h 5 min"]);
});
