/** What a model thought goes back to it, byte for byte, as long as what it read before stays, and to nobody else. */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createEvents } from "../../src/lib/event-bus.ts";
import type { Json } from "../../src/ports/message.ts";
import {
  type ModelEvent,
  type ModelMessage,
  type ModelRequest,
  maxProviderStateLength,
  type Provider,
} from "../../src/ports/provider.ts";
import type { StepRecord, TurnRecord } from "../../src/ports/turn.ts";
import { createAnthropicProvider } from "../../src/providers/anthropic.ts";
import { createCascade } from "../../src/providers/cascade.ts";
import { createWorld, type World } from "../context/world.ts";
import { anyCharacter } from "../doubles/any-character.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { inboundMessage, toolSpec, turnRecord } from "../doubles/records.ts";
import {
  answered,
  asking,
  callsIn,
  collect,
  createOpenAiChatProvider,
  createOpenAiResponsesProvider,
  failureIn,
  lookUp,
  patient,
  textIn,
} from "./apis.ts";

let double: ModelDouble;
beforeEach(async () => {
  double = await startModelDouble();
  double.mock.onMessage("hello", { content: "Done." });
  double.mock.on({ hasToolResult: true }, { content: "It rains." });
});
afterEach(() => double.stop());

const claude = (model = "claude-opus-5") =>
  createAnthropicProvider({ apiKey: "k", baseUrl: double.url, model, timeouts: patient });
const gpt = (model = "gpt-5.4-mini") =>
  createOpenAiResponsesProvider({ apiKey: "k", baseUrl: `${double.url}/v1`, model, timeouts: patient });
const chat = (model = "deep-1") =>
  createOpenAiChatProvider({ apiKey: "k", baseUrl: `${double.url}/v1`, model, timeouts: patient });

function answerNext(frames: unknown[]): void {
  const body = frames
    .map((frame) => `event: ${(frame as { type?: string }).type ?? "message"}\ndata: ${JSON.stringify(frame)}\n\n`)
    .join("");
  double.failNext({ type: "answer", status: 200, headers: { "content-type": "text/event-stream" }, body });
}

type Block = Record<string, unknown> & { type: string };

/** As Claude streams it: blocks start empty, and their contents come in pieces. */
function claudeFrames(blocks: Block[], stop = "tool_use"): unknown[] {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const frames = blocks.flatMap((block, index) => [
    { type: "content_block_start", index, content_block: emptied(block) },
    ...deltasOf(block).map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ]);
  return [
    { type: "message_start", message: { id: "m", type: "message", role: "assistant", content: [], usage } },
    ...frames,
    { type: "message_delta", delta: { stop_reason: stop }, usage },
    { type: "message_stop" },
  ];
}

function emptied(block: Block): Block {
  if (block.type === "thinking") return { ...block, thinking: "", signature: "" };
  if (block.type === "text") return { ...block, text: "" };
  return block.type === "tool_use" ? { ...block, input: {} } : block;
}

function deltasOf(block: Block): object[] {
  const halves = (text: unknown) => [String(text).slice(0, 3), String(text).slice(3)].filter((part) => part !== "");
  if (block.type === "text") return halves(block.text).map((text) => ({ type: "text_delta", text }));
  if (block.type === "tool_use")
    return halves(JSON.stringify(block.input)).map((partial_json) => ({ type: "input_json_delta", partial_json }));
  if (block.type !== "thinking") return [];
  return [
    ...halves(block.thinking).map((thinking) => ({ type: "thinking_delta", thinking })),
    { type: "signature_delta", signature: block.signature },
  ];
}

const thought = (thinking: string, signature = "c2ln+/==") => ({ type: "thinking", thinking, signature });
const call = (id: string, place = "Berlin") => ({ type: "tool_use", id, name: "look_up", input: { place } });
const said = (text: string) => ({ type: "text", text });

/** Asks, answers every call, and asks again; what the second request carried. */
async function loop(first: Provider, frames: unknown[], second = first, change: Partial<ModelRequest> = {}) {
  answerNext(frames);
  const request = asking("hello");
  const events = await collect(first, request);
  const messages = [...request.messages, ...answered(events)];
  const after = await collect(second, { ...request, messages, ...change });
  expect(after.at(-1)?.type).toBe("end");
  return { events, body: double.requests.at(-1)?.body ?? {} };
}

const contentOf = (body: Record<string, unknown>, index: number) =>
  (body.messages as { content: unknown }[])[index]?.content;

describe("claude", () => {
  test("gets its thinking back as it came, in its place before the calls", async () => {
    const blocks = [
      thought("First the weather…"),
      { type: "redacted_thinking", data: "ZW5jcnlwdGVk/+==" },
      said("I look. "),
      thought("", "b25seSBzaWduZWQ="),
      call("a"),
      call("b", "Rome"),
    ];
    const { events, body } = await loop(claude(), claudeFrames(blocks));
    expect(textIn(events)).toBe("I look. ");
    expect(JSON.stringify(contentOf(body, 1))).toBe(JSON.stringify(blocks));
  });

  test("gets any thinking back byte for byte", async () => {
    const anyText = fc.string({ unit: anyCharacter, maxLength: 40 }).map((text) => text.toWellFormed());
    const anyBlock = fc.oneof(
      fc.record({ type: fc.constant("thinking"), thinking: anyText, signature: fc.base64String({ minLength: 4 }) }),
      fc.record({ type: fc.constant("redacted_thinking"), data: fc.base64String({ minLength: 4 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(anyBlock, { minLength: 1, maxLength: 4 }), async (thoughts) => {
        const blocks = [...thoughts, call("a")];
        const { body } = await loop(claude(), claudeFrames(blocks));
        expect(JSON.stringify(contentOf(body, 1))).toBe(JSON.stringify(blocks));
      }),
      { numRuns: 20 },
    );
  });

  test("without thinking carries nothing", async () => {
    const { events, body } = await loop(claude(), claudeFrames([said("I look."), call("a")]));
    expect(events.at(-1)).not.toHaveProperty("carry");
    expect(contentOf(body, 1)).toEqual([said("I look."), call("a")]);
  });

  test("of another model gets none of it, nor does another provider", async () => {
    const frames = claudeFrames([thought("Secret."), said("I look."), call("a")]);
    const { body } = await loop(claude(), frames, claude("claude-haiku-4-5"));
    expect(contentOf(body, 1)).toEqual([said("I look."), call("a")]);
    for (const other of [gpt(), chat()]) {
      expect(JSON.stringify((await loop(claude(), frames, other)).body)).not.toContain("Secret.");
    }
  });

  test.each<[string, Partial<ModelRequest>]>([
    ["the system prompt", { system: [{ text: "You help otherwise.", isCacheable: true }] }],
    ["a tool", { tools: [{ ...lookUp, description: "Other." }] }],
    ["the tools, which are gone,", { tools: [] }],
  ])("gets no thinking back when %s has changed since, as it would be refused", async (_what, change) => {
    const frames = claudeFrames([thought("Hm."), said("I look."), call("a")]);
    const { body } = await loop(claude(), frames, claude(), change);
    expect(contentOf(body, 1)).toEqual([said("I look."), call("a")]);
  });

  test("gets thinking back although a cache breakpoint has moved", async () => {
    const blocks = [thought("Hm."), call("a")];
    const change = { system: [{ text: "You help.", isCacheable: false }] };
    const { body } = await loop(claude(), claudeFrames(blocks), claude(), change);
    expect(contentOf(body, 1)).toEqual(blocks);
  });

  test("keeps the thinking before a changed result and loses what came after it", async () => {
    const request = asking("hello");
    const [one, two] = [
      [thought("One."), call("a")],
      [thought("Two."), call("b")],
    ];
    answerNext(claudeFrames(one));
    const first = [...request.messages, ...answered(await collect(claude(), request))];
    answerNext(claudeFrames(two));
    const second = [...first, ...answered(await collect(claude(), { ...request, messages: first }))];
    await collect(claude(), { ...request, messages: second });
    const whole = double.requests.at(-1)?.body ?? {};
    expect([contentOf(whole, 1), contentOf(whole, 3)]).toEqual([one, two]);
    const changed = second.map((message, index) => (index === 2 ? { ...message, text: "R…" } : message));
    await collect(claude(), { ...request, messages: changed as ModelMessage[] });
    const body = double.requests.at(-1)?.body ?? {};
    expect([contentOf(body, 1), contentOf(body, 3)]).toEqual([one, [call("b")]]);
  });

  test("thinking that was cut off at the output limit does not go back", async () => {
    const frames = claudeFrames([thought("Whole."), call("a"), thought("Half", "")], "max_tokens");
    const { body } = await loop(claude(), frames);
    expect(contentOf(body, 1)).toEqual([thought("Whole."), call("a")]);
  });

  test("thinking too long for the journal is dropped, and the answer stays whole", async () => {
    const long = Array.from({ length: maxProviderStateLength / 4 }, (_, index) => `${index} `).join("");
    const { events, body } = await loop(claude(), claudeFrames([thought(long), call("a")]));
    expect(events.at(-1)).not.toHaveProperty("carry");
    expect(contentOf(body, 1)).toEqual([call("a")]);
  });

  test("what it thinks is not shown, and is a sign of life", async () => {
    const { events } = await loop(
      claude("claude-opus-4-6"),
      claudeFrames([thought("Private."), said("Hi."), call("a")]),
    );
    expect(textIn(events)).toBe("Hi.");
  });

  test.each(["claude-haiku-5-5", "claude-sonnet-5", "claude-opus-4-6", "claude-haiku-4-5"])(
    "%s is asked without a word on thinking, so that no model refuses",
    async (model) => {
      await collect(claude(model), asking("hello"));
      const keys = Object.keys(double.requests.at(-1)?.body ?? {});
      expect(keys.sort()).toEqual(["max_tokens", "messages", "model", "stream", "system", "tools"]);
    },
  );

  test.each(["claude-opus-5-5", "claude-fable-5-1", "claude-fable-5-2", "claude-opus-6"])(
    "%s is asked for its notes between calls, people read them, and they go back as they came",
    async (model) => {
      const first = await loop(claude(model), claudeFrames([call("a")]));
      expect(first.body.thinking).toEqual({ type: "adaptive", display: "updates" });
      expect(double.requests.at(-1)?.headers["anthropic-beta"]).toBe("thinking-display-updates-2026-08-18");
      double.mock.reset();
      double.mock.on(
        { hasToolResult: true },
        {
          content: "Berlin is done; now Rome.",
          toolCalls: [{ name: "look_up", arguments: '{"place":"Rome"}', id: "b" }],
        },
      );
      const request = asking("hello");
      const messages = [...request.messages, ...answered(first.events)];
      const second = await collect(claude(model), { ...request, messages });
      expect(textIn(second)).toBe("Berlin is done; now Rome.");
      await collect(claude(model), { ...request, messages: [...messages, ...answered(second)] });
      expect(contentOf(double.requests.at(-1)?.body ?? {}, 3)).toMatchObject([
        { type: "thinking", thinking: "Berlin is done; now Rome.", signature: expect.stringMatching(/./) },
        { type: "tool_use", id: "b" },
      ]);
    },
  );

  test("asked for the effort max, Sonnet 5.5 thinks as the others do, because it has no other way there", async () => {
    const provider = (effort: "high" | "max") =>
      createAnthropicProvider({
        apiKey: "k",
        baseUrl: double.url,
        model: "claude-sonnet-5-5",
        effort,
        timeouts: patient,
      });
    for (const [effort, thinking] of [
      ["high", { type: "between_tools" }],
      ["max", { type: "adaptive", display: "updates" }],
    ] as const) {
      expect(textIn(await collect(provider(effort), asking("hello")))).toBe("Done.");
      expect(double.requests.at(-1)?.body).toMatchObject({ thinking, output_config: { effort } });
    }
  });

  test.each(["claude-sonnet-5-5", "claude-sonnet-5-5-20260928", "anthropic/claude-sonnet-5.5"])(
    "%s is asked to think between tools alone, people read it, and it goes back as it came",
    async (model) => {
      const blocks = [said("I look."), thought("Berlin is done; now Rome."), call("a")];
      const { events, body } = await loop(claude(model), claudeFrames(blocks));
      expect(body.thinking).toEqual({ type: "between_tools" });
      expect(textIn(events)).toBe("I look.\n\nBerlin is done; now Rome.");
      expect(contentOf(body, 1)).toEqual(blocks);
    },
  );
});

describe("the thinking of a turn", () => {
  let world: World;
  beforeEach(() => {
    world = createWorld();
  });
  afterEach(() => world.remove());
  const tools = [toolSpec("look_up")];
  const blocks = [thought("Hm."), call("a")];
  const person = (id: string) => ({ id, name: id, isBot: false, roles: [] });
  const assistantBlocks = () =>
    [double.requests.at(-1)?.body.messages]
      .flat()
      .map(Object)
      .find(({ role }) => role === "assistant")?.content;

  async function ask(turn: TurnRecord): Promise<void> {
    const { request, shown } = await world.builder().build({ turn, step: turn.steps.length + 1, tools, notes: [] });
    const events = await collect(claude(), request);
    expect(events.at(-1)?.type).toBe("end");
    Object.assign(turn, { shown, steps: [...turn.steps, stepOf(events)] });
  }

  /** A whole turn with a call, as the journal keeps it. */
  async function play(): Promise<TurnRecord> {
    const turn = turnRecord({ messages: [inboundMessage({ author: person("ann"), text: "hello" })] });
    answerNext(claudeFrames(blocks));
    await ask(turn);
    const kept = JSON.parse(JSON.stringify(turn));
    await ask(kept);
    return kept;
  }
  const later = () =>
    turnRecord({ id: "later", messages: [inboundMessage({ id: "m2", author: person("ben"), text: "hello again" })] });

  test("comes back in the next step, through the journal and the assembled context", async () => {
    await play();
    expect(assistantBlocks()).toEqual(blocks);
  });

  test("comes back in later turns, so that the service reads the turn from its cache", async () => {
    await world.builder().remember({ ...(await play()), endedAt: 1 });
    await ask(later());
    expect(assistantBlocks()).toEqual(blocks);
  });

  test("goes with the words of a person who is forgotten, because the model may have thought about them", async () => {
    await world.builder().remember({ ...(await play()), endedAt: 1 });
    await world.builder().forget("test:c1", { platform: "test", userId: "carl" });
    expect(JSON.stringify(await world.store.get("history:test:c1"))).not.toContain("Hm.");
    await ask(later());
    expect(assistantBlocks()).toEqual([{ ...call("a"), id: "call00001" }]);
  });
});

function stepOf(events: ModelEvent[]): StepRecord {
  const end = events.at(-1);
  if (end?.type !== "end") throw new Error("no end");
  const calls = callsIn(events).map(({ id, name, inputJson }) => ({
    raw: { id, name, inputJson },
    result: { callId: id, name, status: "ok" as const, text: "Rain.", attempts: 1, durationMs: 1, files: [] },
  }));
  const { stop, model, usage, carry } = end;
  const kept = carry === undefined ? {} : { carry };
  return { text: textIn(events), calls, ...kept, stop, model, requestedModel: model, usage, at: 1 };
}

describe("a failover", () => {
  test("to another model leaves the thinking behind, and on the way back it is there again", async () => {
    const [one, two] = [claude("claude-opus-5"), claude("claude-opus-4-6")];
    const cascade = createCascade({ providers: [one, two], events: createEvents(), pauseMs: 1 });
    const blocks = [thought("Hm."), said("I look."), call("a")];
    answerNext(claudeFrames(blocks));
    const request = asking("hello");
    const messages = [...request.messages, ...answered(await collect(cascade, request))];
    double.failNext({ type: "answer", status: 529, body: '{"error":{"type":"overloaded_error","message":"x"}}' });
    await collect(cascade, { ...request, messages });
    expect(double.requests.at(-1)?.body.model).toBe("claude-opus-4-6");
    expect(contentOf(double.requests.at(-1)?.body ?? {}, 1)).toEqual([said("I look."), call("a")]);
    await collect(one, { ...request, messages });
    expect(contentOf(double.requests.at(-1)?.body ?? {}, 1)).toEqual(blocks);
  });
});

describe("openai responses", () => {
  const reasoning = (id: string, encrypted: string | null = "Z0FBQUFB/+==") => ({
    id,
    type: "reasoning",
    summary: [],
    encrypted_content: encrypted,
  });
  const message = (text: string) => ({
    id: "msg_1",
    type: "message",
    role: "assistant",
    status: "completed",
    phase: "commentary",
    content: [{ type: "output_text", text, annotations: [] }],
  });
  const functionCall = (id: string) => ({
    id: `fc_${id}`,
    type: "function_call",
    status: "completed",
    call_id: id,
    name: "look_up",
    arguments: '{"place":"Berlin"}',
  });
  const frames = (items: Json[]) => [
    { type: "response.created", response: {} },
    ...items.map((item, output_index) => ({ type: "response.output_item.done", output_index, item })),
    { type: "response.completed", response: { usage: { input_tokens: 1, output_tokens: 1 } } },
  ];
  const sentCall = { type: "function_call", call_id: "a", name: "look_up", arguments: '{"place":"Berlin"}' };
  const output = { type: "function_call_output", call_id: "a", output: "Rain." };

  test("gets its reasoning back as it came, in its place, with the phase of what it said", async () => {
    const { body } = await loop(
      gpt(),
      frames([reasoning("rs_1"), message("I look."), reasoning("rs_2"), functionCall("a")]),
    );
    expect(body).toMatchObject({ store: false, include: ["reasoning.encrypted_content"] });
    expect(JSON.stringify((body.input as unknown[]).slice(1))).toBe(
      JSON.stringify([
        reasoning("rs_1"),
        { role: "assistant", content: "I look.", phase: "commentary" },
        reasoning("rs_2"),
        sentCall,
        output,
      ]),
    );
  });

  test("gets back neither reasoning that can't be read again nor such that nothing follows", async () => {
    const items = [reasoning("rs_1", null), reasoning("rs_2"), functionCall("a"), reasoning("rs_3")];
    const { body } = await loop(gpt(), frames(items));
    expect((body.input as unknown[]).slice(1)).toEqual([reasoning("rs_2"), sentCall, output]);
  });

  test("of another model, or the other api, gets none", async () => {
    for (const other of [gpt("gpt-5.4"), chat("gpt-5.4-mini")]) {
      const { body } = await loop(gpt(), frames([reasoning("rs_1"), functionCall("a")]), other);
      expect(JSON.stringify(body)).not.toContain("Z0FBQUFB");
    }
  });

  test("a model that does not reason is not asked for reasoning, which it would refuse", async () => {
    await collect(gpt("gpt-4.1"), asking("hello"));
    expect(double.requests.at(-1)?.body).not.toHaveProperty("include");
  });
});

test.each([
  ["claude", "claude-opus-5"],
  ["gpt", "gpt-5.4-mini"],
])("silence while %s thinks is borne longer than any other, but not for ever", async (name, model) => {
  const provider = (idleMs: number) =>
    name === "claude"
      ? createAnthropicProvider({ apiKey: "k", baseUrl: double.url, model, timeouts: { ...patient, idleMs } })
      : createOpenAiResponsesProvider({
          apiKey: "k",
          baseUrl: `${double.url}/v1`,
          model,
          timeouts: { ...patient, idleMs },
        });
  double.mock.onMessage("think", { content: "Thought through.", reasoning: "Hm, let me see." });
  const before = (frame: string) => /thinking_delta|reasoning_summary_part\.added/.test(frame);
  double.failNext({ type: "delay", before, ms: 1_500 });
  expect(textIn(await collect(provider(1_000), asking("think")))).toBe("Thought through.");
  double.failNext({ type: "stall", before });
  const stalled = await collect(provider(20), asking("think"));
  expect(failureIn(stalled)).toMatchObject({ code: "provider.idle-timeout", isRetryable: true });
});

describe("compatible chat servers", () => {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    choices: [{ index: 0, delta, finish_reason }],
  });
  const frames = [
    chunk({ role: "assistant", reasoning_content: "The user " }),
    chunk({ reasoning_content: "wants rain." }),
    chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "look_up", arguments: '{"place":"Berlin"}' } }] }),
    chunk({}, "tool_calls"),
  ];

  test("get `reasoning_content` back with the calls it led to", async () => {
    const { body } = await loop(chat(), frames);
    expect((body.messages as unknown[])[2]).toMatchObject({
      reasoning_content: "The user wants rain.",
      tool_calls: [{ id: "a" }],
    });
  });

  test("get none that another model gave", async () => {
    const { body } = await loop(chat(), frames, chat("deep-2"));
    expect((body.messages as unknown[])[2]).not.toHaveProperty("reasoning_content");
  });
});
