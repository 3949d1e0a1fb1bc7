/**
 * The whole process and its model's service: a service that refuses every turn is not ready and says what to do, and one that
 * says what a call costs has its calls counted.
 */
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { createUsageMeter } from "../../src/usage/usage.ts";
import { commandHere } from "../cli/remora-here.ts";
import { type ChatClient, createChatClient } from "../doubles/chat-client.ts";
import { freePort } from "../doubles/free-port.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { moneyAnswers } from "../doubles/model-rules/money.ts";
import { turnRecord } from "../doubles/records.ts";
import { startRemora } from "../doubles/remora-in-process.ts";
import { createHome, environmentOf, type RemoraHome, type RunningRemora } from "../doubles/remora-process.ts";
import { noLimits } from "../doubles/turn-deps.ts";

const patience = { timeout: 120_000, interval: 200 };

let home: RemoraHome;
let model: ModelDouble;
let remora: RunningRemora;
let env: Record<string, string>;
let ann: ChatClient | undefined;

beforeEach(async () => {
  [model, home] = await Promise.all([startModelDouble({ cost: 0.25 }), createHome()]);
  model.mock.onMessage("hello", { content: "Hello there." });
});
afterEach(async () => {
  ann?.close();
  await remora.stop();
  await Promise.all([model.stop(), home.remove()]);
});

async function start(config: string, more: Record<string, string>): Promise<ChatClient> {
  await mkdir(home.data, { recursive: true });
  const path = join(home.workspace, "remora.yaml");
  await writeFile(path, `${config}\nhealth: { everySeconds: 0.5 }\n`);
  env = { REMORA_CONFIG: path, ...more };
  remora = await startRemora(home, env);
  ann = await createChatClient(remora.url, remora.token);
  return ann;
}

/** Requests of one conversation, of which the service's cache held hardly anything. */
async function missTheCache(of: string): Promise<void> {
  await mkdir(home.data, { recursive: true });
  const ledger = createSqliteLedger({ path: join(home.data, "ledger.db") });
  const meter = createUsageMeter({ ledger, priceOf: () => undefined, limits: noLimits, log: silentLog });
  const usage = { inputTokens: 10, outputTokens: 5, cacheReadTokens: 1_000, cacheWriteTokens: 9_000 };
  for (let number = 0; number < 25; number += 1) {
    const permit = await meter.admit(turnRecord());
    if (permit.type === "admitted") await permit.count({ model: of, usage, addedMs: 0 }).written;
  }
  await ledger.close();
}

async function readyz(): Promise<{ status: number; text: string }> {
  const response = await fetch(`${remora.url}/readyz`);
  return { status: response.status, text: await response.text() };
}

test("an OpenAI model that takes no tools by Chat Completions is not ready; health, doctor and Details name the setting, and the answer does not", async () => {
  const chat = await start("models: { order: [openai], openai: { api: chat, model: gpt-6-luna } }", {
    ...{ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: `${model.url}/v1` },
  });
  await expect.poll(readyz, patience).toMatchObject({ status: 503 });
  expect((await readyz()).text).toContain("set models.openai.api");
  const said = await chat.answerTo(await chat.say("hello", { dm: true }));
  expect(said.text).toBe(
    "⚠️ The model could not answer: it is not set up as it should be. Whoever runs me has to fix that; Details says why.",
  );
  expect(said.footer?.choices).toEqual(["details", "retry"]);
  const click = { person: "ann", messageId: said.id, action: "details" };
  expect(JSON.stringify(await chat.post("/local/api/footer", click))).toContain("set models.openai.api");
  const { stdout } = await commandHere(environmentOf(home, env), ["doctor"]);
  expect(stdout).toMatch(/broken\s+model\s+.*Set models\.openai\.api/);
  const elsewhere = { ...env, OPENAI_BASE_URL: `${model.url}/prod`, REMORA_MODEL: "openai/gpt-x" };
  expect((await commandHere(environmentOf(home, elsewhere), ["doctor"])).stdout).toMatch(
    /openai\/gpt-x does not answer: there is nothing at .*\/prod for gpt-x .*Correct OPENAI_BASE_URL, .* check REMORA_MODEL/,
  );
}, 120_000);

test("an account at its spending limit is not ready, says when that ends, and is not asked again and again; a cache that hardly works is a warning beside it", async () => {
  const own = moneyAnswers.find(({ service, resetsAt }) => service === "Anthropic" && resetsAt !== undefined);
  if (own === undefined) throw new Error("no answer");
  model.refuseAll(own);
  await missTheCache("anthropic/claude-x");
  const chat = await start("models: { order: [anthropic] }\nsafety: { owners: ['user:local:ann'] }", {
    ...{ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url },
  });
  await expect.poll(readyz, patience).toMatchObject({ status: 503 });
  expect((await readyz()).text).toMatch(
    /the account has reached its spending limit, which resets on 2099-04-01 00:00 UTC; whoever manages the account/,
  );
  expect((await readyz()).text).not.toContain("specified API usage limits");
  expect((await readyz()).text).not.toMatch(/usage limits|spending limit.*Raise the limit/);
  const page = (await (await chat.request("GET", "/dashboard/data/health")).json()) as { status: { name: string }[] };
  expect(page.status.filter(({ name }) => name.startsWith("model anthropic/"))).toMatchObject([{ state: "error" }]);
  const { text } = await chat.answerTo(await chat.say("hello", { dm: true }));
  expect(text).toContain("my account with its service is used up. Whoever runs me has to fix that");
  expect(text).not.toMatch(/ANTHROPIC_BASE_URL|400|specified API usage/);
  const { stdout } = await commandHere(environmentOf(home, env), ["doctor"]);
  expect(stdout).toMatch(/broken\s+model\s+The account of this key has reached its spending limit/);
  const missed = /sent again, only 9 % came from the service's cache\. .*Look for settings that/;
  expect(stdout).toMatch(new RegExp(`warning\\s+cache anthropic/claude-x of the [\\d,]+ tokens .*${missed.source}`));
  model.refuseAll();
  expect((await chat.answerTo(await chat.say("hello", { dm: true }))).text).toBe("Hello there.");
  await expect.poll(readyz, patience).toMatchObject({ status: 200, text: expect.stringMatching(missed) });
}, 120_000);

test("a budget counts what a service without known prices says that each call costs, and does not refuse its models", async () => {
  const chat = await start(
    "models: { order: [openai], openai: { model: deepseek/deepseek-v4 } }\nlimits: { dollars: { user: 100 } }",
    {
      ...{ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: `${model.url}/v1` },
    },
  );
  const ask = async () => (await chat.answerTo(await chat.say("hello", { dm: true }))).text;
  await expect.poll(readyz, patience).toMatchObject({ status: 200 });
  // The check at the start has shown that the service says it.
  await expect.poll(ask, patience).toBe("Hello there.");
  expect((await chat.command("usage", "", { dm: true })).text).toMatch(/\$0\.25 of \$100/);
}, 120_000);

test("a model that is set up and can't be used is not ready, though the demo answers, and start and doctor say why", async () => {
  await start("", { OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: "api.example.com/v1" });
  const why = "OPENAI_BASE_URL is not an http(s) address: api.example.com/v1";
  expect(await readyz()).toMatchObject({ status: 503, text: expect.stringContaining(why) });
  expect(remora.stdout()).toContain("Remora has started, but only the demo answers");
  expect(remora.stderr()).toContain(`no model that the settings name can be used, so only the demo answers`);
  const { stdout, code } = await commandHere(environmentOf(home, env), ["doctor"]);
  expect(stdout).toMatch(/broken\s+model\s+demo\//);
  expect(code).toBe(1);
}, 120_000);

test.each([
  ["names", "models: { order: [ollama, demo], ollama: { model: 'llama3.2' } }"],
  ["does not name", "models: { order: [ollama, demo] }"],
])(
  "a local model that the configuration %s and that starts later answers, without a restart",
  async (_how, config) => {
    const port = await freePort();
    const chat = await start(config, { OLLAMA_HOST: `http://127.0.0.1:${port}` });
    expect(await readyz()).toMatchObject({ status: 503, text: expect.stringContaining("only the demo answers") });
    const late = createServer((socket) => {
      const onward = connect(Number(new URL(model.url).port), "127.0.0.1");
      socket.on("error", () => onward.destroy());
      onward.on("error", () => socket.destroy());
      socket.pipe(onward).pipe(socket);
    });
    await once(late.listen(port, "127.0.0.1"), "listening");
    try {
      expect((await chat.answerTo(await chat.say("hello", { dm: true }))).text).toBe("Hello there.");
      expect(await readyz()).toMatchObject({ status: 200 });
      expect((await chat.command("model")).text).toMatch(/^- `ollama\/\S+` — used here by default/);
    } finally {
      late.close();
    }
  },
  120_000,
);
test("when no model can answer, the chat has a plain line for each, and the log has what the services sent", async () => {
  const chat = await start("models: { order: [anthropic, openai], openai: { model: gpt-6-luna } }", {
    ...{ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url },
    ...{ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: `${model.url}/v1` },
  });
  await expect.poll(readyz, patience).toMatchObject({ status: 200 });
  model.refuseAll({ status: 500, body: { error: { message: "<html>oops</html>" } } });
  const { text } = await chat.answerTo(await chat.say("hello", { dm: true }));
  expect(text).toBe("⚠️ None of my models could answer. Please try again in a few minutes; Details says why.");
  expect(remora.stdout() + remora.stderr()).toContain("<html>oops</html>");
}, 120_000);

test("a first message that is too long for the model is answered with advice that helps, and without JSON", async () => {
  const chat = await start("models: { order: [openai], openai: { model: gpt-6-luna } }", {
    ...{ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: `${model.url}/v1` },
  });
  await expect.poll(readyz, patience).toMatchObject({ status: 200 });
  expect((await chat.answerTo(await chat.say("hello", { dm: true }))).text).toBe("Hello there.");
  const error = { code: 400, message: "request (14283 tokens) exceeds the available context size", n_ctx: 8192 };
  model.refuseAll({ status: 400, body: { error } });
  const advice = "this is too long for it. Please write less, or send it in parts.";
  const first = await chat.answerTo(await chat.say("@remora hello", { channel: "general" }));
  expect(first.text).toBe(`⚠️ The model could not answer: ${advice}`);
  const later = await chat.answerTo(await chat.say("hello", { dm: true }));
  expect(later.text).toBe(`⚠️ The model could not answer: ${advice} A new conversation is shorter: /remora new.`);
}, 120_000);
