/** Guilds and channels as tests hold them: what is in them, and what their moderators do. */
import { EmbedType, PermissionFlagsBits, type PermissionsString } from "discord.js";
import { removeMessages } from "./edit-messages.ts";
import {
  announceChannel,
  announceGuild,
  announceGuildGone,
  announceMessage,
  announceRegained,
  announceRole,
  announceThreadList,
} from "./events.ts";
import { idOf, type MessageRef, messageAt, type Ref } from "./handles.ts";
import { isThread, noPings, threadsOf } from "./lookups.ts";
import { defaultMentions, mentionsOf, pingsOf } from "./mentions.ts";
import { addMessage } from "./messages.ts";
import { can, defaultPermissions } from "./permissions.ts";
import { changeRoles } from "./routes-guilds.ts";
import { dropChannel } from "./routes-threads.ts";
import { joinThread } from "./threads.ts";
import { type SeenMessage, seen, seenIn } from "./view.ts";
import type { ChannelRecord, GuildRecord, RoleRecord, World } from "./world.ts";

export interface ChannelHandle {
  id: string;
  name: string;
  /** `<#id>` */
  mention: string;
  guildId?: string;
  /** What everybody sees, oldest first, from after a message on; what is for one person alone shows in `person.sees`. */
  messages(after?: Ref): SeenMessage[];
  threads(): ChannelHandle[];
  /** The state of a thread; absent for channels. */
  thread():
    | { isArchived: boolean; isLocked: boolean; memberIds: string[]; ownerId: string; parentId: string }
    | undefined;
  /** When the bot showed that it is typing, by the service's clock. */
  typing(): number[];
  /** Overwrites for a role (`guild.everyone` too) or a person, in place of those before. */
  permit(who: { id: string }, change: { allow?: PermissionsString[]; deny?: PermissionsString[] }): void;
  /** `shape`: fields of the message as Discord sends them, such as embeds, components or a poll. */
  webhookSays(name: string, text: string, shape?: object): SeenMessage;
  /** A message of the service itself, e.g. 7 for "somebody joined". */
  systemMessage(type: number, userId: string, content?: string, shape?: object): SeenMessage;
  bulkDelete(messages: MessageRef[]): void;
  /** Adds a link preview: an update that is not an edit. */
  unfurl(message: MessageRef, title: string): void;
  /**
   * More becomes known of a message: an update that is not an edit, unless `isEdit`. With `isPartial`, the event has only these
   * fields.
   */
  update(message: MessageRef, shape: object, options?: { isEdit?: boolean; isPartial?: boolean }): void;
  /** Repeats a message event, as happens around reconnects. */
  repeat(message: MessageRef): void;
  /** Into a thread, also a private one. */
  addToThread(...people: Ref[]): void;
  delete(): void;
}

export interface RoleHandle {
  id: string;
  name: string;
  mention: string;
  setPermissions(permissions: PermissionsString[]): void;
}

export interface GuildHandle {
  id: string;
  name: string;
  everyone: { id: string };
  addChannel(name: string, options?: { type?: 0 | 2 | 4 | 5 | 15; isPrivate?: boolean }): ChannelHandle;
  addRole(name: string, options?: { permissions?: PermissionsString[]; isMentionable?: boolean }): RoleHandle;
  /** Also the one of everybody, and those of bots. */
  roles(): RoleHandle[];
  /** Besides those whom the double plays. */
  setMembersElsewhere(count: number): void;
  /** Besides its own one. */
  setBotRoles(roles: Ref[]): void;
  /** The bot is added or thrown out. */
  addBot(): void;
  removeBot(): void;
  /** An outage: the guild becomes unavailable and returns. */
  setAvailable(isAvailable: boolean): void;
}

function bitsOf(names: PermissionsString[] = []): bigint {
  return names.reduce((sum, name) => sum | PermissionFlagsBits[name], 0n);
}

export function createChannelHandle(world: World, channel: ChannelRecord): ChannelHandle {
  const { id, name, guildId } = channel;
  const isSeenByBot = () => can(world, world.application.id, channel, PermissionFlagsBits.ViewChannel);
  return {
    id,
    name,
    mention: `<#${id}>`,
    ...(guildId === undefined ? {} : { guildId }),
    messages: (after) => seenIn(world, channel, { ...(after === undefined ? {} : { after: idOf(after) }) }),
    threads: () => threadsOf(world, id).map((thread) => createChannelHandle(world, thread)),
    thread() {
      if (!isThread(channel)) return undefined;
      const { thread, ownerId = "", parentId } = channel;
      const { isArchived, isLocked, members } = thread;
      return { isArchived, isLocked, memberIds: [...members.keys()], ownerId, parentId };
    },
    typing: () => channel.typing.map(({ at }) => at),
    permit(who, { allow, deny }) {
      const isRole = guildId !== undefined && world.guilds.get(guildId)?.roles.has(who.id);
      const rest = channel.overwrites.filter((overwrite) => overwrite.id !== who.id);
      const sawBefore = isSeenByBot();
      channel.overwrites = [...rest, { id: who.id, type: isRole ? 0 : 1, allow: bitsOf(allow), deny: bitsOf(deny) }];
      announceChannel(world, "CHANNEL_UPDATE", channel);
      if (!sawBefore && isSeenByBot()) announceThreadList(world, channel);
    },
    webhookSays(author, content, shape = {}) {
      const webhook = { id: world.nextId(), name: author };
      const mentions = mentionsOf(world, channel, { id: webhook.id }, content, defaultMentions(false));
      const pings = pingsOf(world, channel, webhook.id, mentions);
      const message = addMessage(world, channel, { authorId: webhook.id, webhook, content, mentions, pings, shape });
      return seen(world, channel, message);
    },
    systemMessage: (type, authorId, content = "", shape = {}) =>
      seen(world, channel, addMessage(world, channel, { authorId, type, content, mentions: noPings, shape })),
    bulkDelete: (messages) => removeMessages(world, channel, messages.map(idOf)),
    unfurl(ref, title) {
      const { message } = messageAt(world, ref);
      const [link = ""] = /https?:\/\/\S+/.exec(message.content) ?? [];
      message.embeds = [...message.embeds, { type: EmbedType.Link, title, url: link }];
      announceMessage(world, "MESSAGE_UPDATE", channel, message);
    },
    update(ref, shape, { isEdit = false, isPartial = false } = {}) {
      const { message } = messageAt(world, ref);
      message.shape = { ...message.shape, ...shape };
      if (isEdit) message.editedAt = world.clock.now();
      announceMessage(world, "MESSAGE_UPDATE", channel, message, isPartial ? shape : undefined);
      world.changed();
    },
    repeat: (ref) => announceMessage(world, "MESSAGE_CREATE", channel, messageAt(world, ref).message),
    addToThread(...people) {
      if (!isThread(channel)) throw new Error(`${name} is no thread`);
      joinThread(world, channel, people.map(idOf));
    },
    delete: () => dropChannel(world, channel),
  };
}

export function createGuildHandle(world: World, guild: GuildRecord): GuildHandle {
  const botId = world.application.id;
  return {
    id: guild.id,
    name: guild.name,
    everyone: { id: guild.id },
    addChannel(name, { type = 0, isPrivate = false } = {}) {
      const channel = newChannel(world, guild, name, type);
      const { ViewChannel } = PermissionFlagsBits;
      if (isPrivate) channel.overwrites.push({ id: guild.id, type: 0, allow: 0n, deny: ViewChannel });
      announceChannel(world, "CHANNEL_CREATE", channel);
      return createChannelHandle(world, channel);
    },
    addRole(name, { permissions = [], isMentionable = false } = {}) {
      const role: RoleRecord = {
        id: world.nextId(),
        name,
        permissions: bitsOf(permissions),
        position: guild.roles.size,
        isMentionable,
      };
      guild.roles.set(role.id, role);
      announceRole(world, "GUILD_ROLE_CREATE", guild, role);
      return createRoleHandle(world, guild, role);
    },
    roles: () => [...guild.roles.values()].map((role) => createRoleHandle(world, guild, role)),
    setMembersElsewhere(count) {
      guild.membersElsewhere = count;
    },
    setBotRoles(roles) {
      const bot = guild.members.get(botId);
      const own = [...guild.roles.values()].filter((role) => role.botId === botId);
      if (bot !== undefined) changeRoles(world, guild, bot, [...own, ...roles].map(idOf));
    },
    addBot() {
      joinBot(world, guild);
      announceGuild(world, guild);
    },
    removeBot() {
      guild.members.delete(botId);
      announceGuildGone(world, guild.id, false);
    },
    setAvailable(isAvailable) {
      guild.isUnavailable = !isAvailable;
      if (isAvailable) announceGuild(world, guild);
      else announceGuildGone(world, guild.id, true);
    },
  };
}

function createRoleHandle(world: World, guild: GuildRecord, role: RoleRecord): RoleHandle {
  return {
    id: role.id,
    name: role.name,
    mention: `<@&${role.id}>`,
    setPermissions(names) {
      const tell = announceRegained(world, guild);
      role.permissions = bitsOf(names);
      announceRole(world, "GUILD_ROLE_UPDATE", guild, role);
      tell();
    },
  };
}

function newChannel(world: World, guild: GuildRecord, name: string, type: number): ChannelRecord {
  const channel: ChannelRecord = {
    id: world.nextId(),
    type,
    guildId: guild.id,
    name,
    topic: null,
    position: world.channels.size,
    overwrites: [],
    slowmodeSeconds: 0,
    messages: new Map(),
    lastMessageId: null,
    typing: [],
  };
  world.channels.set(channel.id, channel);
  return channel;
}

/** The bot comes with a role of its own. */
export function joinBot(world: World, guild: GuildRecord): void {
  const botId = world.application.id;
  const role: RoleRecord = {
    id: world.nextId(),
    name: world.application.name,
    permissions: defaultPermissions,
    position: guild.roles.size,
    isMentionable: false,
    botId,
  };
  guild.roles.set(role.id, role);
  guild.members.set(botId, { userId: botId, nick: null, roleIds: [role.id], joinedAt: world.clock.now() });
}
