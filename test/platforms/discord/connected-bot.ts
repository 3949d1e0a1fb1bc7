/** A bot that is connected to the Discord double, new for each test. */
import { afterEach, beforeEach } from "vitest";
import type { DiscordPlatformOptions } from "../../../src/platforms/discord/platform.ts";
import type { InboundMessage } from "../../../src/ports/message.ts";
import type { Posts, Reply } from "../../../src/ports/platform.ts";
import { createPosts, targetOf } from "../../conformance/platform-world.ts";
import type { DiscordDouble } from "../../doubles/discord/double.ts";
import type { ChannelHandle } from "../../doubles/discord/places.ts";
import { type DiscordBot, openDiscordBot } from "./discord-bot.ts";
import { createRecordingAgent, type RecordingAgent } from "./recording-agent.ts";

/** Of the running test. */
export let bot: DiscordBot;
export let agent: RecordingAgent;
export let discord: DiscordDouble;

export function useConnectedBot(options: Partial<DiscordPlatformOptions> = {}): void {
  beforeEach(async () => {
    bot = await openDiscordBot(options);
    discord = bot.discord;
    agent = createRecordingAgent();
    await bot.platform.connect(agent.handlers, new AbortController().signal);
  });
  afterEach(() => bot.close());
}

/** Ann mentions the bot. Resolves when the agent has stored the message. */
export async function mentioned(text = "hello", where: ChannelHandle = discord.channel): Promise<InboundMessage> {
  const said = discord.ann.say(`${discord.bot.mention} ${text}`, { in: where });
  return await discord.until(() => agent.kept.find(({ id }) => id === said.id));
}

export function replyTo(message: InboundMessage, posts: Posts = createPosts()): Reply {
  return bot.platform.reply(targetOf(message), posts);
}
