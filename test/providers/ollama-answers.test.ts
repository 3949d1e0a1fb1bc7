/** What Ollama's models think, and the shapes in which Ollama and servers like it answer. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Json } from "../../src/ports/message.ts";
import type { ModelEvent, ModelMessage } from "../../src/ports/provider.ts";
import { createOllamaProvider, type OllamaOptions } from "../../src/providers/ollama.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { asking, berlin, callsIn, collect, failureIn, patient, scripted, text, textIn, usualContext } from "./apis.ts";

const [thinking, plain] = ["qwen3.5:4b", "llama3.2"];
const thought = "The person wants something.";

let double: ModelDouble;
beforeEach(async () => {
  double = await startModelDouble({
    installed: [
      { name: thinking, capabilities: ["completion", "tools", "thinking"], contextLength: 262_144 },
      { name: plain, capabilities: ["completion", "tools"], contextLength: 131_072 },
    ],
  });
  scripted(double);
});
afterEach(() => double.stop());

function at(model: string, more: Partial<OllamaOptions> = {}) {
  return createOllamaProvider({ host: double.url, model, timeouts: patient, context: usualContext, ...more });
}

function carryIn(events: ModelEvent[]): Json | undefined {
  const end = events.at(-1);
  return end?.type === "end" ? end.carry : undefined;
}

function answerNext(...chunks: object[]): void {
  const body = chunks.map((chunk) => `${JSON.stringify({ model: plain, ...chunk })}\n`).join("");
  double.failNext({ type: "answer", status: 200, headers: { "content-type": "application/x-ndjson" }, body });
}
const said = (content: string, more: object = {}) => ({
  ...{ message: { role: "assistant", content, ...more }, done: false },
});
const done = { message: { role: "assistant", content: "" }, done: true, done_reason: "stop" };

describe("a thinking model of Ollama", () => {
  function secondStep(model: string, carry: Json): ModelMessage[] {
    const [first] = asking("one call").messages;
    return [
      ...(first === undefined ? [] : [first]),
      {
        role: "assistant",
        text: "I look.",
        toolCalls: [{ id: "call_1", name: "look_up", inputJson: JSON.stringify(berlin) }],
        carry: { model, data: carry },
      },
      { role: "tool", callId: "call_1", name: "look_up", text: "Rain.", isError: false },
    ];
  }

  test("gets what it thought before a call back with the result, and people never see it", async () => {
    const events = await collect(at(thinking), asking("one call"));
    expect(textIn(events)).toBe("I look.");
    const carry = carryIn(events) ?? expect.fail("nothing was kept");
    await collect(at(thinking), asking("", { messages: secondStep(`ollama/${thinking}`, carry) }));
    expect(double.requests.at(-1)?.body.messages).toContainEqual(
      expect.objectContaining({ role: "assistant", content: "I look.", thinking: thought }),
    );
  });

  test.each([
    ["another model", `ollama/${thinking}`, plain],
    ["a model of another service with the same name", `openai/${thinking}`, thinking],
  ])("keeps its thoughts from %s", async (_which, by, asked) => {
    const messages = secondStep(by, { kind: "ollama-chat", thinking: thought });
    await collect(at(asked), asking("", { messages }));
    expect(JSON.stringify(double.requests.at(-1)?.body)).not.toContain(thought);
  });

  test("may think for longer than the time between two words", async () => {
    const timeouts = { ...patient, idleMs: 150 };
    double.failNext({ type: "delay", before: (frame) => frame.includes(" something."), ms: 400 });
    expect(textIn(await collect(at(thinking, { timeouts }), asking("hello")))).toBe(text);
  });

  test.each([true, false, "low", "max"] as const)("is told %s if models.ollama.think says so", async (think) => {
    expect(textIn(await collect(at(thinking, { think }), asking("hello")))).toBe(text);
    expect(double.requests[0]?.body.think).toBe(think);
  });

  test("decides by itself without the setting", async () => {
    await collect(at(thinking), asking("hello"));
    expect(double.requests[0]?.body).not.toHaveProperty("think");
    expect(double.requests[0]?.body).not.toHaveProperty("keep_alive");
  });
});

test("a model that can't think is asked without think from its first refusal on", async () => {
  const provider = at(plain, { think: "high" });
  for (const _message of [1, 2]) expect(textIn(await collect(provider, asking("hello")))).toBe(text);
  expect(double.requests.map(({ body }) => body.think)).toEqual(["high", undefined, undefined]);
});

test.each([
  'think value "high" is not supported for this model',
  'invalid think value: "max" (must be "high", "medium", "low", true, or false)',
])("a version that says “%s” is asked without think", async (error) => {
  double.failNext({ type: "answer", status: 400, body: JSON.stringify({ error }) });
  expect(textIn(await collect(at(thinking, { think: "high" }), asking("hello")))).toBe(text);
  expect(double.requests.map(({ body }) => body.think)).toEqual(["high", undefined]);
});

test.each(["30m", -1, 0])("a model stays in memory for %s if models.ollama.keepAlive says so", async (keepAlive) => {
  await collect(at(plain, { keepAlive }), asking("hello"));
  expect(double.requests[0]?.body.keep_alive).toBe(keepAlive);
});

describe("an answer of Ollama", () => {
  const ask = () => collect(at(plain), asking("hello"));
  const call = (given: unknown, more: object = {}) => ({ ...more, function: { name: "look_up", arguments: given } });

  test("can have a call between two texts, with an id or without, and several calls in one chunk", async () => {
    answerNext(
      said("I "),
      said("look.", { tool_calls: [call(berlin, { id: "call_x9" }), call({ place: "Rome" })] }),
      said(" Wait."),
      done,
    );
    const events = await ask();
    expect(textIn(events)).toBe("I look. Wait.");
    expect(callsIn(events).map(({ inputJson }) => JSON.parse(inputJson))).toEqual([berlin, { place: "Rome" }]);
    expect(new Set(callsIn(events).map(({ id }) => id)).size).toBe(2);
    expect(events.at(-1)).toMatchObject({ stop: "tool-calls" });
  });

  test("can have the arguments of a call as text, as servers send them that imitate Ollama", async () => {
    answerNext(said("", { tool_calls: [call(JSON.stringify(berlin))] }), done);
    expect(callsIn(await ask())).toMatchObject([{ inputJson: JSON.stringify(berlin) }]);
  });

  test("can have a call without arguments", async () => {
    answerNext(said("", { tool_calls: [{ function: { name: "look_up" } }] }), done);
    expect(callsIn(await ask())).toMatchObject([{ inputJson: "{}" }]);
  });

  test("can end with thoughts and words in one chunk, and null for what there is none of", async () => {
    answerNext(said("Hi.", { thinking: "Short.", tool_calls: null }), {
      message: null,
      done: true,
      done_reason: "stop",
    });
    const events = await ask();
    expect([textIn(events), carryIn(events)]).toEqual(["Hi.", { kind: "ollama-chat", thinking: "Short." }]);
  });

  test("that reached the end of the context counts as cut", async () => {
    answerNext(said("Once upon"), { ...done, done_reason: "length" });
    expect((await ask()).at(-1)).toMatchObject({ type: "end", stop: "max-tokens" });
  });

  test("without a word is a failure, not an answer", async () => {
    answerNext(done);
    expect(failureIn(await ask()).code).toBe("provider.empty");
  });

  test("that consists of thoughts only is a failure, not an answer", async () => {
    answerNext(said("", { thinking: "Hm." }), done);
    expect(failureIn(await ask()).code).toBe("provider.empty");
  });
});
