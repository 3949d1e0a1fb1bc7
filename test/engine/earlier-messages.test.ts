/** What a turn hears of earlier messages: once, without what its conversation knows, and never at the cost of the turn. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createInbox } from "../../src/engine/conversation/inbox.ts";
import { createEarlierMessages } from "../../src/engine/turn/earlier-messages.ts";
import { runTurn } from "../../src/engine/turn/run-turn.ts";
import { TurnAbort } from "../../src/lib/abort.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { Earlier, EarlierLine, EarlierWanted } from "../../src/ports/earlier.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { InboundMessage, Json } from "../../src/ports/message.ts";
import type { Platform } from "../../src/ports/platform.ts";
import type { Store } from "../../src/ports/store.ts";
import type { TurnRecord } from "../../src/ports/turn.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { inboundMessage, toolSpec, turnRecord } from "../doubles/records.ts";
import { calls, says } from "../doubles/scripted-provider.ts";
import { createStageDoubles, keepTurn } from "../doubles/turn-deps.ts";

const never = new AbortController().signal;
const ben = { id: "ben", name: "Ben", isBot: false, roles: [] };
const self = { id: "bot", name: "Remora", isBot: true, roles: [] };
const limits = { messages: 50, bytes: 20_480, channelMessages: 5, channelMs: 600_000 };

let ledger: Ledger;
let store: Store;
/** What the platform was asked, and what it answers. */
let asked: EarlierWanted[];
let lines: EarlierLine[];

beforeEach(() => {
  ledger = createSqliteLedger({ path: ":memory:" });
  const values = new Map<string, Json>();
  store = {
    get: async (key) => values.get(key),
    set: async (key, value) => void values.set(key, value),
    delete: async (key) => void values.delete(key),
    close: async () => {},
  };
  asked = [];
  lines = [];
});
afterEach(() => ledger.close());

function line(id: string, changes: Partial<EarlierLine> = {}): EarlierLine {
  return { id, kind: "thread", isOwn: false, author: ben, text: id, at: 0, files: [], ...changes };
}

type Read = NonNullable<Platform["earlier"]>;

/** Only what is newer than the mark, as the platforms do; the order of `lines` is that of time. */
const readLines: Read = async (_message, wanted) => {
  asked.push(wanted);
  const from = lines.findIndex(({ id }) => id === wanted.since) + 1;
  return { lines: lines.slice(from).filter(({ at }) => at > (wanted.after ?? -1)), leftOut: 0, notes: [] };
};

function reader(read: Read = readLines, maxReadMs?: number) {
  const platform = () => ({ earlier: read });
  const slow = maxReadMs === undefined ? {} : { maxReadMs };
  return createEarlierMessages({ ledger, store, platform, limits, log: silentLog, ...slow });
}

function turnOf(...messages: Partial<InboundMessage>[]): TurnRecord {
  return turnRecord({ messages: messages.map((each) => inboundMessage(each)) });
}

const heardBy = async (turn: TurnRecord, earlier = reader()) =>
  ((await earlier.read(turn, never))?.lines ?? []).map(({ id }) => id);

describe("what a turn hears", () => {
  test("the first time, all of it; the next time only what others have said since", async () => {
    lines = [line("a"), line("own", { author: self, isOwn: true })];
    const first = turnOf({ id: "m1" });
    expect(await heardBy(first)).toEqual(["a", "own"]);
    await reader().markKnown(first);
    lines.push(line("m1"), line("answer", { author: self, isOwn: true }), line("b"));
    expect(await heardBy(turnOf({ id: "m2" }))).toEqual(["b"]);
    expect(asked.map(({ since }) => since)).toEqual([undefined, "m1"]);
  });

  test("which channel the author looks at when they say the last of it", async () => {
    const looked: unknown[] = [];
    const look: Read = async (message, wanted) => {
      looked.push(message.lookingAt);
      return await readLines(message, wanted, never);
    };
    const [before, after] = [
      { id: "m1", lookingAt: "C1" },
      { id: "m2", lookingAt: "C2" },
    ];
    await reader(look).read(turnOf(before, after), never);
    await reader(look).read(turnOf({ id: "m1" }, after), never);
    await reader(look).read(turnOf(before, { id: "m2" }), never);
    await reader(look).read(turnOf(before, { ...after, author: ben }), never);
    expect(looked).toEqual(["C2", "C2", undefined, undefined]);
  });

  test("not what was said to the agent, here or in another conversation, and not its answers", async () => {
    const inbox = createInbox(ledger);
    await inbox.keep(inboundMessage({ id: "asked", at: 5 }));
    await inbox.keep(inboundMessage({ id: "elsewhere", conversationId: "test:c2" }));
    lines = [
      line("old answer", { author: self, isOwn: true, at: 4 }),
      line("asked", { at: 5 }),
      line("answer", { author: self, isOwn: true, at: 6 }),
      line("elsewhere", { at: 7 }),
      line("link", { kind: "linked" }),
    ];
    expect((await heardBy(turnOf({ id: "m2" }))).toSorted()).toEqual(["link", "old answer"]);
  });

  test("in a DM, what its thread began with, if that belongs to another conversation", async () => {
    const inbox = createInbox(ledger);
    await inbox.keep(inboundMessage({ id: "long ago", conversationId: "test:dm" }));
    await inbox.keep(inboundMessage({ id: "begins here", conversationId: "test:dm:t2" }));
    const inThread = (id: string, thread: string): TurnRecord => {
      const message = inboundMessage({ id, conversationId: thread, isDirect: true });
      return turnRecord({ conversationId: thread, messages: [message] });
    };
    lines = [line("long ago", { kind: "root" })];
    const first = inThread("m1", "test:dm:t1");
    expect(await heardBy(first)).toEqual(["long ago"]);
    await reader().markKnown(first);
    await reader().read(inThread("m2", "test:dm:t1"), never);
    expect(asked.at(-1)?.since).toBe("m1");
    lines = [line("begins here", { kind: "root" })];
    expect(await heardBy(inThread("m3", "test:dm:t2"))).toEqual([]);
  });

  test("what was said between two messages of one turn, the next time", async () => {
    lines = [line("m1"), line("between"), line("m2")];
    const turn = turnOf({ id: "m1" }, { id: "m2", text: "see https://example.com" });
    await reader().markKnown(turn);
    await createInbox(ledger).keep(inboundMessage({ id: "m2" }));
    expect(await heardBy(turnOf({ id: "m3" }))).toEqual(["between"]);
    await reader().read(turn, never);
    expect(asked.at(-1)?.said).toContain("https://example.com");
  });

  test("nothing from before /remora new", async () => {
    const earlier = reader();
    lines = [line("cleared", { at: 10 })];
    await earlier.startOver("test:c1", 20);
    expect(await heardBy(turnOf({ id: "m1" }))).toEqual([]);
    lines.push(line("fresh", { at: 30 }), line("own", { at: 31, author: self, isOwn: true }));
    expect(await heardBy(turnOf({ id: "m1" }))).toEqual(["fresh"]);
  });

  test("a request that runs while its conversation starts over leaves nothing in the history", async () => {
    const earlier = reader();
    const begunAt = (startedAt: number) => ({ ...turnOf({ id: "m1" }), startedAt });
    expect(await earlier.isLeftBehind(begunAt(10))).toBe(false);
    await earlier.startOver("test:c1", 20);
    expect(await earlier.isLeftBehind(begunAt(10))).toBe(true);
    expect(await earlier.isLeftBehind(begunAt(30))).toBe(false);
  });

  test("nothing if a schedule asks, or if the platform can't read", async () => {
    lines = [line("a")];
    expect(await heardBy(turnOf({ id: "schedule:s1:1" }))).toEqual([]);
    expect(asked).toEqual([]);
    const without = createEarlierMessages({ ledger, store, platform: () => ({}), limits, log: silentLog });
    expect(await heardBy(turnOf({ id: "m1" }), without)).toEqual([]);
  });
});

describe("a platform in trouble", () => {
  test("that fails leaves a note with the reason in one line", async () => {
    const heard = await reader(() => Promise.reject(new Error("no\nscope"))).read(turnOf({}), never);
    expect(heard).toEqual({ lines: [], leftOut: 0, notes: [expect.stringContaining("could not be read: no scope")] });
  });

  test("that never answers costs a turn a moment, and its own late words count if they come soon", async () => {
    const silent = await reader(() => new Promise<Earlier>(() => {}), 1).read(turnOf({}), never);
    expect(silent?.notes[0]).toContain("did not answer");
    const late: Read = (_message, _wanted, signal) =>
      new Promise((resolve) => {
        const found = { lines: [line("a")], leftOut: 0, notes: ["Only a part was read in time."] };
        signal.addEventListener("abort", () => resolve(found), { once: true });
      });
    expect(await reader(late, 1).read(turnOf({}), never)).toMatchObject({
      lines: [{ id: "a" }],
      notes: [/only a part/i],
    });
  });

  test("is not waited for after stop", async () => {
    const stop = new AbortController();
    const reading = reader(() => new Promise<Earlier>(() => {})).read(turnOf({}), stop.signal);
    stop.abort(new TurnAbort("stopped"));
    expect(await reading).toBeUndefined();
  });

  test("a store that can't be written does not stop the turn", async () => {
    store = { ...store, set: () => Promise.reject(new Error("disk full")) };
    await expect(reader().markKnown(turnOf({}))).resolves.toBeUndefined();
  });
});

describe("a turn", () => {
  test("has what was said in its record before the model is asked", async () => {
    lines = [line("a")];
    const doubles = createStageDoubles({ steps: [says("Hi.")], ledger, earlier: reader() });
    let stored: TurnRecord | undefined;
    const { stream } = doubles.provider;
    doubles.stages.provider.stream = async function* (request, signal) {
      stored = (await ledger.get("turn", "t1"))?.body;
      yield* stream(request, signal);
    };
    expect(await runTurn(await keepTurn(ledger, turnOf({ id: "m1" })), doubles.stages, never)).toBe("done");
    expect(stored?.heard?.lines.map(({ id }) => id)).toEqual(["a"]);
    expect(stored?.steps).toEqual([]);
  });

  test("that died between reading and asking reads once, and the next turn reads only what follows", async () => {
    lines = [line("a")];
    const died = Promise.withResolvers<void>();
    const dying = createStageDoubles({
      steps: [],
      ledger,
      earlier: { ...reader(), markKnown: () => new Promise(() => {}) },
    });
    dying.stages.provider.stream = () => {
      died.resolve();
      return new ReadableStream();
    };
    const turn = await keepTurn(ledger, turnOf({ id: "m1" }));
    void runTurn(structuredClone(turn), dying.stages, never);
    await died.promise;
    const kept = (await ledger.get("turn", "t1"))?.body;
    expect(kept?.heard?.lines.map(({ id }) => id)).toEqual(["a"]);
    lines = [line("a, edited since")];
    const again = createStageDoubles({ steps: [says("Hi.")], ledger, earlier: reader() });
    expect(await runTurn(kept as TurnRecord, again.stages, never)).toBe("done");
    expect(asked).toHaveLength(1);
    lines = [line("a"), line("m1"), line("b")];
    expect(await heardBy(turnOf({ id: "m2" }))).toEqual(["b"]);
  });

  test("that takes further messages of its person does not read again, and its prompt stays", async () => {
    lines = [line("a")];
    const said: InboundMessage[][] = [[], [inboundMessage({ id: "m2", text: "and this" })], []];
    const doubles = createStageDoubles({
      steps: [calls({ name: "look" }), says("Hi.")],
      tools: [toolSpec("look", { isReadOnly: true })],
      ledger,
      earlier: reader(),
      takeSteering: async () => said.shift() ?? [],
    });
    const turn = await keepTurn(ledger, turnOf({ id: "m1" }));
    expect(await runTurn(turn, doubles.stages, never)).toBe("done");
    expect(turn.messages.map(({ id }) => id)).toEqual(["m1", "m2"]);
    expect(asked).toHaveLength(1);
    expect(turn.heard?.lines.map(({ id }) => id)).toEqual(["a"]);
  });

  test("that is stopped while the platform reads ends as stopped", async () => {
    const stop = new AbortController();
    const earlier = reader(async () => {
      stop.abort(new TurnAbort("stopped"));
      return await new Promise<Earlier>(() => {});
    });
    const doubles = createStageDoubles({ steps: [], ledger, earlier });
    expect(await runTurn(await keepTurn(ledger, turnOf({})), doubles.stages, stop.signal)).toBe("stopped");
  });
});
