/** What a model's service says about a failure, in the real process: where its words appear, and where they must not. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ChatClient, createChatClient } from "../doubles/chat-client.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-process.ts";

const patience = { timeout: 120_000 };
const key = "operators-own-gateway-key-0123";

let home: RemoraHome;
let model: ModelDouble;
let remora: RunningRemora;
let ann: ChatClient;

beforeAll(async () => {
  [home, model] = await Promise.all([createHome(), startModelDouble()]);
  model.mock.onMessage(/./, { content: "Here I am." });
  const config = join(home.workspace, "remora.yaml");
  await writeFile(
    config,
    "models: { order: [openai], openai: { api: chat, model: m } }\nhealth: { modelCall: false }\nsafety: { owners: ['user:local:ben'] }\n",
  );
  const service = { OPENAI_API_KEY: key, OPENAI_BASE_URL: `${model.url}/v1` };
  remora = await startRemora(home, { REMORA_CONFIG: config, ...service });
  ann = await createChatClient(remora.url, remora.token);
}, 120_000);
afterAll(async () => {
  ann.close();
  await remora.stop();
  await Promise.all([model.stop(), home.remove()]);
});

const ask = async (text: string) => (await ann.answerTo(await ann.say(text, { dm: true }))).text;

test("a key that the service repeats is in no answer, file, later prompt, readiness or status", patience, async () => {
  const message = `${"bad header ".repeat(24)}Bearer ${key} and once more ${key}`;
  model.failNext({ type: "answer", status: 403, body: JSON.stringify({ error: { message } }) });
  const said = await ask("the first question");
  expect(said).toContain("its service does not let me in. Whoever runs me has to fix that");
  expect(said).not.toContain("bad header");
  const readiness = await (await fetch(`${remora.url}/readyz`)).text();
  const status = (await ann.command("status", "", { dm: true })).text;
  expect(readiness + status).toContain("the key has no access to m (403)");
  expect(await ask("another question")).toContain("Here I am.");
  const prompt = JSON.stringify(model.requests.at(-1)?.body);
  expect(prompt).toContain("the first question");
  for (const text of [said, readiness, status, prompt, remora.stdout(), remora.stderr()])
    expect(text).not.toContain(key.slice(0, 12));
  for (const text of [readiness, status, prompt]) expect(text).not.toContain("bad header");
  const files = await readdir(home.data, { recursive: true, withFileTypes: true });
  for (const file of files.filter((each) => each.isFile())) {
    const bytes = await readFile(join(file.parentPath, file.name));
    if (!file.name.endsWith(".env")) expect(bytes.includes(key), file.name).toBe(false);
  }
});

test(
  "what a person wrote is public nowhere, although the service repeats it, and its words make no model rest",
  patience,
  async () => {
    const input = "explain AWS: budget exceeded and the spending limit";
    const detail = [{ loc: ["body", "messages", 1], msg: "Input should be a valid string", input }];
    const before = model.requests.length;
    model.failNext({ type: "answer", status: 422, body: JSON.stringify({ detail }) });
    const said = await ask(input);
    expect(said).toContain("its service refused this request");
    expect(said).not.toMatch(/AWS|spending limit/);
    const readiness = await (await fetch(`${remora.url}/readyz`)).text();
    const status = (await ann.command("status", "", { dm: true })).text;
    expect(readiness + status).not.toMatch(/AWS|spending limit/);
    expect(await ask("is this asked at once?")).toContain("Here I am.");
    expect(model.requests.length).toBe(before + 2);
  },
);
