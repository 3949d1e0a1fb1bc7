/** What people said before a message: in its thread, in its channel, and in messages that it links to. */
import type { ChatLine } from "./chat.ts";

/** `root` is the first message of the thread. */
export type EarlierKind = "root" | "thread" | "channel" | "linked";

export interface EarlierLine extends Omit<ChatLine, "replies"> {
  kind: EarlierKind;
  /** The agent said it itself. */
  isOwn: boolean;
  /** It contains words that its author may not have written, such as a forwarded message. */
  isQuoting?: true;
}

export interface EarlierWanted {
  /** The text of all messages of the turn, in which links to other messages are found. */
  said: string;
  /** The newest message that the conversation already knows. Only newer ones are wanted. Does not apply to links. */
  since?: string;
  /** Only messages after this time are wanted, in milliseconds since the epoch. Does not apply to links. */
  after?: number;
  /** For a message in a thread; 0 turns it off. The thread's first message comes in addition. */
  maxMessages: number;
  /** For a message outside threads; 0 turns it off. */
  channelMessages: number;
  channelMs: number;
}

export interface Earlier {
  /** Oldest first. The newest ones, if there are more than wanted. */
  lines: EarlierLine[];
  /** Number of wanted lines that are missing between the thread's first message and the others, as far as known. */
  leftOut: number;
  /** What could not be read and why, one sentence each, for the model and the log. */
  notes: string[];
}

/** The part of `Earlier` that a turn keeps and the model reads. */
export type Heard = Earlier;
