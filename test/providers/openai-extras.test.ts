/** What services give beside text and calls goes back to them with the results. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ModelMessage } from "../../src/ports/provider.ts";
import { uniqueCallId } from "../../src/response/call-ids.ts";
import type { ModelService } from "../doubles/model-rules/services.ts";
import { answered, asking, callsIn, collect, failureIn, textIn } from "./apis.ts";
import { chunk, createOpenAiWorld, type OpenAiWorld, turn } from "./openai-world.ts";

let world: OpenAiWorld;
afterEach(() => world.stop());

async function start(service: ModelService): Promise<void> {
  world = await createOpenAiWorld(service);
}

describe("Gemini at Google's OpenAI address", () => {
  const signature = { google: { thought_signature: "EjQKMgEMOdbHJChLX75QUCJj" } };
  const called = (place: string, more: object = {}) => ({
    ...{ id: "", type: "function", function: { name: "look_up", arguments: JSON.stringify({ place }) } },
    ...more,
  });
  const address = "https://generativelanguage.googleapis.com/v1beta/openai";
  const gemini = () => world.at(address, "gemini-3.5-flash");

  beforeEach(() => start("gemini"));

  test("gets each call back with its signature, though the answer ends as if nothing were called", async () => {
    world.answerNext(
      chunk({ role: "assistant", tool_calls: [called("Berlin", { id: "a", extra_content: signature })] }),
      chunk({}, "stop"),
    );
    expect(textIn(await turn(gemini()))).toBe("It rains.");
    const [, , answer] = world.lastBody().messages as { tool_calls: object[] }[];
    expect(answer?.tool_calls).toMatchObject([{ id: "a", extra_content: signature }]);
  });

  test("gives several calls under one index, or none, without ids", async () => {
    for (const more of [{ index: 0 }, {}]) {
      world.answerNext(
        chunk({ tool_calls: [called("Berlin", { ...more, extra_content: signature })] }),
        chunk({ tool_calls: [called("Rome", more)] }),
        chunk({}, "stop"),
      );
      const events = await collect(gemini(), asking("hello"));
      expect(callsIn(events).map(({ inputJson }) => inputJson)).toEqual(['{"place":"Berlin"}', '{"place":"Rome"}']);
      const ids = callsIn(events).map(({ id }) => id);
      expect(new Set(ids).size).toBe(2);
      expect(ids).not.toContain("");
    }
  });

  test("may split a call without an index, and give the signature alone", async () => {
    world.answerNext(
      chunk({ tool_calls: [{ id: "a", type: "function", function: { name: "look_up", arguments: '{"place":' } }] }),
      chunk({ tool_calls: [{ function: { arguments: '"Berlin"}' } }] }),
      chunk({ tool_calls: [{ extra_content: signature }] }),
      chunk({}, "stop"),
    );
    const provider = gemini();
    const request = asking("hello");
    const first = await collect(provider, request);
    expect(callsIn(first)).toMatchObject([{ inputJson: '{"place":"Berlin"}' }]);
    const second = await collect(provider, { ...request, messages: [...request.messages, ...answered(first)] });
    expect(second.at(-1)).toMatchObject({ type: "end" });
  });

  test("continues a turn that another model began, whose calls have no signature", async () => {
    const messages: ModelMessage[] = [
      ...asking("hello").messages,
      { role: "assistant", text: "", toolCalls: [{ id: "a", name: "look_up", inputJson: "{}" }] },
      { role: "tool", callId: "a", name: "look_up", text: "Rain.", isError: false },
    ];
    expect((await collect(gemini(), asking("hello", { messages }))).at(-1)).toMatchObject({ type: "end" });
  });

  test("says why it refuses, also in a list, and in the stream", async () => {
    const error = { code: 400, message: "Please use a valid role.", status: "INVALID_ARGUMENT" };
    world.double.failNext({ type: "answer", status: 400, body: JSON.stringify([{ error }]) });
    expect(failureIn(await collect(gemini(), asking("hello"))).message).toContain("Please use a valid role.");
    world.answerNext([{ error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } }]);
    expect(failureIn(await collect(gemini(), asking("hello")))).toMatchObject({ code: "provider.overloaded" });
  });
});

describe("reasoning beside a call", () => {
  const call = { index: 0, id: "a", type: "function", function: { name: "look_up", arguments: '{"place":"Berlin"}' } };
  const sentBack = () =>
    (world.lastBody().messages as Record<string, unknown>[]).find(({ role }) => role === "assistant") ?? {};
  const openRouter = (model: string) => world.at("https://openrouter.ai/api/v1", model);

  test("goes back to OpenRouter in whole details, without the same text again", async () => {
    await start("openRouter");
    const detail = (more: object) => ({ type: "reasoning.text", index: 0, format: "anthropic-claude-v1", ...more });
    const sealed = { type: "reasoning.encrypted", data: "c2VhbGVk", id: "a", index: 0, format: "google-gemini-v1" };
    world.answerNext(
      chunk({ role: "assistant", reasoning: "The user ", reasoning_details: [detail({ text: "The user " })] }),
      chunk({ reasoning: "wants rain.", reasoning_details: [detail({ text: "wants rain.", signature: null })] }),
      chunk({ reasoning_details: [detail({ signature: "c2ln" })] }),
      chunk({ reasoning_details: [sealed, { ...sealed, id: "b" }], tool_calls: [call] }),
      chunk({}, "tool_calls"),
    );
    expect(textIn(await turn(openRouter("google/gemini-3.5-flash")))).toBe("It rains.");
    expect(sentBack()).not.toHaveProperty("reasoning");
    expect(sentBack().reasoning_details).toEqual([
      detail({ text: "The user wants rain.", signature: "c2ln" }),
      sealed,
      { ...sealed, id: "b" },
    ]);
  });

  test("that OpenRouter misses is named in the error, in the words of the model's service", async () => {
    await start("openRouter");
    const provider = openRouter("google/gemini-3.5-flash");
    const request = asking("one call");
    const first = await collect(provider, request);
    const failed = await collect(provider, { ...request, messages: [...request.messages, ...answered(first)] });
    expect(failureIn(failed).message).toContain("require OpenRouter reasoning details to be preserved");
  });

  test.each(["reasoning_content", "reasoning"])("goes back under the name that it came by: %s", async (name) => {
    await start("any");
    world.answerNext(
      chunk({ [name]: "Hm, " }),
      chunk({ [name]: "rain." }),
      chunk({ tool_calls: [call] }),
      chunk({}, "tool_calls"),
    );
    await turn(world.here("deep-1"));
    expect(sentBack()).toMatchObject({ [name]: "Hm, rain.", tool_calls: [{ id: "a" }] });
    world.answerNext(chunk({ [name]: "Hm." }), chunk({ tool_calls: [call] }), chunk({}, "tool_calls"));
    const messages = answered(await collect(world.here("deep-1"), asking("hello")));
    await collect(world.here("deep-2"), asking("hello", { messages: [...asking("hello").messages, ...messages] }));
    expect(sentBack()).not.toHaveProperty(name);
  });

  test("includes a long id, in which LiteLLM hides Gemini's signature, and of which another model gets no part", async () => {
    await start("any");
    const id = `call_a__thought__${"CiQB0e".repeat(40)}==`;
    world.answerNext(chunk({ tool_calls: [{ ...call, id }] }), chunk({}, "tool_calls"));
    const short = uniqueCallId(id, new Set());
    // The turn gives the call an id that every service takes.
    const messages: ModelMessage[] = answered(await collect(world.here("gemini-a"), asking("hello"))).map((message) => {
      if (message.role === "tool") return { ...message, callId: short };
      return message.role === "user"
        ? message
        : { ...message, toolCalls: message.toolCalls.map((one) => ({ ...one, id: short })) };
    });
    const request = asking("hello", { messages: [...asking("hello").messages, ...messages] });
    const idsSent = () =>
      (world.lastBody().messages as { tool_calls?: { id: string }[]; tool_call_id?: string }[]).flatMap(
        ({ tool_calls: calls = [], tool_call_id: answers = [] }) => [...calls.map((one) => one.id), answers].flat(),
      );
    await collect(world.here("gemini-a"), request);
    expect(idsSent()).toEqual([id, id]);
    await collect(world.here("other"), request);
    expect(idsSent()).toEqual([short, short]);
    expect(short).toMatch(/^call_[0-9a-f]+$/);
  });

  test("keeps what a service gives with a call under names that nobody knows yet", async () => {
    await start("any");
    const strange = { ...call, seal: { v: 1 }, function: { ...call.function, thought: "b64" } };
    world.answerNext(chunk({ tool_calls: [strange] }), chunk({}, "tool_calls"));
    await turn(world.here("new-1"));
    const { index: _index, ...kept } = strange;
    expect(sentBack().tool_calls).toEqual([kept]);
  });
});

test("more pieces of reasoning than an answer can have do not go back, but its text does", async () => {
  await start("any");
  const pieces = Array.from({ length: 1_001 }, (_, id) => ({ type: "reasoning.text", text: "x", id: `${id}` }));
  world.answerNext(
    ...pieces.map((piece) => chunk({ reasoning: "x", reasoning_details: [piece] })),
    chunk({ content: "Hi." }, "stop"),
  );
  const end = (await collect(world.here("m"), asking("hello"))).at(-1);
  expect(end).toMatchObject({ type: "end", carry: { message: { reasoning: "x".repeat(1_001) } } });
  expect(JSON.stringify(end)).not.toContain("reasoning_details");
});
