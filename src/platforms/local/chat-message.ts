/** The data of the local chat, as it is stored and as the page receives it. Plain JSON. */
import type { ApprovalCard } from "../../ports/card.ts";
import type { Scope } from "../../ports/message.ts";
import type { QuestionCard } from "../../ports/question.ts";

export interface Person {
  /** Lower-case, derived from the name. Identifies the person in rules and in the ledger. */
  id: string;
  name: string;
}

export interface ChatFile {
  id: string;
  name: string;
  mimeType: string;
  bytes: number;
}

/** `receipt` is the answer to a command, or the reason why a message gets no answer. */
export type ChatMessageType = "message" | "card" | "question" | "receipt";

/** `streaming` means that more text is coming; `waiting`, that people can still answer the card or question. */
export type ChatMessageState = "done" | "streaming" | "failed" | "waiting";

export interface ChatMessage {
  /** A person's page chooses the id, so a repeated request is the same message. The agent's ids derive from the turn. */
  id: string;
  type: ChatMessageType;
  place: Scope;
  /** The id of the thread's first message; null outside threads. */
  thread: string | null;
  author: Person & { isBot: boolean };
  /** A person's text as typed; the agent's text as standard Markdown. */
  text: string;
  at: number;
  state: ChatMessageState;
  isAddressed: boolean;
  isDeleted: boolean;
  editedAt?: number;
  activity: string;
  card?: ApprovalCard;
  question?: QuestionCard;
  command?: string;
  onlyFor?: string;
  files: ChatFile[];
}

export interface StoredMessage extends ChatMessage {
  sequence: number;
  /** Position of this message's last change among the changes of all messages. Event streams resume from it. */
  revision: number;
  /** Number of replies that everybody can see, in the thread that this message started. */
  replies: number;
  lastReplyAt: number | null;
  waitingCards: number;
}

export const agent: ChatMessage["author"] = { id: "remora", name: "Remora", isBot: true };
