/** `/remora model` and `/remora usage` in the real application, with two models that name themselves. */
import { access, mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type App, createApp } from "../../src/app/app.ts";
import { loadSettings } from "../../src/config/load.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { Provider } from "../../src/ports/provider.ts";
import { type ChatClient, createChatClient } from "../doubles/chat-client.ts";
import { createHome, type RemoraHome } from "../doubles/remora-process.ts";

const project = resolve(import.meta.dirname, "../..");
const token = "a-token-for-this-test";
let home: RemoraHome;
let app: App | undefined;
let ann: ChatClient;

/** How many messages each request had. */
let messagesSeen: number[];
/** What each request said of the person who asked. */
let endUsersSeen: (string | undefined)[];

/** Each call is 1,000 tokens. */
function speaking(name: "anthropic" | "openai"): Provider {
  return {
    name,
    model: `${name}/usual`,
    async *stream(request) {
      messagesSeen.push(request.messages.length);
      endUsersSeen.push(request.endUser);
      const model = request.preferredModel ?? `${name}/usual`;
      yield { type: "text-delta", text: `I am ${model}.` };
      const usage = { inputTokens: 900, outputTokens: 100, cacheReadTokens: 0, cacheWriteTokens: 0 };
      yield { type: "end", stop: "end", usage, model };
    },
  };
}

async function start(yaml = ""): Promise<void> {
  const file = join(home.workspace, "remora.yaml");
  await writeFile(file, yaml);
  const env = {
    REMORA_CONFIG: file,
    REMORA_WORKSPACE: home.workspace,
    REMORA_DATA: home.data,
    REMORA_PORT: "0",
    REMORA_ENV_FILE: "/dev/null",
  };
  const loaded = loadSettings(env, project);
  if (loaded.type === "invalid") throw new Error(JSON.stringify(loaded.problems));
  const providers = [speaking("anthropic"), speaking("openai")];
  app = await createApp({
    settings: loaded.settings,
    role: "all",
    signal: new AbortController().signal,
    token,
    log: silentLog,
    redact: (text) => text,
    providers,
  });
  await app.start();
  ann = await createChatClient(app.report().url ?? "", token);
}

async function stop(): Promise<void> {
  ann.close();
  await app?.close();
  app = undefined;
}

beforeEach(async () => {
  messagesSeen = [];
  endUsersSeen = [];
  home = await createHome();
});
afterEach(async () => {
  await stop();
  await home.remove();
});

const dm = { dm: true } as const;
const ask = async (text: string, place?: object) => (await ann.answerTo(await ann.say(text, place))).text;
const model = async (rest = "", place?: object) => (await ann.command("model", rest, place)).text;

test("a chosen model answers from the next message on, only in its place, and after a restart", async () => {
  await start("models:\n  choices: [openai/special, ollama/not-ready]\n");
  expect(await ask("hello", dm)).toBe("I am anthropic/usual.");
  expect(await model("", dm)).toContain("`openai/special`");
  expect(await model("ollama/not-ready", dm)).toContain("no model `ollama/not-ready`");
  expect(await model("openai/special", dm)).toContain("this conversation uses");
  expect(await ask("hello", dm)).toBe("I am openai/special.");

  const opened = await ann.say("@remora hello");
  expect((await ann.answerTo(opened)).text).toBe("I am anthropic/usual.");
  await model("openai/usual");
  expect(await ask("and now?", { channel: "general", thread: opened.id })).toBe("I am openai/usual.");
  expect(await ask("@remora hello")).toBe("I am openai/usual.");
  await model("anthropic/usual", { channel: "general", thread: opened.id });
  expect(await ask("and now?", { channel: "general", thread: opened.id })).toBe("I am anthropic/usual.");
  expect(await ask("@remora hello")).toBe("I am openai/usual.");

  await stop();
  await start("models:\n  choices: [openai/special]\n");
  expect(await ask("hello", dm)).toBe("I am openai/special.");
  expect(await model("default", dm)).toContain("Back to the default");
  expect(await ask("hello", dm)).toBe("I am anthropic/usual.");
});

test("model services get a digest of a person's id, the same after a restart and another in each installation", async () => {
  await start();
  const ben = await createChatClient(app?.report().url ?? "", token, "ben");
  await ask("hello", dm);
  await ben.answerTo(await ben.say("hello", dm));
  await ask("@remora hello");
  ben.close();
  await stop();
  await start();
  await ask("hello", dm);
  const [annId, benId, ...later] = endUsersSeen;
  expect(annId).toMatch(/^[0-9a-f]{64}$/);
  expect(benId).toMatch(/^[0-9a-f]{64}$/);
  expect(benId).not.toBe(annId);
  expect(later).toEqual([annId, annId]);

  await stop();
  const first = home;
  home = await createHome();
  await start();
  await ask("hello", dm);
  expect(endUsersSeen.at(-1)).toMatch(/^[0-9a-f]{64}$/);
  expect(endUsersSeen.at(-1)).not.toBe(annId);
  await first.remove();
});

test("with models.userIds: off, model services get nothing that names a person", async () => {
  await start("models: { userIds: off }\n");
  expect(await ask("hello", dm)).toBe("I am anthropic/usual.");
  expect(endUsersSeen).toEqual([undefined]);
});

test("usage and cost are counted across restarts, and the limit's message says until when", async () => {
  const yaml = [
    "models: { prices: { 'anthropic/*': { input: 3, output: 15 } } }",
    "limits: { userTokensPerDay: 2000 }",
    "safety: { owners: ['user:local:ann'] }",
  ].join("\n");
  await start(yaml);
  await ask("one", dm);
  const said = (await ann.command("usage", "", dm)).text;
  expect(said).toMatch(
    /\*\*you\*\*, today: 1 model call, 1,000 tokens \(900 in, 100 out\), \$0\.0042, and Remora itself took \d+ ms per call/,
  );
  expect(said).toContain("limit 2,000 tokens a day");
  expect(said).toContain("latest request: 1 model call, 1,000 tokens");
  expect(said).toContain("**everyone**, today: 1 model call");
  await stop();

  await start(yaml);
  await ask("@remora two");
  const refused = await ann.answerTo(await ann.say("@remora three"));
  expect(refused.state).toBe("failed");
  expect(refused.text).toMatch(
    /^⚠️ Today's tokens of Ann are used up: 2,000 of 2,000\. I did not ask the model\..*00:00 UTC/,
  );

  // The limit is only hers.
  const ben = await createChatClient(app?.report().url ?? "", token, "ben");
  expect((await ben.answerTo(await ben.say("@remora hello"))).text).toBe("I am anthropic/usual.");
  expect((await ben.command("usage")).text).not.toContain("everyone");
  ben.close();
});

test("a conversation loses its history only after the configured silence", async () => {
  await start("context: { historyIdleMinutes: 0.002 }\n");
  await ask("hello", dm);
  const silentSince = Date.now();
  await expect.poll(() => Date.now() - silentSince, { interval: 20 }).toBeGreaterThan(130);
  await ask("hello", dm);
  await stop();
  await start();
  await ask("hello", dm);
  // Only the first process's second exchange is left, which is not too old.
  expect(messagesSeen).toEqual([2, 2, 5]);
});

test("the start deletes memory past its retention, and records when", async () => {
  const folder = join(home.workspace, "brain/hippocampus/episodes/channel:general");
  const old = join(folder, "2020-01-01.md");
  await mkdir(folder, { recursive: true });
  await writeFile(old, "# 2020-01-01\n\n## 10:00 — long ago\n");
  const isThere = () =>
    access(old).then(
      () => true,
      () => false,
    );
  const before = Date.now();
  await start("memory: { retentionDays: 30 }\n");
  await expect.poll(isThere).toBe(false);

  await expect.poll(consolidatedAt).toBeGreaterThanOrEqual(before);
});

/** Only reads: opening the store as the application does could refuse the application's own write. */
function consolidatedAt(): number {
  using database = new DatabaseSync(join(home.data, "store.db"), { readOnly: true });
  const row = database.prepare("SELECT value FROM keyv WHERE key LIKE '%done:consolidation'").get();
  return (JSON.parse(String(row?.value)) as { value: number }).value;
}
