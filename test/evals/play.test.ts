/** What a task's expectations mean, and what a result counts, with bots of fixed words and effects. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Bot, Effects, Said } from "../../src/evals/bot.ts";
import { judge } from "../../src/evals/judge.ts";
import { playTasks } from "../../src/evals/play.ts";
import { resultTable } from "../../src/evals/table.ts";
import { type Task, taskSchema } from "../../src/evals/task.ts";
import { readTasks } from "../../src/evals/task-file.ts";
import { hadNoConnection, recordTraffic, usageIn } from "../../src/evals/traffic.ts";
import { freePort } from "../doubles/free-port.ts";

const nothing: Effects = { files: {}, notes: [], reminders: [], calls: [], cards: 0 };
const answered: Said = { text: "Done.", state: "answered" };
const taskOf = (expected: object, name = "task"): Task =>
  taskSchema.parse({ name, turns: [{ say: "x" }], expect: expected });

/** At nine in the morning, in this machine's time zone. */
const atNine = new Date(2026, 10, 30, 9, 0).toISOString();
const done: Effects = {
  files: { "plan.txt": "one\ntotal: 42\n" },
  notes: ["The demo is on Friday."],
  reminders: [{ text: "Call Ben", at: atNine }],
  calls: [
    { tool: "remember", input: {}, status: "succeeded" },
    { tool: "shell_exec", input: {}, status: "denied" },
    { tool: "web_fetch", input: {}, status: "failed" },
  ],
  cards: 1,
};

test.each<[expected: object, failures: string[]]>([
  [{ answer: ["DONE"], notAnswer: ["sorry"] }, []],
  [{ answer: ["42"] }, ["The answer does not match “42”."]],
  [{ notAnswer: ["done"] }, ["The answer matches “done”, and must not."]],
  [{ files: { "plan.txt": "^total: 42$", "old.txt": null } }, []],
  [{ files: { "new.txt": "x" } }, ["There is no file new.txt."]],
  [{ files: { "plan.txt": "two" } }, ["The file plan.txt does not match “two”."]],
  [{ files: { "plan.txt": null } }, ["The file plan.txt is there, and must not be."]],
  [{ memory: ["friday"], notMemory: ["monday"] }, []],
  [{ memory: ["monday"] }, ["No note matches “monday”."]],
  [{ notMemory: ["friday"] }, ["A note matches “friday”, and must not."]],
  [{ reminders: [{ text: "ben", at: "09:00" }] }, []],
  [
    { reminders: [{ text: "ben", at: "10:00" }] },
    ["No reminder matches “ben” at 10:00. There is “Call Ben” at 09:00."],
  ],
  [{ tools: ["remember"], notTools: ["shell_exec"] }, []],
  [{ tools: ["recall"] }, ["recall was not called."]],
  [{ tools: ["shell_exec"] }, ["shell_exec was called, and did not succeed (denied)."]],
  [{ notTools: ["remember", "web_fetch"] }, ["remember ran, and must not.", "web_fetch ran, and must not."]],
  [{ cards: 0 }, ["There was 1 approval card, and 0 should be."]],
])("of what a bot has done, %j is judged as %j", (expected, failures) => {
  expect(judge(taskOf(expected), answered, done, { hasCards: true })).toEqual(failures);
});

test("a bot that says it could not answer has not solved its task, and one without cards is not judged by cards", () => {
  const failed: Said = { text: "Done. Sorry.", state: "failed" };
  const sentences = judge(taskOf({ answer: ["done"] }), failed, nothing, { hasCards: true });
  expect(sentences).toEqual(["The bot says that it could not answer."]);
  expect(judge(taskOf({ cards: 3 }), answered, nothing, { hasCards: false })).toEqual([]);
});

function botOf(effects: Effects, say: Bot["open"] extends (task: Task) => Promise<{ say: infer S }> ? S : never): Bot {
  const session = { say, effects: async () => effects, close: async () => {} };
  return { name: "bare", hasCards: false, open: async () => session, close: async () => {} };
}

test("words instead of a call are counted as such, and so are calls that could not run", async () => {
  const calls = ["schema", "schema", "not JSON"].map((problem) => ({
    ...{ tool: "remember", input: {}, problem },
    status: "invalid" as const,
  }));
  const tasks = [taskOf({ memory: ["friday"] })];
  const options = { tasks, timeoutMs: 60_000 };
  const [words] = await playTasks({ ...options, bots: [botOf(nothing, async () => answered)] });
  const [invalid] = await playTasks({ ...options, bots: [botOf({ ...nothing, calls }, async () => answered)] });
  expect(words).toMatchObject({ isSolved: false, wordsInsteadOfCalls: true, invalidCalls: {} });
  expect(invalid).toMatchObject({ wordsInsteadOfCalls: false, invalidCalls: { schema: 2, "not JSON": 1 } });
  expect(resultTable([words, invalid].filter((one) => one !== undefined))).toContain(
    "2 schema, 1 not JSON, 1 words instead of calls",
  );
});

test("a task whose requests all failed to connect has no words of a model and no price", async () => {
  const url = `http://127.0.0.1:${await freePort()}/v1/chat/completions`;
  const bot = botOf(nothing, async () => {
    await fetch(url, { method: "POST", body: "{}" }).catch(() => {});
    return { text: "", state: "failed" };
  });
  const [result] = await playTasks({ tasks: [taskOf({ memory: ["x"] })], bots: [bot], timeoutMs: 60_000 });
  expect(result).toMatchObject({ isSolved: false, wordsInsteadOfCalls: false, requests: 1 });
  expect(result?.dollars).toBeUndefined();
  expect(hadNoConnection(result?.traffic ?? [])).toBe(true);
});

test("what a bot did before it was too late is counted", async () => {
  const calls = [{ tool: "recall", input: {}, status: "succeeded" as const }];
  const session = botOf(
    { ...nothing, calls },
    (_turn, signal) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
  );
  const tasks = [taskOf({ tools: ["recall"] })];
  const [result] = await playTasks({ tasks, bots: [session], timeoutMs: 20 });
  expect(result).toMatchObject({ ended: "timed out", failures: ["There was no answer within 0.02 s."], calls });
});

test("a bot that breaks ends its own task only", async () => {
  let isBroken = true;
  const bot = botOf(nothing, async () => {
    if (!isBroken) return answered;
    isBroken = false;
    throw new Error("no socket");
  });
  const tasks = [taskOf({ answer: ["done"] }, "first"), taskOf({ answer: ["done"] }, "second")];
  const results = await playTasks({ tasks, bots: [bot], timeoutMs: 60_000 });
  expect(results.map(({ failures, ended }) => [ended, ...failures])).toEqual([
    ["failed", "The bot broke: no socket"],
    ["answered"],
  ]);
});

test("requests of a task are recorded with their tokens and dollars, and an answer arrives piece by piece", async () => {
  const pieces = [
    'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":100,"cache_read_input_tokens":900,"output_tokens":1}}}\n\n',
    'event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":50}}\n\n',
  ];
  const original = globalThis.fetch;
  onTestFinished(() => {
    globalThis.fetch = original;
  });
  let more = () => {};
  globalThis.fetch = async () =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(pieces[0]));
          more = () => {
            controller.enqueue(new TextEncoder().encode(pieces[1]));
            controller.close();
          };
        },
      }),
    );
  const bot = botOf(nothing, async () => {
    const body = JSON.stringify({ model: "claude-haiku-4-5" });
    const headers = { "x-api-key": "key-of-the-operator" };
    const response = await fetch("https://api.anthropic.com/v1/messages?beta=true", { method: "POST", headers, body });
    const reader = response.body?.getReader();
    const first = new TextDecoder().decode((await reader?.read())?.value);
    // The rest comes only now.
    more();
    await reader?.read();
    await reader?.read();
    return { text: first, state: "answered" };
  });
  const [result] = await playTasks({ tasks: [taskOf({ answer: ["message_start"] })], bots: [bot], timeoutMs: 60_000 });
  expect(result).toMatchObject({
    isSolved: true,
    requests: 1,
    inputTokens: 1_000,
    cachedTokens: 900,
    outputTokens: 50,
  });
  expect(result?.dollars).toBeCloseTo((100 * 1 + 900 * 0.1 + 50 * 5) / 1_000_000, 8);
  expect(result?.traffic).toMatchObject([
    { url: "https://api.anthropic.com/v1/messages", status: 200, response: pieces.join("") },
  ]);
  expect(JSON.stringify(result)).not.toContain("key-of-the-operator");
});

test("a recorded answer that nobody reads on ends its connection, and what had come of it is kept", async () => {
  const original = globalThis.fetch;
  onTestFinished(() => {
    globalThis.fetch = original;
  });
  let isEnded = false;
  globalThis.fetch = async () =>
    new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode("data: one\n\n")),
        cancel() {
          isEnded = true;
        },
      }),
    );
  const recorder = recordTraffic();
  onTestFinished(recorder.stop);
  const response = await fetch("http://127.0.0.1:8080/v1/chat/completions", { method: "POST", body: "{}" });
  const reader = response.body?.getReader();
  await reader?.read();
  await reader?.cancel();
  expect(isEnded).toBe(true);
  expect(recorder.take()).toMatchObject([{ status: 200, request: "{}", response: "data: one\n\n" }]);
  expect(recorder.take()).toEqual([]);
});

test.each<[response: string, counts: object]>([
  [
    'data: {"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":8}}}\n\ndata: [DONE]\n\n',
    { inputTokens: 2, cacheReadTokens: 8, outputTokens: 2 },
  ],
  [
    'event: response.completed\ndata: {"type":"response.completed","response":{"usage":{"input_tokens":10,"output_tokens":2,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":1}}}}\n\n',
    { inputTokens: 5, cacheReadTokens: 4, cacheWriteTokens: 1, outputTokens: 2 },
  ],
  [
    '{"message":{"content":"x"},"done":false}\n{"done":true,"prompt_eval_count":10,"eval_count":2}\n',
    { inputTokens: 10, outputTokens: 2 },
  ],
  ['{"usage":{"prompt_tokens":10,"completion_tokens":2,"cost":0.5}}', { inputTokens: 10, cost: 0.5 }],
])("the tokens of the answer %j are counted", (response, counts) => {
  expect(usageIn(response)).toMatchObject(counts);
  expect(usageIn("data: {}\n\n")).toBeUndefined();
});

test.each<[tasks: string, problems: string[]]>([
  ["", ["tasks: no value can't be used: write a list"]],
  ["tasks: []", [":1] tasks: [] can't be used: list at least 1"]],
  ["tasks:\n  - turns: [{ say: x }]\n    expect: {}", ["tasks.0.name: no value", "say what must be true afterwards"]],
  [
    "tasks:\n  - name: a\n    turns:\n      - say: x\n        aprove: no\n    expect: { answer: [x] }",
    [':5] tasks.0.turns.0.aprove: unknown key. Did you mean "approve"?'],
  ],
  [
    "tasks:\n  - name: a\n    turns: [{ say: x, attach: [a.csv] }]\n    expect:\n      answer:\n        - fine\n        - total (42",
    [
      ':3] tasks.0.turns.0.attach.0: "a.csv" is not in the task\'s files. Add it there.',
      ':7] tasks.0.expect.answer.1: "total (42" is not a regular expression',
    ],
  ],
  [
    "tasks:\n  - { name: a, turns: [{ say: x }], expect: { answer: [x] } }\n  - name: a\n    turns: [{ say: x }]\n    expect: { reminders: [{ text: x, at: 9 o'clock }], files: { ../x: null } }",
    ["write a time of day such as 09:30"],
  ],
  [
    "tasks:\n  - { name: a, turns: [{ say: x }], expect: { answer: [x] } }\n  - name: a\n    turns: [{ say: x }]\n    expect:\n      files: { ../x: null }",
    [':3] tasks.1.name: "a" is the name of task 1 too', ':6] tasks.1.expect.files.../x: "../x" is outside'],
  ],
  ["tasks: [", ["not valid YAML"]],
])("a file of tasks such as %j is refused, and each problem is named", async (source, problems) => {
  const folder = await mkdtemp(join(tmpdir(), "remora-tasks-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "tasks.yaml");
  await writeFile(file, source);
  let said = "";
  try {
    readTasks(file);
  } catch (thrown) {
    said = String(thrown);
  }
  for (const problem of problems) expect(said).toContain(problem);
  expect(said).toContain(file);
  expect(() => readTasks(join(folder, "none.yaml"))).toThrow("can't be read");
});
