/**
 * Lets tools act in a chat beyond replying. Actions reject with `platform.unsupported` if the service can't do them,
 * and with `platform.no-access` if the requester can't see the channel. `channel` never names a DM.
 */
import type { LoggedMessage } from "./chat-log.ts";
import type { Attachment, Author } from "./message.ts";
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

/** Who can read a place, compared with the readers of a conversation. If in doubt, counts as private. */
export interface Audience {
  /** Everybody who can read the conversation can read the place. A direct message has one reader, its person. */
  isOpenHere: boolean;
  /** Not everybody in the workspace or server can read it, and it is not the conversation's own channel. */
  isRestricted: boolean;
}

export interface SeenChannel extends Audience {
  id: string;
  name: string;
  /** Its server, where a person can have several. */
  spaceId?: string;
}

export interface ChatQuery {
  text: string;
  /** A person's name, id or mention. */
  author?: string;
  /** Milliseconds since 1970. */
  after?: number;
  before?: number;
  limit: number;
}

/** `channel` is the channel's name, and `link` the address of the message. */
export interface FoundLine extends Pick<ChatLine, "id" | "text" | "at"> {
  author: { id: string; name: string };
  channel: string;
  link: string;
}

/** On whose behalf the service's own search searches, and where. */
export interface ServiceSearch extends Omit<ChatPlace, "channel"> {
  /** The person's messages that ask for it, by the platform's ids. */
  messageIds: readonly string[];
  /** What `channels` has listed, also what not everybody who reads the answer can read. */
  listed: readonly SeenChannel[];
  /** Only this one of `listed` is wanted. */
  channel?: SeenChannel;
}

export interface FoundByService {
  /** Best first. May be of channels that nobody has asked for. */
  messages: LoggedMessage[];
  /** Channels of `messages` that `channels` does not list, and that the requester can read all the same. */
  others: SeenChannel[];
  /** Why it did not search, or not everything: a sentence without its end. */
  notice?: string;
}

export interface ChatActions {
  /** The channels that the requester can see now, without DMs. If in doubt, leaves a channel out. */
  channels(place: Omit<ChatPlace, "channel">): Promise<SeenChannel[]>;
  /** Who can read the channel that `channel` names. Rejects with `platform.no-access` as reading it does. */
  audience(place: ChatPlace): Promise<Audience & { name: string }>;
  /** The current name of a person; the id if there is none. Absent if every message carries the name. */
  nameOf?(userId: string): Promise<string>;
  /** Converts the service's markup in a stored text to readable text. Absent if stored texts are already readable. */
  readable?(text: string): Promise<string>;
  /** The service's own search. Absent if there is none. */
  search?(query: ChatQuery, asked: ServiceSearch): Promise<FoundByService>;
  /** Returns the newest `limit` messages (at most 200), oldest first. `before` selects only older messages. */
  history(place: ChatPlace, options: { limit: number; before?: string }): Promise<ChatLine[]>;
  /** The files of a message. Those that can be opened (`Platform.openFile`) have a `source`. */
  files?(place: ChatPlace, messageId: string): Promise<Attachment[]>;
  /** Posts Markdown and pings nobody. `key` prevents duplicate posts if the service supports that. */
  post(place: ChatPlace, message: { text: string; files: ToolFile[]; key: string }): Promise<{ messageId: string }>;
  /** `emoji` is the character itself or its `:name:`. */
  react(place: ChatPlace, messageId: string, emoji: string): Promise<void>;
  /** Opens a thread on the message `messageId`, or on a new message with `text`. Returns the thread's id. */
  openThread(
    place: ChatPlace,
    thread: { messageId?: string; name: string; text: string; key: string },
  ): Promise<{ threadId: string }>;
}
