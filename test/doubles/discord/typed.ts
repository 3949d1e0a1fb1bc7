/** Converts typed text to what a client sends: `@name` and `#channel` become mentions. */
import type { ChannelRecord, World } from "./world.ts";

/** Names of the guild's members, roles and channels, and in a DM that of the bot; longer names first. */
function namesIn(world: World, channel: ChannelRecord): [typed: string, sent: string][] {
  const guild = channel.guildId === undefined ? undefined : world.guilds.get(channel.guildId);
  const ids = guild === undefined ? [world.application.id, channel.recipientId ?? ""] : [...guild.members.keys()];
  const people = ids.flatMap((id): [string, string][] => {
    const user = world.users.get(id);
    const names = [user?.username, user?.displayName, guild?.members.get(id)?.nick];
    return names.flatMap((name): [string, string][] => (name ? [[`@${name}`, `<@${id}>`]] : []));
  });
  const roles = [...(guild?.roles.values() ?? [])]
    .filter(({ id }) => id !== guild?.id)
    .map(({ name, id }): [string, string] => [`@${name}`, `<@&${id}>`]);
  const channels = [...world.channels.values()]
    .filter(({ guildId }) => guildId !== undefined && guildId === guild?.id)
    .map(({ name, id }): [string, string] => [`#${name}`, `<#${id}>`]);
  return [...people, ...roles, ...channels].sort(([a], [b]) => b.length - a.length);
}

export function typed(world: World, channel: ChannelRecord, text: string): string {
  const names = namesIn(world, channel);
  let sent = "";
  for (let at = 0; at < text.length; ) {
    const name = names.find(([one]) => text.startsWith(one, at) && !/[\p{L}\p{N}_]/u.test(text[at + one.length] ?? ""));
    sent += name?.[1] ?? text[at];
    at += name?.[0].length ?? 1;
  }
  return sent;
}
