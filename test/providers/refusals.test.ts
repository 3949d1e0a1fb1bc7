/** Answers that a model declines to give, over each protocol that has them: who is asked next, and what is void. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createEvents } from "../../src/lib/event-bus.ts";
import type { ModelEvent, ModelRequest, Provider } from "../../src/ports/provider.ts";
import { createCascade } from "../../src/providers/cascade.ts";
import { type Fault, type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { createScriptedProvider, declines, fails, says } from "../doubles/scripted-provider.ts";
import { apis, asking, collect, failureIn, scripted, text, textIn } from "./apis.ts";

let double: ModelDouble;
beforeEach(async () => {
  double = await startModelDouble();
  scripted(double);
});
afterEach(() => double.stop());

const cascadeOf = (...providers: Provider[]) => createCascade({ providers, events: createEvents(), pauseMs: 1 });
const other = (...steps: ModelEvent[][]) => createScriptedProvider(steps, "b/two");
const restarts = (events: ModelEvent[]) => events.flatMap((event) => (event.type === "restart" ? [event] : []));
const ask = (provider: Provider, more: Partial<ModelRequest> = {}) => collect(provider, asking("hello", more));
const call = { id: "call_a", name: "look_up", arguments: '{"place":"Berlin"}' };

describe.each(apis.filter(({ name }) => name !== "ollama"))("$name", (api) => {
  test.each<[string, string | undefined]>([
    ["without a word", undefined],
    ["after some words", "Here is how you "],
  ])("a refusal %s voids the answer, counts its tokens, and ends as an error", async (_when, said) => {
    double.failNext({ type: "decline", ...(said === undefined ? {} : { said }) });
    const events = await ask(api.create(double.url));
    expect(events.map(({ type }) => type).slice(-2)).toEqual(["restart", "error"]);
    expect(restarts(events)).toMatchObject([
      { model: api.create(double.url).model, usage: { inputTokens: 1_000, outputTokens: said === undefined ? 0 : 4 } },
    ]);
    expect(failureIn(events)).toMatchObject({ code: "provider.refused", isRetryable: false });
    expect(failureIn(events).message).toContain("declined to answer this");
  });

  test("a refusal lets the next model answer, which says why, and nothing half-said stays", async () => {
    double.failNext({ type: "decline", said: "Here is how you " });
    const events = await ask(cascadeOf(api.create(double.url), other(says("Hi.", "b/two"))));
    const at = events.findLastIndex(({ type }) => type === "restart");
    expect(textIn(events.slice(at))).toBe("Hi.");
    expect(events.at(-1)).toMatchObject({ type: "end", model: "b/two", insteadBecause: "provider.refused" });
    expect(double.requests).toHaveLength(1);
  });

  test("a model that declined once is asked first again, because it works", async () => {
    const cascade = cascadeOf(api.create(double.url), other(says("Hi.", "b/two")));
    double.failNext({ type: "decline" });
    await ask(cascade);
    expect(textIn(await ask(cascade))).toBe(text);
  });

  test("a refusal after a call voids the call, and lets the next model answer", async () => {
    double.failNext({ type: "decline", said: "I look. ", call });
    const events = await ask(cascadeOf(api.create(double.url), other(says("Hi.", "b/two"))));
    expect(events.filter(({ type }) => type === "tool-call")).toEqual([]);
    expect(events.at(-1)).toMatchObject({ type: "end", model: "b/two", insteadBecause: "provider.refused" });
  });

  test.each<[string, Partial<ModelRequest>]>([
    ["no other model may answer", { isWithoutFallback: true }],
    ["the turn has changed something", { isRefusalFinal: true }],
  ])("a refusal ends the answer when %s", async (_when, more) => {
    double.failNext({ type: "decline", said: "Here is how you " });
    const events = await ask(cascadeOf(api.create(double.url), other()), more);
    expect(failureIn(events).code).toBe("provider.refused");
    expect(double.requests).toHaveLength(1);
  });
});

test("Claude's filter is named in plain words, as far as the service says which one it was", async () => {
  const [claude] = apis;
  if (claude === undefined) throw new Error("no api");
  const messageOf = async (fault: Partial<Fault>) => {
    double.failNext({ type: "decline", ...fault } as Fault);
    return failureIn(await collect(claude.create(double.url), asking("hello"))).message;
  };
  const place = "[provider anthropic] claude-sonnet-5-5 declined to answer this";
  const advice = "; ask in other words, or start over with /remora new";
  expect(await messageOf({ category: "cyber", explanation: "It could enable cyber harm." })).toBe(
    `${place} (its safety filter: cyber security)${advice}`,
  );
  expect(await messageOf({ category: "new_kind", explanation: null })).toBe(
    `${place} (its safety filter: new kind)${advice}`,
  );
  expect(await messageOf({ category: null, explanation: "It asks too much." })).toBe(
    `${place} (It asks too much.)${advice}`,
  );
  expect(await messageOf({})).toBe(`${place}${advice}`);
});

test.each(["openai chat", "openai responses"])("%s: the model's own words are the reason", async (name) => {
  const api = apis.find((each) => each.name === name);
  double.failNext({ type: "decline", words: "I'm sorry, I can't help with that." });
  const events = await collect(api?.create(double.url) ?? expect.fail(), asking("hello"));
  expect(textIn(events)).toBe("");
  expect(failureIn(events).message).toContain("declined to answer this (“I'm sorry, I can't help with that.”)");
});

test.each(["content_filter: PROHIBITED_CONTENT", "SAFETY", "RECITATION"])(
  "openai chat: %s, as Gemini's compatible address says it, is a refusal",
  async (finish) => {
    const api = apis.find(({ name }) => name === "openai chat");
    double.failNext({ type: "decline", said: "Here is ", finish });
    const events = await collect(api?.create(double.url) ?? expect.fail(), asking("hello"));
    expect(failureIn(events).code).toBe("provider.refused");
  },
);

test.each([
  ["Azure's filter of prompts", { code: "content_filter", message: "The response was filtered due to the prompt." }],
  ["OpenAI's filter of prompts", { code: "invalid_prompt", message: "Your prompt was flagged." }],
])("openai: %s, which is an error of the service, is a refusal too", async (_what, error) => {
  for (const api of apis.filter(({ name }) => name.startsWith("openai"))) {
    double.failNext({ type: "answer", status: 400, body: JSON.stringify({ error }) });
    const events = await collect(cascadeOf(api.create(double.url), other(says("Hi.", "b/two"))), asking("hello"));
    expect(events.at(-1)).toMatchObject({ type: "end", insteadBecause: "provider.refused" });
  }
});

test.each([
  [
    "xAI's safety check",
    {
      code: "The caller does not have permission to execute the specified operation",
      error: "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO",
    },
    "provider.refused",
  ],
  [
    "a country that is not served",
    { error: { code: "unsupported_country_region_territory", message: "Country, region, or territory not supported" } },
    "provider.region",
  ],
  ["a firewall that dislikes one message", { error: { message: "Your request was blocked." } }, "provider.bad-request"],
])("%s is a 403 that says nothing about the key: the model does not rest", async (_what, body, code) => {
  for (const api of apis) {
    const cascade = cascadeOf(api.create(double.url), other(says("Hi.", "b/two")));
    double.failNext({ type: "answer", status: 403, body: JSON.stringify(body) });
    expect((await ask(cascade)).at(-1)).toMatchObject({ model: "b/two", insteadBecause: code });
    expect(textIn(await ask(cascade))).toBe(text);
  }
});

test("a model that is passed by because it declined earlier in the conversation does not count as declining again", async () => {
  const one = createScriptedProvider([], "a/one");
  const events = await ask(cascadeOf(one, other(says("Hi.", "b/two"))), { declinedBy: ["a/one"] });
  expect(events.at(-1)).toMatchObject({ model: "b/two", insteadBecause: "provider.declined-earlier" });
});

describe("a cascade whose models all decline or fail", () => {
  const one = (...steps: ModelEvent[][]) => createScriptedProvider(steps, "a/one");

  test("says so once, as a refusal that is not tried again", async () => {
    const events = await collect(cascadeOf(one(declines("a/one")), other(declines("b/two"))), asking("hello"));
    expect(failureIn(events)).toMatchObject({ code: "provider.refused", isRetryable: false });
    expect(failureIn(events).message).toBe(
      "[models] a/one declined to answer this; ask in other words, or start over with /remora new (also asked: b/two, which declined, too)",
    );
  });

  test("says what became of the others", async () => {
    const events = await collect(
      cascadeOf(
        one(declines("a/one", "Here is ")),
        other(fails("provider.no-credit", "the account has no credit left")),
      ),
      asking("hello"),
    );
    expect(failureIn(events).code).toBe("provider.refused");
    expect(failureIn(events).message).toContain("(also asked: b/two: the account has no credit left)");
  });

  test("counts each refused answer", async () => {
    const events = await collect(
      cascadeOf(one(declines("a/one", "Here is ")), other(declines("b/two"))),
      asking("hello"),
    );
    expect(restarts(events).map(({ model }) => model)).toEqual(["a/one", "b/two"]);
  });
});
