/** What the local chat is made of, as it is stored and as the page gets it. Plain JSON. */
import type { ApprovalCard } from "../../ports/approval.ts";
import type { Scope } from "../../ports/message.ts";
import type { QuestionCard } from "../../ports/question.ts";

export interface Person {
  /** Lower-case, made from the name; what rules and the ledger call the person. */
  id: string;
  name: string;
}

export interface ChatFile {
  id: string;
  name: string;
  mimeType: string;
  bytes: number;
}

/**
 * - `message`: said by a person or the agent. - `card`: an approval card. - `question`: what a tool asks.
 * - `receipt`: the answer to a command, or why a message is not answered.
 */
export type ChatMessageType = "message" | "card" | "question" | "receipt";

/** `streaming`: more is coming. `waiting`: a card or question that somebody can still answer. */
export type ChatMessageState = "done" | "streaming" | "failed" | "waiting";

export interface ChatMessage {
  /** Of people: made by their page, so that a repeated request is the same message. Of the agent: made from the turn. */
  id: string;
  type: ChatMessageType;
  place: Scope;
  /** The id of the message that opened the thread; null outside threads. */
  thread: string | null;
  author: Person & { isBot: boolean };
  /** Of people: as they typed it. Of the agent: standard Markdown. */
  text: string;
  at: number;
  state: ChatMessageState;
  /** The agent was meant. */
  isAddressed: boolean;
  isDeleted: boolean;
  editedAt?: number;
  /** One line about what is being done; empty when nothing is. */
  activity: string;
  card?: ApprovalCard;
  question?: QuestionCard;
  /** With a receipt: the command as it was typed. */
  command?: string;
  /** Only this person sees it. */
  onlyFor?: string;
  files: ChatFile[];
}

/** A message with its place in the order of all messages and changes. */
export interface StoredMessage extends ChatMessage {
  /** Order of creation. */
  sequence: number;
  /** Order of the last change over all messages: what an event stream goes on from. */
  revision: number;
  /** Replies in the thread it opened, those that everybody sees. */
  replies: number;
  lastReplyAt: number | null;
  /** Cards in that thread that wait for an answer. */
  waitingCards: number;
}

export const agent: ChatMessage["author"] = { id: "remora", name: "Remora", isBot: true };
