/** Missed messages after a pause: hundreds of places under Discord's limits, and what is too old to be read. */
import { afterEach, expect, test } from "vitest";
import { silentLog } from "../../../src/lib/log.ts";
import { createCursors, type KnownPlace } from "../../../src/platforms/discord/inbound/cursors.ts";
import type { ChannelHandle } from "../../doubles/discord/places.ts";
import { isWhole } from "../../faults/share.ts";
import { type DiscordBot, openDiscordBot } from "./discord-bot.ts";
import { createRecordingAgent } from "./recording-agent.ts";

let bot: DiscordBot;
afterEach(() => bot.close());

const day = 86_400_000;
const threadsEach = 100;
/** Per server; Discord allows one 1,000 active threads. */
const channelsEach = 4;
/** `npm run chaos` reads all of them. */
const [dmCount, channelCount] = isWhole ? [500, 200] : [60, 24];

test(`${dmCount} DMs and ${channelCount} channels with ${threadsEach} threads each are read within Discord's limits, each message once, newest first`, async () => {
  bot = await openDiscordBot({}, { limits: {} });
  const { discord, store } = bot;
  const guilds = Array.from({ length: channelCount / channelsEach }, (_, index) => discord.addGuild(`server ${index}`));
  for (const guild of guilds) discord.ann.join(guild);
  const people = Array.from({ length: dmCount }, (_, index) => discord.addPerson(`person ${index}`));
  const channels = guilds.flatMap((guild) =>
    Array.from({ length: channelsEach }, (_, index) => guild.addChannel(`c${index}`)),
  );
  const cursors = createCursors(store, silentLog);
  await cursors.load(0, 1);
  const hear = (type: KnownPlace["type"], channelId: string, guild: string | undefined, id: string) =>
    cursors.advance({ id: channelId, type, guild }, id);
  for (const person of people) {
    const { channelId, id } = person.say("before", { in: "dm" });
    hear("dm", channelId, undefined, id);
  }
  const threads = channels.map((channel) =>
    Array.from({ length: threadsEach }, (_, index) => {
      const thread = discord.ann.startThread(channel, `thread ${index}`);
      hear("thread", thread.id, channel.guildId, discord.ann.say("before", { in: thread }).id);
      return thread;
    }),
  );
  for (const channel of channels)
    hear("channel", channel.id, channel.guildId, discord.ann.say("seen", { in: channel }).id);
  await cursors.flush();

  const say = (where: ChannelHandle, text: string) => discord.ann.say(`@Remora ${text}`, { in: where }).id;
  const missed = people.map((person) => person.say("to you", { in: "dm" }).id);
  for (const [index, channel] of channels.entries()) {
    const [, inThread = channel, , archived = channel] = threads[index] ?? [];
    missed.push(
      say(channel, "one"),
      say(inThread, "in a thread"),
      say(archived, "in an archived thread"),
      say(channel, "two"),
    );
    // Discord lists no archived threads, so only those that are still known are read.
    if (index >= channelCount - channelsEach) discord.ann.archive(archived);
  }
  const agent = createRecordingAgent();
  await bot.platform.connect(agent.handlers, new AbortController().signal);
  await discord.until(() => agent.kept.length >= missed.length, 100_000);
  await discord.until(() => store.values.get("discord:session:0") !== undefined, 10_000);
  expect(agent.delivered.map(({ id }) => id).toSorted()).toEqual(missed.toSorted());
  for (const channel of channels)
    expect(
      agent.kept
        .filter((each) => each.channelId === channel.id && ["one", "two"].includes(each.text))
        .map(({ text }) => text),
    ).toEqual(["one", "two"]);
  expect(bot.platform.health().detail).not.toContain("offline");
  // Without those that look for ratings.
  const read = discord.requests.filter(({ query, status }) => query.has("after") && status === 200);
  // One request for each place; nothing else is asked about them.
  expect(read).toHaveLength(dmCount + 3 * channelCount);
  const first = read.slice(0, dmCount).map(({ path }) => path);
  const newestDms = people.map((person) => `/channels/${person.dm().id}/messages`).toReversed();
  // Requests may overtake each other on their connections.
  expect(newestDms.slice(0, 15)).toEqual(expect.arrayContaining(first.slice(0, 5)));
  expect(discord.requests.filter(({ status }) => status === 429)).toEqual([]);
}, 300_000);

test("a DM stays known, however many threads people write in", async () => {
  bot = await openDiscordBot();
  const cursors = createCursors(bot.store, silentLog);
  await cursors.load(0, 1);
  cursors.advance({ id: "1", type: "dm", guild: undefined }, "1");
  for (let id = 2; id < 6_000; id++) cursors.advance({ id: `${id}`, type: "thread", guild: "7" }, `${id}`);
  expect(cursors.known("1")).toMatchObject({ type: "dm", read: "1" });
  expect(cursors.known("2")).toBeUndefined();
  expect(cursors.places()).toHaveLength(5_001);
  await cursors.flush();
});

test("after more than seven days, the newer messages are read, and that there were older ones is told", async () => {
  bot = await openDiscordBot({}, { now: () => Date.now() - 9 * day });
  const { discord } = bot;
  const agent = createRecordingAgent();
  const connect = () => bot.platform.connect(agent.handlers, new AbortController().signal);
  const texts = () => agent.kept.map(({ text }) => text);
  const say = (text: string) => discord.ann.say(`@Remora ${text}`, { in: discord.channel });
  await connect();
  say("before");
  await discord.until(() => texts().length === 1);
  await bot.restart();
  discord.gateway.forgetSessions();
  say("eight days ago");
  discord.clock.advance(6 * day);
  say("three days ago");
  discord.clock.advance(3 * day);
  await connect();
  await discord.until(() => texts().length === 2);
  expect(texts()).toEqual(["before", "three days ago"]);
  const told = "in 1 conversation, messages from more than 7 days ago were not read";
  expect(bot.platform.health().detail).toContain(told);
  expect(bot.logged).toContainEqual(expect.objectContaining({ fields: expect.objectContaining({ tooOld: 1 }) }));
}, 60_000);

/** Numbered messages, said in a channel while no process runs. */
async function missed(count: number) {
  bot = await openDiscordBot();
  const { discord } = bot;
  const agent = createRecordingAgent();
  const connect = () => bot.platform.connect(agent.handlers, new AbortController().signal);
  const say = (text: string) => discord.ann.say(`@Remora ${text}`, { in: discord.channel });
  await connect();
  say("0");
  await discord.until(() => agent.kept.length === 1);
  await bot.restart();
  discord.gateway.forgetSessions();
  for (let number = 1; number <= count; number++) say(`${number}`);
  const before = discord.requests.length;
  return {
    agent,
    async read() {
      await connect();
      await discord.until(() => agent.kept.at(-1)?.text === `${count}`, 60_000);
      return agent.kept.slice(1).map(({ text }) => Number(text));
    },
    pages: () => discord.requests.slice(before).filter(({ query }) => query.get("limit") === "100").length,
  };
}

const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index);

test("of 6,000 missed messages, the newest are answered in order, and that there were more is told", async () => {
  const { read } = await missed(6_000);
  expect(await read()).toEqual(range(1_101, 6_000));
  const told = "in 1 conversation, there were too many messages, so not all were read";
  await expect.poll(() => bot.platform.health().detail).toContain(told);
  expect(bot.logged).toContainEqual(expect.objectContaining({ fields: expect.objectContaining({ tooMany: 1 }) }));
}, 60_000);

test("a message that can't be stored for a while is tried alone, without reading all that follows each time", async () => {
  const { agent, read, pages } = await missed(1_500);
  let refusals = 0;
  agent.beforeKeeping = async ({ text }) => {
    if (text === "500" && refusals++ < 2) throw new Error("the disk is full");
  };
  expect(await read()).toEqual(range(1, 1_500));
  // 16, and 11 after it was stored.
  expect(pages()).toBeLessThan(16 + 2 * 11);
}, 60_000);
