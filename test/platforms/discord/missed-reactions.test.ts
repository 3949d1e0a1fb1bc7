/** Ratings that people gave by reactions while nothing ran are read at the next start. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { InboundMessage } from "../../../src/ports/message.ts";
import { createPosts, targetOf } from "../../conformance/platform-world.ts";
import type { DiscordDouble } from "../../doubles/discord/double.ts";
import type { SeenMessage } from "../../doubles/discord/view.ts";
import { type DiscordBot, openDiscordBot } from "./discord-bot.ts";
import { createRecordingAgent, type RecordingAgent } from "./recording-agent.ts";

let bot: DiscordBot;
let agent: RecordingAgent;
let discord: DiscordDouble;

beforeEach(async () => {
  bot = await openDiscordBot();
  discord = bot.discord;
  agent = createRecordingAgent();
  await connect();
});
afterEach(() => bot.close());

const connect = () => bot.platform.connect(agent.handlers, new AbortController().signal);

async function answered(text: string): Promise<SeenMessage> {
  const said = discord.ann.say(`${discord.bot.mention} ${text}`, { in: discord.channel });
  const message: InboundMessage = await discord.until(() => agent.kept.find(({ id }) => id === said.id));
  await bot.platform.reply(targetOf(message), createPosts()).finish(`Answer to ${text}.`, []);
  const thread = discord.channel.threads().find(({ id }) => id === said.id);
  return await discord.until(() => thread?.messages().find(({ content }) => content === `Answer to ${text}.`));
}

/** Resolves when the messages of as many places have been read. */
async function whileAway(work: () => void, places: number): Promise<void> {
  await bot.platform.close();
  work();
  discord.requests.splice(0);
  await bot.restart();
  // A session that is resumed brings the reactions itself.
  discord.gateway.forgetSessions();
  await connect();
  await discord.until(() => lists().length >= places);
}

const lists = () => discord.requests.filter(({ route }) => route === "messages.list");
const asked = () => discord.requests.filter(({ route }) => route === "reactions.list");
const ratings = () =>
  agent.footerClicks.map(({ messageId, action, by, isMissed }) => [messageId, action, by.id, isMissed]);

test("each person's thumb on an answer is read, whatever its skin tone, and no other reaction", async () => {
  const [one, two] = [await answered("one"), await answered("two")];
  await whileAway(() => {
    discord.ann.react(one, "👍");
    discord.ben.react(one, "👎🏽");
    discord.ann.react(two, "🎉");
  }, 2);
  await discord.until(() => ratings().length === 2);
  expect(ratings()).toEqual([
    [one.id, "good", discord.ann.id, true],
    [one.id, "bad", discord.ben.id, true],
  ]);
  expect(asked()).toHaveLength(2);
});

test("both thumbs of one person say nothing, and what the person says in a thread is not an answer", async () => {
  const one = await answered("one");
  const [thread] = discord.channel.threads();
  if (thread === undefined) throw new Error("there is no thread");
  await whileAway(() => {
    discord.ann.react(one, "👍");
    discord.ann.react(one, "👎");
    discord.ben.react(one, "👎");
    discord.ben.react(discord.ann.say("thanks", { in: thread }), "👍");
  }, 1);
  await discord.until(() => ratings().length === 1);
  expect(ratings()).toEqual([[one.id, "bad", discord.ben.id, true]]);
});

test("answers of the day before yesterday are left alone", async () => {
  const day = 24 * 3_600_000;
  await bot.close();
  const began = Date.now() - 2 * day;
  let now = began;
  bot = await openDiscordBot({}, { now: () => now });
  discord = bot.discord;
  await connect();
  const old = await answered("old");
  now = Date.now();
  const fresh = await answered("fresh");
  await whileAway(() => {
    discord.ann.react(old, "👍");
    discord.ann.react(fresh, "👍");
  }, 1);
  await discord.until(() => ratings().length === 1);
  expect(ratings()).toEqual([[fresh.id, "good", discord.ann.id, true]]);
});
