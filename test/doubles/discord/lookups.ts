/** Finds records, and refuses missing ones with Discord's errors. */
import { refusal } from "./api-error.ts";
import type {
  ChannelRecord,
  GuildRecord,
  MemberRecord,
  MessageRecord,
  Pings,
  ThreadChannel,
  UserRecord,
  World,
} from "./world.ts";

export const noPings: Pings = { users: [], roles: [], everyone: false };

export function isThread(channel: ChannelRecord): channel is ThreadChannel {
  return channel.thread !== undefined;
}

export function userOf(world: World, id: string): UserRecord {
  const user = world.users.get(id);
  if (user === undefined) throw refusal("unknownUser");
  return user;
}

export function guildOf(world: World, id: string): GuildRecord {
  const guild = world.guilds.get(id);
  if (guild === undefined) throw refusal("unknownGuild");
  return guild;
}

export function channelOf(world: World, id: string): ChannelRecord {
  const channel = world.channels.get(id);
  if (channel === undefined) throw refusal("unknownChannel");
  return channel;
}

/** A message that is not ephemeral. */
export function messageOf(channel: ChannelRecord, id: string): MessageRecord {
  const message = channel.messages.get(id);
  if (message === undefined || message.onlyFor !== undefined) throw refusal("unknownMessage");
  return message;
}

export function memberOf(world: World, guildId: string | undefined, userId: string): MemberRecord | undefined {
  return guildId === undefined ? undefined : world.guilds.get(guildId)?.members.get(userId);
}

/** Threads of a channel, oldest first. */
export function threadsOf(world: World, channelId: string): ThreadChannel[] {
  return [...world.channels.values()].filter(isThread).filter((channel) => channel.parentId === channelId);
}

/** A guild's channels without its threads. */
export function channelsOf(world: World, guildId: string): ChannelRecord[] {
  return [...world.channels.values()].filter((one) => one.guildId === guildId && !isThread(one));
}
