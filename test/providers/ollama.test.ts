import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createOllamaProvider, ollamaUrlOf, probeOllama } from "../../src/providers/ollama.ts";
import { closedPort, type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { asking, callsIn, collect, patient, textIn } from "./apis.ts";

let double: ModelDouble;
beforeEach(async () => {
  double = await startModelDouble();
});
afterEach(() => double.stop());

const answering = async (content: string, tools = asking("x").tools) => {
  double.mock.onMessage("do it", { content });
  const provider = createOllamaProvider({ host: double.url, model: "tiny", timeouts: patient });
  return await collect(provider, asking("do it", { tools }));
};

describe("a call that a small model writes as text", () => {
  test.each([
    '{"name": "look_up", "parameters": {"place": "Rome"}}',
    '{"name": "look_up", "arguments": {"place": "Rome"}}',
    ' {"type":"function","function":{"name":"look_up","arguments":"{\\"place\\":\\"Rome\\"}"}}\n',
    '{"tool": "look_up", "input": {"place": "Rome"}}',
  ])("is a call when it is all the text: %s", async (content) => {
    const events = await answering(content);
    expect(textIn(events)).toBe("");
    expect(callsIn(events).map((call) => [call.name, JSON.parse(call.inputJson)])).toEqual([
      ["look_up", { place: "Rome" }],
    ]);
    expect(events.at(-1)).toMatchObject({ type: "end", stop: "tool-calls" });
  });

  test.each([
    'Use this: {"name": "look_up", "parameters": {"place": "Rome"}}',
    '{"name": "look_up", "parameters": {"place": "Rome"}} as you asked',
    '{"name": "unknown_tool", "parameters": {}}',
    '{"name": "look_up"}',
    '{"place": "Rome"}',
    '[{"name": "look_up", "parameters": {}}]',
    '{"name": "look_up", "parameters": {',
  ])("is text otherwise: %s", async (content) => {
    const events = await answering(content);
    expect(callsIn(events)).toEqual([]);
    expect(textIn(events)).toBe(content);
    expect(events.at(-1)).toMatchObject({ type: "end", stop: "end" });
  });

  test("is text when the request has no tools", async () => {
    const content = '{"name": "look_up", "parameters": {"place": "Rome"}}';
    expect(textIn(await answering(content, []))).toBe(content);
  });
});

describe("finding Ollama", () => {
  test("lists the models that are there", async () => {
    double.mock.on({ model: "llama3.2" }, { content: "x" });
    expect(await probeOllama(double.url, AbortSignal.timeout(60_000))).toContain("llama3.2");
  });

  test.each(["not a host", "http://nowhere.invalid"])("finds none at %s", async (host) => {
    expect(await probeOllama(host, AbortSignal.timeout(60_000))).toBeUndefined();
  });

  test("finds none where nothing listens", async () => {
    expect(await probeOllama(`127.0.0.1:${await closedPort()}`, AbortSignal.timeout(60_000))).toBeUndefined();
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
