/**
 * A platform must acknowledge an event only after the handler's promise has resolved, when the event is durably kept. Each
 * reply has one writer. `Posts` keeps every post at once, so that another process can resume the reply without posting twice.
 */
import type { ApprovalCard } from "./card.ts";
import type { ChatActions } from "./chat.ts";
import type {
  AnswerReceipt,
  Author,
  CommandReceipt,
  InboundAnswer,
  InboundCommand,
  InboundMessage,
  InboundPick,
  Notice,
  ReplyTarget,
} from "./message.ts";
import type { QuestionCard } from "./question.ts";
import type { ToolFile } from "./tool.ts";

/** Message ids of a turn's posts, by keys that the platform chooses (`text:0:0`, `card:<id>`). */
export interface Posts {
  all(): Promise<{ key: string; messageId: string }[]>;
  keep(key: string, messageId: string): Promise<void>;
}

export interface Reply {
  /** The open segment's whole text so far, in standard Markdown. Resolves when the platform has taken it. Never rejects for a transient failure. */
  write(text: string): Promise<void>;
  /** One status line below the text; the next one replaces it. An empty string removes it. */
  activity(text: string): Promise<void>;
  /** Posts a card and opens the next segment. Rejects with code `platform.no-route` when nobody can see it. */
  ask(card: ApprovalCard): Promise<void>;
  /** Updates a posted card: settled rows show their outcome without buttons, open rows keep theirs. */
  settle(card: ApprovalCard): Promise<void>;
  /** Posts a tool's question with one button per option, or updates the posted one. Closes the segment, like `ask`. */
  question(card: QuestionCard): Promise<void>;
  finish(text: string, files: ToolFile[]): Promise<void>;
  /** Ends the reply visibly as failed. `text` says what happened and what to do. */
  fail(text: string): Promise<void>;
  /** Drops pending writes, because another process resumes the reply. Absent when nothing is ever pending. */
  leave?(): Promise<void>;
}

export interface PlatformHandlers {
  /** Resolves to a notice when the message is not answered; the platform must show it to the author. */
  onMessage(message: InboundMessage): Promise<Notice | undefined>;
  onAnswer(answer: InboundAnswer): Promise<AnswerReceipt>;
  onPick(pick: InboundPick): Promise<AnswerReceipt>;
  onCommand(command: InboundCommand): Promise<CommandReceipt>;
  /** Takes effect only while the message is queued. */
  onEdited(platform: string, messageId: string, text: string): Promise<void>;
  onDeleted(platform: string, messageId: string): Promise<void>;
}

export interface PlatformHealth {
  isConnected: boolean;
  /** One line that people can act on; with shards, the state of each. */
  detail: string;
}

export interface Platform {
  name: string;
  /** Resolves when messages can come in. */
  connect(handlers: PlatformHandlers, signal: AbortSignal): Promise<void>;
  /** Works without `connect`: a worker writes replies and never receives. */
  reply(target: ReplyTarget, posts: Posts): Reply;
  /** The person with their present roles; undefined: they have left. Absent on platforms without roles. */
  lookUp?(person: Author, conversationId: string): Promise<Author | undefined>;
  chat?: ChatActions;
  health(): PlatformHealth;
  close(): Promise<void>;
}
