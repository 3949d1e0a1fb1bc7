/** A prompt that grows at its end stays as it was sent, at each service: otherwise its cache would be written again. */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ModelMessage } from "../../src/ports/provider.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { type Api, apis, asking, collect } from "./apis.ts";
import { createOpenAiWorld, openAi } from "./openai-world.ts";

let double: ModelDouble;
beforeAll(async () => {
  double = await startModelDouble({ service: "any" });
  double.mock.on({}, { content: "Yes." });
});
afterAll(() => double.stop());

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const image = { mimeType: "image/png", base64: pixel };
const words = fc.oneof(fc.string(), fc.constantFrom("", " ", "one\n", "\ud800 alone", "`x`"));
/** As models write them: keys that look like numbers or stand twice, numbers in odd forms, spaces, and what is no JSON. */
const input = fc.oneof(
  fc.json({ maxDepth: 2 }),
  fc.constantFrom(
    "",
    "{}",
    '{"b":1,"2":2,"1":3}',
    '{"a":1,"a":2}',
    '{ "n": 1.0, "m":1e3 }',
    '{"__proto__":{"x":1}}',
    '{"a":',
  ),
);

/** A turn: what is needed to know and what a person says, steps with calls, and the answer. */
const turn = fc.record({
  said: fc.array(fc.record({ text: words, hasPicture: fc.boolean() }), { minLength: 1, maxLength: 2 }),
  steps: fc.array(
    fc.array(fc.record({ input, result: words, hasPicture: fc.boolean(), isError: fc.boolean() }), {
      minLength: 1,
      maxLength: 3,
    }),
    { maxLength: 2 },
  ),
  note: words,
  answer: words,
});
type Turn = typeof turn extends fc.Arbitrary<infer T> ? T : never;

/** What the prompt grows by, request after request. */
function growthOf(turns: readonly Turn[]): ModelMessage[][] {
  let calls = 0;
  let answer: ModelMessage[] = [];
  return turns.flatMap(({ said, steps, note, answer: text }) => {
    const first: ModelMessage[] = said.map((part) => ({
      role: "user",
      content: [
        { type: "text", text: part.text || "hello" },
        ...(part.hasPicture ? [{ type: "image" as const, ...image }] : []),
      ],
    }));
    const later = steps.map((step): ModelMessage[] => {
      const named = step.map((call) => ({ ...call, id: `call_${calls++}` }));
      return [
        {
          ...{ role: "assistant", text: note },
          toolCalls: named.map(({ id, input: inputJson }) => ({ id, name: "look_up", inputJson })),
        },
        ...named.map(
          ({ id, result, hasPicture, isError }): ModelMessage => ({
            ...{ role: "tool", callId: id, name: "look_up", text: result, isError },
            ...(hasPicture ? { images: [image] } : {}),
          }),
        ),
      ];
    });
    const begun = [[...answer, ...first], ...later];
    answer = [{ role: "assistant", text, toolCalls: [] }];
    return begun;
  });
}

/** Messages and items as they were sent, or their blocks where several messages become one. */
function sentIn(body: Record<string, unknown>, isInBlocks: boolean): string[] {
  const { cache_control: _mark, ...rest } = body;
  const messages = [rest.messages ?? rest.input].flat().map((message) => Object(message));
  const all = isInBlocks
    ? messages.flatMap(({ role, content }) => [content].flat().map((block) => ({ role, block })))
    : messages;
  const isMark = (key: string) => key === "cache_control" || key === "prompt_cache_breakpoint";
  return all.map((one) => JSON.stringify(one, (key, value) => (isMark(key) ? undefined : value)));
}

async function expectSteady(
  from: ModelDouble,
  provider: ReturnType<Api["create"]>,
  turns: readonly Turn[],
  isInBlocks: boolean,
) {
  from.requests.length = 0;
  const messages: ModelMessage[] = [];
  for (const more of growthOf(turns)) {
    messages.push(...more);
    await collect(
      provider,
      asking("", { messages: structuredClone(messages), cache: { key: "a", pausesMs: [1_000] } }),
    );
  }
  const bodies = from.requests.flatMap(({ path, body }) => (/chat|messages|responses/.test(path) ? [body] : []));
  expect(bodies.length).toBeGreaterThan(1);
  for (const [index, body] of bodies.entries()) {
    const before = bodies[index - 1];
    if (before === undefined) continue;
    const sent = sentIn(before, isInBlocks);
    expect(sentIn(body, isInBlocks).slice(0, sent.length)).toEqual(sent);
    for (const field of ["tools", "system", "instructions", "options", "keep_alive", "prompt_cache_key"])
      expect(JSON.stringify(body[field])).toBe(JSON.stringify(before[field]));
  }
}

const runs = { numRuns: 4 };

test.each(apis)("what was sent before stays as it was in every later request: $name", async (api) => {
  const provider = api.create(double.url);
  const steady = (turns: Turn[]) => expectSteady(double, provider, turns, api.name === "anthropic");
  await fc.assert(fc.asyncProperty(fc.array(turn, { minLength: 2, maxLength: 3 }), steady), runs);
});

test.each(["chat", "responses"] as const)(
  "breakpoints that move on change nothing else of a prompt: OpenAI's %s",
  async (api) => {
    const world = await createOpenAiWorld("any");
    world.double.mock.on({}, { content: "Yes." });
    const provider = world.at(openAi, "gpt-5.6-luna", { api });
    const steady = (turns: Turn[]) => expectSteady(world.double, provider, turns, false);
    await fc.assert(fc.asyncProperty(fc.array(turn, { minLength: 2, maxLength: 3 }), steady), runs);
    await world.stop();
  },
);
