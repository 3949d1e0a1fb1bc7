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

function stepOf(turn: TurnRecord, text: string, result: string | undefined, tool = "look"): StepRecord {
  const raw = { id: "call_1", name: tool, inputJson: '{ "at": 1 }' };
  const answer = { callId: raw.id, name: raw.name, status: "ok" as const, text: result ?? "" };
  const calls = result === undefined ? [] : [{ raw, result: { ...answer, attempts: 1, durationMs: 1, files: [] } }];
  const asked = { model: "m", requestedModel: "m", usage, at: 1, seenMessages: turn.messages.length };
  return { text, calls, stop: result === undefined ? "end" : "tool-calls", ...asked };
}

/** Plays turns, and returns the requests in their order. */
async function play(
  turns: readonly { said: string; results: readonly string[]; meanwhile?: string; thinks?: boolean }[],
  changes: Parameters<World["builder"]>[0] = {},
  tool = "look",
): Promise<ModelRequest[]> {
  const requests: ModelRequest[] = [];
  for (const [index, { said, results, meanwhile, thinks = false }] of turns.entries()) {
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
      const step = stepOf(turn, "", result, tool);
      turn.steps.push(thinks ? { ...step, carry: { lasts: true, about: said } } : step);
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
    thinks: fc.boolean(),
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
    { numRuns: 40 },
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

const shipping = "Ship on Mondays, after the tests have passed, and tell support before you begin.";

test.each([
  ["loads it in the turn that brought it up", [{ said: "deploy it", results: ["load"] }]],
  [
    "had loaded it before a message brings it up",
    [
      { said: "go", results: ["load"] },
      { said: "deploy it", results: [] },
    ],
  ],
])("the text of a skill stands in the prompt once when the model %s", async (_when, turns) => {
  const skills = () => [skillBrief("ship", { triggers: ["deploy"], body: shipping })];
  const played = turns.map((turn) => ({ ...turn, results: turn.results.map(() => `# Skill ship\n\n${shipping}`) }));
  const requests = await play([...played, { said: "and?", results: [] }], { skills }, "load_skill");
  for (const request of requests.slice(1)) expect(promptText(request).split(shipping).length).toBe(2);
  expectAppended(requests);
});

test("an answer that the history shows does not come again as a note, and a short one of another day does", async () => {
  const long = Array.from({ length: 60 }, (_, index) => `fact ${index} of the answer`).join(", ");
  const answer = (text: string) => [{ ...stepOf(turnRecord(), text, undefined) }];
  const builder = (hits: MemoryHit[]) => world.builder({ memory: createMemoryDouble(hits).memory });
  const turn = turnRecord({ id: "t1", messages: [inboundMessage({ id: "m1", text: "what is known of it?" })] });
  await builder([]).remember({ ...turn, steps: answer(long), endedAt: 1 });
  const short = turnRecord({ id: "t2", messages: [inboundMessage({ id: "m2", text: "save it, please" })] });
  await builder([]).remember({ ...short, steps: answer("Done. It is saved now."), endedAt: 2 });
  const hits = [
    memoryHit(`**Response**:\n\n${long}`, { heading: "whole" }),
    memoryHit(long.slice(700), { heading: "later passage" }),
    memoryHit("**User** (Ben):\n\nthe lease ends in May\n\n**Response**:\n\nDone. It is saved now.", {
      heading: "other day",
    }),
  ];
  const next = turnRecord({ id: "t3", messages: [inboundMessage({ id: "m3", text: "and now?" })] });
  const { request } = await builder(hits).build({ turn: next, step: 1, tools, notes: [] });
  expect([...promptText(request).matchAll(/heading="([^"]*)"/g)].map(([, heading]) => heading)).toEqual(["other day"]);
});

test("a message brings up its best notes, as many as a quarter of memory's share has room for", async () => {
  const texts = Array.from({ length: 24 }, (_, index) => `note ${index}: ${"it is known. ".repeat(60)}`);
  const hits = texts.map((text, index) => memoryHit(text, { heading: `note ${index}`, score: 24 - index }));
  const [request] = await play([{ said: "what is known?", results: [] }], { memory: createMemoryDouble(hits).memory });
  const shown = [...promptText(request ?? expect.fail()).matchAll(/heading="note (\d+)"/g)].map(([, index]) =>
    Number(index),
  );
  expect(shown).toEqual(shown.map((_, index) => index));
  expect(shown.length).toBeGreaterThan(4);
  expect(shown.length).toBeLessThan(12);
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

test("a note holds while lines are added below it or it is divided anew, and no longer once a word of it changes", () => {
  const text = "Ship on Monday.\nNever on Friday 12";
  const source = noteSource({ path: "a.md", heading: "Shipping", text });
  const [first, second] = text.split("\n") as [string, string];
  for (const texts of [[text], [`${text}\nOr do.`], [first, `${second}\nOr do.`], ["Before.", text]])
    expect(holdsIn(source, texts)).toBe(true);
  for (const changed of [
    `${text}3`,
    `${text} again`,
    text.replace("Friday", "Sunday"),
    text.replace(" 12", "  12"),
    first,
  ])
    expect(holdsIn(source, [changed])).toBe(false);
  expect(addedTo(source, `${text}\n- Or do.`)).toBe("\n- Or do.");
  expect(addedTo(source, `${text}3`)).toBeUndefined();
});

const long = (words: number) => "a long text ".repeat(words);

test("a prompt that gets tight says again what it had shown in exchanges that are now short", async () => {
  const { memory } = createMemoryDouble([memoryHit(isRead.has, { path: "brain/hippocampus/knowledge/shared/a.md" })]);
  const skills = () => [skillBrief("ship", { triggers: ["deploy"], body: "Ship on Mondays." })];
  const changes = { memory, skills };
  await play(
    [{ said: "deploy it", results: [] }, ...Array.from({ length: 4 }, () => ({ said: "and?", results: [long(600)] }))],
    changes,
  );
  const builder = world.builder({ tools: () => tools, ...changes });
  const turn = turnRecord({ id: "later", messages: [inboundMessage({ id: "later", text: `deploy ${long(7_000)}` })] });
  const built = await builder.build({ turn, step: 1, tools, notes: [] });
  const small = turnRecord({ id: "later", messages: [inboundMessage({ id: "later", text: "deploy again" })] });
  const other = await builder.build({ turn: small, step: 1, tools, notes: [] });
  for (const request of [built.request, other.request, other.fitting?.(3_000), other.shorter?.(2_500)]) {
    const text = promptText(request ?? expect.fail());
    for (const fact of [isRead.has, "Ship on Mondays."]) expect(text).toContain(fact);
  }
});

test("a turn of many long results keeps the text of its skill to the end", async () => {
  const skills = () => [skillBrief("ship", { triggers: ["deploy"], body: "Ship on Mondays." })];
  const requests = await play([{ said: "deploy it", results: Array.from({ length: 20 }, () => long(800)) }], {
    skills,
  });
  for (const request of requests) expect(promptText(request)).toContain("Ship on Mondays.");
});

test("a note comes again after a cut, although the history still has the question that it answers", async () => {
  const question = "what is the door code of the north lab?";
  const note = memoryHit(`${question} It is 4711.`, { path: "brain/hippocampus/knowledge/shared/faq.md" });
  const { memory } = createMemoryDouble([note]);
  const history = world.history({ maxTokens: 1_500 });
  const more = Array.from({ length: 8 }, () => ({ said: "go on", results: [long(100)] }));
  const requests = await play([{ said: question, results: [] }, ...more, { said: question, results: [] }], {
    memory,
    history,
  });
  expect(promptText(requests.at(-1) ?? expect.fail())).toContain("It is 4711.");
});

test("a turn that waited for hours reads the time at its end, and begins as it was sent", async () => {
  const friday = Date.UTC(2026, 10, 27, 8);
  const turn = turnRecord({ id: "t1", messages: [inboundMessage({ id: "m1", text: "go" })] });
  const first = await world.builder({ now: () => friday }).build({ turn, step: 1, tools, notes: [] });
  Object.assign(turn, { shown: structuredClone(first.shown), steps: [stepOf(turn, "", "approved")] });
  const later = (hours: number) => world.builder({ now: () => friday + hours * 3_600_000 });
  const { request } = await later(30).build({ turn, step: 2, tools, notes: [] });
  expect(request.messages.slice(0, 2)).toEqual(first.request.messages);
  expect(promptText(request)).toMatch(/note: it is now 2026-11-28T14:00Z \(here Saturday [^)]*\)\n<\/runtime>$/);
  expect(promptText((await later(0.1).build({ turn, step: 2, tools, notes: [] })).request)).not.toContain("it is now");
});

test("a parked turn does not send a note again that was forgotten meanwhile", async () => {
  const { memory } = createMemoryDouble([memoryHit("the old door code is 7302"), memoryHit("tea at four")]);
  const turn = turnRecord({ id: "t1", messages: [inboundMessage({ id: "m1", text: "go" })] });
  let isForgotten = false;
  const known = {
    ...memory,
    stillKnown: async (sources: Parameters<typeof memory.stillKnown>[0]) => sources.slice(isForgotten ? 1 : 0),
  };
  const builder = world.builder({ memory: known });
  const first = await builder.build({ turn, step: 1, tools, notes: [] });
  expect(promptText(first.request)).toContain("7302");
  Object.assign(turn, { shown: structuredClone(first.shown), steps: [stepOf(turn, "", "approved")] });
  isForgotten = true;
  const later = promptText((await builder.build({ turn, step: 2, tools, notes: [] })).request);
  expect(later).not.toContain("7302");
  expect(later).toContain("tea at four");
});

test("the description of a tool leaves the prompt with the program that offered it", async () => {
  const evil = toolSpec("mail_send", { skill: "mcp", offeredBy: "mailer", description: "EVIL", readsUntrusted: true });
  const many = [...tools, evil];
  const loaded = turnRecord({ id: "t1", messages: [inboundMessage({ id: "m1", text: "go" })] });
  loaded.steps.push(stepOf(loaded, "", "done"));
  for (const { raw } of loaded.steps.flatMap(({ calls }) => calls)) raw.name = "mail_send";
  const build = async (builder: ReturnType<World["builder"]>, id: string, offered: typeof many) => {
    const turn = turnRecord({ id, messages: [inboundMessage({ id, text: "and now?" })] });
    const built = await builder.build({ turn, step: 1, tools: offered, notes: [] });
    await builder.remember({ ...turn, shown: built.shown, steps: [stepOf(turn, "yes", undefined)], endedAt: 1 });
    return built;
  };
  const before = world.builder({ tools: () => many });
  await before.remember({ ...loaded, endedAt: 1 });
  expect(promptText((await build(before, "t2", many)).request)).toContain("EVIL");
  const { request, origins } = await build(world.builder({ tools: () => tools }), "t3", tools);
  expect(promptText(request)).not.toContain("EVIL");
  expect(origins.some(({ name, via }) => name === "mailer" && via === undefined)).toBe(false);
});
