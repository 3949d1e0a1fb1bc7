import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createProviders, type ProviderSettings, warningsOf } from "../../src/providers/select.ts";
import { freePort } from "../doubles/free-port.ts";
import { type ModelDouble, type ModelDoubleOptions, startModelDouble } from "../doubles/model.ts";
import type { InstalledModel } from "../doubles/model-rules/ollama.ts";
import { asking, collect, failureIn, patient, scripted, usualContext } from "./apis.ts";

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
    ollama: { host: nowhere, context: usualContext },
    timeouts: patient,
    ...more,
  };
  const { providers, statuses, demoInstead } = await createProviders(settings, new AbortController().signal);
  const ready = statuses.filter((status) => status.isReady).map((status) => status.model);
  const hints = Object.fromEntries(statuses.map((status) => [status.name, status.hint]));
  return { providers, statuses, demoInstead, models: providers.map((provider) => provider.model), ready, hints };
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

  test("tells apart a demo that nobody has replaced yet, and one that answers instead of a model that is set up", async () => {
    const fresh = { ollama: { context: usualContext } };
    const openai = { model: "o", api: "chat" as const };
    expect((await select(fresh)).demoInstead).toBe("");
    expect((await select({ ...fresh, preferred: "demo" })).demoInstead).toBe("");
    expect((await select({ ...fresh, order: ["demo"], openai: { ...openai, apiKey: "k" } })).demoInstead).toBe("");
    expect((await select({ ...fresh, openai: { ...openai, apiKey: "k" } })).demoInstead).toBe("");
    expect((await select({ ...fresh, openai: { ...openai, apiKey: "k", baseUrl: "api.x.ai/v1" } })).demoInstead).toBe(
      "openai/o: OPENAI_BASE_URL is not an http(s) address: api.x.ai/v1",
    );
    expect((await select({ ...fresh, preferred: "anthropic/claude-x" })).demoInstead).toBe(
      "anthropic/claude-x: set ANTHROPIC_API_KEY",
    );
    expect((await select({ ...fresh, order: ["anthropic"] })).demoInstead).toContain("set ANTHROPIC_API_KEY");
    expect((await select()).demoInstead).toContain("no answer at");
    const missing = { ollama: { host: double.url, model: "qwen3", context: usualContext } };
    expect((await select(missing)).demoInstead).toContain("run: ollama pull qwen3");
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

  test("says that effort does nothing with a Claude model that has none", async () => {
    const warnings = async (model: string) =>
      warningsOf((await select({ anthropic: { model, apiKey: "k", effort: "max" } })).statuses);
    expect(await warnings("claude-haiku-4-5")).toMatchObject([{ what: expect.stringContaining("has no effort") }]);
    expect(await warnings("claude-sonnet-5-5")).toEqual([]);
    expect(await warnings("a-name-of-a-gateway")).toEqual([]);
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

  test("says how to get a model that Ollama does not have", async () => {
    double.mock.on({ model: "llama3.2" }, { content: "Hi" });
    const { hints, models } = await select({ ollama: { host: double.url, model: "qwen9", context: usualContext } });
    expect(hints.ollama).toContain("ollama pull qwen9");
    expect(models).toEqual(["ollama/qwen9", "demo/scripted"]);
  });

  test("keeps an Ollama that was set and does not answer yet", async () => {
    const { models, hints } = await select({ ollama: { host: nowhere, model: "llama3.2", context: usualContext } });
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

  const azure = "https://mine.openai.azure.com";
  test.each([
    ["openai", azure, `${azure}/openai/v1`],
    ["openai", `${azure}/openai/deployments/prod/chat/completions?api-version=2024-06-01`, `${azure}/openai/v1`],
    ["openai", `${azure}/openai/v1?api-version=preview`, `${azure}/openai/v1`],
    ["openai", "https://mine.services.ai.azure.com/models", "https://mine.services.ai.azure.com/openai/v1"],
    ["openai", "https://api.openai.com", "https://api.openai.com/v1"],
    ["openai", "https://eu.api.openai.com/", "https://eu.api.openai.com/v1"],
    ["openai", "https://api.openai.com/v1/chat/completions", "https://api.openai.com/v1"],
    ["openai", "https://openrouter.ai/v1", "https://openrouter.ai/api/v1"],
    ["openai", "https://llm.example/v1/responses", "https://llm.example/v1"],
    ["openai", "https://llm.example/v1/completions/?team=a", "https://llm.example/v1?team=a"],
    ["anthropic", "https://api.anthropic.com/v1", "https://api.anthropic.com"],
    ["anthropic", "https://gateway.example/claude/v1/messages", "https://gateway.example/claude"],
    ["anthropic", "https://gateway.example/claude?key=a", "https://gateway.example/claude"],
  ])("says which address is meant by one that can't work: %s at %s", async (name, baseUrl, meant) => {
    const urlSetting = `models.${name}.baseUrl`;
    const wrong = await select({ [name]: { model: "m", api: "auto", apiKey: "k", baseUrl, urlSetting } });
    const shown = (address: string) => address.replace(/\?.*/, "?…");
    expect(wrong.hints[name]).toBe(
      `${urlSetting} is ${shown(baseUrl)}; set it to ${shown(meant)} (see docs/models.md)`,
    );
    const right = await select({ [name]: { model: "m", api: "auto", apiKey: "k", baseUrl: meant } });
    expect(right.models).toEqual([`${name}/m`]);
  });

  test.each([
    ["openai", "https://mine.services.ai.azure.com/api/projects/p/openai/v1"],
    ["openai", "https://api.deepseek.com"],
    ["openai", "https://llm.example/?key=a"],
    ["openai", "http://127.0.0.1:8000/v1/"],
    ["anthropic", "https://gateway.ai.cloudflare.com/v1/a/b/anthropic"],
  ])("tries an address of which nothing is known to be wrong: %s at %s", async (name, baseUrl) => {
    const { models } = await select({ [name]: { model: "m", api: "auto", apiKey: "k", baseUrl } });
    expect(models).toEqual([`${name}/m`]);
  });

  test("names the setting that chose a model and its address, when either is wrong", async () => {
    const failureOf = async (more: Partial<ProviderSettings>, preferredModel?: string) => {
      const { providers } = await select(more);
      const asked = asking("hello", preferredModel === undefined ? {} : { preferredModel });
      return failureIn(await collect(providers[0] ?? expect.fail(), asked)).message;
    };
    const openai = { model: "m", api: "chat" as const, baseUrl: `${double.url}/prod`, urlSetting: "OPENAI_BASE_URL" };
    const nothing = `there is nothing at ${double.url}/prod for`;
    expect(await failureOf({ openai })).toContain(`${nothing} m (404 \`Invalid URL (POST /prod/chat/completions)\`)`);
    expect(await failureOf({ openai })).toMatch(
      /; correct OPENAI_BASE_URL, or if it is right, check models.openai.model$/,
    );
    const body = JSON.stringify({ error: { message: "The model `x` does not exist", code: "model_not_found" } });
    const unknown = { type: "answer" as const, status: 404, body };
    const right = { ...openai, baseUrl: `${double.url}/v1` };
    double.failNext(unknown, unknown);
    const byVariable = await failureOf({ openai: right, preferred: "openai/x" });
    expect(byVariable).toMatch(/there is no model x at .*; check REMORA_MODEL and OPENAI_BASE_URL$/);
    expect(await failureOf({ openai: right }, "openai/x")).toMatch(/; check \/remora model and OPENAI_BASE_URL$/);
  });

  test.each(["chat", "responses"] as const)("asks the openai API that is set: %s", async (api) => {
    const { providers } = await select({ openai: { model: "o", api, baseUrl: `${double.url}/v1` } });
    await collect(providers[0] ?? expect.fail(), asking("hello"));
    expect(double.requests[0]?.path).toBe(api === "chat" ? "/v1/chat/completions" : "/v1/responses");
  });
});

describe("choosing a model of Ollama", () => {
  const [embed, bert, small, chatty, able, cloud] = [
    { name: "nomic-embed-text:latest", capabilities: ["embedding"], family: "nomic-bert", contextLength: 2_048 },
    { name: "my-vectors:latest", capabilities: [], family: "bert" },
    { name: "tiny:latest", capabilities: ["completion", "tools"], contextLength: 8_192 },
    { name: "gemma3:4b", capabilities: ["completion", "vision"], family: "gemma3", contextLength: 131_072 },
    { name: "qwen3.5:4b", capabilities: ["completion", "tools", "thinking"], contextLength: 262_144 },
    { name: "gpt-oss:120b-cloud", capabilities: ["completion", "tools"], remoteHost: "https://ollama.com:443" },
  ] as const;

  async function chosenOf(installed: readonly InstalledModel[], more: Partial<ModelDoubleOptions> = {}) {
    await double.stop();
    double = await startModelDouble({ installed, ...more });
    scripted(double);
    return await select({ order: ["ollama"], ollama: { host: double.url, context: usualContext } });
  }

  test("takes the newest that can use tools, never an embedding model, and says why", async () => {
    const { providers, models, hints } = await chosenOf([embed, bert, chatty, able, small]);
    expect(models).toEqual(["ollama/qwen3.5:4b"]);
    expect(hints.ollama).toMatch(/the newest there that can use tools \(models\.ollama\.model chooses another\)/);
    expect((await collect(providers[0] ?? expect.fail(), asking("hello"))).at(-1)?.type).toBe("end");
  });

  test("asks versions about each model that don't say in the list what it can do", async () => {
    const { models } = await chosenOf([embed, chatty, able], { listsCapabilities: false });
    expect(models).toEqual(["ollama/qwen3.5:4b"]);
  });

  test("takes no model for chat whose family or name says that it makes vectors, if a version says nothing", async () => {
    const silent = [embed, bert, able].map(({ capabilities: _capabilities, ...rest }) => rest);
    expect((await chosenOf(silent)).models).toEqual(["ollama/qwen3.5:4b"]);
    expect((await chosenOf(silent)).hints.ollama).toContain("the newest there that can chat");
  });

  test("takes one that can only chat if there is no other, and says that it can't use tools", async () => {
    const { models, statuses } = await chosenOf([embed, chatty]);
    expect(models).toEqual(["ollama/gemma3:4b"]);
    expect(warningsOf(statuses)).toMatchObject([
      {
        state: "warning",
        what: expect.stringContaining("can't use tools"),
        todo: expect.stringMatching(/ollama pull \S+, /),
      },
    ]);
  });

  test("takes no model that runs elsewhere, because messages would leave the machine unasked", async () => {
    expect((await chosenOf([cloud, able])).models).toEqual(["ollama/qwen3.5:4b"]);
    const { models, hints } = await chosenOf([cloud]);
    expect(models).toEqual(["demo/scripted"]);
    expect(hints.ollama).toMatch(/no model of its own that can chat; run: ollama pull qwen3\.5:4b$/);
  });

  test("says what to do if there are only embedding models, or none", async () => {
    expect((await chosenOf([embed, bert])).hints.ollama).toMatch(/can chat; run: ollama pull qwen3\.5:4b$/);
    expect((await chosenOf([])).hints.ollama).toMatch(/has no models; run: ollama pull qwen3\.5:4b$/);
  });

  test("says from then on if the machine has no memory for the context", async () => {
    const { providers, statuses } = await chosenOf([{ ...able, fits: 12_000 }]);
    expect(warningsOf(statuses)).toEqual([]);
    await collect(providers[0] ?? expect.fail(), asking("hello"));
    expect(warningsOf(statuses)).toMatchObject([
      { what: expect.stringContaining("11,264 tokens of context"), why: "The machine has no memory for more" },
    ]);
  });

  test("says if the model's context is smaller than context.tokens, and nothing if it is not", async () => {
    expect(warningsOf((await chosenOf([able])).statuses)).toEqual([]);
    expect(warningsOf((await chosenOf([small])).statuses)).toMatchObject([
      { what: expect.stringContaining("ollama/tiny:latest has 8,192 tokens of context"), todo: expect.anything() },
    ]);
  });
});
