/** What people edit and delete, and what else changes in a conversation: prompts are right, and break once for each change at most. */
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { summaryOf } from "../../src/context/summary.ts";
import { type InboundMessage, type MessageChange, messageKey } from "../../src/ports/message.ts";
import type { ModelRequest } from "../../src/ports/provider.ts";
import { noteSource } from "../../src/ports/shown-context.ts";
import type { StepRecord, TurnRecord } from "../../src/ports/turn.ts";
import { inboundMessage, toolSpec, turnRecord } from "../doubles/records.ts";
import { createMemoryDouble, createWorld, memoryHit, promptText, skillBrief, type World } from "./world.ts";

let world: World;
beforeEach(() => {
  world = createWorld();
});
afterEach(() => world.remove());

const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
const key = (id: string) => messageKey("test", id);
const deleted: MessageChange = { type: "deleted" };
const edited = (text: string): MessageChange => ({ type: "edited", text });

function stepOf({ id, steps, messages }: TurnRecord, isLast: boolean): StepRecord {
  const raw = { id: `call_${steps.length}`, name: "look", inputJson: "{}" };
  const result = { callId: raw.id, name: raw.name, status: "ok" as const, text: `found ${id}` };
  const asked = { model: "m", requestedModel: "m", usage, at: 1, seenMessages: messages.length };
  if (isLast) return { text: `answer to ${id}`, calls: [], stop: "end", ...asked };
  const call = { raw, result: { ...result, attempts: 1, durationMs: 1, files: [] } };
  return { text: "", calls: [call], stop: "tool-calls", ...asked };
}

function heardOf(ids: readonly string[]): Pick<TurnRecord, "heard"> {
  const author = (id: string) => ({ id: `by-${id}`, name: `by-${id}`, isBot: false, roles: [] });
  const lines = ids.map((id) => ({
    ...{ id, author: author(id), text: `words-${id}-0.`, at: 1, files: ["plan.txt"] },
    ...{ kind: "thread" as const, isOwn: false },
  }));
  return ids.length === 0 ? {} : { heard: { lines, leftOut: 0, notes: [] } };
}

function turnOf(id: string, said: readonly Partial<InboundMessage>[], heard: readonly string[] = []): TurnRecord {
  return turnRecord({ id, messages: said.map((one) => inboundMessage(one)), ...heardOf(heard), endedAt: 1 });
}

const answered = (turn: TurnRecord) => ({ ...turn, steps: [...turn.steps, stepOf(turn, true)] });

async function promptNow(changes: Parameters<World["builder"]>[0] = {}): Promise<string> {
  const turn = turnOf("now", [{ id: "now", text: "and now?" }]);
  return promptText((await world.builder(changes).build({ turn, step: 1, tools: [], notes: [] })).request);
}

/** A message of the walk, and all that it has said so far. */
interface Known {
  words: string[];
  isDeleted: boolean;
  turnId: string;
}

const look = toolSpec("look", { isAlwaysDefined: true });
const event = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("turn" as const),
      said: fc.integer({ min: 1, max: 2 }),
      heard: fc.integer({ min: 0, max: 2 }),
      steps: fc.integer({ min: 0, max: 2 }),
      meanwhile: fc.option(fc.tuple(fc.constantFrom("edit" as const, "delete" as const), fc.nat({ max: 30 })), {
        nil: undefined,
      }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constantFrom("edit" as const, "delete" as const), which: fc.nat({ max: 30 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constantFrom("skill" as const, "note" as const, "tool" as const, "stranger" as const),
    }),
  },
);

/** One conversation, and what a prompt of it must have. */
function createWalk() {
  const known = new Map<string, Known>();
  let [turns, skill, notes, extra, changed] = [0, 0, 0, 0, 0];
  let before: ModelRequest | undefined;
  const { memory } = createMemoryDouble([memoryHit("a note that was there from the beginning")]);
  const changing = () => memoryHit(`note-${notes}.`, { heading: "changing" });
  const currentMemory: typeof memory = {
    ...memory,
    search: async (query) => [...(await memory.search(query)), changing()],
    stillKnown: async (sources) =>
      sources.filter(({ heading, hash }) => heading !== "changing" || hash === noteSource(changing()).hash),
  };
  const tools = () => [
    look,
    ...Array.from({ length: extra }, (_, index) => toolSpec(`more_${index}`, { isAlwaysDefined: true })),
  ];
  const skills = () => [skillBrief("ship", { triggers: ["*"], body: `skill-${skill}.` })];
  // A new one each time, as after a restart.
  const builder = () => world.builder({ memory: currentMemory, tools, skills });

  async function change(type: "edit" | "delete", which: number): Promise<void> {
    const ids = [...known.keys()];
    const id = ids[which % Math.max(1, ids.length)];
    const one = known.get(id ?? "");
    if (id === undefined || one === undefined) return;
    const next = `words-${id}-${one.words.length}.`;
    await builder().amend(key(id), type === "edit" ? edited(next) : deleted, false);
    if (!one.isDeleted) changed += 1;
    if (type === "delete") one.isDeleted = true;
    else if (!one.isDeleted) one.words.push(next);
  }

  async function ask(turn: TurnRecord): Promise<void> {
    const built = await builder().build({ turn, step: turn.steps.length + 1, tools: tools(), notes: [] });
    turn.shown = structuredClone(built.shown);
    const text = promptText(built.request);
    for (const [id, { words, isDeleted, turnId }] of known) {
      const isRunning = turnId === turn.id;
      const now = isRunning ? words[0] : words.at(-1);
      for (const one of words) expect(text.includes(one), `${one} of ${id}`).toBe(!isDeleted && one === now);
    }
    for (const [kind, current] of [
      ["skill", skill],
      ["note", notes],
    ] as const)
      expect(new Set(text.match(new RegExp(`${kind}-\\d+\\.`, "g")))).toEqual(new Set([`${kind}-${current}.`]));
    const people = new Set(built.origins.map(({ name }) => name));
    for (const [id] of [...known].filter(([one]) => one.startsWith("heard"))) expect(people.has(`by-${id}`)).toBe(true);
    if (before !== undefined && changed === 0) {
      expect(built.request.system).toEqual(before.system);
      expect(built.request.tools).toEqual(before.tools);
      expect(built.request.messages.slice(0, before.messages.length)).toEqual(before.messages);
    }
    [before, changed] = [built.request, 0];
  }

  return {
    async play(one: typeof event extends fc.Arbitrary<infer T> ? T : never): Promise<void> {
      if (one.type === "edit" || one.type === "delete") return await change(one.type, one.which);
      if (one.type === "stranger") return await builder().amend(key("stranger"), edited("who?"), false);
      if (one.type !== "turn") {
        changed += 1;
        if (one.type === "skill") skill += 1;
        if (one.type === "note") notes += 1;
        if (one.type === "tool") extra = (extra + 1) % 3;
        return;
      }
      turns += 1;
      const ids = (kind: string, count: number) =>
        Array.from({ length: count }, (_, index) => `${kind}${turns}x${index}`);
      const [said, heard] = [ids("said", one.said), ids("heard", one.heard)];
      const turn = turnOf(
        `t${turns}`,
        said.map((id) => ({ id, text: `words-${id}-0.` })),
        heard,
      );
      for (const id of [...heard, ...said])
        known.set(id, { words: [`words-${id}-0.`], isDeleted: false, turnId: turn.id });
      for (let step = 0; step < one.steps; step += 1) {
        await ask(turn);
        turn.steps.push(stepOf(turn, false));
        if (step === 0 && one.meanwhile !== undefined) await change(...one.meanwhile);
      }
      await ask(turn);
      turn.steps.push(stepOf(turn, true));
      await builder().remember(turn);
      // Its words are shown as they were edited since.
      if (one.meanwhile !== undefined) changed += 1;
    },
  };
}

test("whatever people edit and delete and whatever else changes, each prompt has what is there now, and without a change it begins with the one before", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 3, maxLength: 14 }), async (events) => {
      world.remove();
      world = createWorld();
      const walk = createWalk();
      for (const one of events) await walk.play(one);
    }),
    { numRuns: 40 },
  );
});

test("a change of a message that no turn has changes no prompt", async () => {
  const builder = world.builder();
  await builder.remember(answered(turnOf("t1", [{ id: "m1", text: "one" }])));
  const before = await promptNow();
  await builder.amend(key("m2"), edited("words of a stranger"), false);
  await builder.amend(key("m1x"), deleted, false);
  expect(await promptNow()).toBe(before);
});

test("what is deleted after a turn has read it, and before the model is asked, reaches no prompt", async () => {
  const turn = turnOf("t1", [{ id: "m1", text: "what is it?" }], ["h1"]);
  await world.builder().amend(key("h1"), deleted, false);
  const { request } = await world.builder().build({ turn, step: 1, tools: [], notes: [] });
  expect(promptText(request)).not.toContain("words-h1-0.");
});

test("what a turn has read still counts when it was deleted while the turn ran: in its prompt and its history", async () => {
  const file = { name: "plan.txt", mimeType: "text/plain", bytes: 9, text: "call it" };
  const turn = turnOf("t1", [
    { id: "m1", text: "read it", attachments: [file] },
    { id: "m2", text: "be quick" },
  ]);
  const builder = world.builder();
  const isFromFile = ({ kind, name }: { kind: string; name: string }) => kind === "attachment" && name === "plan.txt";
  const first = await builder.build({ turn, step: 1, tools: [], notes: [] });
  expect(first.origins.some(isFromFile)).toBe(true);
  await builder.amend(key("m1"), deleted, true);
  const second = await builder.build({ turn, step: 2, tools: [], notes: [] });
  expect(promptText(second.request)).not.toContain("call it");
  expect(second.origins.some(isFromFile)).toBe(true);
  await builder.remember(answered(turn));
  const next = turnOf("t2", [{ id: "m3", text: "and now?" }]);
  expect((await builder.build({ turn: next, step: 1, tools: [], notes: [] })).origins.some(isFromFile)).toBe(true);
});

test("a deletion that is reported again reaches a history that could not be written the first time", async () => {
  await world.builder().remember(answered(turnOf("t1", [{ id: "m1", text: "the code is OTTER-1" }])));
  const { set } = world.store;
  const failing = world.history({
    store: {
      ...world.store,
      set: async (name, ...rest) => {
        if (name.startsWith("history:")) throw new Error("the disk is full");
        await set(name, ...rest);
      },
    },
  });
  await expect(world.builder({ history: failing }).amend(key("m1"), deleted, true)).rejects.toThrow("full");
  expect(await promptNow()).toContain("OTTER-1");
  await world.builder().amend(key("m1"), deleted, true);
  expect(await promptNow()).not.toContain("OTTER-1");
});

test("a deletion stays, whatever comes later or twice, and takes files along, but neither the answer nor the other words", async () => {
  const file = { name: "plan.txt", mimeType: "text/plain", bytes: 9, text: "SECRET-9" };
  const turn = turnOf("t1", [
    { id: "m1", text: "the code is OTTER-1", attachments: [file] },
    { id: "m2", text: "and what is that?" },
  ]);
  await world.builder().remember(answered(turn));
  for (const change of [deleted, edited("the code is OTTER-2"), deleted])
    await world.builder().amend(key("m1"), change, true);
  const check = async () => {
    const text = await promptNow();
    for (const gone of ["OTTER", "SECRET-9", "plan.txt"]) expect(text).not.toContain(gone);
    for (const kept of ["(This message was deleted.)", "and what is that?", "answer to t1"])
      expect(text).toContain(kept);
  };
  await check();
  // As after a crash, which can write a turn down again.
  await world.builder().remember(answered(turn));
  await check();
});

test("a request that was deleted before anything had come of it leaves no trace in the history", async () => {
  await world.builder().amend(key("m1"), deleted, true);
  await world
    .builder()
    .remember({ ...turnOf("t1", [{ id: "m1", text: "OTTER-1" }]), failure: "Its message was deleted." });
  const text = await promptNow();
  expect(text).not.toContain("OTTER-1");
  expect(text).not.toContain("deleted");
});

test("a copy of a message, for a direct message or by Retry, goes with it, and stays when only the other one is edited", async () => {
  const copies = [
    { id: "copy", text: "the code is OTTER-1", askedAt: { conversationId: "test:c2", messageId: "m1" } },
    { id: "again", text: "the code is OTTER-1", replyTo: "m1" },
  ];
  for (const one of copies) await world.builder().remember(answered(turnOf(`t-${one.id}`, [one])));
  await world.builder().amend(key("m1"), edited("the code is OTTER-2"), true);
  expect((await promptNow()).split("OTTER-1")).toHaveLength(3);
  await world.builder().amend(key("m1"), deleted, true);
  expect(await promptNow()).not.toContain("OTTER");
});

test("what a summary has of a message goes with the message, and the summary stays when one is only edited", async () => {
  const history = world.history();
  await world.builder().remember(answered(turnOf("t1", [{ id: "m1", text: "the code is OTTER-1" }])));
  await world.builder().remember(answered(turnOf("t2", [{ id: "m2", text: "thanks" }])));
  const { exchanges } = await history.read("test:c1", "", []);
  const [first] = exchanges;
  const summary = summaryOf(undefined, exchanges.slice(0, 1), {
    text: "Code OTTER-1.",
    model: "m",
    at: 1,
    maxTokens: 100,
  });
  expect(await history.replace("test:c1", first === undefined ? [] : [first], undefined, summary)).toBe(true);
  await world.builder().amend(key("m1"), edited("the code is secret"), true);
  expect(await promptNow()).toContain("OTTER-1");
  await world.builder().amend(key("m1"), deleted, true);
  const text = await promptNow();
  expect(text).not.toContain("OTTER-1");
  expect(text).toContain("thanks");
});

test("a person who is forgotten leaves no words of an edit behind", async () => {
  await world.builder().remember(answered(turnOf("t1", [{ id: "m1", text: "one" }])));
  await world.builder().amend(key("m1"), edited("OTTER-1"), true);
  expect(JSON.stringify(await world.followed.get("message-change:test:m1"))).toContain("OTTER-1");
  await world.builder().forget("test:c1", { platform: "test", userId: "ann" });
  expect(await world.followed.get("message-change:test:m1")).toBeUndefined();
});

test("only blanks that change are no edit", async () => {
  await world.builder().remember(answered(turnOf("t1", [{ id: "m1", text: "one two" }])));
  const before = await promptNow();
  await world.builder().amend(key("m1"), edited(" one  two\n"), true);
  expect(await promptNow()).toBe(before);
});
