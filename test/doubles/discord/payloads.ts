/** Records as Discord's objects: users, members, roles, guilds, channels. */
import {
  type APIApplication,
  type APIChannel,
  type APIGuildMember,
  type APIOverwrite,
  type APIThreadMember,
  type APIUser,
  ApplicationFlags,
  type GuildMemberFlags,
  ThreadMemberFlags,
} from "discord.js";
import { timestampOf } from "./clock.ts";
import { guildPermissions, permissionsIn } from "./permissions.ts";
import {
  type ChannelRecord,
  type GuildRecord,
  isThread,
  type MemberRecord,
  type RoleRecord,
  type ThreadRecord,
  type threadsOf,
  type UserRecord,
  userOf,
  type World,
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

/** As it goes with messages, where the user stands beside it. */
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

function threadFields(world: World, channel: ChannelRecord & { thread: ThreadRecord }): object {
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

/** A channel as interactions carry it: with what the person may do there. */
export function interactionChannel(world: World, channel: ChannelRecord, userId: string): object {
  const { permission_overwrites, ...payload } = channelPayload(world, channel) as APIChannel & {
    permission_overwrites?: unknown;
  };
  return { ...payload, permissions: String(permissionsIn(world, userId, channel)) };
}

export function guildPayload(guild: GuildRecord): object {
  return {
    id: guild.id,
    name: guild.name,
    icon: null,
    description: null,
    splash: null,
    discovery_splash: null,
    features: [],
    banner: null,
    owner_id: guild.ownerId,
    application_id: null,
    region: null,
    afk_channel_id: null,
    afk_timeout: 300,
    system_channel_id: null,
    system_channel_flags: 0,
    widget_enabled: false,
    verification_level: 0,
    roles: [...guild.roles.values()].map(rolePayload),
    default_message_notifications: 0,
    mfa_level: 0,
    explicit_content_filter: 0,
    max_presences: null,
    max_members: 500_000,
    max_video_channel_users: 25,
    vanity_url_code: null,
    premium_tier: 0,
    premium_subscription_count: 0,
    preferred_locale: "en-US",
    rules_channel_id: null,
    safety_alerts_channel_id: null,
    public_updates_channel_id: null,
    premium_progress_bar_enabled: false,
    nsfw_level: 0,
    emojis: [],
    stickers: [],
    hub_type: null,
    incidents_data: null,
  };
}

/** GUILD_CREATE: channels and active threads too, and the bot as the only member. */
export function guildCreatePayload(world: World, guild: GuildRecord): object {
  const botId = world.application.id;
  const bot = guild.members.get(botId);
  const channels = [...world.channels.values()].filter((channel) => channel.guildId === guild.id);
  const threads = channels
    .filter(isThread)
    .filter(({ thread }) => !thread.isArchived)
    .filter((channel) => permissionsIn(world, botId, channel) !== 0n);
  return {
    ...guildPayload(guild),
    joined_at: timestampOf(bot?.joinedAt ?? 0),
    large: false,
    unavailable: false,
    member_count: guild.members.size,
    members: bot === undefined ? [] : [memberPayload(world, bot)],
    channels: channels.filter((channel) => !isThread(channel)).map((channel) => channelPayload(world, channel)),
    threads: threads.map((channel) => channelPayload(world, channel)),
    presences: [],
    voice_states: [],
    stage_instances: [],
    guild_scheduled_events: [],
    soundboard_sounds: [],
  };
}

/** The guild as `GET /users/@me/guilds` lists it. */
export function partialGuild(world: World, guild: GuildRecord): object {
  const botId = world.application.id;
  return {
    id: guild.id,
    name: guild.name,
    icon: null,
    banner: null,
    owner: guild.ownerId === botId,
    permissions: String(guildPermissions(guild, botId)),
    features: [],
  };
}

/** Privileged intents show as flags; `LIMITED`, because nobody has reviewed this application. */
export function applicationFlags(world: World): number {
  const { portal } = world.application;
  return (
    (portal.messageContent ? ApplicationFlags.GatewayMessageContentLimited : 0) |
    (portal.guildMembers ? ApplicationFlags.GatewayGuildMembersLimited : 0) |
    (portal.presence ? ApplicationFlags.GatewayPresenceLimited : 0)
  );
}

export function applicationPayload(world: World, owner: APIUser): APIApplication {
  const { application } = world;
  return {
    id: application.id,
    name: application.name,
    icon: null,
    description: "",
    summary: "",
    bot_public: true,
    bot_require_code_grant: false,
    verify_key: application.id.padStart(64, "0"),
    flags: applicationFlags(world),
    owner,
    team: null,
    bot: userPayload(userOf(world, application.id)),
    approximate_guild_count: world.guilds.size,
    approximate_user_install_count: 0,
    install_params: { scopes: ["applications.commands", "bot"], permissions: "397821733952" },
    integration_types_config: {
      0: { oauth2_install_params: { scopes: ["applications.commands", "bot"], permissions: "397821733952" } },
    },
    redirect_uris: [],
    interactions_endpoint_url: null,
    role_connections_verification_url: null,
  } as unknown as APIApplication;
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
