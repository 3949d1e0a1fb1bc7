/** Which of Discord's messages a requester finds. */
import { expect, onTestFinished, test } from "vitest";
import { describeChannels } from "../../conformance/chat-channels.ts";
import type { Person } from "../../doubles/discord/people.ts";
import { openDiscordBot } from "./discord-bot.ts";
import { createRecordingAgent } from "./recording-agent.ts";

const authorOf = ({ id, name }: Person) => ({ id, name, isBot: false, roles: [] });

describeChannels("Discord", async (handlers) => {
  const bot = await openDiscordBot();
  const { discord } = bot;
  const hidden = discord.guild.addChannel("hidden");
  hidden.permit(discord.guild.everyone, { deny: ["ViewChannel"] });
  for (const who of [discord.bot, discord.ben]) hidden.permit(who, { allow: ["ViewChannel", "ReadMessageHistory"] });
  await bot.platform.connect({ ...createRecordingAgent().handlers, ...handlers }, new AbortController().signal);
  const thread = discord.ben.startThread(discord.channel, "hush", { isPrivate: true });
  thread.addToThread(discord.bot.id);
  const places = { open: discord.channel, hidden, "private place": thread };
  return {
    platform: bot.platform,
    conversationId: `discord:${discord.guild.id}:${discord.channel.id}`,
    direct: `discord:dm:${discord.ben.dm().id}`,
    insider: authorOf(discord.ben),
    outsider: authorOf(discord.ann),
    say: (where, text) => void discord.ben.say(text, { in: places[where] }),
    leaveHidden: () => hidden.permit(discord.ben, { deny: ["ViewChannel"] }),
    leaveAll: () => discord.ben.leave(discord.guild),
    failChecks: () =>
      discord.fail(
        { path: /^\/guilds\//, times: 100 },
        { type: "answer", status: 403, body: { code: 50001, message: "Missing Access" } },
      ),
    close: () => bot.close(),
  };
});

test("a channel without its history, and other servers' channels, are not searched; from a DM, those of shared servers", async () => {
  const bot = await openDiscordBot();
  onTestFinished(() => bot.close());
  const { discord } = bot;
  const closed = discord.guild.addChannel("no-history");
  closed.permit(discord.guild.everyone, { deny: ["ReadMessageHistory"] });
  const elsewhere = discord.addGuild("Elsewhere");
  elsewhere.addChannel("plans");
  const requester = authorOf(discord.ann);
  const names = async (conversationId: string) =>
    (await bot.platform.chat?.channels({ conversationId, requester }))?.map(({ name }) => name) ?? [];
  const inGuild = await names(`discord:${discord.guild.id}:${discord.channel.id}`);
  expect(inGuild).toContain("general");
  expect(inGuild).not.toContain("no-history");
  expect(inGuild).not.toContain("plans");
  const inDm = `discord:dm:${discord.ann.dm().id}`;
  expect(await names(inDm)).not.toContain("plans");
  discord.ann.join(elsewhere);
  expect(await names(inDm)).toEqual(expect.arrayContaining(["general", "plans"]));
});
