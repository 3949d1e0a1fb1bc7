/** Search by meaning with the real process and its page; the service is a double. */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { environmentOf } from "../cli/remora-command.ts";
import { commandHere } from "../cli/remora-here.ts";
import { type ChatClient, createChatClient } from "../doubles/chat-client.ts";
import {
  type EmbeddingServer,
  embeddingKey,
  embeddingModel,
  startEmbeddingServer,
} from "../doubles/embedding-server.ts";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";

let server: EmbeddingServer;
let home: RemoraHome;
let remora: RunningRemora;
let ann: ChatClient;

beforeAll(async () => {
  server = await startEmbeddingServer();
  home = await createHome();
  await write("brain/hippocampus/knowledge/dm:ann/food.md", "Ann is allergic to peanuts.\n");
  await write("brain/hippocampus/knowledge/dm:ben/food.md", "Ben is allergic to nuts, too.\n");
  await start(true);
});
afterAll(async () => {
  ann.close();
  await remora.stop();
  await home.remove();
  await server.close();
});

async function write(path: string, text: string): Promise<void> {
  const file = join(home.workspace, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

async function start(isOn: boolean): Promise<void> {
  remora = await startRemora(home, isOn ? await environment() : {});
  ann = await createChatClient(remora.url, remora.token);
}

async function environment(): Promise<Record<string, string>> {
  const file = join(dirname(home.data), "config.yaml");
  const service = `provider: openai, baseUrl: "${server.url}/v1", model: ${embeddingModel}`;
  await writeFile(file, `memory:\n  embeddings: { ${service}, apiKey: "\${EMBEDDING_KEY}" }\n`);
  return { REMORA_CONFIG: file, EMBEDDING_KEY: embeddingKey };
}

async function command(...args: string[]): Promise<string> {
  const env = { ...environmentOf(dirname(home.data)), ...(await environment()) };
  return (await commandHere(env, args)).stdout;
}

/** The prompt of the turn that answers this. */
async function promptFor(text: string): Promise<string> {
  const folder = join(home.workspace, "brain/prefrontal/.debug");
  const snapshots = async () =>
    (await readdir(folder, { recursive: true }).catch(() => [])).filter((name) => name.endsWith(".md")).sort();
  const before = (await snapshots()).length;
  await ann.answerTo(await ann.say(text, { dm: true }));
  await expect.poll(async () => (await snapshots()).length).toBeGreaterThan(before);
  return await readFile(join(folder, (await snapshots()).at(-1) ?? ""), "utf8");
}

test("a paraphrase without common words brings the note into the prompt, from the right scope only", async () => {
  await expect.poll(() => server.texts().join()).toMatch(/allergic to peanuts/);
  const status = async () => JSON.parse(await command("memory", "status", "--json"));
  const isComplete = async () => {
    const { passages, embeddings } = await status();
    return passages >= 2 && embeddings.embedded === passages;
  };
  await expect.poll(isComplete, { timeout: 30_000, interval: 500 }).toBe(true);
  expect(await status()).toMatchObject({
    embeddings: { model: `openai/${embeddingModel}`, address: `${server.url}/v1` },
  });
  const prompt = await promptFor("Which groundnuts make me intolerant?");
  expect(prompt).toContain("Ann is allergic to peanuts.");
  expect(prompt).not.toContain("Ben is allergic");
  expect(server.requests.every(({ authorization }) => authorization === `Bearer ${embeddingKey}`)).toBe(true);
});

test("a service that hangs delays no answer for long, and the doctor says what is wrong", async () => {
  server.failWhen(() => ({ type: "silence" }));
  const prompt = await promptFor("What about peanuts in the soup?");
  expect(prompt).toContain("Ann is allergic to peanuts.");
  server.failWhen(() => ({ type: "answer", status: 401, body: `{"error":{"message":"wrong: ${embeddingKey}"}}` }));
  const stdout = await command("doctor");
  expect(stdout).toMatch(/broken +embeddings .*the key was refused; set a valid one in memory\.embeddings\.apiKey/);
  expect(stdout).not.toContain(embeddingKey);
  server.failWhen(undefined);
});

test("forgetting removes the vectors, too", async () => {
  const keys = () => {
    const database = new DatabaseSync(join(home.data, "memory-vectors.db"), { readOnly: true });
    const found = database.prepare("SELECT key FROM signs").all().length;
    database.close();
    return found;
  };
  expect(keys()).toBeGreaterThan(1);
  expect((await ann.command("forget", "me yes", { dm: true })).text).toContain("Removed:");
  // Ben's note is left.
  await expect.poll(keys).toBe(1);
});

test("with embeddings off, the same paraphrase finds nothing, nothing is sent, and the vectors are deleted", async () => {
  await write("brain/hippocampus/knowledge/dm:ann/food.md", "Ann is allergic to peanuts.\n");
  ann.close();
  await remora.stop();
  const before = server.requests.length;
  await start(false);
  expect(await promptFor("Which groundnuts make me intolerant?")).not.toContain("Ann is allergic");
  expect(await promptFor("And peanuts?")).toContain("Ann is allergic to peanuts.");
  expect(server.requests).toHaveLength(before);
  expect(existsSync(join(home.data, "memory-vectors.db"))).toBe(false);
});
