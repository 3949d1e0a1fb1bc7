/** Settings that change while the real application runs, from the file to what people see. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type App, createApp } from "../../src/app/app.ts";
import { loadSettings } from "../../src/config/load.ts";
import type { Log } from "../../src/lib/log.ts";
import type { Provider } from "../../src/ports/provider.ts";
import { type ChatClient, createChatClient } from "../doubles/chat-client.ts";
import { createHome, type RemoraHome } from "../doubles/remora-process.ts";

const project = resolve(import.meta.dirname, "../..");
const token = "a-token-for-this-test";
let home: RemoraHome;
let file: string;
let app: App;
let ann: ChatClient;
let logged: string[];
let level: string;

/** Runs a command if it is asked to. */
const provider: Provider = {
  name: "anthropic",
  model: "anthropic/usual",
  async *stream(request) {
    const newest = request.messages.at(-1);
    const isAsked = newest?.role === "user" && JSON.stringify(newest.content).includes("list");
    const usage = { inputTokens: 900, outputTokens: 100, cacheReadTokens: 0, cacheWriteTokens: 0 };
    const end = { type: "end", usage, model: "anthropic/usual" } as const;
    if (isAsked && request.mayCall !== false) {
      yield {
        type: "tool-call",
        id: `call-${request.messages.length}`,
        name: "shell_exec",
        inputJson: '{"command":"ls"}',
      };
      yield { ...end, stop: "tool-calls" };
    } else {
      yield { type: "text-delta", text: "Done." };
      yield { ...end, stop: "end" };
    }
  },
};

const log: Log = {
  debug: () => {},
  info: (_fields, message) => void logged.push(message),
  warn: (_fields, message) => void logged.push(message),
  error: (_fields, message) => void logged.push(message),
};

beforeEach(async () => {
  home = await createHome();
  logged = [];
  level = "";
  file = join(home.workspace, "remora.yaml");
  await writeFile(file, "web: { port: 0 }\n");
  const env = {
    REMORA_CONFIG: file,
    REMORA_WORKSPACE: home.workspace,
    REMORA_DATA: home.data,
    REMORA_ENV_FILE: "/dev/null",
  };
  const reloadSettings = () => loadSettings(env, project);
  const loaded = reloadSettings();
  if (loaded.type === "invalid") throw new Error(JSON.stringify(loaded.problems));
  const setLogLevel = (next: string) => {
    level = next;
  };
  app = await createApp({
    ...{ settings: loaded.settings, reloadSettings, role: "all", signal: new AbortController().signal, token, log },
    ...{ redact: (text: string) => text, providers: [provider], setLogLevel },
  });
  await app.start();
  ann = await createChatClient(app.report().url ?? "", token);
});
afterEach(async () => {
  ann.close();
  await app.close();
  await home.remove();
});

async function change(yaml: string): Promise<void> {
  await writeFile(file, `web: { port: 0 }\n${yaml}`);
  await app.reload();
}

async function inForce(key: string): Promise<{ value: string; place: string } | undefined> {
  const response = await ann.request("GET", "/dashboard/data/settings");
  const { settings } = (await response.json()) as { settings: { key: string; value: string; place: string }[] };
  return settings.find((setting) => setting.key === key);
}

/** As it is now: the history of health, which is in the same answer, has what was corrected. */
async function statusText(): Promise<string> {
  const { status } = (await (await ann.request("GET", "/dashboard/data/health")).json()) as { status: object };
  return JSON.stringify(status);
}

async function audited(): Promise<string> {
  const folder = join(home.workspace, "brain", "corpus");
  const names = await readdir(folder);
  return (await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")))).join("");
}

test("approvals follow the policy in force when they are answered", async () => {
  await ann.answerTo(await ann.say("list it", { dm: true }));
  expect([...ann.seen.values()].filter(({ type }) => type === "card")).toEqual([]);
  await change("safety: { shell: ask }\n");
  const card = await ann.cardFor(await ann.say("list it", { dm: true }));
  await change("safety: { shell: ask, notRequester: true }\n");
  expect(await ann.click(card, "approve")).toMatchObject({ accepted: false });
  await change("safety: { shell: ask, approvers: [] }\n");
  expect(await ann.click(card, "deny")).toMatchObject({ accepted: false });
  await change("safety: { shell: ask }\n");
  expect(await ann.click(card, "approve")).toMatchObject({ accepted: true });
  expect((await audited()).match(/"settings.changing"/g)).toHaveLength(5);
  expect(await audited()).toContain('"key":"safety.shell","from":"free","to":"ask"');
});

test("limits and the log level apply at once", async () => {
  await ann.answerTo(await ann.say("hello", { dm: true }));
  await change("limits: { userTokensPerDay: 500 }\nlog: { level: error }\n");
  expect(level).toBe("error");
  const refused = await ann.answerTo(await ann.say("hello again", { dm: true }));
  expect(refused.text).toContain("tokens of Ann are used up");
  await change("limits: { userTokensPerDay: 500000 }\n");
  expect((await ann.answerTo(await ann.say("and again", { dm: true }))).text).toBe("Done.");
});

test("a saved file is read without a signal, and its place is the new line", async () => {
  await writeFile(file, "web: { port: 0 }\n\n\nturns: { steps: 3 }\n");
  await expect.poll(() => inForce("turns.steps")).toMatchObject({ value: "3", place: expect.stringMatching(/:4$/) });
  expect(logged).toContain("turns.steps is 3 now; it was 8");
});

test("a file with a mistake changes nothing and says so until it is corrected", async () => {
  await change("turns: { steps: 3 }\nsafety: { quorum: many }\n");
  expect(await inForce("turns.steps")).toMatchObject({ value: "8" });
  expect(logged).toContain("the new settings have problems, so the earlier ones stay in force");
  expect(await statusText()).toContain("the earlier settings stay in force");
  await writeFile(file, "");
  await app.reload();
  expect(await statusText()).toContain("is empty or missing. Restart Remora to use the defaults.");
  await change("turns: { steps: 3 }\n");
  expect(await inForce("turns.steps")).toMatchObject({ value: "3" });
  expect(await statusText()).not.toContain("settings");
});

test("what needs a restart keeps its value and is named; the rest applies", async () => {
  await change("turns: { steps: 3, concurrency: 7 }\nmodels: { openai: { apiKey: a-new-secret } }\n");
  expect(await inForce("turns.steps")).toMatchObject({ value: "3" });
  expect(await inForce("turns.concurrency")).toMatchObject({ value: "100", place: "" });
  expect(logged).toContain("turns.concurrency has changed and needs a restart");
  expect(await statusText()).toContain("changed, and needs a restart: models.openai.apiKey, turns.concurrency");
  expect(JSON.stringify(logged) + (await audited())).not.toContain("a-new-secret");
});
