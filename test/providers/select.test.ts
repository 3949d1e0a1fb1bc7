import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createProviders, type ProviderSettings } from "../../src/providers/select.ts";
import { freePort } from "../doubles/free-port.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { asking, collect, patient, scripted } from "./apis.ts";

let double: ModelDouble;
let nowhere: string;
beforeEach(async () => {
  double = await startModelDouble();
  scripted(double);
  nowhere = `http://127.0.0.1:${await freePort()}`;
});
afterEach(() => double.stop());

async function select(more: Partial<ProviderSettings> = {}) {
  const settings: ProviderSettings = {
    order: ["anthropic", "openai", "ollama", "demo"],
    anthropic: { model: "claude-sonnet-5-5" },
    openai: { model: "gpt-5.4-mini", api: "chat" },
    ollama: { host: nowhere },
    timeouts: patient,
    ...more,
  };
  const { providers, statuses } = await createProviders(settings, new AbortController().signal);
  const ready = statuses.filter((status) => status.isReady).map((status) => status.model);
  const hints = Object.fromEntries(statuses.map((status) => [status.name, status.hint]));
  return { providers, models: providers.map((provider) => provider.model), ready, hints };
}

describe("choosing providers", () => {
  test("takes the demo model when nothing else is ready, and says what to set", async () => {
    const { models, ready, hints } = await select();
    expect(models).toEqual(["demo/scripted"]);
    expect(ready).toEqual(["demo/scripted"]);
    expect(hints).toMatchObject({ anthropic: "set ANTHROPIC_API_KEY", openai: "set OPENAI_API_KEY" });
    expect(hints.ollama).toContain("start Ollama");
    expect(hints.demo).toContain("no AI");
  });

  test("takes the ones with keys in the configured order, and no demo model", async () => {
    const keys = {
      anthropic: { model: "a", apiKey: "k" },
      openai: { model: "o", api: "responses" as const, apiKey: "k" },
    };
    expect((await select(keys)).models).toEqual(["anthropic/a", "openai/o"]);
    expect((await select({ ...keys, order: ["openai", "anthropic"] })).models).toEqual(["openai/o", "anthropic/a"]);
    expect((await select({ ...keys, order: ["openai"] })).models).toEqual(["openai/o"]);
  });

  test("puts the preferred model first, also one that its provider is not set to", async () => {
    const keys = { anthropic: { model: "a", apiKey: "k" }, openai: { model: "o", api: "chat" as const, apiKey: "k" } };
    expect((await select({ ...keys, preferred: "openai/meta/llama" })).models).toEqual([
      "openai/meta/llama",
      "anthropic/a",
    ]);
  });

  test("uses the demo model beside others only when it is asked for by name", async () => {
    const anthropic = { model: "a", apiKey: "k" };
    expect((await select({ anthropic, preferred: "demo/scripted" })).models).toEqual(["demo/scripted", "anthropic/a"]);
  });

  test("names a preferred provider that does not exist", async () => {
    const { hints, models } = await select({ preferred: "gemini/pro" });
    expect(hints.gemini).toContain('there is no provider "gemini"');
    expect(models).toEqual(["demo/scripted"]);
  });

  test("finds Ollama by itself, with the first of its models", async () => {
    double.mock.on({ model: "llama3.2" }, { content: "Hi" });
    const { models, ready } = await select({ ollama: { host: double.url } });
    expect(models[0]).toMatch(/^ollama\//);
    expect(ready[0]).toBe(models[0]);
  });

  test("says how to get a model that Ollama does not have", async () => {
    double.mock.on({ model: "llama3.2" }, { content: "Hi" });
    const { hints, models } = await select({ ollama: { host: double.url, model: "qwen9" } });
    expect(hints.ollama).toContain("ollama pull qwen9");
    expect(models).toEqual(["ollama/qwen9", "demo/scripted"]);
  });

  test("keeps an Ollama that was set and does not answer yet", async () => {
    const { models, hints } = await select({ ollama: { host: nowhere, model: "llama3.2" } });
    expect(models).toEqual(["ollama/llama3.2", "demo/scripted"]);
    expect(hints.ollama).toContain("no answer");
  });

  test.each(["not a url", "ftp://example.org"])("names a base URL that is none: %s", async (baseUrl) => {
    const { hints, models } = await select({ openai: { model: "o", api: "chat", apiKey: "k", baseUrl } });
    expect(hints.openai).toContain("OPENAI_BASE_URL");
    expect(models).toEqual(["demo/scripted"]);
  });

  test.each([
    ["openai", "https://bedrock-runtime.eu-central-1.amazonaws.com", "amazonaws.com/openai/v1 "],
    ["anthropic", "https://bedrock-runtime.eu-central-1.amazonaws.com/model", "amazonaws.com/anthropic "],
    ["openai", "https://europe-west4-aiplatform.googleapis.com/v1/projects/p", "ends with /endpoints/openapi"],
    ["anthropic", "https://aiplatform.googleapis.com/v1", "use a gateway"],
  ])("says so when an address has a protocol that is not spoken: %s at %s", async (name, baseUrl, advice) => {
    const { hints, models } = await select({ [name]: { model: "m", api: "auto", apiKey: "k", baseUrl } });
    expect(hints[name]).toContain(advice);
    expect(hints[name]).toContain("docs/models.md");
    expect(models).toEqual(["demo/scripted"]);
  });

  test.each(["chat", "responses"] as const)("asks the openai API that is set: %s", async (api) => {
    const { providers } = await select({ openai: { model: "o", api, baseUrl: `${double.url}/v1` } });
    await collect(providers[0] ?? expect.fail(), asking("hello"));
    expect(double.requests[0]?.path).toBe(api === "chat" ? "/v1/chat/completions" : "/v1/responses");
  });
});
