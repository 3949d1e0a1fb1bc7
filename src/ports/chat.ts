/**
 * What tools can do in a chat besides answering. A platform rejects actions that its service can't do (`platform.unsupported`)
 * and channels that the requester can't see (`platform.no-access`). `channel` can never name a DM.
 */
import type { Author } from "./message.ts";
import type { ToolFile } from "./tool.ts";

export interface ChatPlace {
  conversationId: string;
  requester: Author;
  /** Another channel, by id, `#name` or mention; absent for the conversation itself. */
  channel?: string;
}

export interface ChatLine {
  id: string;
  author: Author;
  text: string;
  /** Milliseconds since the epoch. */
  at: number;
  files: string[];
  /** Number of replies in the message's thread; absent if it has no thread. */
  replies?: number;
}

export interface ChatActions {
  /** Returns the newest `limit` messages (at most 200), oldest first. With `before`, only messages older than that one. */
  history(place: ChatPlace, options: { limit: number; before?: string }): Promise<ChatLine[]>;
  /**
   * Posts Markdown like a reply, and pings nobody. Posts only once for the same `key` if the service can detect duplicates.
   * Returns the first message's id.
   */
  post(place: ChatPlace, message: { text: string; files: ToolFile[]; key: string }): Promise<{ messageId: string }>;
  /** `emoji` is the character itself or its `:name:`. */
  react(place: ChatPlace, messageId: string, emoji: string): Promise<void>;
  /**
   * Opens a thread with `text` as its first message, on the message `messageId`. Without it, on the message with `text`.
   * Returns the service's thread id.
   */
  openThread(
    place: ChatPlace,
    thread: { messageId?: string; name: string; text: string; key: string },
  ): Promise<{ threadId: string }>;
}
