import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createBareBot } from "../../bench/trial/bare-bot.ts";
import { comparison, summary, worstFailures } from "../../bench/trial/report.ts";
import { createRun, hasPlayed, openRun, saveResult } from "../../bench/trial/saved-run.ts";
import { everydayTools } from "../../bench/trial/simple-tools.ts";
import { findingsOf } from "../../src/evals/judge.ts";
import { playTasks, type TaskResult } from "../../src/evals/play.ts";
import { readTasks } from "../../src/evals/task-file.ts";
import { startModelDouble } from "../doubles/model.ts";

const trial = join(import.meta.dirname, "../../bench/trial");
const tasks = readTasks(join(trial, "tasks.yaml"));

test("a trial has 60 tasks of all everyday kinds, and its quick part has some of each kind", () => {
  const kinds = ["plain", "files", "data", "commands", "memory", "reminders", "skills", "steps", "approvals"];
  const more = ["injected", "attachment", "thread", "language"];
  expect(tasks).toHaveLength(60);
  expect(tasks.filter(({ isQuick }) => isQuick)).toHaveLength(20);
  for (const kind of [...kinds, ...more]) {
    const own = tasks.filter(({ tags }) => tags.includes(kind));
    expect([kind, own.length > 1, own.some(({ isQuick }) => isQuick)]).toEqual([kind, true, true]);
  }
  expect(tasks.some(({ turns }) => turns.length > 20)).toBe(true);
});

test("a bot that does nothing but repeat what it was told solves no task of the trial", () => {
  for (const task of tasks) {
    const said = { text: task.turns.map(({ say }) => say).join("\n"), state: "answered" as const };
    const effects = { files: task.files, notes: task.notes, reminders: [], calls: [], cards: 0 };
    expect([task.name, findingsOf(task, said, effects, { hasCards: true }).length > 0]).toEqual([task.name, true]);
  }
});

test("the bare bot has at most 100 lines", () => {
  expect(readFileSync(join(trial, "bare-bot.ts"), "utf8").trimEnd().split("\n").length).toBeLessThanOrEqual(100);
});

test("the bare bot defines its tools natively, runs what the model calls, and answers with what came out", async () => {
  const model = await startModelDouble();
  try {
    model.mock.on({ hasToolResult: true }, { content: "The word is HERON-58." });
    model.mock.on(
      { userMessage: "code word" },
      {
        toolCalls: [
          { name: "read_file", arguments: '{"path":"notes.txt"}' },
          { name: "cat", arguments: "{}" },
        ],
      },
    );
    const bot = createBareBot({ name: "bare", model: "m", url: `${model.url}/v1`, key: "k", tools: everydayTools });
    const [result] = await playTasks({
      tasks: tasks.filter(({ name }) => name === "read-code-word"),
      ...{ bots: [bot], timeoutMs: 60_000 },
    });
    expect(result).toMatchObject({ isSolved: true, invalidCalls: { "unknown tool": 1 } });
    expect(result?.calls[0]).toMatchObject({ tool: "read_file", status: "succeeded" });
    expect(model.requests).toHaveLength(2);
    const [first, second] = model.requests.map(({ body }) => JSON.stringify(body));
    expect(first).toContain('"name":"schedule_add"');
    expect(second).toContain("The key hangs behind the door.");
  } finally {
    await model.stop();
  }
});

test("two runs are compared by the tasks that both have played, and each task that changed is named with the reason", () => {
  const before = [played("a", true), played("b", false), played("only-before", true)];
  const after = [played("a", false), played("b", true), played("only-after", true)];
  const text = comparison(before, after);
  expect(text).toMatch(/\| solved +\| 1 of 2 \| 1 of 2 \|/);
  expect(text).toContain("- a: no longer solved: The file a is missing.");
  expect(text).toContain("- b: now solved; before: The file b is missing.");
  expect(text).not.toContain("only-");
});

test("the report shows each bot beside the others, and first the failures that another bot did not have", () => {
  const results = [played("a", false), played("b", false), { ...played("b", true), bot: "bare" }];
  expect(summary(results)).toMatch(/\| of what all have played +\| 0 of 1 \| 1 of 1 \|/);
  const worst = worstFailures(results, "ours");
  expect(worst.indexOf("### b, solved by bare")).toBeLessThan(worst.indexOf("### a"));
  expect(worst).toContain("> I have done it.");
});

test("an interrupted trial goes on with what it has saved, also after it died while it wrote", () => {
  const folder = mkdtempSync(join(tmpdir(), "trial-test-"));
  try {
    const facts = { model: "openai/m", bots: ["ours"], tasks: ["a", "b"], timeoutSeconds: 9, at: "2026-11-28" };
    saveResult(createRun(folder, facts), played("a", true));
    appendFileSync(join(folder, "results.jsonl"), '\n{"bot":"ours","task":"b","calls":[{}');
    saveResult(openRun(folder), played("c", true));
    const again = openRun(folder);
    expect(again.facts).toEqual(facts);
    expect(["a", "b", "c"].map((task) => hasPlayed(again.results, "ours", task))).toEqual([true, false, true]);
    expect(() => createRun(folder, facts)).toThrow("--resume");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

function played(task: string, isSolved: boolean): TaskResult {
  return {
    ...{ bot: "ours", task, tags: ["files"], round: 1, isSolved, ended: "answered", answer: "I have done it." },
    failures: isSolved ? [] : [`The file ${task} is missing.`],
    ...{ calls: [], invalidCalls: {}, wordsInsteadOfCalls: !isSolved, cards: 0, requests: 2 },
    ...{ inputTokens: 1_000, cachedTokens: 0, outputTokens: 50, dollars: 0, seconds: 3, traffic: [] },
  };
}
