/**
 * Chat actions of tools besides answering. A platform rejects what its service can't do (`platform.unsupported`), and a
 * channel that the requester can't see there (`platform.no-access`). A DM is never another channel.
 */
import type { Author } from "./message.ts";
import type { ToolFile } from "./tool.ts";

export interface ChatPlace {
  conversationId: string;
  requester: Author;
  /** Another channel, by id, `#name` or mention; absent: the conversation itself. */
  channel?: string;
}

export interface ChatLine {
  id: string;
  author: Author;
  text: string;
  /** Milliseconds since the epoch. */
  at: number;
  files: string[];
  /** Replies in its thread; absent without a thread. */
  replies?: number;
}

export interface ChatActions {
  /** The newest `limit` messages (at most 200), oldest first. `before`: only messages older than this one. */
  history(place: ChatPlace, options: { limit: number; before?: string }): Promise<ChatLine[]>;
  /** Posts Markdown like a reply, and pings nobody. Posts the same `key` once if the service can tell. Returns the first message's id. */
  post(place: ChatPlace, message: { text: string; files: ToolFile[]; key: string }): Promise<{ messageId: string }>;
  /** `emoji`: the character itself, or its `:name:`. */
  react(place: ChatPlace, messageId: string, emoji: string): Promise<void>;
  /** Opens a thread with a first message; without `messageId`, on that message. Returns the service's thread id. */
  openThread(
    place: ChatPlace,
    thread: { messageId?: string; name: string; text: string; key: string },
  ): Promise<{ threadId: string }>;
}
