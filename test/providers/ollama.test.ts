import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createOllamaProvider } from "../../src/providers/ollama.ts";
import { chatModels, ollamaUrlOf, probeOllama } from "../../src/providers/ollama-models.ts";
import { freePort } from "../doubles/free-port.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { asking, collect, patient, usualContext } from "./apis.ts";

let double: ModelDouble;
beforeEach(async () => {
  double = await startModelDouble();
});
afterEach(() => double.stop());

describe("finding Ollama", () => {
  test("lists the models that are there", async () => {
    double.mock.on({ model: "llama3.2" }, { content: "x" });
    const models = await probeOllama(double.url, AbortSignal.timeout(60_000));
    expect(models?.map(({ name }) => name)).toContain("llama3.2");
  });

  test("shows first those that can use tools to somebody who chooses, and none that only make vectors", async () => {
    await double.stop();
    double = await startModelDouble({
      installed: [
        { name: "nomic-embed-text", capabilities: ["embedding"] },
        { name: "gemma3:4b", capabilities: ["completion", "vision"] },
        { name: "qwen3.5:4b", capabilities: ["completion", "tools"] },
        { name: "gpt-oss:120b-cloud", capabilities: ["completion", "tools"], remoteHost: "https://ollama.com" },
      ],
    });
    const models = (await probeOllama(double.url, AbortSignal.timeout(60_000))) ?? [];
    expect(chatModels(models).map(({ name }) => name)).toEqual(["qwen3.5:4b", "gpt-oss:120b-cloud", "gemma3:4b"]);
  });

  test.each(["not a host", "http://nowhere.invalid"])("finds none at %s", async (host) => {
    expect(await probeOllama(host, AbortSignal.timeout(60_000))).toBeUndefined();
  });

  test("finds none where nothing listens", async () => {
    expect(await probeOllama(`127.0.0.1:${await freePort()}`, AbortSignal.timeout(60_000))).toBeUndefined();
  });

  test.each([
    ["localhost", "http://localhost:11434"],
    ["10.0.0.5:9000", "http://10.0.0.5:9000"],
    [":9000", "http://127.0.0.1:9000"],
    ["0.0.0.0", "http://127.0.0.1:11434"],
    ["0.0.0.0:9000", "http://127.0.0.1:9000"],
    ["https://models.example/", "https://models.example"],
    ["http://box:80/ollama", "http://box/ollama"],
  ])("reads OLLAMA_HOST=%s as %s", (host, url) => {
    expect(ollamaUrlOf(host)).toBe(url);
  });
});

test("A model whose template wants roles that alternate gets messages of one person joined, and refuses once only", async () => {
  await double.stop();
  double = await startModelDouble({ service: "ollama", installed: [{ name: "gemma3:4b" }] });
  double.mock.onMessage("hello", { content: "Hello." });
  const provider = createOllamaProvider({
    ...{ host: double.url, model: "gemma3:4b", timeouts: patient, context: usualContext },
  });
  const inRow = asking("", {
    tools: [],
    messages: [
      { role: "user", content: [{ type: "text", text: "It is Monday." }] },
      { role: "user", content: [{ type: "text", text: "hello" }] },
    ],
  });
  expect((await collect(provider, inRow)).at(-1)).toMatchObject({ type: "end" });
  expect((await collect(provider, inRow)).at(-1)).toMatchObject({ type: "end" });
  const asked = double.requests.filter(({ path }) => path === "/api/chat");
  const said = asked.map(({ body }) => [body.messages].flat().map((message) => Object(message).content));
  const joined = ["You help.", "It is Monday.\n\nhello"];
  expect(said).toEqual([["You help.", "It is Monday.", "hello"], joined, joined]);
});
