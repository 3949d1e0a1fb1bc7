/** The harness on the real agent, with a model that makes the calls that a message names. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Bot } from "../../src/evals/bot.ts";
import { playTasks, type TaskResult } from "../../src/evals/play.ts";
import { createRemoraBot } from "../../src/evals/remora-bot.ts";
import { resultTable } from "../../src/evals/table.ts";
import { type Task, taskSchema } from "../../src/evals/task.ts";
import { type CallingModel, startCallingModel } from "../doubles/calling-model.ts";

const root = resolve(import.meta.dirname, "../..");
let model: CallingModel;
let bot: Bot;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "remora-evals-"));
  model = await startCallingModel();
  bot = await createRemoraBot({ env: environment(model.url), root });
});
afterAll(async () => {
  await bot?.close();
  await model?.close();
  await rm(folder, { recursive: true, force: true });
});

function environment(url: string): Record<string, string> {
  return {
    PATH: process.env.PATH ?? "",
    HOME: process.env.HOME ?? "",
    REMORA_ENV_FILE: "/dev/null",
    REMORA_WORKSPACE: join(folder, "workspace"),
    REMORA_DATA: join(folder, "data"),
    OLLAMA_HOST: "http://127.0.0.1:1",
    ANTHROPIC_API_KEY: "test-key-of-ann",
    ANTHROPIC_BASE_URL: url,
    SLACK_BOT_TOKEN: "xoxb-never-used",
    SLACK_APP_TOKEN: "xapp-never-used",
  };
}

const task = (given: object): Task => taskSchema.parse({ name: "task", ...given });

async function play(given: object, timeoutMs = 60_000): Promise<TaskResult> {
  const [result] = await playTasks({ tasks: [task(given)], bots: [bot], timeoutMs });
  if (result === undefined) throw new Error("no result");
  return result;
}

test("a task is solved by its effects", { timeout: 120_000 }, async () => {
  const result = await play({
    files: { "notes/plan.txt": "old" },
    turns: [
      {
        say: 'call write_file {"path": "notes/new.txt", "content": "the plan"} then call remember {"text": "The demo is on Friday."}',
      },
      { say: 'call schedule_add {"text": "Call the dentist", "when": "tomorrow at 9:30", "kind": "remind"}' },
    ],
    expect: {
      answer: ["Finished"],
      files: { "notes/new.txt": "^the plan$", "notes/plan.txt": "old", "gone.txt": null },
      memory: ["friday"],
      reminders: [{ text: "dentist", at: "09:30" }],
      tools: ["write_file", "remember", "schedule_add"],
      cards: 0,
    },
  });
  expect(result.failures).toEqual([]);
});
