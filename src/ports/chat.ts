/**
 * Lets tools act in a chat beyond replying. Actions reject with `platform.unsupported` if the service can't do them,
 * and with `platform.no-access` if the requester can't see the channel. `channel` never names a DM.
 */
import type { Author } from "./message.ts";
import type { ToolFile } from "./tool.ts";

export interface ChatPlace {
  conversationId: string;
  requester: Author;
  /** Another channel, by id, `#name` or mention. Absent for the current conversation. */
  channel?: string;
}

export interface ChatLine {
  id: string;
  author: Author;
  text: string;
  at: number;
  files: string[];
  replies?: number;
}

export interface ChatActions {
  /** Returns the newest `limit` messages (at most 200), oldest first. `before` selects only older messages. */
  history(place: ChatPlace, options: { limit: number; before?: string }): Promise<ChatLine[]>;
  /** Posts Markdown without pinging anybody. `key` prevents duplicate posts if the service supports that. */
  post(place: ChatPlace, message: { text: string; files: ToolFile[]; key: string }): Promise<{ messageId: string }>;
  /** `emoji` is the character itself or its `:name:`. */
  react(place: ChatPlace, messageId: string, emoji: string): Promise<void>;
  /** Opens a thread on the message `messageId`, or on a new message with `text`. Returns the thread's id. */
  openThread(
    place: ChatPlace,
    thread: { messageId?: string; name: string; text: string; key: string },
  ): Promise<{ threadId: string }>;
}
