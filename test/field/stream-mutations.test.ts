/**
 * Good streams with random faults: events that are missing, twice, in another order or cut, and fields that are missing or of
 * another type. `npm run mutations` plays 10,000 for each protocol.
 */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ModelEvent } from "../../src/ports/provider.ts";
import { asking, collect } from "../providers/apis.ts";
import {
  berlin,
  callPiece,
  chunk,
  events,
  type FieldShape,
  lines,
  named,
  said,
} from "../providers/field-shapes/shape.ts";
import { apiOf, callsOf, startWire, type Wire, wireTools } from "../providers/field-shapes/wire.ts";

const runs = Number(process.env.STREAM_MUTATIONS ?? 60);
/** On a slow machine. */
const oneMs = 300;
const timeoutMs = 60_000 + runs * oneMs;

type Event = { type: string; [field: string]: unknown };
const [berlinJson, romeJson] = [JSON.stringify(berlin), '{"place":"Rome"}'];
const usage = { input_tokens: 10, output_tokens: 5, prompt_tokens: 10, completion_tokens: 5 };
const halves = (text: string) => [text.slice(0, 7), text.slice(7)];

const claudeCall = (index: number, text: string) => [
  {
    type: "content_block_start",
    index,
    content_block: { type: "tool_use", id: `t${index}`, name: "look_up", input: {} },
  },
  ...halves(text).map((partial_json) => ({
    ...{ type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json } },
  })),
  { type: "content_block_stop", index },
];
const item = (index: number, text: string) => ({
  ...{ type: "function_call", id: `fc${index}`, call_id: `c${index}`, name: "look_up", arguments: text },
});
const openAiCall = (output_index: number, text: string) => [
  { type: "response.output_item.added", output_index, item: item(output_index, "") },
  ...halves(text).map((delta) => ({
    ...{ type: "response.function_call_arguments.delta", output_index, item_id: `fc${output_index}`, delta },
  })),
  { type: "response.output_item.done", output_index, item: item(output_index, text) },
];
const message = { type: "message", role: "assistant", content: [{ type: "output_text", text: "I look." }] };

const good: { api: FieldShape["api"]; events: object[]; write(events: unknown[]): string[] }[] = [
  {
    api: "anthropic",
    events: [
      { type: "message_start", message: { id: "m", role: "assistant", content: [], usage } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "I look." } },
      { type: "content_block_stop", index: 0 },
      ...[...claudeCall(1, berlinJson), ...claudeCall(2, romeJson)],
      { type: "message_delta", delta: { stop_reason: "tool_use" }, usage },
      { type: "message_stop" },
    ],
    write: (list) => list.flatMap((one) => named(...[one as Event].map((event) => event ?? { type: "null" }))),
  },
  {
    api: "openai chat",
    events: [
      ...[chunk({ role: "assistant", content: "" }), said("I look.")],
      ...[callPiece(0, "a", "look_up", ""), callPiece(1, "b", "look_up", "")].map((one) =>
        chunk({ tool_calls: [one] }),
      ),
      ...halves(berlinJson).map((text) => chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] })),
      ...halves(romeJson).map((text) => chunk({ tool_calls: [{ index: 1, function: { arguments: text } }] })),
      ...[chunk({}, "tool_calls"), { choices: [], usage }],
    ],
    write: (list) => [...list.flatMap((one) => events(JSON.stringify(one))), ...events("[DONE]")],
  },
  {
    api: "openai responses",
    events: [
      { type: "response.created", response: { id: "r", status: "in_progress" } },
      { type: "response.output_text.delta", output_index: 0, item_id: "m", delta: "I look." },
      { type: "response.output_item.done", output_index: 0, item: message },
      ...[...openAiCall(1, berlinJson), ...openAiCall(2, romeJson)],
      {
        type: "response.completed",
        response: { id: "r", status: "completed", output: [message, item(1, berlinJson), item(2, romeJson)], usage },
      },
    ],
    write: (list) => list.flatMap((one) => events(JSON.stringify(one))),
  },
  {
    api: "ollama",
    events: [
      { message: { role: "assistant", content: "I look." }, done: false },
      ...[berlin, { place: "Rome" }].map((input) => ({
        message: { role: "assistant", content: "", tool_calls: [{ function: { name: "look_up", arguments: input } }] },
        done: false,
      })),
      { message: { role: "assistant", content: "" }, done: true, done_reason: "stop", ...usage },
    ],
    write: (list) => lines(...(list as object[])).pieces.map(String),
  },
];

const strange: unknown[] = [
  null,
  0,
  -1,
  "",
  "odd",
  true,
  [],
  {},
  [null],
  { odd: 1 },
  ["odd"],
  [{ type: "odd", text: "odd" }],
];

/** All places in a value, as the object that has each and its key. */
function placesIn(value: unknown): { owner: Record<string, unknown>; key: string }[] {
  if (typeof value !== "object" || value === null) return [];
  const owner = value as Record<string, unknown>;
  return Object.keys(owner).flatMap((key) => [{ owner, key }, ...placesIn(owner[key])]);
}

function mutated(original: readonly object[], numbers: readonly number[]): unknown[] {
  let list: unknown[] = structuredClone([...original]);
  for (let at = 0; at + 3 < numbers.length; at += 4) {
    const [kind = 0, which = 0, where = 0, what = 0] = numbers.slice(at, at + 4);
    const index = which % Math.max(1, list.length);
    const places = placesIn(list[index]);
    const place = places[where % Math.max(1, places.length)];
    const value = structuredClone(strange[what % strange.length]);
    if (kind % 8 === 0) list.splice(index, 1);
    else if (kind % 8 === 1) list.splice(index, 0, structuredClone(list[index]));
    else if (kind % 8 === 2) list.splice(where % (list.length + 1), 0, ...list.splice(index, 1));
    else if (kind % 8 === 3) list = list.slice(0, index);
    else if (kind % 8 === 4) list.splice(index, 0, value);
    else if (place === undefined) continue;
    else if (kind % 8 === 5) delete place.owner[place.key];
    else place.owner[place.key] = kind % 8 === 6 ? value : [place.owner[place.key]];
  }
  return list;
}

let wire: Wire;
beforeAll(async () => {
  wire = await startWire();
});
afterAll(() => wire.close());

/** What a stream may have of calls: whole ones, or what a fault has put in the place of an argument. */
const wholePlaces = new Set<unknown>([
  ...[berlin.place, "Rome"],
  // A number is read as the text that the schema wants.
  ...strange.filter((value) => typeof value !== "object").map(String),
]);
const crash = /\[object |Cannot read|is not a function|is not iterable/;

async function check(sent: ModelEvent[]): Promise<void> {
  const last = sent.at(-1);
  expect(["end", "error"]).toContain(last?.type);
  expect(sent.filter(({ type }) => type === "end" || type === "error")).toHaveLength(1);
  const shown = sent.map((event) => (event.type === "text-delta" ? event.text : "")).join("");
  expect(shown).not.toMatch(/\[object |[{}]/);
  if (last?.type === "error") expect(`${last.error.message} ${last.error.plain}`).not.toMatch(crash);
  for (const call of await callsOf(sent)) {
    if (typeof call === "string") expect(call).not.toMatch(crash);
    else if ("place" in call) expect(wholePlaces).toContain(call.place);
  }
}

test.each(good)(
  "a stream of $api with random faults ends once, shows no object as text and runs no half a call",
  async ({ api, events: original, write }) => {
    const provider = apiOf(api).create(wire.url);
    const play = async (list: unknown[], cut: number) => {
      const whole = write(list).join("");
      const bytes = cut % 4 === 0 ? whole.slice(0, cut % (whole.length + 1)) : whole;
      const headers = api === "ollama" ? { headers: { "content-type": "application/x-ndjson" } } : {};
      wire.answerWith([{ ...headers, pieces: [bytes] }]);
      return await collect(provider, asking("hello", { tools: wireTools }));
    };
    const calls = await callsOf(await play([...original], 1));
    expect(calls).toEqual([berlin, { place: "Rome" }]);
    const numbers = fc.array(fc.nat({ max: 9_999 }), { minLength: 4, maxLength: 16 });
    await fc.assert(
      fc.asyncProperty(numbers, fc.nat({ max: 99_999 }), async (faults, cut) => {
        await check(await play(mutated(original, faults), cut));
      }),
      { numRuns: runs, interruptAfterTimeLimit: timeoutMs, markInterruptAsFailure: true },
    );
  },
  timeoutMs,
);
