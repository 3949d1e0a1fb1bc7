/**
 * The only code that formats and parses Discord's conversation ids:
 *
 *   discord:dm:<channel>                   a DM with the bot
 *   discord:<guild>:<channel>:<thread>     a thread; its id is that of its first message, even before the thread exists
 *   discord:<guild>:<channel>              the channel itself, for commands and for replies in the channel
 */
import type { Scope } from "../../ports/message.ts";

export type DiscordConversation =
  | { type: "dm"; channel: string }
  | { type: "guild"; guild: string; channel: string; thread: string | null };

export function formatConversationId(conversation: DiscordConversation): string {
  if (conversation.type === "dm") return `discord:dm:${conversation.channel}`;
  const { guild, channel, thread } = conversation;
  return `discord:${guild}:${channel}${thread === null ? "" : `:${thread}`}`;
}

export function parseConversationId(id: string): DiscordConversation | undefined {
  const [platform, first = "", channel = "", thread, ...rest] = id.split(":");
  if (platform !== "discord" || rest.length > 0 || !isSnowflake(channel)) return undefined;
  if (first === "dm") return thread === undefined ? { type: "dm", channel } : undefined;
  if (!isSnowflake(first) || (thread !== undefined && !isSnowflake(thread))) return undefined;
  return { type: "guild", guild: first, channel, thread: thread ?? null };
}

/** Where a message or command of a person belongs. A private thread has fewer readers than its channel, so it has a scope of its own. */
export function placeOf(conversation: DiscordConversation, userId: string, isPrivateThread: boolean) {
  return {
    platform: "discord",
    conversationId: formatConversationId(conversation),
    scope: scopeOf(conversation, userId, isPrivateThread),
    ...(conversation.type === "guild" ? { channelId: conversation.channel, spaceId: conversation.guild } : {}),
  };
}

function scopeOf(conversation: DiscordConversation, userId: string, isPrivateThread: boolean): Scope {
  if (conversation.type === "dm") return `dm:${userId}`;
  return `channel:${(isPrivateThread ? conversation.thread : null) ?? conversation.channel}`;
}

/** A jump link. `channel` is the thread's id if the message is in one. */
export function messageLink(guild: string, channel: string, message: string): string {
  return `https://discord.com/channels/${guild}/${channel}/${message}`;
}

export function isSnowflake(text: string): boolean {
  return /^[1-9]\d{0,19}$/.test(text);
}
