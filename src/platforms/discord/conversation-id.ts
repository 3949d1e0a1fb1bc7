/**
 * The one place that makes and reads conversation ids of Discord:
 *
 *   discord:dm:<channel>                   a DM with the bot
 *   discord:<guild>:<channel>:<thread>     a thread; one that a message opens has the message's id, before it is there too
 *   discord:<guild>:<channel>              the channel itself, for commands and where answers go into the channel
 */
import type { Scope } from "../../ports/message.ts";

export type DiscordConversation =
  | { type: "dm"; channel: string }
  /** `thread` null: the channel itself. */
  | { type: "guild"; guild: string; channel: string; thread: string | null };

export function formatConversationId(conversation: DiscordConversation): string {
  if (conversation.type === "dm") return `discord:dm:${conversation.channel}`;
  const { guild, channel, thread } = conversation;
  return `discord:${guild}:${channel}${thread === null ? "" : `:${thread}`}`;
}

/** Undefined for anything that `formatConversationId` does not make. */
export function parseConversationId(id: string): DiscordConversation | undefined {
  const [platform, first = "", channel = "", thread, ...rest] = id.split(":");
  if (platform !== "discord" || rest.length > 0 || !isSnowflake(channel)) return undefined;
  if (first === "dm") return thread === undefined ? { type: "dm", channel } : undefined;
  if (!isSnowflake(first) || (thread !== undefined && !isSnowflake(thread))) return undefined;
  return { type: "guild", guild: first, channel, thread: thread ?? null };
}

/** Who can see it: a thread has its channel's scope. */
export function scopeOf(conversation: DiscordConversation, userId: string): Scope {
  return conversation.type === "dm" ? `dm:${userId}` : `channel:${conversation.channel}`;
}

/** An id of Discord's: a number of up to 64 bits. */
export function isSnowflake(text: string): boolean {
  return /^[1-9]\d{0,19}$/.test(text);
}
