import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { createBareBot } from "../../bench/trial/bare-bot.ts";
import { newFacts, runToResume, trialOptions } from "../../bench/trial/options.ts";
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
  const said = comparison(before, after);
  expect(said).toMatch(/\| solved +\| 1 of 2 \| 1 of 2 \|/);
  expect(said).toContain("- a: no longer solved: The file a is missing.");
  expect(said).toContain("- b: now solved; before: The file b is missing.");
  expect(said).not.toContain("only-");
});

test("the report shows each bot beside the others, and first the failures that another bot did not have", () => {
  const results = [played("a", false), played("b", false), { ...played("b", true), bot: "bare" }];
  expect(summary(results)).toMatch(/\| of what all have played +\| 0 of 1 \| 1 of 1 \|/);
  const worst = worstFailures(results, "ours");
  expect(worst.indexOf("### b, solved by bare")).toBeLessThan(worst.indexOf("### a"));
  expect(worst).toContain("> I have done it.");
});

test.each<[args: string[], sentence: string]>([
  [["--nope"], "Unknown option '--nope'; there are --model, --url,"],
  [["openai/m"], "openai/m belongs to no option."],
  [[], "Name a model: --model PROVIDER/NAME"],
  [["--model", "openai/"], "--model openai/: write PROVIDER/NAME; the provider is one of openai, anthropic, ollama."],
  [["--model", "openai/m", "--bots", "ours, best"], "--bots ours, best: it takes ours, bare, all"],
  [["--model", "openai/m", "--timeout", "soon"], "--timeout soon: write a number of seconds"],
  [["--model", "openai/m", "--url", "127.0.0.1:8080"], "--url 127.0.0.1:8080: write an address"],
  [["--model", "openai/m", "--config", "/nowhere.yaml"], "--config /nowhere.yaml can't be read (ENOENT)."],
  [["--model", "openai/m", "--only", "files,nope"], 'No task has the name or the tag "nope". There are: '],
])("a trial with the options %j is refused before it plays: %s", (args, sentence) => {
  expect(() => newFacts(tasks, trialOptions(args).values)).toThrow(sentence);
});

test("names of bots and tasks may have spaces behind their commas", () => {
  const { values } = trialOptions(["--model", "openai/m", "--bots", "ours, bare", "--only", "read-code-word, files"]);
  const facts = newFacts(tasks, values);
  expect(facts.bots).toEqual(["ours", "bare"]);
  expect(facts.tasks.length).toBeGreaterThan(1);
});

test("an interrupted trial goes on at another address, and refuses what would make its results another trial's", () => {
  const folder = mkdtempSync(join(tmpdir(), "trial-test-"));
  try {
    const args = ["--resume", folder, "--url", "http://127.0.0.1:2/v1"];
    expect(() => runToResume(folder, trialOptions(args).values)).toThrow(`${folder} has no run.`);
    createRun(folder, newFacts(tasks, { model: "openai/m", url: "http://127.0.0.1:1/v1" }));
    expect(() => runToResume(folder, trialOptions([...args, "--bots", "ours"]).values)).toThrow("no --bots.");
    runToResume(folder, trialOptions(args).values);
    expect(openRun(folder).facts.url).toBe("http://127.0.0.1:2/v1");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a trial stops when the model's server dies, and does not count the task", async () => {
  const folder = mkdtempSync(join(tmpdir(), "trial-test-"));
  const server = createServer(async (request, response) => {
    const asked = await text(request);
    if (request.method === "GET") return response.writeHead(404).end();
    if (!asked.includes("This checks the connection")) {
      server.close();
      return server.closeAllConnections();
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const choices = [{ index: 0, delta: { role: "assistant", content: "ok" }, finish_reason: "stop" }];
    return response.end(`data: ${JSON.stringify({ id: "c", model: "m", choices })}\n\ndata: [DONE]\n\n`);
  });
  try {
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const args = ["--model", "openai/m", "--url", url, "--bots", "ours", "--only", "plain", "--out", folder];
    const first = await runTrial(args);
    expect(first).toMatchObject({ code: 1, stderr: expect.stringContaining(`Go on with --resume ${folder}`) });
    expect(first.stderr).toContain("The model's server can't be reached (");
    expect(openRun(folder).results).toEqual([]);
    // Without a server, the check of the model says so.
    const second = await runTrial(["--resume", folder]);
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining("[model] openai/m does not answer") });
  } finally {
    server.close();
    rmSync(folder, { recursive: true });
  }
}, 120_000);

async function runTrial(args: string[]) {
  const child = spawn(process.execPath, [join(trial, "run.ts"), ...args], { stdio: ["ignore", "ignore", "pipe"] });
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
  return { code: code as number, stderr };
}

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
