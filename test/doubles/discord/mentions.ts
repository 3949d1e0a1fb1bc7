/**
 * Whom a text calls and which links it would unfold, under the `allowed_mentions` it was sent with.
 * Rule: allowed-mentions-decide
 */
import { MessageFlags, PermissionFlagsBits } from "discord.js";
import { can } from "./permissions.ts";
import type { ChannelRecord, MessageRecord, Pings, World } from "./world.ts";

export interface AllowedMentions {
  parse: string[];
  users: string[];
  roles: string[];
  repliedUser: boolean;
}

/** What holds when a message says nothing: plain messages call everybody they name, interactions' messages people alone. */
export function defaultMentions(isInteraction: boolean): AllowedMentions {
  return { parse: isInteraction ? ["users"] : ["users", "roles", "everyone"], users: [], roles: [], repliedUser: true };
}

/** Code is literal: mentions and links in it have no effect. */
function withoutCode(text: string): string {
  return text.replace(/```[\s\S]*?```/g, " ").replace(/(`{1,2})(?!`)[\s\S]*?[^`]\1(?!`)/g, " ");
}

/** Those whom the text calls, as they stand in the message's `mentions`; the person replied to first. */
export function mentionsOf(
  world: World,
  channel: ChannelRecord,
  author: { id: string },
  text: string,
  allowed: AllowedMentions,
  repliedTo?: string,
): Pings {
  const shown = withoutCode(text);
  const named = [...shown.matchAll(/<@!?(\d+)>/g)].map((match) => match[1] ?? "");
  const namedRoles = [...shown.matchAll(/<@&(\d+)>/g)].map((match) => match[1] ?? "");
  const mayCallAll = can(world, author.id, channel, PermissionFlagsBits.MentionEveryone);
  const roles = channel.guildId === undefined ? undefined : world.guilds.get(channel.guildId)?.roles;
  const users = named.filter((id) => allowed.parse.includes("users") || allowed.users.includes(id));
  const replied = repliedTo !== undefined && allowed.repliedUser ? [repliedTo] : [];
  return {
    users: unique([...replied, ...users]).filter((id) => world.users.has(id)),
    roles: unique(namedRoles)
      .filter((id) => allowed.parse.includes("roles") || allowed.roles.includes(id))
      .filter((id) => roles?.has(id) && (mayCallAll || roles.get(id)?.isMentionable)),
    everyone:
      channel.guildId !== undefined &&
      allowed.parse.includes("everyone") &&
      mayCallAll &&
      /@(everyone|here)\b/.test(shown),
  };
}

/** The named people who are really notified: they can see the channel and are not the author. */
export function pingsOf(world: World, channel: ChannelRecord, authorId: string, mentions: Pings): Pings {
  const notified = mentions.users.filter(
    (id) => id !== authorId && can(world, id, channel, PermissionFlagsBits.ViewChannel),
  );
  return { ...mentions, users: notified };
}

/** The links of a message that get a preview. */
export function previewsOf(world: World, channel: ChannelRecord, message: MessageRecord): string[] {
  if ((message.flags & (MessageFlags.SuppressEmbeds | MessageFlags.IsComponentsV2)) !== 0) return [];
  if (!can(world, message.authorId, channel, PermissionFlagsBits.EmbedLinks)) return [];
  const shown = withoutCode(message.content).replace(/<https?:\/\/[^\s>]+>/gi, " ");
  const links = [...shown.matchAll(/https?:\/\/[^\s<>]+/gi)].map((match) =>
    match[0].replace(/[)\]'",.;:!?*_~|]+$/, ""),
  );
  return unique(links);
}

function unique(values: string[]): string[] {
  return [...new Set(values)];
}
