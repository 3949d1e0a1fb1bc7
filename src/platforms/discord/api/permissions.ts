/** The permissions that the bot needs, a member's permissions in a channel, and the invite link. */
import {
  type APIChannel,
  type APIGuild,
  type APIGuildMember,
  type APIOverwrite,
  OverwriteType,
  PermissionFlagsBits,
  PermissionsBitField,
  type PermissionsString,
} from "discord.js";

export const neededPermissions: readonly (readonly [PermissionsString, string])[] = [
  ["ViewChannel", "View Channels"],
  ["SendMessages", "Send Messages"],
  ["CreatePublicThreads", "Create Public Threads"],
  ["SendMessagesInThreads", "Send Messages in Threads"],
  ["EmbedLinks", "Embed Links"],
  ["AttachFiles", "Attach Files"],
  ["ReadMessageHistory", "Read Message History"],
  ["AddReactions", "Add Reactions"],
];

const neededBits = neededPermissions.reduce((sum, [name]) => sum | PermissionFlagsBits[name], 0n);

export function inviteUrl(applicationId: string): string {
  const query = new URLSearchParams({
    client_id: applicationId,
    permissions: String(neededBits),
    scope: "bot applications.commands",
  });
  return `https://discord.com/oauth2/authorize?${query}`;
}

export function missingFrom(bits: bigint): string[] {
  const has = new PermissionsBitField(bits);
  return neededPermissions.filter(([name]) => !has.has(name)).map(([, shown]) => shown);
}

function memberPermissions(
  guild: Pick<APIGuild, "id" | "owner_id" | "roles">,
  member: Pick<APIGuildMember, "roles">,
  userId: string,
): bigint {
  if (guild.owner_id === userId) return PermissionsBitField.All;
  const bits = guild.roles
    .filter(({ id }) => id === guild.id || member.roles.includes(id))
    .reduce((sum, { permissions }) => sum | BigInt(permissions), 0n);
  return (bits & PermissionFlagsBits.Administrator) === 0n ? bits : PermissionsBitField.All;
}

/** Applies Discord's overwrites in order: for everyone, for roles, for the member. For a thread, pass its channel. */
export function permissionsIn(
  channel: APIChannel,
  guild: Pick<APIGuild, "id" | "owner_id" | "roles">,
  member: Pick<APIGuildMember, "roles">,
  userId: string,
): bigint {
  const base = memberPermissions(guild, member, userId);
  if (base === PermissionsBitField.All) return base;
  const overwrites = "permission_overwrites" in channel ? (channel.permission_overwrites ?? []) : [];
  const levels = [
    overwrites.filter(({ id }) => id === guild.id),
    overwrites.filter(({ id, type }) => type === OverwriteType.Role && id !== guild.id && member.roles.includes(id)),
    overwrites.filter(({ id, type }) => type === OverwriteType.Member && id === userId),
  ];
  const bits = levels.reduce(applied, base);
  return (bits & PermissionFlagsBits.ViewChannel) === 0n ? 0n : bits;
}

function applied(bits: bigint, level: APIOverwrite[]): bigint {
  const deny = level.reduce((sum, overwrite) => sum | BigInt(overwrite.deny), 0n);
  const allow = level.reduce((sum, overwrite) => sum | BigInt(overwrite.allow), 0n);
  return (bits & ~deny) | allow;
}
