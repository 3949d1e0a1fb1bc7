/**
 * Every client of another service, with its real library, through a CONNECT proxy. The services' names exist at the proxy
 * alone, so whatever does not take it fails.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getGlobalDispatcher } from "undici";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createWeb } from "../../skills/web/web.ts";
import { checkModelCall } from "../../src/health/model-call.ts";
import { messageOf } from "../../src/lib/errors.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { CheckResult } from "../../src/ports/check.ts";
import type { ModelRequest, Provider } from "../../src/ports/provider.ts";
import { createAnthropicProvider } from "../../src/providers/anthropic.ts";
import { createEmbedder } from "../../src/providers/embeddings.ts";
import { createOllamaProvider } from "../../src/providers/ollama.ts";
import { createOpenAiProvider } from "../../src/providers/openai.ts";
import { installProxies } from "../../src/proxy/install.ts";
import { createInMemoryLeases } from "../../src/storage/in-memory-cluster.ts";
import { type ConnectProxy, type ProxyManner, startConnectProxy } from "../doubles/connect-proxy.ts";
import type { DiscordDouble } from "../doubles/discord/double.ts";
import { type HttpTestServer, startHttpServer } from "../doubles/mcp-server-http.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";
import { startTranscriptionServer } from "../doubles/transcription-server.ts";
import { startWebSite, type WebSite } from "../doubles/web-site.ts";
import { isOk, makePlace, textOf } from "../skills-shipped/place.ts";

const credentials = "remora:p%41ss w0rd";
let proxy: ConnectProxy;
let models: ModelDouble;
let slack: SlackDouble;
let discord: DiscordDouble;
let site: WebSite;
let mcp: HttpTestServer;
const ports: Record<string, number> = {};
const ended = new AbortController();
const memory = new Map<string, unknown>();
const store = {
  get: async (key: string) => memory.get(key) as never,
  set: async (key: string, value: unknown) => void memory.set(key, value),
  delete: async (key: string) => void memory.delete(key),
  close: async () => {},
};

beforeAll(async () => {
  [models, slack, site, mcp] = await Promise.all([
    startModelDouble(),
    createSlackDouble(),
    startWebSite(),
    startHttpServer(),
  ]);
  const portOf = (url: string) => Number(new URL(url).port);
  for (const host of ["anthropic.test", "chat.test", "responses.test", "ollama.test"]) ports[host] = portOf(models.url);
  ports["mcp.test"] = mcp.port;
  slack.state.url = `http://slack.test:${portOf(slack.apiUrl)}`;
  proxy = await startConnectProxy({ ports, credentials });
  const url = new URL(proxy.url);
  [url.username, url.password] = credentials.split(":").map(encodeURIComponent) as [string, string];
  await installProxies({
    http: { variable: "HTTP_PROXY", url },
    https: { variable: "HTTPS_PROXY", url },
    noProxy: "direct.test",
  });
  // The double loads discord.js, which must come after the proxies.
  const { createDiscordDouble } = await import("../doubles/discord/double.ts");
  discord = await createDiscordDouble({ host: "discord.test" });
});
afterEach(() => {
  proxy.manner = { type: "works" };
  proxy.asked.length = 0;
});
afterAll(async () => {
  ended.abort();
  await Promise.all([models.stop(), slack.stop(), discord.stop(), site.close(), mcp.close(), proxy.stop()]);
});

const timeouts = { connectMs: 5_000, firstTokenMs: 5_000, idleMs: 5_000 };
const request: ModelRequest = {
  system: [],
  messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
  tools: [],
  maxOutputTokens: 300,
};

async function answerOf(provider: Provider): Promise<string> {
  let text = "";
  for await (const event of provider.stream(request, new AbortController().signal)) {
    if (event.type === "text-delta") text += event.text;
    if (event.type === "error") throw event.error;
  }
  return text;
}

const key = { apiKey: "key", timeouts };
const context = { promptTokens: 32_000, answerTokens: 16_000 };
test.each([
  ["anthropic", () => createAnthropicProvider({ ...key, model: "claude", baseUrl: "http://anthropic.test" })],
  ["chat", () => createOpenAiProvider({ ...key, model: "gpt", api: "chat", baseUrl: "http://chat.test/v1" })],
  [
    "responses",
    () => createOpenAiProvider({ ...key, model: "gpt", api: "responses", baseUrl: "http://responses.test/v1" }),
  ],
  ["ollama", () => createOllamaProvider({ host: "http://ollama.test", model: "llama", timeouts, context })],
])("a model answers through the proxy: %s", async (name, provider) => {
  models.mock.onMessage("hello", { content: "Hello from afar." });
  expect(await answerOf(provider())).toBe("Hello from afar.");
  expect(proxy.hosts()).toEqual([`${name}.test`]);
});

test("Slack's Web API and its Socket Mode go through the proxy", async () => {
  const { createSlackPlatform } = await import("../../src/platforms/slack/platform.ts");
  const { createTestAgent } = await import("../platforms/slack/agent.ts");
  const { createSqliteLedger } = await import("../../src/storage/sqlite/ledger.ts");
  const ledger = createSqliteLedger({ path: ":memory:" });
  const ephemeral = { put() {}, get: () => undefined };
  const platform = createSlackPlatform({
    access: {
      botToken: slack.botToken,
      transport: { type: "socket", appToken: slack.appToken },
      apiUrl: `${slack.state.url}/api/`,
    },
    ...{
      streaming: "edits",
      workIn: async () => "none",
      withdrawnFrom: async () => undefined,
      directMessages: "threads",
      ackReaction: null,
      store,
      ledger,
      ephemeral,
      commands: () => [],
      log: silentLog,
    },
    home: async () => ({ status: [], memory: [] }),
    isAllowedBot: () => false,
    dispatcher: getGlobalDispatcher(),
  });
  const agent = createTestAgent();
  await platform.connect(agent.handlers, ended.signal);
  slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora are you there?" });
  await slack.until(() => agent.texts().length > 0);
  expect(platform.health()).toMatchObject({ isConnected: true });
  expect(proxy.hosts()).toEqual(["slack.test"]);
  await platform.close();
  await ledger.close();
});

test("Discord's REST API and its gateway go through the proxy", async () => {
  const { createDiscordPlatform } = await import("../../src/platforms/discord/platform.ts");
  const { createTestAgent } = await import("../platforms/slack/agent.ts");
  const platform = createDiscordPlatform({
    ...{ token: discord.token, apiUrl: discord.apiUrl, replyIn: "thread", ackReaction: null, shards: 1 },
    ...{ store, commands: () => [], isAllowedBot: () => false, log: silentLog },
    ...{ leases: createInMemoryLeases(), shared: undefined },
  });
  const agent = createTestAgent();
  await platform.connect(agent.handlers, ended.signal);
  discord.ann.say("@Remora are you there?", { in: discord.channel });
  await discord.until(() => agent.texts().length > 0);
  expect(proxy.hosts()).toEqual(["discord.test"]);
  await platform.close();
});

test("an MCP server with an address is reached through the proxy", async () => {
  const { addressTransports } = await import("../../skills/mcp/address.ts");
  const { Client } = await import("@modelcontextprotocol/client");
  const client = new Client({ name: "test", version: "1" });
  const path = new URL(mcp.url).pathname;
  const [transport] = addressTransports({ url: `http://mcp.test${path}`, headers: {}, type: "http" } as never);
  if (transport === undefined) throw new Error("no transport");
  await client.connect(transport() as never);
  expect((await client.listTools()).tools.length).toBeGreaterThan(0);
  await client.close();
  expect(proxy.hosts()).toEqual(["mcp.test"]);
});

test("a recording is sent through the proxy", async () => {
  const { createTranscription } = await import("../../src/transcription/transcribe.ts");
  const server = await startTranscriptionServer();
  ports["voice.test"] = Number(new URL(server.url).port);
  const folder = await mkdtemp(join(tmpdir(), "remora-voice-"));
  await writeFile(join(folder, "a.wav"), "RIFF");
  const transcribe = createTranscription({
    ...{ baseUrl: "http://voice.test/v1", model: "whisper", events: { emit() {} }, log: silentLog },
  });
  await transcribe({ path: join(folder, "a.wav"), name: "a.wav", mimeType: "audio/wav" }, ended.signal);
  await server.close();
  await rm(folder, { recursive: true });
  expect(proxy.hosts()).toEqual(["voice.test"]);
});

test("the web skill checks addresses as before, and the proxy gets the checked address", async () => {
  const place = await makePlace();
  site.on("/", "<!doctype html><title>A page</title><p>Some text of the page, long enough to be read.</p>");
  const web = createWeb({ resolve: async () => ["127.0.0.1"], now: () => 0 });
  const at = (config: object) => place.context("web", { config: config as never });
  const url = `http://pages.test:${site.port}/`;
  const fetched = await web.execute("web_fetch", { url }, at({ allow: [`pages.test:${site.port}`] }));
  expect(textOf(fetched)).toContain("Some text of the page");
  expect(isOk(fetched)).toBe(true);
  expect(proxy.asked).toEqual([`127.0.0.1:${site.port}`]);
  const refused = await web.execute("web_fetch", { url: "http://inside.test/" }, at({}));
  expect(textOf(refused)).toContain("is not a public address");
  expect(proxy.asked).toHaveLength(1);
  await place.remove();
});

const html = "<!doctype html><title>Sign in</title>Please sign in.";
describe.each<[string, ProxyManner, string]>([
  ["wants another password", { type: "refuses", status: 407, words: "Who" }, "refused the user name and password"],
  [
    "has no connection itself",
    { type: "refuses", status: 502, words: "Bad Gateway" },
    "(502 Bad Gateway). Ask the people",
  ],
  ["answers with a page", { type: "refuses", status: 200, words: `OK\r\n\r\n${html}` }, "no TLS came through it"],
  ["lets nothing through its tunnel", { type: "lies", text: "" }, "no TLS came through it"],
  ["closes the connection", { type: "cuts" }, "closed the connection without an answer. Check the proxy"],
])("a proxy that %s is named by", (_, manner, words) => {
  const named = `proxy http://127.0.0.1:${"%"} (HTTPS_PROXY)`;
  async function expectNamed(saying: () => Promise<string>): Promise<void> {
    proxy.manner = manner;
    const said = await saying();
    expect(said).toContain(named.replace("%", String(proxy.port)));
    expect(said).toContain(words);
    expect(said).not.toContain("p%41ss");
  }
  const failureOf = (work: Promise<unknown>) => work.then(() => "nothing", messageOf);
  const saidBy = async (checked: Promise<CheckResult<object>>) => {
    const result = await checked;
    return result.ok ? "nothing" : `${result.problem} ${result.fix}`;
  };

  test.each([
    ["anthropic", () => createAnthropicProvider({ ...key, model: "claude", baseUrl: "https://api.test" })],
    ["openai", () => createOpenAiProvider({ ...key, model: "gpt", baseUrl: "https://api.test/v1" })],
  ])("a model, in a turn and in a check: %s", async (_name, provider) => {
    await expectNamed(() => failureOf(answerOf(provider())));
    await expectNamed(() => saidBy(checkModelCall(provider())));
  });

  test("embeddings", async () => {
    const { embed } = createEmbedder({ provider: "openai", model: "m", apiKey: "key", baseUrl: "https://api.test/v1" });
    await expectNamed(() => failureOf(embed(["tea"], "question", AbortSignal.timeout(60_000))));
  });

  test("the checks of Slack's and Discord's tokens", async () => {
    const { checkToken } = await import("../../src/platforms/discord/doctor-token.ts");
    const { checkBotToken } = await import("../../src/platforms/slack/doctor-tokens.ts");
    await expectNamed(() => saidBy(checkBotToken("xoxb-1-2-abcdefghijkl", { apiUrl: "https://slack.test/api/" })));
    await expectNamed(() => saidBy(checkToken(discord.token, { apiUrl: "https://discord.test/api" })));
  });

  test("downloads", async () => {
    await expectNamed(() =>
      failureOf(fetch("https://files.test/a.png").catch((thrown) => Promise.reject(thrown.cause))),
    );
  });
});

test("loopback and NO_PROXY go without the proxy", async () => {
  expect(await (await fetch(`${site.origin}/nothing`)).text()).toBe("nothing here");
  await expect(fetch("http://direct.test/")).rejects.toThrow();
  expect(proxy.asked).toEqual([]);
});
