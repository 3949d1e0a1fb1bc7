/** Models that fail, in the real process with the real client libraries: who answers, what people read, who is asked again. */
import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ChatClient, createChatClient } from "../doubles/chat-client.ts";
import { type ConnectProxy, startConnectProxy } from "../doubles/connect-proxy.ts";
import { type Fault, type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { startRemora } from "../doubles/remora-in-process.ts";
import {
  createHome,
  type RemoraHome,
  type RunningRemora,
  startRemora as startProcess,
} from "../doubles/remora-process.ts";
import { apis } from "../providers/apis.ts";

const run = promisify(execFile);
const project = resolve(import.meta.dirname, "../..");
const patience = { timeout: 120_000 };
const answer = (status: number, error: object): Fault => ({ type: "answer", status, body: JSON.stringify({ error }) });
const noCredit = answer(429, { type: "insufficient_quota", code: "insufficient_quota", message: "no quota" });

let home: RemoraHome;
let remora: RunningRemora;
let ann: ChatClient;

const ask = async (text: string) => (await ann.answerTo(await ann.say(text, { dm: true }))).text;

async function start(env: Record<string, string>, begin: typeof startRemora = startRemora): Promise<void> {
  const config = join(home.workspace, "remora.yaml");
  await writeFile(config, "models: { ollama: { model: llama3.2 } }\nhealth: { modelCall: false }\n");
  remora = await begin(home, { REMORA_CONFIG: config, ...env });
  ann = await createChatClient(remora.url, remora.token);
}

async function doctor(env: Record<string, string>): Promise<{ stdout: string }> {
  const places = { REMORA_WORKSPACE: home.workspace, REMORA_DATA: home.data, PATH: process.env.PATH ?? "" };
  return await run(process.execPath, [join(project, "src/remora.mjs"), "doctor"], {
    cwd: project,
    env: { ...places, REMORA_CONFIG: join(home.workspace, "remora.yaml"), ...env },
  });
}

async function stop(): Promise<void> {
  ann.close();
  await remora.stop();
}

describe("three services", () => {
  let [one, two, local]: ModelDouble[] = [];
  const double = (which: ModelDouble | undefined): ModelDouble => {
    if (which === undefined) throw new Error("not started");
    return which;
  };
  /** Keys are in `.env`, where operators change them. */
  const env = () => ({
    REMORA_ENV_FILE: envFile(),
    ANTHROPIC_BASE_URL: double(one).url,
    OPENAI_BASE_URL: `${double(two).url}/v1`,
    OLLAMA_HOST: double(local).url,
  });

  const envFile = () => join(home.workspace, "../.env");
  const writeKey = (key: string) =>
    writeFile(envFile(), `ANTHROPIC_API_KEY=${key}\nOPENAI_API_KEY=another-key-of-the-operator\n`);

  beforeAll(async () => {
    [home, one, two, local] = await Promise.all([
      createHome(),
      startModelDouble(),
      startModelDouble(),
      startModelDouble(),
    ]);
    one.mock.onMessage(/./, { content: "Here is the whole answer of the first model." });
    two.mock.onMessage(/./, { content: "The second one answers." });
    local.mock.on({ hasToolResult: true }, { content: "I looked into the folder." });
    local.mock.onMessage(/look/, { content: '```json\n{"tool": "list_folder", "args": {"path": "."}}\n```' });
    await writeKey("the-first-key-of-the-operator");
    await start(env());
  });
  afterAll(async () => {
    await stop();
    await Promise.all([one, two, local].map((each) => each?.stop()));
    await home.remove();
  });

  test("an answer that breaks off begins again, and reads as one answer", patience, async () => {
    const [api] = apis;
    if (api === undefined) throw new Error("no api");
    double(one).failNext({ type: "break", before: api.secondText });
    expect(await ask("hello")).toBe("Here is the whole answer of the first model.");
    expect(double(one).requests).toHaveLength(2);
  });

  test("a prompt that is too long is asked again with less, and the same model answers", patience, async () => {
    await ask(`hello, ${"and a long text of some words ".repeat(200)}`);
    await ask("hello between");
    const before = double(one).requests.length;
    double(one).failNext(answer(400, { type: "invalid_request_error", message: "prompt is too long: 210000 tokens" }));
    expect(await ask("hello again")).toBe("Here is the whole answer of the first model.");
    const [whole, short] = double(one)
      .requests.slice(before)
      .map(({ body }) => JSON.stringify(body));
    expect(short?.length).toBeLessThan(whole?.length ?? 0);
    expect(short).toContain("hello again");
  });

  test("no credit: the next model answers, says why once, and the operator is told", patience, async () => {
    double(one).failNext(noCredit);
    const name = "anthropic/claude-sonnet-5-5";
    expect(await ask("first")).toBe(
      `The second one answers.\n\n*(answered by openai/gpt-6-luna, because the account for ${name} has no credit left)*`,
    );
    expect(await ask("second")).toBe("The second one answers.");
    expect((remora.stdout() + remora.stderr()).split("the account has no credit left")).toHaveLength(2);
    expect((await ann.command("status", "", { dm: true })).text).toContain("no credit left");
  });

  test("a local model's call that is written as text runs, and is never shown", patience, async () => {
    double(two).failNext(noCredit);
    const said = await ann.say("look", { dm: true });
    const { text } = await ann.answerTo(said);
    expect(text).toMatch(/^I looked into the folder\.\n\n\*\(answered by ollama\/llama3\.2, because /);
    expect(JSON.stringify([...ann.seen.values()])).not.toContain('list_folder\\", \\"args');
    expect(JSON.stringify(double(local).requests.at(-1)?.body)).toContain('"role":"tool"');
  });

  test("a refused key rests across a restart, until `.env` has another one", patience, async () => {
    await stop();
    double(one).refuseKey();
    await start(env());
    expect(await ask("third")).toContain("because the key for anthropic/claude-sonnet-5-5 was refused");
    const health = await (await ann.request("GET", "/dashboard/data/health")).text();
    expect(health).toContain("the key was refused; set a valid one in ANTHROPIC_API_KEY");
    const { stdout } = await doctor(env()).catch((failed: { stdout: string }) => failed);
    expect(stdout).toMatch(/does not accept this key for anthropic\/claude-sonnet-5-5/);
    double(one).refuseKey(false);
    const before = double(one).requests.length;

    await stop();
    await start(env());
    expect(await ask("fourth")).toContain("The second one answers.");
    expect(double(one).requests).toHaveLength(before);
    for (const file of await readdir(home.data, { recursive: true, withFileTypes: true }))
      if (file.isFile())
        expect((await readFile(join(file.parentPath, file.name))).includes("the-first-key")).toBe(false);

    await writeKey("the-second-key-of-the-operator");
    await expect
      .poll(() => ask("and now?"), { timeout: 60_000, interval: 200 })
      .toBe("Here is the whole answer of the first model.");
    expect(double(one).requests.at(-1)?.headers.authorization).toBe("Bearer the-second-key-of-the-operator");
    expect(remora.stdout() + remora.stderr()).not.toContain("the-second-key");
  });
});

describe("a network that swallows everything", () => {
  let proxy: ConnectProxy;
  let models: ModelDouble;

  beforeAll(async () => {
    [home, models] = await Promise.all([createHome(), startModelDouble()]);
    const port = Number(new URL(models.url).port);
    proxy = await startConnectProxy({ ports: { "anthropic.test": port, "openai.test": port } });
    models.mock.onMessage(/./, { content: "Hello." });
    proxy.manner = { type: "hangs" };
    const env = {
      HTTP_PROXY: proxy.url,
      ANTHROPIC_API_KEY: "test-key",
      ANTHROPIC_BASE_URL: "http://anthropic.test",
      OPENAI_API_KEY: "test-key",
      OPENAI_BASE_URL: "http://openai.test/v1",
      OLLAMA_HOST: models.url,
    };
    await start(env, startProcess);
  });
  afterAll(async () => {
    await stop();
    await Promise.all([proxy.stop(), models.stop()]);
    await home.remove();
  });

  test("lets the local model answer, once after a wait, until the first choice can be reached", patience, async () => {
    const line = "*(answered by ollama/llama3.2, because anthropic/claude-sonnet-5-5 can't be reached)*";
    expect(await ask("one")).toBe(`Hello.\n\n${line}`);
    expect(await ask("two")).toBe("Hello.");
    expect(models.requests.map(({ path }) => path)).toEqual(["/api/chat", "/api/chat"]);
    // Only one service was waited for; the other was tried at the same time, without a request.
    await expect.poll(() => proxy.hosts(), { timeout: 60_000 }).toEqual(["anthropic.test", "openai.test"]);
    expect((await ann.command("status", "", { dm: true })).text).toContain("anthropic/claude-sonnet-5-5");

    proxy.manner = { type: "works" };
    await expect
      .poll(
        async () => {
          await ask("and now?");
          return models.requests.at(-1)?.path;
        },
        { timeout: 60_000, interval: 500 },
      )
      .toBe("/v1/messages");
  });
});

describe("a compatible server with a model that refuses tools in Chat Completions", () => {
  let server: ModelDouble;

  beforeAll(async () => {
    [home, server] = await Promise.all([createHome(), startModelDouble({ service: "openai" })]);
    server.mock.on({ hasToolResult: true }, { content: "I looked into the folder." });
    server.mock.onMessage(/look/, { toolCalls: [{ name: "list_folder", arguments: '{"path":"."}', id: "call_1" }] });
    await start({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: `${server.url}/v1` });
  });
  afterAll(async () => {
    await stop();
    await server.stop();
    await home.remove();
  });

  test("answers all the same, and the owner is told which setting spares a refusal", patience, async () => {
    expect(await ask("look")).toBe("I looked into the folder.");
    expect(server.requests.map(({ path }) => path)).toEqual(["/v1/chat/completions", "/v1/responses", "/v1/responses"]);
    const told = "openai/gpt-6-luna refused Chat Completions, so it is asked by the Responses API";
    const health = await (await ann.request("GET", "/dashboard/data/health")).text();
    expect(health).toContain(told);
    expect(health).toContain("Set models.openai.api: responses");
    const log = remora.stdout() + remora.stderr();
    expect(log.split(told)).toHaveLength(2);
  });
});
