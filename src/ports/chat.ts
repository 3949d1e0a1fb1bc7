/**
 * What tools may do in a chat besides answering: read, post elsewhere, react, open a thread. Each platform does what its
 * service can; the rest rejects with a sentence (`platform.unsupported`).
 *
 * Never more than the person sees: another channel than the call's own is read or written only when the requester can see
 * it on the service as well (`platform.no-access` else), and a DM is never another channel.
 */
import type { Author } from "./message.ts";
import type { ToolFile } from "./tool.ts";

/** Where a call acts, and for whom. */
export interface ChatPlace {
  /** The conversation of the call. */
  conversationId: string;
  requester: Author;
  /** Another channel, by id, `#name` or the service's own mention of it; absent: the conversation itself. */
  channel?: string;
}

/** One message as it was said. */
export interface ChatLine {
  id: string;
  author: Author;
  text: string;
  /** Milliseconds since the epoch. */
  at: number;
  /** Names of what is attached. */
  files: string[];
  /** The thread it opened, where it did. */
  replies?: number;
}

export interface ChatActions {
  /** The newest `limit` (at most 200), oldest first; of a thread when the place is one. `before`: only what is older than that message. */
  history(place: ChatPlace, options: { limit: number; before?: string }): Promise<ChatLine[]>;
  /** Markdown, split and converted as replies are; pings nobody. The same `key` posts once where the service can tell. Returns the first message's id. */
  post(place: ChatPlace, message: { text: string; files: ToolFile[]; key: string }): Promise<{ messageId: string }>;
  /** `emoji`: the character itself, or its `:name:`. */
  react(place: ChatPlace, messageId: string, emoji: string): Promise<void>;
  /** Opens a thread with a first message; `messageId` absent: on that first message. Returns what the service calls it. */
  openThread(
    place: ChatPlace,
    thread: { messageId?: string; name: string; text: string; key: string },
  ): Promise<{ threadId: string }>;
}
