import { expect, test, vi } from "vitest";
import { silentLog } from "../../../src/lib/log.ts";
import { createCursors } from "../../../src/platforms/discord/inbound/cursors.ts";
import { createInbound, type InboundOptions } from "../../../src/platforms/discord/inbound/inbound.ts";
import { createOrderedQueues } from "../../../src/platforms/discord/inbound/ordered-queue.ts";
import type { RawMessage } from "../../../src/platforms/discord/inbound/raw-message.ts";
import type { InboundContext } from "../../../src/platforms/discord/inbound/read-message.ts";
import { createInMemoryStore } from "../../doubles/in-memory-store.ts";
import { openDiscordBot } from "./discord-bot.ts";
import { createRecordingAgent } from "./recording-agent.ts";

const never = new AbortController().signal;

test("one piece of work at a time in a queue, in order, and queues side by side", async () => {
  const lanes = createOrderedQueues(silentLog, new AbortController().signal);
  const done: string[] = [];
  let letGo = () => {};
  lanes.add("a", () => new Promise((resolve) => (letGo = () => resolve(void done.push("a1")))));
  lanes.add("a", async () => void done.push("a2"));
  lanes.add("b", async () => void done.push("b1"));
  await vi.waitFor(() => expect(done).toEqual(["b1"]));
  letGo();
  await lanes.whenIdle();
  expect(done).toEqual(["b1", "a1", "a2"]);
});

test("an end leaves what waits undone", async () => {
  const ended = new AbortController();
  const lanes = createOrderedQueues(silentLog, ended.signal);
  let tries = 0;
  lanes.add("a", async () => {
    tries++;
    throw new Error("the disk is full");
  });
  lanes.add("a", async () => void tries++);
  await vi.waitFor(() => expect(tries).toBe(1));
  ended.abort();
  await lanes.whenIdle();
  expect(tries).toBe(1);
});

test("a channel in which more waits than is held in memory loses nothing: the rest is fetched in its turn", async () => {
  const bot = await openDiscordBot();
  const agent = createRecordingAgent();
  await bot.platform.connect(agent.handlers, new AbortController().signal);
  let letIn = () => {};
  const held = new Promise<void>((resolve) => (letIn = resolve));
  agent.beforeKeeping = () => held;
  const said = Array.from({ length: 620 }, (_, index) =>
    bot.discord.ann.say(`line ${index}`, { in: bot.discord.channel }),
  );
  await bot.discord.until(() => bot.logged.some(({ message }) => message.includes("queue is full")), 20_000);
  letIn();
  await bot.discord.until(() => agent.kept.length === said.length, 20_000);
  const after = bot.discord.ann.say("after", { in: bot.discord.channel });
  await bot.discord.until(() => agent.kept.at(-1)?.id === after.id);
  expect(agent.kept.map(({ id }) => id)).toEqual([...said, after].map(({ id }) => id));
  await bot.close();
});

const firstId = (BigInt(Date.now()) - 1_420_070_400_000n) << 22n;
/** More messages of a DM than its queue holds. */
const overflow = Array.from({ length: 521 }, (_, index) => lineOf(index));

function lineOf(index: number): RawMessage {
  return {
    id: String(firstId + BigInt(index)),
    type: 0,
    timestamp: "2026-11-23T12:00:00Z",
    channel_id: "2",
    author: { id: "3", username: "ann", discriminator: "0", global_name: "Ann", avatar: null },
    content: `line ${index}`,
    attachments: [],
    mentions: [],
    embeds: [],
  } as unknown as RawMessage;
}

/** The inbound side of a process, in which the first message is stored only when `store` is called. */
async function openInbound(request: InboundOptions["api"]["request"], onChannel = (_id: string) => {}) {
  const agent = createRecordingAgent();
  const held = Promise.withResolvers<void>();
  agent.beforeKeeping = () => held.promise;
  const cursors = createCursors(createInMemoryStore(), silentLog);
  await cursors.load(0, 1);
  const inbound = createInbound({
    api: { request, now: Date.now, problem: () => undefined, rightsChanged() {}, close() {} },
    context: {
      botId: () => "1",
      isAllowedBot: () => false,
      isOwnThread: () => false,
      replyIn: "thread",
      people: { roles: async () => [] },
      channels: { get: async (id: string) => onChannel(id) },
    } as unknown as InboundContext,
    ...{ cursors, handlers: agent.handlers, onKept() {}, onRefused() {}, onProgress() {} },
    ...{ log: silentLog, signal: never },
  });
  return { agent, cursors, inbound, store: held.resolve };
}

test("messages that do not fit are left to the next process that holds the shard", async () => {
  const asked = Promise.withResolvers<string>();
  const { agent, cursors, inbound, store } = await openInbound(() => new Promise(() => {}), asked.resolve);
  const unloaded = cursors.unloaded(0);
  const added = overflow.map((raw) => inbound.add(raw, unloaded));
  await vi.waitFor(() => expect(agent.delivered).toHaveLength(1), { timeout: 5_000 });
  await cursors.unload(0);
  store();
  expect(await Promise.race([Promise.all(added).then(() => "nothing is fetched"), asked.promise])).toBe(
    "nothing is fetched",
  );
});

/** Discord's answer to a request for a page of the DM. */
async function pageOf({ query = {} }: { query?: { after?: string; before?: string } }): Promise<RawMessage[]> {
  const { after, before } = query;
  if (after !== undefined) return overflow.filter(({ id }) => BigInt(id) > BigInt(after)).slice(0, 100);
  return overflow.filter(({ id }) => before === undefined || BigInt(id) < BigInt(before)).slice(-100);
}

test("messages that do not fit are fetched if the same process holds the shard again", async () => {
  const { agent, cursors, inbound, store } = await openInbound(pageOf as InboundOptions["api"]["request"]);
  const [before, late] = [overflow.slice(0, -1), overflow.slice(-1)];
  const left = cursors.unloaded(0);
  const added = before.map((raw) => inbound.add(raw, left));
  await vi.waitFor(() => expect(agent.delivered).toHaveLength(1), { timeout: 5_000 });
  await cursors.unload(0);
  await cursors.load(0, 1);
  const again = cursors.unloaded(0);
  const caughtUp = inbound.catchUp("2", again);
  added.push(...late.map((raw) => inbound.add(raw, again)));
  store();
  await Promise.all([...added, caughtUp]);
  await inbound.add(lineOf(600), again);
  expect(agent.kept.map(({ id }) => id)).toEqual([...overflow, lineOf(600)].map(({ id }) => id));
});
