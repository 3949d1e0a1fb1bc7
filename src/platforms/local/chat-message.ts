/** The data of the local chat, as stored and as sent to the page: plain JSON. */
import type { AnswerFooter } from "../../ports/answer-footer.ts";
import type { ApprovalCard } from "../../ports/card.ts";
import type { Scope } from "../../ports/message.ts";
import type { QuestionCard } from "../../ports/question.ts";

export interface Person {
  /** Lower-case and derived from the name. Rules and the ledger identify the person by it. */
  id: string;
  name: string;
}

export interface ChatFile {
  id: string;
  name: string;
  mimeType: string;
  bytes: number;
}

/** `receipt` answers a command, or says why a message gets no answer. */
export type ChatMessageType = "message" | "card" | "question" | "receipt";

/** `streaming` means that more text is coming; `waiting`, that people can still answer the card or question. */
export type ChatMessageState = "done" | "streaming" | "failed" | "waiting";

export interface ChatMessage {
  /** A page chooses its messages' ids, so a repeated request adds no duplicate. The agent's derive from the turn. */
  id: string;
  type: ChatMessageType;
  place: Scope;
  /** The id of the thread's first message; null outside threads. */
  thread: string | null;
  author: Person & { isBot: boolean };
  /** What a person typed, or the agent's standard Markdown. */
  text: string;
  at: number;
  state: ChatMessageState;
  isAddressed: boolean;
  isDeleted: boolean;
  editedAt?: number;
  /** What the agent is doing while the message is `streaming`, in plain text. */
  activity: string;
  activitySince?: number;
  card?: ApprovalCard;
  question?: QuestionCard;
  /** Below an answer. Not part of its text. */
  footer?: AnswerFooter;
  command?: string;
  onlyFor?: string;
  files: ChatFile[];
}

export interface PlacedMessage extends ChatMessage {
  sequence: number;
}

export interface StoredMessage extends PlacedMessage {
  /** Sequence number of this message's last change, counted over all messages. Event streams resume from it. */
  revision: number;
  /** Counts the replies that everybody can see in the thread that this message started. */
  replies: number;
  lastReplyAt: number | null;
  waitingCards: number;
}

export const agent: ChatMessage["author"] = { id: "remora", name: "Remora", isBot: true };

/** A finished message of the agent, except for what is given. */
export function chatMessage(said: Pick<ChatMessage, "id" | "place" | "thread"> & Partial<ChatMessage>): ChatMessage {
  return {
    ...{ type: "message", author: agent, text: "", at: Date.now(), state: "done" },
    ...{ isAddressed: false, isDeleted: false, activity: "", files: [], ...said },
  };
}
