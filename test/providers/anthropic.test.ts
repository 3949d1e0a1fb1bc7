/** Claude through gateways and at its own address: which headers carry the key, and what becomes of refused parameters. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { createAnthropicProvider } from "../../src/providers/anthropic.ts";
import type { Effort } from "../../src/providers/anthropic-parameters.ts";
import { createProviders } from "../../src/providers/select.ts";
import { type Fault, type ModelDouble, type ModelDoubleOptions, startModelDouble } from "../doubles/model.ts";
import { asking, collect, failureIn, patient, scripted, text, textIn, usualContext } from "./apis.ts";

let double: ModelDouble;
async function begin(options: ModelDoubleOptions = {}): Promise<void> {
  double = await startModelDouble(options);
  scripted(double);
}
afterEach(async () => {
  vi.unstubAllGlobals();
  await double?.stop();
});

const claude = (model = "claude-sonnet-5-5", effort?: Effort) =>
  createAnthropicProvider({
    ...{ apiKey: "the-key", baseUrl: double.url, model, timeouts: patient },
    ...(effort === undefined ? {} : { effort }),
  });

/** Sonnet 5.5's. */
const price = { read: 0.05, write: 1.25, writeHour: 2 };

describe("the key", () => {
  test.each(["gateway with x-api-key", "gateway with bearer tokens"] as const)("opens a %s", async (service) => {
    await begin({ service });
    expect(textIn(await collect(claude(), asking("hello")))).toBe(text);
  });

  test("is the current one in both headers, after it has changed", async () => {
    await begin();
    let apiKey = "old";
    const provider = createAnthropicProvider({
      ...{ apiKey: () => apiKey, baseUrl: double.url, model: "claude-sonnet-5-5", timeouts: patient },
    });
    await collect(provider, asking("hello"));
    apiKey = "new";
    await collect(provider, asking("hello"));
    expect(double.requests.map(({ headers }) => [headers.authorization, headers["x-api-key"]])).toEqual([
      ["Bearer old", "old"],
      ["Bearer new", "new"],
    ]);
  });
});

/** Every request of the process goes to the double, whatever its address, so that Claude's own can be tested. */
function withOwnAddress(): string[] {
  const asked: string[] = [];
  const real = globalThis.fetch;
  vi.stubGlobal("fetch", (input: string | URL | Request, init?: RequestInit) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (url.hostname !== "api.anthropic.com") return real(input, init);
    asked.push(url.href);
    return real(double.url + url.pathname, init);
  });
  return asked;
}

async function atOwnAddress(model: string, effort?: Effort) {
  await begin();
  const asked = withOwnAddress();
  const { providers } = await createProviders(
    {
      ...{
        order: ["anthropic"],
        openai: { model: "x", api: "chat" },
        ollama: { context: usualContext },
        timeouts: patient,
      },
      anthropic: { apiKey: "the-key", model, ...(effort === undefined ? {} : { effort }) },
    },
    AbortSignal.timeout(10_000),
  );
  const events = await collect(providers[0] ?? expect.fail(), asking("hello"));
  expect(events.at(-1)?.type).toBe("end");
  expect(asked).toEqual(["https://api.anthropic.com/v1/messages"]);
  return double.requests.at(-1) ?? expect.fail();
}

describe("at Claude's own address", () => {
  test("an hour in the cache is asked for with its header", async () => {
    await begin({ service: "anthropic" });
    withOwnAddress();
    const provider = createAnthropicProvider({
      ...{ apiKey: "k", model: "claude-opus-5-5", timeouts: patient, cachePriceOf: () => price },
    });
    await collect(provider, asking("hello", { cache: { key: "a", pausesMs: [20 * 60_000] } }));
    const betas = "thinking-display-updates-2026-08-18,extended-cache-ttl-2025-04-11";
    expect(double.requests.at(-1)?.headers["anthropic-beta"]).toBe(betas);
  });

  test("the key is in one header alone", async () => {
    const { headers } = await atOwnAddress("claude-sonnet-5-5");
    expect([headers.authorization, headers["x-api-key"]]).toEqual(["Bearer the-key", undefined]);
  });

  test.each([
    "claude-sonnet-5-5",
    "claude-opus-5-5",
    "claude-haiku-5-5",
    "claude-opus-4-5-20251101",
    "claude-fable-5-2",
  ])("%s is asked for medium effort", async (model) => {
    expect((await atOwnAddress(model)).body).toMatchObject({ output_config: { effort: "medium" } });
  });

  test.each(["claude-haiku-4-5", "claude-sonnet-4-5", "claude-next"])("%s is asked for none", async (model) => {
    expect((await atOwnAddress(model)).body).not.toHaveProperty("output_config");
  });

  test("the setting decides, but not for a model without effort", async () => {
    expect((await atOwnAddress("claude-sonnet-5-5", "low")).body).toMatchObject({ output_config: { effort: "low" } });
    await double.stop();
    vi.unstubAllGlobals();
    expect((await atOwnAddress("claude-haiku-4-5", "low")).body).not.toHaveProperty("output_config");
  });
});

describe("elsewhere", () => {
  test("effort goes out only if it is set", async () => {
    await begin({ service: "any" });
    await collect(claude(), asking("hello"));
    expect(double.requests.at(-1)?.body).not.toHaveProperty("output_config");
    await collect(claude("prod-assistant", "low"), asking("hello"));
    expect(double.requests.at(-1)?.body).toMatchObject({ output_config: { effort: "low" } });
  });

  const refusal = (message: string): Fault => ({
    ...{ type: "answer", status: 400 },
    body: JSON.stringify({ type: "error", error: { type: "invalid_request_error", message } }),
  });

  test.each([
    ["output_config: Extra inputs are not permitted", "output_config"],
    ["This model does not support the effort parameter.", "output_config"],
    ['"thinking.type.between_tools" is not supported for this model.', "thinking"],
    ["thinking: Extra inputs are not permitted", "thinking"],
  ])("“%s”: the model is asked once more without it, and from then on", async (message, name) => {
    await begin();
    const provider = claude("claude-sonnet-5-5", "low");
    double.failNext(refusal(message));
    expect(textIn(await collect(provider, asking("hello")))).toBe(text);
    expect(textIn(await collect(provider, asking("hello")))).toBe(text);
    expect(double.requests.map(({ body }) => name in body)).toEqual([true, false, false]);
    const other = name === "thinking" ? "output_config" : "thinking";
    expect(double.requests.every(({ body }) => other in body)).toBe(true);
  });

  test("a server that knows neither parameter is asked without both", async () => {
    await begin();
    double.failNext(refusal("thinking: Extra inputs are not permitted"), refusal("output_config: Extra inputs"));
    expect(textIn(await collect(claude("claude-opus-5-5", "low"), asking("hello")))).toBe(text);
    expect(double.requests).toHaveLength(3);
    expect(Object.keys(double.requests.at(-1)?.body ?? {})).not.toContain("thinking");
    expect(double.requests.at(-1)?.headers).not.toHaveProperty("anthropic-beta");
  });

  test.each([
    "messages.4.content.0.text: text contains invalid characters near 'effort'",
    "text contains invalid characters near 'effort'",
    "invalid text: 'what does the metadata of my photo say about effort?'",
  ])("“%s” is about what was said, so every parameter stays", async (message) => {
    await begin();
    const provider = claude("claude-opus-5-5", "low");
    double.failNext(refusal(message));
    for (const _message of [1, 2]) await collect(provider, asking("hello", { endUser: "digest" }));
    expect(double.requests).toHaveLength(2);
    for (const { body } of double.requests)
      expect(Object.keys(body)).toEqual(expect.arrayContaining(["thinking", "output_config", "metadata"]));
  });

  test("a parameter is only known to be refused once a request without it was answered", async () => {
    await begin();
    const provider = claude("claude-opus-5-5", "low");
    double.failNext(refusal("output_config: Extra inputs are not permitted"), refusal("something else"));
    for (const _message of [1, 2]) await collect(provider, asking("hello"));
    expect(double.requests.map(({ body }) => "output_config" in body)).toEqual([true, false, true]);
  });

  const slow = { cache: { key: "a", pausesMs: [20 * 60_000] } };
  const cached = (isCheaper = true) =>
    createAnthropicProvider({
      ...{ apiKey: "k", baseUrl: double.url, model: "claude-sonnet-5-5", timeouts: patient },
      cachePriceOf: () => (isCheaper ? price : { ...price, read: 1 }),
    });
  const livesIn = ({ body }: { body: object }) =>
    [...JSON.stringify(body).matchAll(/"cache_control":({.*?})/g)].map(([, mark]) => JSON.parse(mark ?? "").ttl);

  test.each([
    ["an hour between its turns", [60 * 60_000]],
    ["five minutes between its turns", [5 * 60_000]],
    ["a moment between its turns", [1_000]],
    ["no turn before", []],
  ])("a conversation with %s is kept for five minutes", async (_what, pausesMs) => {
    await begin({ service: "anthropic" });
    await collect(cached(), asking("hello", { cache: { key: "a", pausesMs } }));
    expect(double.requests.map(livesIn)).toEqual([[undefined, undefined]]);
  });

  test("a conversation with twenty minutes between its turns is kept for an hour, if that is cheaper", async () => {
    await begin({ service: "anthropic" });
    await collect(cached(), asking("hello", slow));
    await collect(cached(false), asking("hello", slow));
    await collect(claude(), asking("hello", slow));
    expect(double.requests.map(livesIn)).toEqual([
      ["1h", "1h"],
      [undefined, undefined],
      [undefined, undefined],
    ]);
  });

  test("a service that knows no hour is asked once more for five minutes, and from then on", async () => {
    await begin({ service: "gateway to Amazon's models" });
    const provider = cached();
    for (const _message of [1, 2]) expect(textIn(await collect(provider, asking("hello", slow)))).toBe(text);
    const short = [undefined, undefined];
    expect(double.requests.map(livesIn)).toEqual([["1h", "1h"], short, short]);
    expect(double.requests[0]?.headers).not.toHaveProperty("anthropic-beta");
  });

  test.each([
    "messages.0.content.0.text.cache_control: Extra inputs are not permitted",
    "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    "Prompt caching is disabled for this project",
  ])("“%s”: the model is asked once more without breakpoints", async (message) => {
    await begin();
    const provider = cached();
    double.failNext(refusal(message));
    for (const _message of [1, 2]) expect(textIn(await collect(provider, asking("hello")))).toBe(text);
    expect(double.requests.map(livesIn)).toEqual([[undefined, undefined], [], []]);
  });

  test("a refusal that names no parameter of the request is passed on", async () => {
    await begin();
    double.failNext(refusal("messages.0: unexpected role"));
    expect(failureIn(await collect(claude(), asking("hello"))).code).toBe("provider.bad-request");
    expect(double.requests).toHaveLength(1);
  });
});
