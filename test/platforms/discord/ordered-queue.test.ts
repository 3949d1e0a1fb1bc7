import { expect, test, vi } from "vitest";
import { silentLog } from "../../../src/lib/log.ts";
import { createOrderedQueues } from "../../../src/platforms/discord/inbound/ordered-queue.ts";
import { openDiscordBot } from "./discord-bot.ts";
import { createRecordingAgent } from "./recording-agent.ts";

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
