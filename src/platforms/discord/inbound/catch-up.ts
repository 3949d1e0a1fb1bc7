/** Finds the channels, threads and DMs with unread messages when a session starts: Discord does not resend these. */
import { type APIChannel, type GatewayGuildCreateDispatchData, PermissionFlagsBits } from "discord.js";
import { permissionsIn } from "../api/permissions.ts";
import { type Cursors, newerId, snowflakeAt } from "./cursors.ts";

/**
 * The channels and threads of a server that have news, and its known threads that Discord does not list (archived ones).
 * Both newest first.
 */
export function placesOfGuild(guild: GatewayGuildCreateDispatchData, cursors: Cursors, botId: string): string[] {
  const shown = [...guild.channels, ...guild.threads] as APIChannel[];
  const ids = new Set(shown.map(({ id }) => id));
  const me = guild.members.find(({ user }) => user.id === botId);
  const joined = snowflakeAt(Date.parse(guild.joined_at));
  const parents = new Map(shown.map((channel) => [channel.id, channel]));

  function hasNews(channel: APIChannel): boolean {
    if (!("last_message_id" in channel) || !channel.last_message_id || me === undefined) return false;
    const read = newerId(cursors.readUpTo(channel.id, guild.id), joined);
    if (newerId(channel.last_message_id, read) === read) return false;
    const holder =
      ("parent_id" in channel && guild.threads.some(({ id }) => id === channel.id)
        ? parents.get(channel.parent_id ?? "")
        : undefined) ?? channel;
    const needed = PermissionFlagsBits.ViewChannel | PermissionFlagsBits.ReadMessageHistory;
    return (permissionsIn(holder, guild, me, botId) & needed) === needed;
  }

  const hidden = cursors.places().filter((place) => place.guild === guild.id && place.type !== "channel");
  const unlisted = hidden.filter(({ id }) => !ids.has(id)).map(({ id }) => id);
  return [
    ...shown
      .filter(hasNews)
      .sort(byNews)
      .map(({ id }) => id),
    ...unlisted.toReversed(),
  ];
}

function byNews(one: APIChannel, other: APIChannel): number {
  const [last, otherLast] = [one, other].map((each) => ("last_message_id" in each && each.last_message_id) || "0");
  return Number(BigInt(otherLast ?? 0) - BigInt(last ?? 0));
}

/** The known DMs, and places whose server is not known, newest first. */
export function placesWithoutGuild(shard: number, cursors: Cursors): string[] {
  const places = cursors.places(shard).filter(({ guild }) => guild === undefined);
  return places.map(({ id }) => id).toReversed();
}
