/** Channels that the bot can't see have no name, and nothing is derived from what Discord makes up for them. */
import { ChannelFlags, ChannelType, OverwriteType, PermissionFlagsBits } from "discord.js";
import { expect, test } from "vitest";
import { permissionsIn, readersMayRead } from "../../../src/platforms/discord/api/permissions.ts";
import type { ChannelHandle } from "../../doubles/discord/places.ts";
import { agent, bot, discord, mentioned, useConnectedBot } from "./connected-bot.ts";

useConnectedBot();

const secret = (channel: ChannelHandle) => channel.permit(discord.guild.everyone, { deny: ["ViewChannel"] });

/** How the bot reads a mention of the channel now. */
async function readAs(channel: ChannelHandle): Promise<string> {
  return (await mentioned(`see ${channel.mention}`)).text;
}

/** What people and tools are told of the channel. */
async function toldOf(channel: ChannelHandle): Promise<string> {
  const conversationId = `discord:${discord.guild.id}:${channel.id}:1234567890123`;
  const requester = { id: discord.ann.id, name: "Ann", isBot: false, roles: [] };
  const here = `discord:${discord.guild.id}:${discord.channel.id}:1234567890123`;
  const place = await bot.platform.reach?.place(conversationId, "1234567890123");
  const listed = await bot.platform.chat?.channels({ conversationId: here, requester });
  return `${place?.name} ${listed?.map(({ name }) => name)}`;
}

test("a hidden channel has no name, in the text of a message or anywhere else, and is not offered", async () => {
  const hidden = discord.guild.addChannel("board", { isPrivate: true });
  expect(await readAs(hidden)).toBe(`see ${hidden.mention}`);
  expect(await toldOf(hidden)).toBe("another channel general");
  const requests = discord.requests.filter(({ path }) => path === `/channels/${hidden.id}`);
  expect(requests).toEqual([]);
});

test("a channel that people call ___hidden___ keeps its name", async () => {
  const channel = discord.guild.addChannel("___hidden___");
  expect(await readAs(channel)).toBe(`see #___hidden___ (${channel.mention})`);
});

test("a channel is hidden and visible again at once, whether its own rules change, a role, or the roles of the bot", async () => {
  const channel = discord.guild.addChannel("board");
  const [named, plain] = [`see #board (${channel.mention})`, `see ${channel.mention}`];
  const role = discord.guild.addRole("trusted", { permissions: ["ViewChannel"] });
  const thread = discord.ann.startThread(channel, "plans");
  expect([await readAs(channel), await readAs(thread)]).toEqual([named, `see #plans (${thread.mention})`]);
  secret(channel);
  expect([await readAs(channel), await readAs(thread)]).toEqual([plain, `see ${thread.mention}`]);
  channel.permit(role, { allow: ["ViewChannel"] });
  discord.guild.setBotRoles([role]);
  await expect.poll(() => readAs(channel)).toBe(named);
  expect(await readAs(thread)).toBe(`see #plans (${thread.mention})`);
  discord.guild.setBotRoles([]);
  await expect.poll(() => readAs(channel)).toBe(plain);
  expect(await toldOf(channel)).toBe("another channel general");
});

test("a role that loses its right to see channels takes their names along", async () => {
  const channel = discord.guild.addChannel("board");
  const seen = discord.guild.addChannel("bots");
  for (const who of [discord.bot, discord.ann])
    seen.permit(who, { allow: ["ViewChannel", "SendMessages", "ReadMessageHistory"] });
  const said = (what: string) => discord.ann.say(`${discord.bot.mention} ${what}`, { in: seen });
  const readIn = async () => {
    const { id } = said(`see ${channel.mention}`);
    return (await discord.until(() => agent.kept.find((each) => each.id === id))).text;
  };
  expect(await readIn()).toBe(`see #board (${channel.mention})`);
  for (const role of discord.guild.roles()) role.setPermissions(["SendMessages", "ReadMessageHistory"]);
  expect(await readIn()).toBe(`see ${channel.mention}`);
});

test("nothing follows from the overwrites of a hidden channel, or of one that comes without any", () => {
  const { ViewChannel, ReadMessageHistory } = PermissionFlagsBits;
  const guild = { id: "1", owner_id: "9", roles: [{ id: "1", permissions: String(ViewChannel | ReadMessageHistory) }] };
  const channel = (more: object) => ({ id: "5", type: ChannelType.GuildText, guild_id: "1", ...more }) as never;
  const denied = { id: "1", type: OverwriteType.Role, allow: "0", deny: String(ViewChannel) };
  const open = channel({ permission_overwrites: [] });
  const hidden = channel({ flags: ChannelFlags.ChannelObfuscated, permission_overwrites: [denied] });
  for (const unknown of [hidden, channel({})]) {
    expect([
      readersMayRead(unknown, open, guild as never),
      readersMayRead(open, unknown, guild as never),
      readersMayRead(unknown, unknown, guild as never),
      permissionsIn(unknown, guild as never, { roles: [] }, "9"),
    ]).toEqual([false, false, false, 0n]);
  }
});
