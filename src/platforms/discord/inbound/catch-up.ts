/** Finds the channels, threads and DMs with unread messages when a session starts: Discord does not resend these. */
import { type Client, type Guild, type GuildBasedChannel, PermissionFlagsBits } from "discord.js";
import { type Cursors, newerId } from "./cursors.ts";

export function placesOfShard(client: Client<true>, shard: number, cursors: Cursors): string[] {
  const guilds = [...client.guilds.cache.values()].filter(({ shardId }) => shardId === shard);
  return guilds.flatMap((guild) => placesOfGuild(guild, cursors));
}

export function placesOfGuild(guild: Guild, cursors: Cursors): string[] {
  return [...guild.channels.cache.values()].filter((channel) => hasNews(channel, cursors)).map(({ id }) => id);
}

/** Discord does not report new messages in DMs and archived threads, so all known ones are checked, newest first. */
export function placesNotShown(client: Client<true>, cursors: Cursors): string[] {
  return cursors
    .places()
    .filter(({ id, type }) => type !== "channel" && !client.channels.cache.get(id)?.isThread())
    .map(({ id }) => id)
    .toReversed();
}

function hasNews(channel: GuildBasedChannel, cursors: Cursors): boolean {
  if (!channel.isTextBased() || channel.lastMessageId === null) return false;
  const read = cursors.readUpTo(channel.id);
  if (newerId(channel.lastMessageId, read) === read) return false;
  const me = channel.guild.members.me;
  const needed = PermissionFlagsBits.ViewChannel | PermissionFlagsBits.ReadMessageHistory;
  return me !== null && channel.permissionsFor(me).has(needed);
}
