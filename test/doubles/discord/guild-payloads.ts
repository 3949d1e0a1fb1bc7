/** Guilds and the application as Discord's objects. */
import { type APIApplication, type APIUser, ApplicationFlags } from "discord.js";
import { timestampOf } from "./clock.ts";
import { isThread, userOf } from "./lookups.ts";
import { channelPayload, gatewayChannel, memberPayload, rolePayload, userPayload } from "./payloads.ts";
import { guildPermissions, permissionsIn } from "./permissions.ts";
import type { GuildRecord, World } from "./world.ts";

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
    member_count: guild.membersElsewhere + guild.members.size,
    members: bot === undefined ? [] : [memberPayload(world, bot)],
    channels: channels.filter((channel) => !isThread(channel)).map((channel) => gatewayChannel(world, channel)),
    threads: threads.map((channel) => channelPayload(world, channel)),
    presences: [],
    voice_states: [],
    stage_instances: [],
    guild_scheduled_events: [],
    soundboard_sounds: [],
  };
}

/** The guild as `GET /users/@me/guilds` lists it. */
export function partialGuild(world: World, guild: GuildRecord, withCounts: boolean): object {
  const botId = world.application.id;
  return {
    id: guild.id,
    name: guild.name,
    icon: null,
    banner: null,
    owner: guild.ownerId === botId,
    permissions: String(guildPermissions(guild, botId)),
    features: [],
    ...(withCounts ? countsOf(guild) : {}),
  };
}

export function countsOf(guild: GuildRecord): object {
  const members = guild.membersElsewhere + guild.members.size;
  return { approximate_member_count: members, approximate_presence_count: members };
}

/** Privileged intents show as flags; `LIMITED` until somebody has reviewed the application. Rule: message-content-review */
const approved = ApplicationFlags.GatewayMessageContent;

export function applicationFlags(world: World): number {
  const { portal } = world.application;
  return (
    (portal.messageContent ? (portal.isReviewed ? approved : ApplicationFlags.GatewayMessageContentLimited) : 0) |
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
