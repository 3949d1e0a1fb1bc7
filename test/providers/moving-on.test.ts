/** When the cascade asks another model, over each protocol with the real client libraries, and which models rest. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { RemoraError } from "../../src/lib/errors.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import type { ModelEvent, Provider } from "../../src/ports/provider.ts";
import type { Store } from "../../src/ports/store.ts";
import { createAnthropicProvider } from "../../src/providers/anthropic.ts";
import { createCascade } from "../../src/providers/cascade.ts";
import { createRefusedKeys } from "../../src/providers/refused-keys.ts";
import { createInMemoryStore } from "../doubles/in-memory-store.ts";
import { type Fault, type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { createScriptedProvider, says } from "../doubles/scripted-provider.ts";
import { apis, asking, collect, failureIn, patient, scripted, text, textIn } from "./apis.ts";

const other = (...words: string[]) =>
  createScriptedProvider(
    words.map((word) => says(word, "b/two")),
    "b/two",
  );
const answer = (status: number, body: unknown): Fault => ({ type: "answer", status, body: JSON.stringify(body) });
const cascadeOf = (...providers: Provider[]) => createCascade({ providers, events: createEvents(), pauseMs: 1 });
const fails = (code: string, isRetryable = false): ModelEvent[] => [
  { type: "error", error: new RemoraError({ code, place: "provider x", message: "no", isRetryable }) },
];

/** As the services say it. */
const refusals: [string, Fault, string][] = [
  ["a wrong key", answer(401, { error: { type: "authentication_error", message: "invalid x-api-key" } }), "wrong-key"],
  ["an expired key", answer(403, { error: { type: "permission_error", message: "expired" } }), "forbidden"],
  ["no credit (402)", answer(402, { error: { message: "payment required" } }), "no-credit"],
  ["no credit (429)", answer(429, { error: { type: "insufficient_quota", code: "insufficient_quota" } }), "no-credit"],
  ["no credit (400)", answer(400, { error: { message: "Your credit balance is too low" } }), "no-credit"],
  ["an unknown model", answer(404, { error: { type: "not_found_error", message: "model: x" } }), "unknown-model"],
  ["a request that it refuses", answer(400, { error: { message: "unexpected field" } }), "bad-request"],
];

/** Anthropic, OpenAI's two APIs, Ollama's newer engine, llama.cpp and vLLM. */
const tooLong: Fault[] = [
  answer(400, {
    type: "error",
    error: { type: "invalid_request_error", message: "prompt is too long: 210000 tokens > 200000 maximum" },
  }),
  answer(400, {
    error: {
      message: "This model's maximum context length is 128000 tokens.",
      type: "invalid_request_error",
      code: "context_length_exceeded",
    },
  }),
  answer(400, {
    error: { message: "Input tokens exceed the configured limit of 272000 tokens.", type: "invalid_request_error" },
  }),
  answer(400, { error: "the input length exceeds the context length" }),
  answer(400, {
    error: {
      code: 400,
      message: "the request exceeds the available context size (8192 tokens)",
      type: "exceed_context_size_error",
    },
  }),
  answer(413, { error: { type: "request_too_large", message: "Request exceeds the maximum size" } }),
];

describe.each(apis)("$name", (api) => {
  let double: ModelDouble;
  beforeEach(async () => {
    double = await startModelDouble();
    scripted(double);
  });
  afterEach(() => double.stop());

  test.each(refusals)("%s lets the next model answer, which says why", async (_name, fault, code) => {
    double.failNext(fault);
    const events = await collect(cascadeOf(api.create(double.url), other("Hi.")), asking("hello"));
    expect(textIn(events)).toBe("Hi.");
    expect(events.at(-1)).toMatchObject({ type: "end", model: "b/two", insteadBecause: `provider.${code}` });
  });

  test("a prompt that is too long is sent once more with a smaller context, to the same model", async () => {
    for (const fault of tooLong) {
      double.requests.length = 0;
      double.failNext(fault);
      const request = { ...asking("a long story"), shorter: () => asking("hello") };
      const events = await collect(cascadeOf(api.create(double.url), other()), request);
      expect([JSON.stringify(fault), textIn(events)]).toEqual([JSON.stringify(fault), text]);
      expect(events.at(-1)).not.toHaveProperty("insteadBecause");
      expect(double.requests.map(({ body }) => JSON.stringify(body).includes("a long story"))).toEqual([true, false]);
    }
  });

  test("a prompt that is still too long goes, whole, to the next model", async () => {
    const [first, second] = tooLong;
    if (first === undefined || second === undefined) throw new Error("no faults");
    double.failNext(first, second);
    const next = other("Hi.");
    const request = { ...asking("a long story"), shorter: () => asking("hello") };
    const events = await collect(cascadeOf(api.create(double.url), next), request);
    expect(events.at(-1)).toMatchObject({ model: "b/two", insteadBecause: "provider.too-long" });
    expect(next.requests[0]?.messages).toEqual(asking("a long story").messages);
    expect(double.requests).toHaveLength(2);
  });

  test.each([400, 413, 422])(
    "a long prompt that is refused with %i and no known reason is tried once, shorter",
    async (status) => {
      double.failNext({ type: "answer", status, headers: {}, body: '{"error":{"message":"bad"}}' });
      const long = asking("a long story".repeat(5_000));
      const events = await collect(cascadeOf(api.create(double.url)), { ...long, shorter: () => asking("hello") });
      expect(textIn(events)).toBe(text);
      expect(double.requests).toHaveLength(2);
    },
  );

  test("a long prompt that is refused when it is shorter, too, is told with its first reason", async () => {
    const refusal = (message: string) => ({
      ...({ type: "answer", status: 400, headers: {}, body: JSON.stringify({ error: { message } }) } as const),
    });
    double.failNext(refusal("bad apples"), refusal("bad pears"));
    const long = asking("a long story".repeat(5_000));
    const events = await collect(cascadeOf(api.create(double.url)), { ...long, shorter: () => asking("hello") });
    expect(failureIn(events).message).toContain("bad apples");
    expect(double.requests).toHaveLength(2);
  });

  test("a short prompt that is refused is not sent again", async () => {
    double.failNext({ type: "answer", status: 400, headers: {}, body: '{"error":{"message":"bad"}}' });
    const request = { ...asking("a long story"), shorter: () => asking("hello") };
    expect(failureIn(await collect(cascadeOf(api.create(double.url)), request)).code).toBe("provider.bad-request");
    expect(double.requests).toHaveLength(1);
  });

  test.each(["break", "finish"] as const)("a %s in the text is requested again once", async (type) => {
    double.failNext({ type, before: api.secondText });
    const events = await collect(cascadeOf(api.create(double.url), other()), asking("hello"));
    const restart = events.findIndex((event) => event.type === "restart");
    expect(text.startsWith(textIn(events.slice(0, restart)))).toBe(true);
    expect(textIn(events.slice(restart))).toBe(text);
    expect(events.at(-1)).toMatchObject({ type: "end", stop: "end" });
    expect(double.requests).toHaveLength(2);
  });

  test("a second break in the text lets the next model answer", async () => {
    double.failNext({ type: "break", before: api.secondText }, { type: "break", before: api.secondText });
    const events = await collect(cascadeOf(api.create(double.url), other("Hi.")), asking("hello"));
    expect(events.filter(({ type }) => type === "restart")).toHaveLength(2);
    expect(textIn(events.slice(events.findLastIndex(({ type }) => type === "restart")))).toBe("Hi.");
    expect(events.at(-1)).toMatchObject({ model: "b/two", insteadBecause: "provider.cut" });
    expect(double.requests).toHaveLength(2);
  });

  test("a single model that breaks off twice is a failure, and keeps what was said", async () => {
    double.failNext({ type: "break", before: api.secondText }, { type: "break", before: api.secondText });
    const events = await collect(cascadeOf(api.create(double.url)), asking("hello"));
    expect(failureIn(events)).toMatchObject({ code: "provider.cut" });
    expect(textIn(events)).not.toBe("");
    expect(double.requests).toHaveLength(2);
  });
});

describe("a refused key", () => {
  let double: ModelDouble;
  beforeEach(async () => {
    double = await startModelDouble();
    scripted(double);
    double.refuseKey();
  });
  afterEach(() => double.stop());

  const clock = { now: 1_000 };
  /** A process: what it has refused comes from the store. */
  async function start(kept: Store, key: string, next = other("1", "2", "3")) {
    const provider = createAnthropicProvider({
      apiKey: key,
      baseUrl: double.url,
      model: "claude-x",
      timeouts: patient,
    });
    const now = () => clock.now;
    const refusedKeys = createRefusedKeys(kept, now);
    await refusedKeys.load([provider, next]);
    const cascade = createCascade({ providers: [provider, next], events: createEvents(), refusedKeys, now });
    return async () => (await collect(cascade, asking("hello"))).at(-1);
  }

  test("rests for an hour, in the next process too, and the store never has the key", async () => {
    clock.now = 1_000;
    const kept = createInMemoryStore();
    const ask = await start(kept, "secret-key-of-the-operator");
    expect(await ask()).toMatchObject({ model: "b/two", insteadBecause: "provider.wrong-key" });
    double.refuseKey(false);
    expect(await ask()).toMatchObject({ model: "b/two", insteadBecause: "provider.wrong-key" });
    expect(JSON.stringify([...kept.values])).not.toContain("secret");

    const later = await start(kept, "secret-key-of-the-operator");
    clock.now += 3_500_000;
    expect(await later()).toMatchObject({ model: "b/two" });
    clock.now += 101_000;
    expect(await later()).toMatchObject({ model: "anthropic/claude-x" });
  });

  test("rests no longer once the key has changed", async () => {
    const kept = createInMemoryStore();
    const ask = await start(kept, "the first key");
    expect(await ask()).toMatchObject({ model: "b/two" });
    double.refuseKey(false);
    const withNewKey = await start(kept, "the second key");
    expect(await withNewKey()).toMatchObject({ model: "anthropic/claude-x" });
  });

  test("is asked again if no other model is there", async () => {
    const provider = createAnthropicProvider({
      apiKey: "k",
      baseUrl: double.url,
      model: "claude-x",
      timeouts: patient,
    });
    const cascade = cascadeOf(provider);
    expect(failureIn(await collect(cascade, asking("hello")))).toMatchObject({ code: "provider.wrong-key" });
    double.refuseKey(false);
    expect(textIn(await collect(cascade, asking("hello")))).toBe(text);
  });
});

test("a model without access rests, and the provider's other models do not", async () => {
  const one = createScriptedProvider([fails("provider.forbidden"), says("Other.", "a/other")], "a/one");
  const [first, next] = [{ ...one, name: "a" }, other("1")];
  const cascade = cascadeOf(first, next);
  await collect(cascade, asking("x"));
  expect(textIn(await collect(cascade, asking("x", { preferredModel: "a/other" })))).toBe("Other.");
});

test("what the service had counted of an answer that broke off is said with the next one's beginning, or at the end", async () => {
  const usage = { inputTokens: 3, outputTokens: 2, cacheReadTokens: 400, cacheWriteTokens: 50 };
  const used = [{ model: "a/one", usage }];
  const cut = fails("provider.cut", true).map((event) => ({ ...event, used }) as ModelEvent);
  const once = createScriptedProvider([cut, says("All of it.", "a/one")], "a/one");
  const restarts = (await collect(cascadeOf(once), asking("hello"))).filter(({ type }) => type === "restart");
  expect(restarts).toEqual([{ type: "restart", model: "a/one", usage }]);
  const never = createScriptedProvider(
    Array.from({ length: 9 }, () => cut),
    "a/one",
  );
  const last = (await collect(cascadeOf(never), asking("hello"))).at(-1);
  expect(last).toMatchObject({ type: "error", used: never.requests.map(() => used[0]) });
});
