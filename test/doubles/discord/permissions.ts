/**
 * What somebody may do somewhere: roles, then the channel's overwrites, as Discord computes it.
 * Rule: overwrites-in-order
 */
import { PermissionFlagsBits as Flags } from "discord.js";
import { refusal } from "./api-error.ts";
import { isThread } from "./lookups.ts";
import type { ChannelRecord, GuildRecord, World } from "./world.ts";

const all = Object.values(Flags).reduce((sum, bit) => sum | bit, 0n);

/** What everybody may do in a new guild. */
export const defaultPermissions =
  Flags.ViewChannel |
  Flags.SendMessages |
  Flags.SendMessagesInThreads |
  Flags.CreatePublicThreads |
  Flags.CreatePrivateThreads |
  Flags.EmbedLinks |
  Flags.AttachFiles |
  Flags.ReadMessageHistory |
  Flags.AddReactions |
  Flags.UseExternalEmojis |
  Flags.UseApplicationCommands |
  Flags.Connect |
  Flags.Speak |
  Flags.ChangeNickname;

const inDms =
  Flags.ViewChannel |
  Flags.SendMessages |
  Flags.EmbedLinks |
  Flags.AttachFiles |
  Flags.ReadMessageHistory |
  Flags.AddReactions |
  Flags.UseExternalEmojis |
  Flags.MentionEveryone |
  Flags.UseApplicationCommands;

export function guildPermissions(guild: GuildRecord, userId: string): bigint {
  const member = guild.members.get(userId);
  if (member === undefined) return 0n;
  if (guild.ownerId === userId) return all;
  const roles = [guild.id, ...member.roleIds].map((id) => guild.roles.get(id)?.permissions ?? 0n);
  const granted = roles.reduce((sum, bits) => sum | bits, 0n);
  return (granted & Flags.Administrator) !== 0n ? all : granted;
}

/** A thread has its channel's overwrites; a private one is for its members and those who manage threads. */
export function permissionsIn(world: World, userId: string, channel: ChannelRecord): bigint {
  if (channel.guildId === undefined) {
    const isThere = userId === channel.recipientId || userId === world.application.id;
    return isThere ? inDms : 0n;
  }
  const guild = world.guilds.get(channel.guildId);
  if (guild === undefined || !guild.members.has(userId)) return 0n;
  const base = guildPermissions(guild, userId);
  if (base === all) return all;
  const place = isThread(channel) ? world.channels.get(channel.parentId) : channel;
  const allowed = place === undefined ? base : withOverwrites(base, guild, place, userId);
  return withoutImplied(world, allowed, channel, userId);
}

function withOverwrites(base: bigint, guild: GuildRecord, channel: ChannelRecord, userId: string): bigint {
  const roleIds = guild.members.get(userId)?.roleIds ?? [];
  const everyone = channel.overwrites.filter(({ id }) => id === guild.id);
  const roles = channel.overwrites.filter(({ id, type }) => type === 0 && roleIds.includes(id));
  const own = channel.overwrites.filter(({ id, type }) => type === 1 && id === userId);
  return [everyone, roles, own].reduce((bits, level) => {
    const deny = level.reduce((sum, overwrite) => sum | overwrite.deny, 0n);
    const allow = level.reduce((sum, overwrite) => sum | overwrite.allow, 0n);
    return (bits & ~deny) | allow;
  }, base);
}

/** Who does not see a channel can do nothing in it; who cannot write there can attach nothing. */
function withoutImplied(world: World, bits: bigint, channel: ChannelRecord, userId: string): bigint {
  if ((bits & Flags.ViewChannel) === 0n) return 0n;
  const isStranger =
    isThread(channel) &&
    channel.type === 12 &&
    !channel.thread.members.has(userId) &&
    (bits & Flags.ManageThreads) === 0n;
  if (isStranger) return 0n;
  const sending = isThread(channel) ? Flags.SendMessagesInThreads : Flags.SendMessages;
  if ((bits & sending) !== 0n || world.users.get(userId) === undefined) return bits;
  return bits & ~(Flags.MentionEveryone | Flags.SendTTSMessages | Flags.AttachFiles | Flags.EmbedLinks);
}

export function can(world: World, userId: string, channel: ChannelRecord, permission: bigint): boolean {
  return (permissionsIn(world, userId, channel) & permission) === permission;
}

/** Refuses with Missing Access if the channel is invisible, otherwise with Missing Permissions. */
export function demand(world: World, userId: string, channel: ChannelRecord, ...permissions: bigint[]): void {
  if (!can(world, userId, channel, Flags.ViewChannel)) throw refusal("missingAccess");
  for (const permission of permissions) {
    if (!can(world, userId, channel, permission)) throw refusal("missingPermissions");
  }
}

/** The permission to write here. */
export function sendingIn(channel: ChannelRecord): bigint {
  return isThread(channel) ? Flags.SendMessagesInThreads : Flags.SendMessages;
}
