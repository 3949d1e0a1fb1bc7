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
import { isHidden } from "./channels.ts";

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

/**
 * Applies Discord's overwrites in order: for everyone, for roles, for the member. For a thread, pass its channel. Nobody has
 * rights in a channel whose overwrites are not known.
 */
export function permissionsIn(
  channel: APIChannel,
  guild: Pick<APIGuild, "id" | "owner_id" | "roles">,
  member: Pick<APIGuildMember, "roles">,
  userId: string,
): bigint {
  if (isUnknown(channel)) return 0n;
  const base = memberPermissions(guild, member, userId);
  if (base === PermissionsBitField.All) return base;
  const overwrites = overwritesOf(channel);
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

const readBits = PermissionFlagsBits.ViewChannel | PermissionFlagsBits.ReadMessageHistory;
type Guild = Parameters<typeof permissionsIn>[1];

/** Without its overwrites, a private channel would look public. Those of a hidden channel are made up. */
function isUnknown(channel: APIChannel): boolean {
  return isHidden(channel) || !("permission_overwrites" in channel) || channel.permission_overwrites === undefined;
}

/** True if every member can read the channel's history. If in doubt, false. For a thread, pass its channel. */
export function isReadByAll(channel: APIChannel, guild: Guild): boolean {
  return !deniesSome(channel, guild) && mayRead(channel, guild, []);
}

/** True if everybody who sees `here` can read the history of `there`, another channel of the server. If in doubt, false. */
export function readersMayRead(here: APIChannel, there: APIChannel, guild: Guild): boolean {
  if (isUnknown(here) || isUnknown(there)) return false;
  if (readOverwrites(here) === readOverwrites(there)) return true;
  if (deniesSome(there, guild)) return false;
  // Without such denials, a role only adds rights, so it is enough to look at each role and person alone.
  const covers = (roles: string[], userId = "") =>
    permissionsIn(here, guild, { roles }, userId) === 0n || mayRead(there, guild, roles, userId);
  const people = overwritesOf(here).filter(({ type }) => type === OverwriteType.Member);
  return (
    [[], ...guild.roles.map(({ id }) => [id])].every((roles) => covers(roles)) &&
    people.every(({ id }) => covers([], id))
  );
}

function mayRead(channel: APIChannel, guild: Guild, roles: string[], userId = ""): boolean {
  return (permissionsIn(channel, guild, { roles }, userId) & readBits) === readBits;
}

function deniesSome(channel: APIChannel, { id: everyone }: Pick<APIGuild, "id">): boolean {
  return overwritesOf(channel).some(({ id, deny }) => id !== everyone && (BigInt(deny) & readBits) !== 0n);
}

function readOverwrites(channel: APIChannel): string {
  const parts = overwritesOf(channel).map(({ id, allow, deny }) => [
    id,
    BigInt(allow) & readBits,
    BigInt(deny) & readBits,
  ]);
  return parts
    .filter(([, allow, deny]) => allow !== 0n || deny !== 0n)
    .map(String)
    .sort()
    .join();
}

function overwritesOf(channel: APIChannel): APIOverwrite[] {
  return "permission_overwrites" in channel ? (channel.permission_overwrites ?? []) : [];
}
