/** People read their place in the queue, in the message that the answer replaces. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { turnIdFor } from "../../src/engine/conversation/inbox.ts";
import { createWaitingRoom, type WaitingRoomOptions } from "../../src/engine/conversation/waiting-room.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { Leases } from "../../src/ports/cluster.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { InboundMessage, ReplyTarget } from "../../src/ports/message.ts";
import { createDelivery } from "../../src/response/deliver.ts";
import { createInMemoryLeases } from "../../src/storage/in-memory-cluster.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { createRecordingReply, type RecordingReply } from "../doubles/recording-reply.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";

let ledger: Ledger;
let leases: Leases;
let replies: Map<string, RecordingReply>;
let close: (() => Promise<void>)[];
beforeEach(() => {
  ledger = createSqliteLedger({ path: ":memory:" });
  leases = createInMemoryLeases();
  replies = new Map();
  close = [];
});
afterEach(async () => {
  for (const each of close) await each();
  await ledger.close();
});

function createRoom(changes: Partial<WaitingRoomOptions> = {}) {
  const room = createWaitingRoom({
    ...{ ledger, leases, log: silentLog, isSteering: false, minWaitMs: () => 0 },
    openReply: async (target: ReplyTarget) => {
      const reply = createRecordingReply();
      replies.set(target.turnId, reply);
      return createDelivery({ reply, redact: (text) => text, log: silentLog });
    },
    ...changes,
  });
  close.push(() => room.close());
  return room;
}

function said(id: string, conversationId: string, by = "Ann"): InboundMessage {
  const author = { id: by.toLowerCase(), name: by, isBot: false, roles: [] };
  return inboundMessage({ id, conversationId, author });
}

async function queue(...messages: InboundMessage[]): Promise<void> {
  for (const body of messages)
    await ledger.create("message", `test:${body.id}`, { state: "queued", body, group: body.conversationId });
}

/** Runs a turn whose answer has begun, unless nothing of it was posted. */
async function run(conversationId: string, by = "Ann", isPosted = true): Promise<void> {
  const body = turnRecord({ id: `turn-${conversationId}`, conversationId, messages: [said("r", conversationId, by)] });
  await ledger.create("turn", body.id, { state: "running", body, group: conversationId });
  const posted = { state: "posted" as const, body: { messageId: "m1" }, group: body.id };
  await ledger.create("post", `${body.id}:try:text:0`, posted);
  if (isPosted) await ledger.create("post", `${body.id}:text:0`, posted);
}

const replyTo = (message: InboundMessage) => replies.get(turnIdFor(message));
const linesOf = (message: InboundMessage) => replyTo(message)?.activities ?? [];

test("everybody reads how many requests come first, and whose request here must finish", async () => {
  await run("busy", "Ben");
  await run("mine");
  const [busy, mine, ...others] = [
    said("1", "busy"),
    said("2", "mine"),
    said("3", "a"),
    said("4", "b"),
    said("5", "c"),
  ];
  const second = said("6", "busy", "Cleo");
  if (busy === undefined || mine === undefined) throw new Error("no messages");
  await queue(busy, mine, ...others, second);
  createRoom().watch();
  await vi.waitFor(() => expect(linesOf(second)).toHaveLength(1));
  expect([busy, mine, ...others, second].map(linesOf)).toEqual([
    ["Waiting for Ben's request here to finish"],
    ["Waiting for your other request here to finish"],
    ["Waiting: yours is next"],
    ["Waiting: 1 request before yours"],
    ["Waiting: 2 requests before yours"],
    ["Waiting: 2 requests before yours here"],
  ]);
});

test("further messages of the same person wait for the same turn, and a scheduled task waits silently", async () => {
  const [first, more, task] = [said("1", "a"), said("2", "a"), said("schedule:s:1", "b")];
  await run("a");
  await queue(first, more, task);
  createRoom().watch();
  await vi.waitFor(() => expect(linesOf(first)).toHaveLength(1));
  expect([...replies.keys()]).toEqual([turnIdFor(first)]);
});

test("while the answer before it is not there yet, there is no line that would stand above that answer", async () => {
  await run("a", "Ben", false);
  const [hidden, shown] = [said("1", "a"), said("2", "b")];
  await queue(hidden, shown);
  createRoom().watch();
  await vi.waitFor(() => expect(linesOf(shown)).toHaveLength(1));
  expect(linesOf(hidden)).toEqual([]);
  await ledger.create("post", "turn-a:text:0", { state: "posted", body: { messageId: "m1" }, group: "turn-a" });
  await vi.waitFor(() => expect(linesOf(hidden)).toHaveLength(1), { timeout: 30_000 });
});

test("a short wait shows nothing", async () => {
  await queue(said("1", "a"));
  const room = createRoom({ minWaitMs: () => 2_000 });
  room.watch();
  await ledger.transition("message", "test:1", ["queued"], "taken");
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  expect(replies.size).toBe(0);
});

test("the line is released before its turn writes, and no check brings it back", async () => {
  const message = said("1", "a");
  await queue(message);
  const room = createRoom();
  room.watch();
  await vi.waitFor(() => expect(linesOf(message)).toHaveLength(1));
  const turn = turnRecord({ id: turnIdFor(message), conversationId: "a" });
  await room.release(turn);
  room.watch();
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(linesOf(message)).toHaveLength(1);
  expect(replyTo(message)?.end).toBe("open");
});

test.each(["before", "after"])(
  "an answer that was posted %s a line decides whether the line goes away",
  async (when) => {
    const message = said("1", "a");
    const id = turnIdFor(message);
    const posted = { state: "posted" as const, body: { messageId: "m" } };
    await run("a", "Ben");
    await queue(message);
    const room = createRoom();
    room.watch();
    await vi.waitFor(() => expect(linesOf(message)).toHaveLength(1));
    const question = () => ledger.create("post", "turn-a:question:q", { ...posted, group: "turn-a" });
    if (when === "before") await question();
    await ledger.create("post", `${id}:try:text:0`, { ...posted, group: id });
    await ledger.create("post", `${id}:text:0`, { ...posted, group: id });
    if (when === "after") await question();
    await ledger.transition("turn", "turn-a", ["running"], "done");
    const line = replyTo(message);
    const target = { platform: "test", conversationId: "a", turnId: id, messageId: "1" };
    await room.release(turnRecord({ id, conversationId: "a", target, messages: [message] }));
    // A second reply removes the line.
    const ended = replyTo(message) === line ? "open" : replyTo(message)?.end;
    expect(ended).toBe(when === "after" ? "finished" : "open");
  },
);

test("the line of a message that was withdrawn goes away", async () => {
  const message = said("1", "a");
  await queue(message);
  createRoom().watch();
  await vi.waitFor(() => expect(linesOf(message)).toHaveLength(1));
  await ledger.transition("message", "test:1", ["queued"], "removed");
  await vi.waitFor(() => expect(replyTo(message)).toMatchObject({ end: "finished", segments: [""] }), 5_000);
});

test("the line of a request that was stopped says so, also if the stop came from another process", async () => {
  const message = said("1", "a");
  await queue(message);
  createRoom().watch();
  await vi.waitFor(() => expect(linesOf(message)).toHaveLength(1));
  await ledger.transition("message", "test:1", ["queued"], "stopping");
  const openReply = vi.fn<WaitingRoomOptions["openReply"]>();
  createRoom({ openReply }).tellStopped();
  await vi.waitFor(() => expect(replyTo(message)).toMatchObject({ end: "failed", segments: ["Stopped."] }), 5_000);
  expect(openReply).not.toHaveBeenCalled();
  await expect.poll(async () => (await ledger.get("message", "test:1"))?.state).toBe("stopped");
});

test("a stopped request's reply stays locked until the ledger knows that it was told", async () => {
  const message = said("1", "a");
  await queue(message);
  await ledger.transition("message", "test:1", ["queued"], "stopping");
  const statesAtRelease: unknown[] = [];
  const watched: Leases = {
    ...leases,
    async acquire(name) {
      const lease = await leases.acquire(name);
      if (lease === undefined) return undefined;
      const release = async () => {
        statesAtRelease.push((await ledger.get("message", "test:1"))?.state);
        await lease.release();
      };
      return { ...lease, release };
    },
  };
  createRoom({ leases: watched }).tellStopped();
  await vi.waitFor(() => expect(statesAtRelease).toEqual(["stopped"]));
  expect(replyTo(message)).toMatchObject({ end: "failed", segments: ["Stopped."] });
});

test("of two processes, one writes the line, and the turn in the other one waits until it is released", async () => {
  const message = said("1", "a");
  const turnId = turnIdFor(message);
  await queue(message);
  let opened = 0;
  const openReply: WaitingRoomOptions["openReply"] = async () => {
    opened += 1;
    return createDelivery({ reply: createRecordingReply(), redact: (text) => text, log: silentLog });
  };
  const [one, other] = [createRoom({ openReply }), createRoom({ openReply })];
  one.watch();
  await vi.waitFor(() => expect(opened).toBe(1));
  await vi.waitFor(async () => expect(await leases.acquire(`waiting:${turnId}`)).toBeUndefined());
  await ledger.transition("message", "test:1", ["queued"], "taken");
  const turn = turnRecord({ id: turnId, messages: [message] });
  await ledger.create("turn", turnId, { state: "running", body: turn, group: "a" });
  await other.release(turn);
  const lease = await leases.acquire(`waiting:${turnId}`);
  expect(lease).toBeDefined();
  await lease?.release();
});

test("a turn that begins while its line is being posted does not wait for the line or show it", async () => {
  const message = said("1", "a");
  await queue(message);
  const [opening, looking] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isOpened = false;
  let isLooking = false;
  const acquire = vi.spyOn(leases, "acquire");
  const room = createRoom({
    async openReply() {
      isOpened = true;
      await opening.promise;
      const reply = createRecordingReply();
      replies.set(turnIdFor(message), reply);
      return createDelivery({ reply, redact: (text) => text, log: silentLog });
    },
    ledger: {
      ...ledger,
      async get(kind, id) {
        if (isLooking) await looking.promise;
        return await ledger.get(kind, id);
      },
    },
  });
  room.watch();
  await vi.waitFor(() => expect(isOpened).toBe(true));
  isLooking = true;
  const released = room.release(turnRecord({ id: turnIdFor(message), conversationId: "a", messages: [message] }));
  opening.resolve();
  await vi.waitFor(() => expect(acquire).toHaveBeenCalledTimes(1));
  looking.resolve();
  await released;
  expect(linesOf(message)).toEqual([]);
  const lease = await leases.acquire(`waiting:${turnIdFor(message)}`);
  expect(lease).toBeDefined();
  await lease?.release();
});

test("a reply that can't be opened costs nothing but the line", async () => {
  await queue(said("1", "a"));
  const warn = vi.fn();
  createRoom({ log: { ...silentLog, warn }, openReply: () => Promise.reject(new Error("no way")) }).watch();
  await vi.waitFor(() => expect(warn).toHaveBeenCalled());
});
