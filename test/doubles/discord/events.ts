/** What happened, as gateway events: which intents they need and what is in them. Who gets them is the gateway's matter. */
import { GatewayIntentBits as Intents } from "discord.js";
import { guildCreatePayload } from "./guild-payloads.ts";
import { channelsOf, memberOf, threadsOf, userOf } from "./lookups.ts";
import { messageEvent } from "./message-payload.ts";
import {
  channelPayload,
  gatewayChannel,
  isViewed,
  memberPayload,
  partialMember,
  rolePayload,
  threadList,
  threadMemberPayload,
  userPayload,
} from "./payloads.ts";
import type {
  ChannelRecord,
  GuildRecord,
  MemberRecord,
  MessageRecord,
  ReactionRecord,
  RoleRecord,
  ThreadChannel,
  World,
} from "./world.ts";

/** Events of messages, reactions and typing have one intent for guilds and one for DMs. */
function place(channel: ChannelRecord, inGuilds: number, inDms: number) {
  return channel.guildId === undefined
    ? { intents: inDms, channelId: channel.id }
    : { intents: inGuilds, channelId: channel.id, guildId: channel.guildId };
}

function messages(channel: ChannelRecord) {
  return place(channel, Intents.GuildMessages, Intents.DirectMessages);
}

function guildField(channel: ChannelRecord): { guild_id?: string } {
  return channel.guildId === undefined ? {} : { guild_id: channel.guildId };
}

export function announceMessage(
  world: World,
  type: "MESSAGE_CREATE" | "MESSAGE_UPDATE",
  channel: ChannelRecord,
  message: MessageRecord,
  /** All that the event says besides where the message is. */
  only?: object,
): void {
  if (message.onlyFor !== undefined) return;
  const withNonce = type === "MESSAGE_CREATE" && message.authorId === world.application.id;
  const part = { id: message.id, channel_id: channel.id, ...guildField(channel), ...only };
  const payload = (readsContent: boolean) =>
    only === undefined ? messageEvent(world, message, { readsContent, withNonce }) : part;
  world.publish({ type, ...messages(channel), payload });
}

export function announceDeletion(world: World, channel: ChannelRecord, ids: string[]): void {
  const where = { channel_id: channel.id, ...guildField(channel) };
  const [first] = ids;
  if (ids.length === 1 && first !== undefined) {
    world.publish({ type: "MESSAGE_DELETE", ...messages(channel), payload: () => ({ id: first, ...where }) });
  } else {
    world.publish({ type: "MESSAGE_DELETE_BULK", ...messages(channel), payload: () => ({ ids, ...where }) });
  }
}

export function announceReaction(
  world: World,
  type: "MESSAGE_REACTION_ADD" | "MESSAGE_REACTION_REMOVE",
  channel: ChannelRecord,
  message: MessageRecord,
  userId: string,
  emoji: ReactionRecord["emoji"],
): void {
  const member = memberOf(world, channel.guildId, userId);
  const isAdded = type === "MESSAGE_REACTION_ADD";
  world.publish({
    type,
    ...place(channel, Intents.GuildMessageReactions, Intents.DirectMessageReactions),
    payload: () => ({
      user_id: userId,
      channel_id: channel.id,
      message_id: message.id,
      ...guildField(channel),
      emoji,
      burst: false,
      type: 0,
      ...(isAdded ? { message_author_id: message.authorId } : {}),
      ...(isAdded && member !== undefined ? { member: memberPayload(world, member) } : {}),
    }),
  });
}

/** All reactions of a message are gone, or all with one emoji. */
export function announceCleared(
  world: World,
  channel: ChannelRecord,
  messageId: string,
  emoji?: ReactionRecord["emoji"],
): void {
  world.publish({
    type: emoji === undefined ? "MESSAGE_REACTION_REMOVE_ALL" : "MESSAGE_REACTION_REMOVE_EMOJI",
    ...place(channel, Intents.GuildMessageReactions, Intents.DirectMessageReactions),
    payload: () => ({
      channel_id: channel.id,
      message_id: messageId,
      ...guildField(channel),
      ...(emoji === undefined ? {} : { emoji }),
    }),
  });
}

export function announceTyping(world: World, channel: ChannelRecord, userId: string): void {
  const member = memberOf(world, channel.guildId, userId);
  world.publish({
    type: "TYPING_START",
    ...place(channel, Intents.GuildMessageTyping, Intents.DirectMessageTyping),
    payload: () => ({
      channel_id: channel.id,
      user_id: userId,
      timestamp: Math.floor(world.clock.now() / 1000),
      ...guildField(channel),
      ...(member === undefined ? {} : { member: memberPayload(world, member) }),
    }),
  });
}

export function announceChannel(
  world: World,
  type: "CHANNEL_CREATE" | "CHANNEL_UPDATE" | "CHANNEL_DELETE",
  channel: ChannelRecord,
): void {
  const { guildId } = channel;
  if (guildId === undefined) return;
  const payload = gatewayChannel(world, channel);
  world.publish({ type, intents: Intents.Guilds, guildId, payload: () => payload });
}

/**
 * Call it before a change of rights, and the result after it: tells in full what the bot sees again. What it lost by a change of
 * roles, nobody tells it.
 */
export function announceRegained(world: World, guild: GuildRecord): () => void {
  const hidden = channelsOf(world, guild.id).filter((channel) => !isViewed(world, channel));
  return () => {
    for (const channel of hidden.filter((one) => isViewed(world, one))) {
      announceChannel(world, "CHANNEL_UPDATE", channel);
      announceThreadList(world, channel);
    }
  };
}

export function announceThread(
  world: World,
  type: "THREAD_CREATE" | "THREAD_UPDATE" | "THREAD_DELETE",
  channel: ThreadChannel,
  extra: object = {},
): void {
  const { id, guildId = "", parentId, type: channelType } = channel;
  const isGone = type === "THREAD_DELETE";
  const short = { id, guild_id: guildId, parent_id: parentId, type: channelType };
  const payload = isGone ? short : { ...channelPayload(world, channel), ...extra };
  world.publish({ type, intents: Intents.Guilds, guildId, channelId: id, payload: () => payload });
}

/** Gives the bot access to a channel, and sends its threads. */
export function announceThreadList(world: World, channel: ChannelRecord): void {
  const active = threadsOf(world, channel.id).filter(({ thread }) => !thread.isArchived);
  const payload = { guild_id: channel.guildId, channel_ids: [channel.id], ...threadList(world, active) };
  const guild = channel.guildId === undefined ? {} : { guildId: channel.guildId };
  world.publish({ type: "THREAD_LIST_SYNC", intents: Intents.Guilds, ...guild, payload: () => payload });
}

/** Without the members' intent an application hears of its own comings and goings only. */
export function announceThreadMembers(world: World, channel: ThreadChannel, added: string[], removed: string[]): void {
  const botId = world.application.id;
  const isOwn = added.includes(botId) || removed.includes(botId);
  const { guildId = "" } = channel;
  world.publish({
    type: "THREAD_MEMBERS_UPDATE",
    intents: isOwn ? Intents.Guilds | Intents.GuildMembers : Intents.GuildMembers,
    guildId,
    payload: (_readsContent, intents) => {
      const isSeen = (userId: string) => (intents & Intents.GuildMembers) !== 0 || userId === botId;
      const addedMembers = added.filter(isSeen).map((userId) => {
        const member = memberOf(world, guildId, userId);
        const seen = member === undefined ? {} : { member: memberPayload(world, member) };
        return { ...threadMemberPayload(channel.id, userId, channel.thread), ...seen, presence: null };
      });
      return {
        id: channel.id,
        guild_id: guildId,
        member_count: Math.min(channel.thread.members.size, 50),
        ...(addedMembers.length === 0 ? {} : { added_members: addedMembers }),
        ...(removed.filter(isSeen).length === 0 ? {} : { removed_member_ids: removed.filter(isSeen) }),
      };
    },
  });
}

export function announceMember(
  world: World,
  type: "GUILD_MEMBER_ADD" | "GUILD_MEMBER_UPDATE" | "GUILD_MEMBER_REMOVE",
  guild: GuildRecord,
  member: MemberRecord,
): void {
  // The bot hears of changes to itself without the members' intent.
  const isOwn = type === "GUILD_MEMBER_UPDATE" && member.userId === world.application.id;
  const user = userPayload(userOf(world, member.userId));
  const payload =
    type === "GUILD_MEMBER_REMOVE"
      ? { guild_id: guild.id, user }
      : { ...partialMember(member), user, guild_id: guild.id };
  world.publish({ type, intents: isOwn ? 0 : Intents.GuildMembers, guildId: guild.id, payload: () => payload });
}

export function announceRole(
  world: World,
  type: "GUILD_ROLE_CREATE" | "GUILD_ROLE_UPDATE" | "GUILD_ROLE_DELETE",
  guild: GuildRecord,
  role: RoleRecord,
): void {
  const what = type === "GUILD_ROLE_DELETE" ? { role_id: role.id } : { role: rolePayload(role) };
  const payload = { guild_id: guild.id, ...what };
  world.publish({ type, intents: Intents.Guilds, guildId: guild.id, payload: () => payload });
}

/** The bot has joined, or the guild is back. */
export function announceGuild(world: World, guild: GuildRecord): void {
  world.publish({
    type: "GUILD_CREATE",
    intents: Intents.Guilds,
    guildId: guild.id,
    payload: () => guildCreatePayload(world, guild),
  });
}

/** The bot is out, or (`unavailable`) the guild has an outage. */
export function announceGuildGone(world: World, guildId: string, isOutage: boolean): void {
  const payload = isOutage ? { id: guildId, unavailable: true } : { id: guildId };
  world.publish({ type: "GUILD_DELETE", intents: Intents.Guilds, guildId, payload: () => payload });
}
