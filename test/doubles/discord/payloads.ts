/** Records as Discord's objects: users, members, roles, guilds, channels. */
import {
  type APIChannel,
  type APIGuildMember,
  type APIOverwrite,
  type APIThreadMember,
  type APIUser,
  ChannelFlags,
  ChannelType,
  type GuildMemberFlags,
  PermissionFlagsBits,
  ThreadMemberFlags,
} from "discord.js";
import { timestampOf } from "./clock.ts";
import { isThread, type threadsOf, userOf } from "./lookups.ts";
import { can, permissionsIn } from "./permissions.ts";
import type {
  ChannelRecord,
  MemberRecord,
  RoleRecord,
  ThreadChannel,
  ThreadRecord,
  UserRecord,
  World,
} from "./world.ts";

export function userPayload(user: UserRecord): APIUser {
  return {
    id: user.id,
    username: user.username,
    discriminator: user.isBot ? "0001" : "0",
    global_name: user.displayName,
    avatar: null,
    ...(user.isBot ? { bot: true } : {}),
  };
}

/** A member in messages, where the user is a separate field. */
export function partialMember(member: MemberRecord): Omit<APIGuildMember, "user"> {
  return {
    roles: member.roleIds,
    nick: member.nick,
    avatar: null,
    banner: null,
    joined_at: timestampOf(member.joinedAt),
    premium_since: null,
    deaf: false,
    mute: false,
    flags: 0 as GuildMemberFlags,
    pending: false,
    communication_disabled_until: null,
  };
}

export function memberPayload(world: World, member: MemberRecord): APIGuildMember {
  return { ...partialMember(member), user: userPayload(userOf(world, member.userId)) };
}

export function rolePayload(role: RoleRecord): object {
  return {
    id: role.id,
    name: role.name,
    description: null,
    color: 0,
    colors: { primary_color: 0, secondary_color: null, tertiary_color: null },
    hoist: false,
    icon: null,
    unicode_emoji: null,
    position: role.position,
    permissions: String(role.permissions),
    managed: role.botId !== undefined,
    mentionable: role.isMentionable,
    flags: 0,
    ...(role.botId === undefined ? {} : { tags: { bot_id: role.botId } }),
  };
}

export function threadMemberPayload(threadId: string, userId: string, thread: ThreadRecord): APIThreadMember {
  return {
    id: threadId,
    user_id: userId,
    join_timestamp: timestampOf(thread.members.get(userId)?.joinedAt ?? 0),
    flags: ThreadMemberFlags.AllMessages,
  };
}

/** A channel as the application sees it; a thread says whether the bot is in it. */
export function channelPayload(world: World, channel: ChannelRecord): APIChannel {
  if (channel.guildId === undefined) return dmPayload(world, channel) as APIChannel;
  const common = {
    id: channel.id,
    type: channel.type,
    guild_id: channel.guildId,
    name: channel.name,
    parent_id: channel.parentId ?? null,
    last_message_id: channel.lastMessageId,
    rate_limit_per_user: channel.slowmodeSeconds,
    flags: 0,
  };
  if (isThread(channel)) return { ...common, ...threadFields(world, channel) } as APIChannel;
  return {
    ...common,
    topic: channel.topic,
    position: channel.position,
    nsfw: false,
    permission_overwrites: channel.overwrites.map(overwritePayload),
  } as APIChannel;
}

/** The same over the gateway. Rule: hidden-channels-have-no-name */
export function gatewayChannel(world: World, channel: ChannelRecord): APIChannel {
  if (isThread(channel) || isViewed(world, channel)) return channelPayload(world, channel);
  const { id, type, position, guildId = "" } = channel;
  return {
    id,
    type,
    guild_id: guildId,
    name: "___hidden___",
    flags: ChannelFlags.ChannelObfuscated,
    position,
    parent_id: null,
    topic: null,
    last_message_id: null,
    nsfw: false,
    rate_limit_per_user: 0,
    permission_overwrites: [
      overwritePayload({ id: guildId, type: 0, allow: 0n, deny: PermissionFlagsBits.ViewChannel }),
    ],
  } as APIChannel;
}

/** A category is seen with any of its channels. */
export function isViewed(world: World, channel: ChannelRecord): boolean {
  const botId = world.application.id;
  if (can(world, botId, channel, PermissionFlagsBits.ViewChannel)) return true;
  const isCategory = channel.type === ChannelType.GuildCategory;
  return isCategory && [...world.channels.values()].some((one) => one.parentId === channel.id && isViewed(world, one));
}

function dmPayload(world: World, channel: ChannelRecord): object {
  return {
    id: channel.id,
    type: 1,
    last_message_id: channel.lastMessageId,
    flags: 0,
    recipients: channel.recipientId === undefined ? [] : [userPayload(userOf(world, channel.recipientId))],
  };
}

function overwritePayload(overwrite: ChannelRecord["overwrites"][number]): APIOverwrite {
  return { id: overwrite.id, type: overwrite.type, allow: String(overwrite.allow), deny: String(overwrite.deny) };
}

function threadFields(world: World, channel: ThreadChannel): object {
  const { thread } = channel;
  const botId = world.application.id;
  return {
    owner_id: channel.ownerId,
    message_count: thread.messageCount,
    total_message_sent: thread.totalSent,
    member_count: Math.min(thread.members.size, 50),
    thread_metadata: {
      archived: thread.isArchived,
      archive_timestamp: timestampOf(thread.archiveChangedAt),
      auto_archive_duration: thread.autoArchiveMinutes,
      locked: thread.isLocked,
      create_timestamp: timestampOf(thread.archiveChangedAt),
      ...(channel.type === 12 ? { invitable: thread.isInvitable } : {}),
    },
    ...(thread.members.has(botId) ? { member: threadMemberPayload(channel.id, botId, thread) } : {}),
  };
}

/** A channel in interactions, with the person's permissions. */
export function interactionChannel(world: World, channel: ChannelRecord, userId: string): object {
  const { permission_overwrites, ...payload } = channelPayload(world, channel) as APIChannel & {
    permission_overwrites?: unknown;
  };
  return { ...payload, permissions: String(permissionsIn(world, userId, channel)) };
}

/** What a list of threads answers: the threads, and the bot's membership of those it is in. */
export function threadList(
  world: World,
  threads: ReturnType<typeof threadsOf>,
): { threads: object[]; members: object[] } {
  const botId = world.application.id;
  return {
    threads: threads.map((channel) => channelPayload(world, channel)),
    members: threads
      .filter(({ thread }) => thread.members.has(botId))
      .map((channel) => threadMemberPayload(channel.id, botId, channel.thread)),
  };
}
