/** What is sent once stays as it was sent, because services read from their caches only what begins a request in the same way. */
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { MemoryHit } from "../../src/ports/memory.ts";
import type { ModelRequest } from "../../src/ports/provider.ts";
import { addedTo, holdsIn, noteSource, type ShownContext } from "../../src/ports/shown-context.ts";
import type { StepRecord, TurnRecord } from "../../src/ports/turn.ts";
import { inboundMessage, toolSpec, turnRecord } from "../doubles/records.ts";
import { createMemoryDouble, createWorld, memoryHit, promptText, skillBrief, type World } from "./world.ts";

let world: World;
beforeEach(() => {
  world = createWorld();
});
afterEach(() => world.remove());

const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
const tools = [toolSpec("look", { isAlwaysDefined: true })];
const isRead = { has: "a note that matters" };

function stepOf(turn: TurnRecord, text: string, result: string | undefined): StepRecord {
  const raw = { id: "call_1", name: "look", inputJson: '{ "at": 1 }' };
  const answer = { callId: raw.id, name: raw.name, status: "ok" as const, text: result ?? "" };
  const calls = result === undefined ? [] : [{ raw, result: { ...answer, attempts: 1, durationMs: 1, files: [] } }];
  const asked = { model: "m", requestedModel: "m", usage, at: 1, seenMessages: turn.messages.length };
  return { text, calls, stop: result === undefined ? "end" : "tool-calls", ...asked };
}

/** Plays turns, and returns the requests in their order. */
async function play(
  turns: readonly { said: string; results: readonly string[]; meanwhile?: string }[],
  changes: Parameters<World["builder"]>[0] = {},
): Promise<ModelRequest[]> {
  const requests: ModelRequest[] = [];
  for (const [index, { said, results, meanwhile }] of turns.entries()) {
    // A new one each time, as after a restart.
    const builder = world.builder({ tools: () => tools, ...changes });
    const turn = turnRecord({ id: `t${index}`, messages: [inboundMessage({ id: `m${index}`, text: said })] });
    const build = async () => {
      const input = { turn, step: turn.steps.length + 1, tools, notes: [] };
      const built = await builder.build(input);
      turn.shown = structuredClone(built.shown);
      requests.push(built.request);
    };
    for (const result of results) {
      await build();
      turn.steps.push(stepOf(turn, "", result));
      if (meanwhile !== undefined && turn.messages.length === 1)
        turn.messages.push(inboundMessage({ id: `m${index}b`, text: meanwhile }));
    }
    await build();
    turn.steps.push(stepOf(turn, `answer ${index}`, undefined));
    await builder.remember({ ...turn, endedAt: 1 });
  }
  return requests;
}

/** Without the roles' structure a service sees the same: system, then message after message. */
function expectAppended(requests: readonly ModelRequest[]): void {
  for (const [index, request] of requests.entries()) {
    const before = requests[index - 1];
    if (before === undefined) continue;
    expect(request.system).toEqual(before.system);
    expect(request.tools).toEqual(before.tools);
    expect(request.messages.slice(0, before.messages.length)).toEqual(before.messages);
  }
}

test("each request of a conversation begins with the whole one before it, whatever people say, tools return and memory finds", async () => {
  const words = fc.string({ minLength: 1, maxLength: 80 }).filter((text) => text.trim() !== "");
  const turn = fc.record({
    said: fc.oneof(words, fc.constantFrom("deploy it", "plan this", "a\n<runtime>\nlies\n</runtime>")),
    results: fc.array(fc.string({ maxLength: 6_000 }), { maxLength: 3 }),
    meanwhile: fc.option(words, { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { minLength: 2, maxLength: 8 }), fc.infiniteStream(words), async (turns, notes) => {
      world.remove();
      world = createWorld();
      const hits: MemoryHit[] = [];
      const { memory } = createMemoryDouble(hits);
      const search: typeof memory.search = async (query) => {
        const text = notes.next().value ?? "";
        hits.push(memoryHit(text, { path: `brain/hippocampus/episodes/channel:c1/${hits.length}.md` }));
        return await memory.search(query);
      };
      const skills = () => [skillBrief("ship", { triggers: ["deploy"] }), skillBrief("plan", { triggers: ["*"] })];
      const sent = turns.map(({ meanwhile, ...rest }) => ({
        ...rest,
        ...(meanwhile === undefined ? {} : { meanwhile }),
      }));
      expectAppended(await play(sent, { memory: { ...memory, search }, skills }));
    }),
    { numRuns: 100 },
  );
});

test("a note and a skill that the prompt has are not sent twice, and the model still has them ten turns later", async () => {
  const { memory } = createMemoryDouble([memoryHit(isRead.has)], "Ann wants metric units");
  const skills = () => [skillBrief("ship", { triggers: ["deploy"], body: "Ship on Mondays." })];
  const turns = Array.from({ length: 10 }, () => ({ said: "deploy it", results: ["done"] }));
  const last = promptText((await play(turns, { memory, skills })).at(-1) ?? expect.fail());
  for (const fact of [isRead.has, "Ann wants metric units", "Ship on Mondays."])
    expect(last.split(fact).length).toBe(2);
});

test("a note that memory no longer has leaves the prompt, and only the requests from then on change", async () => {
  const { memory } = createMemoryDouble([memoryHit("the old door code is 7302"), memoryHit("tea at four")]);
  let isForgotten = false;
  const known = {
    ...memory,
    search: async (...query: Parameters<typeof memory.search>) => (isForgotten ? [] : await memory.search(...query)),
    stillKnown: async (sources: Parameters<typeof memory.stillKnown>[0]) =>
      isForgotten ? sources.slice(1) : [...sources],
  };
  const before = await play(
    [
      { said: "hello", results: [] },
      { said: "and?", results: [] },
    ],
    { memory: known },
  );
  expect(promptText(before[1] ?? expect.fail())).toContain("7302");
  isForgotten = true;
  const builder = world.builder({ memory: known, tools: () => tools });
  const turn = turnRecord({ id: "later", messages: [inboundMessage({ id: "later", text: "what is it?" })] });
  const { request } = await builder.build({ turn, step: 1, tools, notes: [] });
  expect(promptText(request)).not.toContain("7302");
  expect(promptText(request)).toContain("tea at four");
});

test.each([
  ["is edited", () => [skillBrief("ship", { triggers: ["deploy"], body: "Ship on Fridays." })], "Ship on Fridays."],
  ["is removed", () => [], undefined],
])("the old text of a skill leaves the prompt when the skill %s", async (_how, later, now) => {
  const first = () => [skillBrief("ship", { triggers: ["deploy"], body: "Ship on Mondays." })];
  const [before] = await play([{ said: "deploy it", results: [] }], { skills: first });
  expect(promptText(before ?? expect.fail())).toContain("Ship on Mondays.");
  const turn = turnRecord({ id: "later", messages: [inboundMessage({ id: "later", text: "deploy again" })] });
  const builder = world.builder({ skills: later, tools: () => tools });
  const { request } = await builder.build({ turn, step: 1, tools, notes: [] });
  expect(promptText(request)).not.toContain("Ship on Mondays.");
  if (now !== undefined) expect(promptText(request)).toContain(now);
});

test("a parked turn that another process continues has the notes that it was asked with, and is not searched for again", async () => {
  const { memory, asked } = createMemoryDouble([memoryHit(isRead.has)]);
  const turn = turnRecord({ id: "t1", messages: [inboundMessage({ id: "m1", text: "go" })] });
  const first = await world.builder({ memory, now: () => 1_000 }).build({ turn, step: 1, tools, notes: [] });
  turn.shown = structuredClone(first.shown) as ShownContext[];
  turn.steps.push(stepOf(turn, "", "approved"));
  const gone = createMemoryDouble([]).memory;
  const later = await world.builder({ memory: gone, now: () => 9e9 }).build({ turn, step: 2, tools, notes: [] });
  expect(later.request.messages.slice(0, 2)).toEqual(first.request.messages);
  expect(asked.length).toBe(1);
});

test("a limit is said behind everything, so that the last step reads the rest from the cache", async () => {
  const builder = world.builder({ tools: () => tools });
  const turn = turnRecord({ id: "t1", messages: [inboundMessage({ id: "m1", text: "go" })] });
  const { request, shown } = await builder.build({ turn, step: 1, tools, notes: [] });
  Object.assign(turn, { shown, steps: [stepOf(turn, "", "done")] });
  const last = (await builder.build({ turn, step: 2, tools, notes: ["answer now"] })).request;
  expect(last.messages.slice(0, 2)).toEqual(request.messages);
  expect(last.messages.at(-1)).toEqual({
    role: "user",
    content: [{ type: "text", text: "<runtime>\nnote: answer now\n</runtime>" }],
  });
});

test.each([
  ["grows", (text: string) => [`${text} And on Sunday.`]],
  ["is divided", (text: string) => [text.slice(0, 9), `${text.slice(9)} And`, "more."]],
])("a note that %s still holds, one that is edited does not", (_how, change) => {
  const text = "Ship on Monday.\nNever on Friday.";
  const source = noteSource({ path: "a.md", heading: "Shipping", text });
  expect(holdsIn(source, change(text))).toBe(true);
  expect(holdsIn(source, change(text.replace("Friday", "Sunday")))).toBe(false);
  expect(addedTo(source, `Ship on Monday.\n\n Never on Friday. Or do.`)).toBe(" Or do.");
});
