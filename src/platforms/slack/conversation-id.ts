/**
 * The only code that formats and parses the ids of Slack's conversations and messages:
 *
 *   slack:<team>:<channel>                a DM that is one conversation, or a channel or DM itself (for commands and unprompted posts)
 *   slack:<team>:<channel>:<thread_ts>    a thread, also of a DM
 *   <channel>:<ts>                        a message
 *
 * Slack's ids contain no colon. A DM's id starts with D. Group DMs count as channels, because several people see them.
 */
import type { Scope } from "../../ports/message.ts";

export interface SlackConversation {
  team: string;
  channel: string;
  /** The ts of the thread's first message; null outside threads. */
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

export function parseConversationId(id: string): SlackConversation | undefined {
  const [platform, team = "", channel = "", thread = null, ...rest] = id.split(":");
  const isOurs = platform === "slack" && rest.length === 0 && teamPattern.test(team) && channelPattern.test(channel);
  return isOurs && (thread === null || tsPattern.test(thread)) ? { team, channel, thread } : undefined;
}

export function formatMessageId({ channel, ts }: SlackMessageId): string {
  return `${channel}:${ts}`;
}

/** Returns undefined for messages outside Slack, such as those that schedules create. */
export function parseMessageId(id: string): SlackMessageId | undefined {
  const [channel = "", ts = "", ...rest] = id.split(":");
  return rest.length === 0 && channelPattern.test(channel) && tsPattern.test(ts) ? { channel, ts } : undefined;
}

/** Slack's permalink. `url` is that of the workspace (`Identity.url`). */
export function messageLink(url: string, { channel, ts }: SlackMessageId, thread: string | null): string {
  const link = `${url}archives/${channel}/p${ts.replace(".", "")}`;
  return thread === null ? link : `${link}?thread_ts=${thread}&cid=${channel}`;
}

export function isDirect(channel: string): boolean {
  return channel.startsWith("D");
}

/** `threads`: each message of a DM begins a thread, as it does in a channel. `single`: the DM is one conversation. */
export type DirectMessages = "threads" | "single";

/** The thread that a message outside threads begins; null if it belongs to a DM that is one conversation. */
export function threadBegunBy({ channel, ts }: SlackMessageId, directMessages: DirectMessages): string | null {
  return isDirect(channel) && directMessages === "single" ? null : ts;
}

/** Where a message or command of a person belongs. */
export function placeOf(conversation: SlackConversation, userId: string) {
  const { team, channel } = conversation;
  return {
    platform: "slack",
    conversationId: formatConversationId(conversation),
    scope: scopeOf(channel, userId),
    ...(isDirect(channel) ? {} : { channelId: channel, spaceId: team }),
  };
}

function scopeOf(channel: string, userId: string): Scope {
  return isDirect(channel) ? `dm:${userId}` : `channel:${channel}`;
}

/** Once a thread has replies, its first message has its own ts as `thread_ts`, but counts as outside the thread. */
export function threadOf(ts: string, threadTs: string | undefined): string | null {
  return threadTs === undefined || threadTs === ts ? null : threadTs;
}

export function timeOf(ts: string): number {
  return Math.round(Number(ts) * 1000);
}
