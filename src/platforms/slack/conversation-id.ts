/**
 * The one place that makes and reads ids of Slack's conversations and messages:
 *
 *   slack:<team>:<channel>                a DM, or a channel itself (commands, and posts that answer nobody)
 *   slack:<team>:<channel>:<thread_ts>    a thread, also one of the assistant's pane in a DM
 *   <channel>:<ts>                        a message
 *
 * Slack's own ids have no colon in them. The kind of a conversation is in its first letter: D is a DM; group DMs are
 * channels, because several people see them.
 */
import type { Scope } from "../../ports/message.ts";

export interface SlackConversation {
  team: string;
  channel: string;
  /** The ts of the message that opened the thread; null: not in a thread. */
  thread: string | null;
}

export interface SlackMessageId {
  channel: string;
  ts: string;
}

const teamPattern = /^[TE][A-Z0-9]+$/;
const channelPattern = /^[CDG][A-Z0-9]+$/;
const tsPattern = /^\d{1,12}\.\d{6}$/;

export function formatConversationId({ team, channel, thread }: SlackConversation): string {
  return thread === null ? `slack:${team}:${channel}` : `slack:${team}:${channel}:${thread}`;
}

/** Undefined for anything that `formatConversationId` does not make. */
export function parseConversationId(id: string): SlackConversation | undefined {
  const [platform, team = "", channel = "", thread = null, ...rest] = id.split(":");
  const isOurs = platform === "slack" && rest.length === 0 && teamPattern.test(team) && channelPattern.test(channel);
  return isOurs && (thread === null || tsPattern.test(thread)) ? { team, channel, thread } : undefined;
}

export function formatMessageId({ channel, ts }: SlackMessageId): string {
  return `${channel}:${ts}`;
}

/** Undefined for ids of messages that are not in Slack, such as those of schedules. */
export function parseMessageId(id: string): SlackMessageId | undefined {
  const [channel = "", ts = "", ...rest] = id.split(":");
  return rest.length === 0 && channelPattern.test(channel) && tsPattern.test(ts) ? { channel, ts } : undefined;
}

export function isDirect(channel: string): boolean {
  return channel.startsWith("D");
}

/** Who can see it: a thread has its channel's scope, a DM that of the person it is with. */
export function scopeOf(channel: string, userId: string): Scope {
  return isDirect(channel) ? `dm:${userId}` : `channel:${channel}`;
}

/**
 * The thread that something belongs to, of what Slack says about it: the first message of a thread carries its own ts
 * once there are answers, and is not in the thread.
 */
export function threadOf(ts: string, threadTs: string | undefined): string | null {
  return threadTs === undefined || threadTs === ts ? null : threadTs;
}

/** Milliseconds since the epoch. */
export function timeOf(ts: string): number {
  return Math.round(Number(ts) * 1000);
}
