/** Replies on the Discord double: the messages they answer, and what people see of them. */
import { afterEach, beforeEach } from "vitest";
import type { InboundMessage } from "../../../src/ports/message.ts";
import type { Posts, Reply } from "../../../src/ports/platform.ts";
import { createPosts, targetOf } from "../../conformance/platform.ts";
import type { DiscordDouble } from "../../doubles/discord/double.ts";
import type { ChannelHandle } from "../../doubles/discord/places.ts";
import type { SeenMessage } from "../../doubles/discord/view.ts";
import { type DiscordBot, openDiscordBot } from "./discord-bot.ts";
import { createRecordingAgent, type RecordingAgent } from "./recording-agent.ts";

/** Of the running test. */
export let bot: DiscordBot;
export let agent: RecordingAgent;
export let discord: DiscordDouble;

/** A new server and a connected bot for each test. */
export function useReplies(): void {
  beforeEach(async () => {
    bot = await openDiscordBot();
    discord = bot.discord;
    agent = createRecordingAgent();
    await bot.platform.connect(agent.handlers, new AbortController().signal);
  });
  afterEach(() => bot.close());
}

export async function mentioned(text = "hello", where: ChannelHandle = discord.channel): Promise<InboundMessage> {
  const said = discord.ann.say(`${discord.bot.mention} ${text}`, { in: where });
  return await discord.until(() => agent.kept.find(({ id }) => id === said.id));
}

export async function toldPrivately(): Promise<InboundMessage> {
  const said = discord.ann.say("hello", { in: "dm" });
  return await discord.until(() => agent.kept.find(({ id }) => id === said.id));
}

export function replyTo(message: InboundMessage, posts: Posts = createPosts()): Reply {
  return bot.platform.reply(targetOf(message), posts);
}

export function own(channel: ChannelHandle | undefined): SeenMessage[] {
  return (channel?.messages() ?? []).filter(
    ({ author, type }) => author.id === discord.bot.id && type !== 21 && type !== 18,
  );
}

/** Resolves when the first words are there. */
export async function begun(reply: Reply, text: string, where: () => ChannelHandle | undefined): Promise<void> {
  await reply.write(text);
  await discord.until(() => own(where()).length > 0);
}

export function threadOf(message: InboundMessage): ChannelHandle | undefined {
  return discord.channel.threads().find(({ id }) => id === message.id);
}

export function sent(method: string, route: string) {
  return discord.requests.filter((request) => request.method === method && request.route === route);
}
