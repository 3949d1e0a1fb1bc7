/** What is below an answer: one quiet line and buttons. Never part of the answer's text, history or memory. */
import type { Author } from "./message.ts";

export type FooterChoice = "details" | "retry" | "feedback";

export interface AnswerFooter {
  turnId: string;
  /** One line of plain text without markup. May be empty. */
  line: string;
  choices: FooterChoice[];
}

/** `good` and `bad` rate the answer; `withdraw` takes the person's rating back. */
export type FooterAction = "details" | "retry" | "good" | "bad" | "withdraw";

/** A click below an answer. Authority comes only from `by`, never from `turnId`. */
export interface InboundFooterClick {
  platform: string;
  /** Absent for a reaction, which names only the message. */
  turnId?: string;
  /** The message of the answer. */
  messageId?: string;
  action: FooterAction;
  /** For a rating: what the person wants to say about the answer. */
  text?: string;
  /** For `withdraw`: only if the person's rating is this one, because a removed reaction may not be the latest. */
  withdraws?: "good" | "bad";
  /** A rating that was found later. It never replaces a sentence, or a rating that the person has taken back. */
  isMissed?: true;
  by: Author;
  at: number;
}

/** `text` is standard Markdown. A long record is a file. */
export interface FooterReceipt {
  accepted: boolean;
  text: string;
  file?: { name: string; text: string };
}
