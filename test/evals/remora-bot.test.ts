/** The harness and `remora eval` on the real agent, with a model that makes the calls that a message names. */
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { settingsFor } from "../../src/cli/settings.ts";
import type { Bot } from "../../src/evals/bot.ts";
import { playTasks, type TaskResult } from "../../src/evals/play.ts";
import { createRemoraBot } from "../../src/evals/remora-bot.ts";
import { taskSchema } from "../../src/evals/task.ts";
import { createTemporaryHome } from "../../src/evals/temporary-home.ts";
import { runCommand } from "../cli/remora-command.ts";
import { commandHere } from "../cli/remora-here.ts";
import { type CallingModel, startCallingModel } from "../doubles/calling-model.ts";
import { writeFiles } from "../skill-runtime/folders.ts";

const root = resolve(import.meta.dirname, "../..");
/** Several times the interval in which the harness looks. */
const lateMs = 300;
let model: CallingModel;
let bot: Bot;
let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "remora-evals-"));
  model = await startCallingModel(async (sent) => {
    if (sent.includes("never answer this")) return await new Promise(() => {});
    if (sent.includes("answer this late")) await wait(lateMs);
    return undefined;
  });
  await writeFile(join(folder, "remora.yaml"), "safety:\n  changes: { own: ask }\n  quorum: 2\n");
  env = {
    ...{ PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", OLLAMA_HOST: "http://127.0.0.1:1" },
    ...{ REMORA_ENV_FILE: "/dev/null", REMORA_CONFIG: join(folder, "remora.yaml") },
    ...{ REMORA_WORKSPACE: join(folder, "workspace"), REMORA_DATA: join(folder, "data") },
    ...{ ANTHROPIC_API_KEY: "key-of-the-operator", ANTHROPIC_BASE_URL: model.url },
    ...{ SLACK_BOT_TOKEN: "xoxb-not-used", SLACK_APP_TOKEN: "xapp-not-used" },
  };
  bot = await createRemoraBot({ env, root });
});
afterAll(async () => {
  await bot?.close();
  await model?.close();
  await rm(folder, { recursive: true, force: true });
});

async function play(given: object, timeoutMs = 120_000): Promise<TaskResult> {
  const tasks = [taskSchema.parse({ name: "task", ...given })];
  const [result] = await playTasks({ tasks, bots: [bot], timeoutMs });
  if (result === undefined) throw new Error("no result");
  return result;
}

test("a task is solved by its effects: files that a person approved, notes, reminders and calls", async () => {
  const result = await play({
    files: { "plan.txt": "old", "sales.csv": "month,sum\nMay,7\n" },
    notes: ["Ann likes tea."],
    turns: [
      { say: 'call write_file {"path": "new.txt", "content": "the plan"} then call recall {"query": "tea"}' },
      { say: 'call remember {"text": "The demo is on Friday."}', attach: ["sales.csv"] },
      { say: 'call schedule_add {"text": "Call the dentist", "when": "tomorrow at 9:30", "kind": "remind"}' },
    ],
    expect: {
      answer: ["Scheduled as", "dentist|09:30"],
      files: { "new.txt": "^the plan$", "plan.txt": "old", "sales.csv": null },
      memory: ["friday", "likes tea"],
      reminders: [{ text: "dentist", at: "09:30" }],
      tools: ["write_file", "recall", "remember", "schedule_add"],
      // The second one, because the attached file is text from outside.
      cards: 2,
    },
  });
  expect(result.failures).toEqual([]);
  expect(result).toMatchObject({ isSolved: true, ended: "answered", requests: 7, inputTokens: 7, outputTokens: 7 });
  expect(result.traffic.every(({ status, response }) => status === 200 && response.includes("message_stop"))).toBe(
    true,
  );
  expect(model.requests.some((sent) => sent.includes("likes tea"))).toBe(true);
  expect(result.traffic.some(({ request }) => request.includes("sales.csv"))).toBe(true);
  expect(JSON.stringify(result)).not.toContain("key-of-the-operator");
  expect(await readdir(folder)).toEqual(["remora.yaml"]);
});

test("calls that a person denied or left, and calls that could not run as they were written, are no effects", async () => {
  const result = await play({
    where: "dm",
    turns: [
      { say: 'call schedule_add {"text": "Deploy", "when": "tomorrow at 9", "kind": "do"}', approve: "no" },
      { say: 'call write_file {"path": "new.txt", "content": "x"}', approve: "never" },
      { say: 'answer this late: call fly_home {"to": "moon"} then call remember {"note": "no such key"}' },
    ],
    expect: {
      files: { "new.txt": "x" },
      reminders: [{ text: "deploy" }],
      tools: ["schedule_add", "fly_home"],
      cards: 2,
    },
  });
  expect(result.failures).toEqual([
    "There is no file new.txt.",
    "No reminder matches “deploy”. There is none.",
    "schedule_add was called, and did not succeed (denied).",
    "fly_home was called, and did not succeed (invalid: unknown tool).",
  ]);
  expect(result).toMatchObject({
    ended: "answered",
    invalidCalls: { "unknown tool": 1, schema: 1 },
    wordsInsteadOfCalls: false,
  });
});

test("an answer that does not come in time ends its task, with what the bot had asked by then", async () => {
  const turns = [{ say: "never answer this" }];
  const result = await play({ turns, expect: { tools: ["recall"] } }, 3_000);
  expect(result).toMatchObject({ isSolved: false, ended: "timed out", requests: 1 });
  expect(result.failures).toEqual(["There was no answer within 3 s."]);
});

async function evalHere(tasks: string, ...args: string[]) {
  const file = join(folder, "tasks.yaml");
  await writeFile(file, tasks);
  return await commandHere(env, ["eval", file, ...args]);
}

test("eval does not believe a model that says it did what it did not do, and saves what was asked", async () => {
  const out = join(folder, "out");
  const tasks = `tasks:
  - name: write the plan
    turns: [{ say: Write the plan }]
    expect: { answer: [Finished], files: { plan.txt: plan } }
  - name: other
    turns: [{ say: x }]
    expect: { answer: [x] }
`;
  const ended = await evalHere(tasks, "--only", "write the plan", "--out", out);
  expect(ended.code).toBe(1);
  expect(ended.stdout).toMatch(/\| write the plan \| +no \| +1 \| .*1 words instead of calls/);
  expect(ended.stdout).toContain(
    "- remora, write the plan: There is no file plan.txt. It said: “Finished. There was nothing to call.”",
  );
  const [saved] = JSON.parse(await readFile(join(out, "results.json"), "utf8")) as TaskResult[];
  expect(saved).toMatchObject({ task: "write the plan", isSolved: false, wordsInsteadOfCalls: true });
  const requests = (await readFile(join(out, "requests.jsonl"), "utf8")).trim().split("\n");
  expect(requests.map((line) => JSON.parse(line).task)).toEqual(["write the plan"]);
  expect(requests.join()).not.toContain("key-of-the-operator");
});

test("eval says what is wrong with a file, an option or a model, with exit code 2", async () => {
  const fine = "tasks: [{ name: a, turns: [{ say: x }], expect: { answer: [x] } }]\n";
  const wrong = await evalHere("tasks: [{ name: a, turns: [{ sya: x }], expect: { answer: [x] } }]\n");
  expect(wrong).toMatchObject({ code: 2, stdout: "" });
  expect(wrong.stderr).toContain('tasks.0.turns.0.sya: unknown key. Did you mean "say"?');
  expect(await evalHere(fine, "--only", "b")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("There are: a"),
  });
  expect(await evalHere(fine, "--timeout", "soon")).toMatchObject({ code: 2 });
  const demo = await evalHere(fine, "--model", "demo");
  expect(demo.stderr).toContain("only the demo answers, which is no AI");
  expect(demo.stderr).toContain("--model provider/model");
  const keyless = await evalHere(fine, "--model", "openai/gpt-6-luna");
  expect(keyless).toMatchObject({ code: 2, stderr: "[model] openai/gpt-6-luna can't be used: set OPENAI_API_KEY\n" });
});

test("an unknown option of eval is an error with exit code 2, and its help is none", async () => {
  const [unknown, help] = await Promise.all([
    runCommand(root, env, "eval", "--nope"),
    runCommand(root, env, "eval", "--help"),
  ]);
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining("unknown option '--nope'") });
  expect(help.code).toBe(0);
}, 60_000);

const stoppedTasks = ["never answer this", "Hello"].map(
  (say) => `  - { name: "${say}", turns: [{ say: "${say}" }], expect: { answer: [x] } }\n`,
);

/** Only what eval itself listens to: an earlier file's browser, in the same process, would end it. */
const othersListen = process.listeners("SIGINT");
function pressControlC() {
  for (const listener of process.listeners("SIGINT")) if (!othersListen.includes(listener)) listener("SIGINT");
}

test("Ctrl+C in the first task of eval keeps the results that an earlier play has saved", async () => {
  const out = join(folder, "kept");
  await writeFiles(out, { "results.json": "[1]" });
  const playing = evalHere(`tasks:\n${stoppedTasks.join("")}`, "--out", out);
  const before = model.requests.length;
  await vi.waitFor(() => expect(model.requests.length).toBeGreaterThan(before), { timeout: 60_000 });
  pressControlC();
  expect(await playing).toEqual({ code: 2, stdout: "", stderr: "Stopped. Nothing was played.\n" });
  expect(await readFile(join(out, "results.json"), "utf8")).toBe("[1]");
});

test("Ctrl+C in the middle of eval shows what was played, and names what was not", async () => {
  const playing = evalHere(`tasks:\n${stoppedTasks.toReversed().join("")}`);
  const isAsked = () => model.requests.at(-1)?.includes("never answer this");
  await vi.waitFor(() => expect(isAsked()).toBe(false), { timeout: 60_000 });
  await vi.waitFor(() => expect(isAsked()).toBe(true), { timeout: 60_000 });
  pressControlC();
  const { code, stdout, stderr } = await playing;
  expect([code, stdout.includes("| Hello ")]).toEqual([1, true]);
  expect(stderr).toContain("Stopped. Not played: never answer this.\n");
});

test("Ctrl+C while eval checks the model ends it at once", async () => {
  const silent = createServer(() => pressControlC());
  await new Promise<void>((listening) => silent.listen(0, "127.0.0.1", listening));
  onTestFinished(() => void silent.close().closeAllConnections());
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const file = join(folder, "tasks.yaml");
  await writeFile(file, `tasks:\n${stoppedTasks.join("")}`);
  const ended = await commandHere({ ...env, ANTHROPIC_BASE_URL: url }, ["eval", file]);
  expect(ended).toEqual({ code: 2, stdout: "", stderr: "Stopped. Nothing was played.\n" });
});

test("the installation of a task has the operator's settings, skills and brain, and no memory, folder or chat service of theirs", async () => {
  const home = join(folder, "operator");
  await writeFiles(home, {
    ".env":
      "DISCORD_TOKEN=discord-token\nREDIS_URL=redis://127.0.0.1:1\nOPENAI_API_KEY=key\nSLACK_USER_TOKEN=xoxp-own\n",
    "config/remora.yaml": [
      "models: { order: [openai, ollama], openai: { model: first } }",
      'folders: { "local:channel:general": /srv/real }',
      "web: { port: 8090 }",
      "skills: { settings: { board: { token: '${SLACK_USER_TOKEN}', key: '${OPENAI_API_KEY}' } } }",
    ].join("\n"),
    "workspace/brain/identity/soul.md": "I am Remora.",
    "workspace/brain/hippocampus/knowledge/shared/pay.md": "# Pay\n\nsecret",
    "workspace/skills/board/SKILL.md": "---\nname: board\n---\n",
    "workspace/files/channel:general/old.txt": "old",
  });
  await chmod(join(home, ".env"), 0o600);
  const settings = settingsFor({}, home);
  const made = await createTemporaryHome({ env: {}, root: home, settings, model: "openai/second" });
  onTestFinished(made.remove);
  await made.renew();
  const own = settingsFor(made.env, home);
  expect(own).toMatchObject({ discord: null, slack: null, redisUrl: null, preferredModel: "openai/second" });
  expect(own.config).toMatchObject({
    folders: {},
    models: { order: ["openai"], openai: { model: "first", apiKey: "key" } },
    skills: { settings: { board: { token: "xoxp-own", key: "key" } } },
    web: { port: 0 },
  });
  const files = await readdir(made.workspace, { recursive: true, withFileTypes: true });
  expect(
    files
      .filter((file) => file.isFile())
      .map(({ name }) => name)
      .sort(),
  ).toEqual(["SKILL.md", "soul.md"]);
});
