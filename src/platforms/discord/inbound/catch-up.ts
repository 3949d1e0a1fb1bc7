/** Which places have messages that nobody has read yet, when a session begins and nothing from before it is sent. */
import { type Client, type Guild, type GuildBasedChannel, PermissionFlagsBits } from "discord.js";
import { type Cursors, newerOf } from "./cursors.ts";

/** Of DMs, and of threads that are asleep, nobody tells whether something was said there: these many are asked, newest first. */
const mostAsked = 100;

/** Channels and open threads of a shard's servers. */
export function placesOfShard(client: Client<true>, shard: number, cursors: Cursors): string[] {
  const guilds = [...client.guilds.cache.values()].filter(({ shardId }) => shardId === shard);
  return guilds.flatMap((guild) => placesOfGuild(guild, cursors));
}

export function placesOfGuild(guild: Guild, cursors: Cursors): string[] {
  return [...guild.channels.cache.values()].filter((channel) => hasNews(channel, cursors)).map(({ id }) => id);
}

export function placesNotShown(client: Client<true>, cursors: Cursors): string[] {
  return cursors
    .places()
    .filter(({ id, type }) => type !== "channel" && !client.channels.cache.get(id)?.isThread())
    .slice(-mostAsked)
    .map(({ id }) => id);
}

/** Servers say which message of each channel is the last. */
function hasNews(channel: GuildBasedChannel, cursors: Cursors): boolean {
  if (!channel.isTextBased() || channel.lastMessageId === null) return false;
  const read = cursors.readUpTo(channel.id);
  if (newerOf(channel.lastMessageId, read) === read) return false;
  const me = channel.guild.members.me;
  const needed = PermissionFlagsBits.ViewChannel | PermissionFlagsBits.ReadMessageHistory;
  return me !== null && channel.permissionsFor(me).has(needed);
}
