/** Tool calls that models write as text: which texts are calls, and that people never see one, however it is streamed. */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createTextCallReader } from "../../src/providers/text-call-reader.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { runs } from "../faults/share.ts";
import { apis, asking, callsIn, collect, lookUp, textIn } from "./apis.ts";

const rome = { place: "Rome" };
const json = JSON.stringify;

/** Every form, as a function of the name and the arguments. */
const forms: [string, (name: string, input: object) => string][] = [
  ["name and args", (name, args) => json({ name, args })],
  ["name and arguments", (name, input) => json({ name, arguments: input }, null, 2)],
  ["name and arguments as text", (name, input) => json({ name, arguments: json(input) })],
  ["name and parameters", (name, parameters) => ` ${json({ name, parameters })}\n`],
  ["tool and args", (tool, args) => json({ tool, args })],
  ["tool and input", (tool, input) => json({ tool, input })],
  ["a function", (name, input) => json({ type: "function", function: { name, arguments: json(input) } })],
  ["tool_calls", (name, args) => json({ tool_calls: [{ name, args }] })],
  [
    "tool_calls of functions",
    (name, input) => json({ tool_calls: [{ id: "c", type: "function", function: { name, arguments: json(input) } }] }),
  ],
  ["a list of one", (name, args) => `[${json({ name, args })}]`],
  ["a fenced object", (name, args) => `\`\`\`json\n${json({ name, arguments: args }, null, 2)}\n\`\`\``],
  ["a fenced object without a label", (name, args) => `\`\`\`\n${json({ name, args })}\n\`\`\`\n`],
  ["a tag", (name, input) => `<tool_call>\n${json({ name, arguments: input })}\n</tool_call>`],
  ["a tag that is not closed", (name, input) => `<tool_call>${json({ name, arguments: input })}`],
];

const notCalls = [
  `Use this: ${json({ name: "look_up", parameters: rome })}`,
  `${json({ name: "look_up", parameters: rome })} as you asked`,
  `\`\`\`json\n${json({ name: "look_up", args: rome })}\n\`\`\`\nThat is how you call it.`,
  `<tool_call>${json({ name: "look_up", arguments: rome })}</tool_call> is how models call it`,
  json({ name: "unknown_tool", parameters: {} }),
  json({ name: "look_up" }),
  json({ place: "Rome" }),
  json([
    { name: "look_up", args: rome },
    { name: "look_up", args: rome },
  ]),
  json({ name: "look_up", description: "Looks up the weather.", parameters: { type: "object" } }),
  json({ name: "look_up", parameters: lookUp.parameters }),
  json({ tool_calls: [{ name: "look_up", args: rome }], note: "an example" }),
  json({ function: { function: { name: "look_up", arguments: rome } } }),
  '{"name": "look_up", "parameters": {',
  "{}",
  "[]",
  "```python\nprint({})\n```",
  "[a link](https://example.com)",
  "<tool_callers> is not a tag",
];

/** Streams the text in pieces. */
function streamed(pieces: readonly string[], tools = [lookUp]) {
  const reader = createTextCallReader({ tools, messages: [] });
  const shown = pieces.map((piece) => reader.add(piece)).join("");
  const { text, calls } = reader.end(false);
  return { shown, text: shown + text, calls: calls.map(({ name, inputJson }) => [name, JSON.parse(inputJson)]) };
}

function cutAt(text: string, places: readonly number[]): string[] {
  const ends = [...new Set(places.map((place) => place % (text.length + 1)))].sort((one, other) => one - other);
  return [...ends, text.length].map((end, index) => text.slice(index === 0 ? 0 : ends[index - 1], end));
}

describe("a text", () => {
  test.each(forms)("that is %s is a call", (_name, write) => {
    expect(streamed([write("look_up", rome)])).toEqual({ shown: "", text: "", calls: [["look_up", rome]] });
  });

  test.each(notCalls)("is no call: %s", (text) => {
    expect(streamed([text])).toMatchObject({ text, calls: [] });
  });

  test("is no call, and no failure, however deep its objects are", () => {
    const text = `${'{"function":'.repeat(20_000)}{}${"}".repeat(20_000)}`;
    const { text: shown, calls } = streamed([text]);
    expect([shown === text, calls]).toEqual([true, []]);
  });

  test("with several tags is several calls", () => {
    const tag = (place: string) => `<tool_call>\n${json({ name: "look_up", arguments: { place } })}\n</tool_call>`;
    expect(streamed([`${tag("Rome")}\n${tag("Bern")}`]).calls).toEqual([
      ["look_up", rome],
      ["look_up", { place: "Bern" }],
    ]);
  });

  test("is no call without tools, and is not held back", () => {
    const text = json({ name: "look_up", args: rome });
    expect(streamed([text], [])).toEqual({ shown: text, text, calls: [] });
  });

  test("of a tool that the request only names is a call, by its own name and through use_tool", () => {
    const named = [{ ...lookUp, name: "chat_post" }];
    const callsOf = (text: string) => {
      const reader = createTextCallReader({ ...asking("x"), tools: [{ ...lookUp, name: "use_tool" }], named });
      return [reader.add(text), reader.end(false).calls.map(({ name }) => name)];
    };
    expect(callsOf(json({ name: "chat_post", arguments: rome }))).toEqual(["", ["chat_post"]]);
    expect(callsOf(json({ name: "use_tool", arguments: { name: "chat_post", input: rome } }))).toEqual([
      "",
      ["use_tool"],
    ]);
  });

  test("that repeats an earlier call when no tools are left is not shown", () => {
    const toolCalls = [{ id: "1", name: "look_up", inputJson: "{}" }];
    const reader = createTextCallReader({ tools: [], messages: [{ role: "assistant", text: "", toolCalls }] });
    expect(reader.add(json({ name: "look_up", args: rome }))).toBe("");
    expect(reader.end(false)).toMatchObject({ text: "", calls: [{ name: "look_up" }] });
  });

  test("that the output limit cut in a call is a call, which is then reported as cut", () => {
    const reader = createTextCallReader(asking("x"));
    reader.add('{"name": "look_up", "arguments": {"place": "Ro');
    expect(reader.end(true)).toMatchObject({ text: "", calls: [{ name: "look_up" }] });
  });

  test.each(["Hello {", "Hello", "# {", "- [ ] task", "```ts\nconst a = 1", '{"place": ', "<table>"])(
    "that can't become a call is shown at once: %s",
    (text) => expect(streamed([text]).shown).toBe(text),
  );
});

describe("whatever a model writes, in whatever pieces", () => {
  const cuts = fc.array(fc.nat(), { maxLength: 12 });
  const input = fc.dictionary(
    fc.string({ maxLength: 6 }),
    fc.oneof(fc.string({ maxLength: 12 }), fc.integer(), fc.constant(null)),
    { maxKeys: 3 },
  );
  const form = fc.constantFrom(...forms.map(([, write]) => write));
  const words = fc.stringMatching(/^[a-zA-Z,.:!]{1,8}( [a-zA-Z,.:!]{1,8}){0,3}$/);
  const fixed = { numRuns: runs(2_000), seed: 20_261_123 };

  test("a call is a call, and nothing of it is shown", () => {
    fc.assert(
      fc.property(form, input, cuts, (write, args, places) => {
        const { shown, text, calls } = streamed(cutAt(write("look_up", args), places));
        expect([shown, text, calls]).toEqual(["", "", [["look_up", JSON.parse(json(args))]]]);
      }),
      fixed,
    );
  });

  test("a text that quotes a call is that text", () => {
    fc.assert(
      fc.property(
        form,
        input,
        words,
        words,
        fc.constantFrom("before", "after", "around"),
        cuts,
        (write, args, one, two, where, places) => {
          const call = write("look_up", args);
          const whole = `${where === "after" ? "" : `${one}\n`}${call}${where === "before" ? "" : `\n${two}`}`;
          expect(streamed(cutAt(whole, places))).toMatchObject({ text: whole, calls: [] });
        },
      ),
      fixed,
    );
  });

  test("a name that is not offered is text", () => {
    fc.assert(
      fc.property(form, input, words, cuts, (write, args, name, places) => {
        const whole = write(name, args);
        expect(streamed(cutAt(whole, places))).toMatchObject({ text: whole, calls: [] });
      }),
      fixed,
    );
  });

  test("any other text arrives whole", () => {
    const piece = fc.constantFrom(
      ...["{", "}", "[", "]", '"name"', '"args"', ":", ",", '"look_up"', "```", "json", "<tool_call>", "</tool_call>"],
      ...["\n", " ", "a word", '"tool_calls"', "<", "`", "\\", '"'],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
        const { text, calls } = streamed(pieces);
        if (calls.length === 0) expect(text).toBe(pieces.join(""));
        else expect([text, calls.every(([name]) => name === "look_up")]).toEqual(["", true]);
      }),
      fixed,
    );
  });
});

describe.each(apis)("$name", (api) => {
  let double: ModelDouble;
  beforeEach(async () => {
    double = await startModelDouble();
  });
  afterEach(() => double.stop());

  test("takes a call from text, and shows nothing of it", async () => {
    for (const [index, [, write]] of forms.entries()) {
      double.mock.onMessage(`form ${index}.`, { content: write("look_up", rome) });
      const events = await collect(api.create(double.url), asking(`form ${index}.`));
      expect(textIn(events)).toBe("");
      expect(callsIn(events).map((call) => [call.name, JSON.parse(call.inputJson)])).toEqual([["look_up", rome]]);
      expect(events.at(-1)).toMatchObject({ type: "end", stop: "tool-calls" });
    }
  });

  test("shows a quoted call as text", async () => {
    const content = `You can write ${json({ name: "look_up", args: rome })} for that.`;
    double.mock.onMessage("quote", { content });
    const events = await collect(api.create(double.url), asking("quote"));
    expect([textIn(events), callsIn(events)]).toEqual([content, []]);
  });

  test("shows nothing of a call that breaks off", async () => {
    double.mock.onMessage("break", { content: json({ name: "look_up", args: { place: text30 } }) });
    double.failNext({ type: "break", before: api.secondText });
    const events = await collect(api.create(double.url), asking("break"));
    expect(events).toMatchObject([{ type: "error", error: { code: "provider.cut" } }]);
  });
});

const text30 = "a place with a long name in the north of the country, ".repeat(4);

test("openai chat takes the older function_call, in pieces", async () => {
  const double = await startModelDouble();
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${json({ id: "1", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const body = [
    chunk({ role: "assistant", content: null, function_call: { name: "look_up", arguments: "" } }),
    chunk({ function_call: { arguments: '{"place":' } }),
    chunk({ function_call: { arguments: '"Rome"}' } }),
    chunk({}, "function_call"),
    "data: [DONE]\n\n",
  ].join("");
  double.failNext({ type: "answer", status: 200, headers: { "content-type": "text/event-stream" }, body });
  const chat = apis.find(({ name }) => name === "openai chat");
  const events = chat === undefined ? [] : await collect(chat.create(double.url), asking("x"));
  expect(callsIn(events).map((call) => [call.name, JSON.parse(call.inputJson)])).toEqual([["look_up", rome]]);
  expect(events.at(-1)).toMatchObject({ type: "end", stop: "tool-calls" });
  await double.stop();
});
