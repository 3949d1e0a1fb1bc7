/** What people said before a message: in its thread, in its channel, and in messages that it links to. */
import type { ChatLine } from "./chat.ts";
import type { Author } from "./message.ts";

/** `root` is the first message of the thread. */
export type EarlierKind = "root" | "thread" | "channel" | "linked";

export interface EarlierLine extends Omit<ChatLine, "replies"> {
  kind: EarlierKind;
  /** True if the agent wrote it. */
  isOwn: boolean;
  /** It contains words that its author may not have written, such as a forwarded message. */
  isQuoting?: true;
  /** Who wrote the message that it answers, if the text quotes that. */
  quoted?: Author;
}

export interface EarlierWanted {
  /** The text of all messages of the turn, which is searched for links to other messages. */
  said: string;
  /** The newest message that the conversation already knows. Only newer ones are wanted. Does not apply to links. */
  since?: string;
  /** Only messages after this time are wanted, in milliseconds since the epoch. Does not apply to links. */
  after?: number;
  /** For a message in a thread, not counting the thread's first message; 0 turns this off. */
  maxMessages: number;
  /** For a message outside threads; 0 turns this off. */
  channelMessages: number;
  channelMs: number;
}

export interface Earlier {
  /** Oldest first. If there are more than wanted, only the newest. */
  lines: EarlierLine[];
  /** Number of omitted lines between the thread's first message and the others, as far as known. */
  leftOut: number;
  /** What could not be read and why, one sentence each, for the model and the log. */
  notes: string[];
  /** Name and id of the channel that the author is looking at, if they and the agent can read it. The name is others' words. */
  lookingAt?: string;
}

/** The part of `Earlier` that a turn keeps and the model reads. */
export type Heard = Earlier;
