/**
 * Real commands behind a proxy, with real TLS through its tunnels: the services' names exist at the proxy alone, and their
 * certificates come from an authority of the test's own, which NODE_EXTRA_CA_CERTS names.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createSecureContext, createServer, type Server, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type CertificateAuthority, createAuthority } from "../../src/sandbox/egress/certificates.ts";
import { runCommand } from "../cli/remora-command.ts";
import { createChatClient } from "../doubles/chat-client.ts";
import { type ConnectProxy, startConnectProxy } from "../doubles/connect-proxy.ts";
import {
  type EmbeddingServer,
  embeddingKey,
  embeddingModel,
  startEmbeddingServer,
} from "../doubles/embedding-server.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { createHome, startRemora } from "../doubles/remora-process.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";

const project = resolve(import.meta.dirname, "../..");
let folder: string;
let model: ModelDouble;
let embeddings: EmbeddingServer;
let slack: SlackDouble;
let terminator: Server;
let proxy: ConnectProxy;
let env: Record<string, string>;

beforeAll(async () => {
  [model, embeddings, slack] = await Promise.all([startModelDouble(), startEmbeddingServer(), createSlackDouble()]);
  folder = await mkdtemp(join(tmpdir(), "remora-proxies-"));
  const authority = await createAuthority();
  const portOf = (url: string) => Number(new URL(url).port);
  const services = {
    "anthropic.test": portOf(model.url),
    "api.openai.com": portOf(model.url),
    "embeddings.test": portOf(embeddings.url),
    "slack.test": portOf(slack.apiUrl),
  };
  terminator = await startTerminator(authority, services);
  const { port } = terminator.address() as AddressInfo;
  proxy = await startConnectProxy({ ports: Object.fromEntries(Object.keys(services).map((host) => [host, port])) });
  slack.state.url = "https://slack.test";
  const [authorityFile, config] = [join(folder, "authority.pem"), join(folder, "remora.yaml")];
  await writeFile(authorityFile, authority.certificate);
  const embedder = `{ provider: openai, model: ${embeddingModel}, baseUrl: "https://embeddings.test/v1", apiKey: "\${EMBEDDING_KEY}" }`;
  await writeFile(config, `memory: { embeddings: ${embedder} }\n`);
  await writeFile(join(folder, ".env"), "", { mode: 0o600 });
  for (const name of ["data", "workspace"]) await mkdir(join(folder, name), { mode: 0o700 });
  env = {
    ...{ PATH: process.env.PATH ?? "", HOME: folder, REMORA_CONFIG: config, REMORA_ENV_FILE: join(folder, ".env") },
    ...{ REMORA_DATA: join(folder, "data"), REMORA_WORKSPACE: join(folder, "workspace"), REMORA_PORT: "0" },
    ...{
      EMBEDDING_KEY: embeddingKey,
      HTTPS_PROXY: proxy.url,
      NODE_EXTRA_CA_CERTS: authorityFile,
      OLLAMA_HOST: "http://127.0.0.1:1",
    },
  };
});
beforeEach(() => {
  proxy.asked.length = 0;
});
afterAll(async () => {
  terminator.close();
  await Promise.all([model.stop(), embeddings.close(), slack.stop(), proxy.stop()]);
  await rm(folder, { recursive: true });
});

/** Ends TLS for every name, and passes on what is in it. */
async function startTerminator(authority: CertificateAuthority, ports: Record<string, number>): Promise<Server> {
  const server = createServer(
    {
      SNICallback: (name, done) =>
        void authority.credentialsFor(name).then((credentials) => done(null, createSecureContext(credentials)), done),
    },
    (socket: TLSSocket) => {
      const target = connect(ports[String(socket.servername)] ?? 0, "127.0.0.1");
      for (const [one, other] of [
        [socket, target],
        [target, socket],
      ] as const)
        one
          .on("error", () => other.destroy())
          .on("close", () => other.destroy())
          .pipe(other);
    },
  );
  server.on("tlsClientError", () => {});
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return server;
}

const services = () => ({
  ...{ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: "https://anthropic.test" },
  ...{ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: "https://slack.test/api/" },
});

async function doctor(more: Record<string, string> = {}): Promise<(name: string) => string> {
  const { stdout } = await runCommand(project, { ...env, ...services(), ...more }, "doctor", "--json");
  const { checks } = JSON.parse(stdout) as { checks: { name: string; state: string; what: string; todo?: string }[] };
  return (name) =>
    checks
      .filter((check) => check.name === name)
      .map(({ state, what, todo = "" }) => `${state}: ${what} ${todo}`)
      .join("\n");
}

test("doctor reaches the model, embeddings and Slack through the proxy, with TLS", async () => {
  const said = await doctor();
  expect(said("model")).toMatch(/^ok: anthropic\/\S+ answered/m);
  expect(said("embeddings")).toMatch(/^ok: /);
  expect(said("slack")).toMatch(/^ok: SLACK_BOT_TOKEN belongs to/);
  expect(proxy.hosts()).toEqual(["anthropic.test", "embeddings.test", "slack.test"]);
});

test("without the authority, each check names the proxy and the variable that helps", async () => {
  const said = await doctor({ NODE_EXTRA_CA_CERTS: "" });
  for (const name of ["model", "embeddings", "slack"]) {
    expect(said(name), name).toContain("the certificate in it is not trusted");
    expect(said(name), name).toContain(`127.0.0.1:${proxy.port} (HTTPS_PROXY)`);
    expect(said(name), name).toContain("NODE_EXTRA_CA_CERTS");
  }
});

test("a search by meaning asks through the proxy", async () => {
  const notes = join(folder, "workspace", "brain", "hippocampus", "knowledge", "shared");
  await mkdir(notes, { recursive: true });
  await writeFile(join(notes, "tea.md"), "# Tea\n\nAnn likes green tea.\n");
  const found = await runCommand(project, env, "memory", "search", "tea");
  expect(found).toMatchObject({ code: 0, stdout: expect.stringContaining("Ann likes green tea.") });
  expect(proxy.hosts()).toEqual(["embeddings.test"]);
});

test("init tests the key through the proxy", async () => {
  await writeFile(join(folder, "key"), "test-key\n");
  const flags = ["--provider", "anthropic", "--model", "claude-test", "--model-key-file", join(folder, "key")];
  const ended = await runCommand(
    project,
    { ...env, ANTHROPIC_BASE_URL: "https://anthropic.test" },
    ...["init", "--yes", "--no-start", ...flags],
  );
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(proxy.hosts()).toEqual(["anthropic.test"]);
  expect(await readFile(join(folder, ".env"), "utf8")).toContain("test-key");
});

test("with a key for OpenAI and nothing else, a message that needs a tool is answered", {
  timeout: 120_000,
}, async () => {
  const home = await createHome();
  model.mock.on({ hasToolResult: true }, { content: "I looked into the folder." });
  model.mock.onMessage(/look/, { toolCalls: [{ name: "list_folder", arguments: '{"path":"."}', id: "call_1" }] });
  const before = model.requests.length;
  const remora = await startRemora(home, {
    ...{ OPENAI_API_KEY: "test-key", HTTPS_PROXY: proxy.url },
    ...{ NODE_EXTRA_CA_CERTS: env.NODE_EXTRA_CA_CERTS ?? "" },
  });
  const ann = await createChatClient(remora.url, remora.token);
  try {
    const { text } = await ann.answerTo(await ann.say("look", { dm: true }));
    expect(text).toBe("I looked into the folder.");
    const requests = model.requests.slice(before);
    expect(requests.map(({ path, body }) => `${path} ${body.model}`)).toEqual(
      Array.from({ length: 2 }, () => "/v1/responses gpt-6-luna"),
    );
    expect(proxy.hosts()).toEqual(["api.openai.com"]);
  } finally {
    ann.close();
    await remora.stop();
    await home.remove();
  }
});
