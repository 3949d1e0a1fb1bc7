/**
 * A platform must acknowledge an event only after the handler's promise has resolved, because only then is the event durably
 * stored. Each reply has one writer. `Posts` stores every post immediately, so that another process can resume the reply
 * without posting twice.
 */
import type { ApprovalCard } from "./card.ts";
import type { ChatActions } from "./chat.ts";
import type {
  AnswerReceipt,
  Attachment,
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
  /**
   * Writes the complete text since the last card or question, in Markdown. Resolves when the platform has accepted it. Never
   * rejects for a transient failure.
   */
  write(text: string): Promise<void>;
  /** Shows one status line below the text, in place of the previous one. An empty string removes it. */
  activity(text: string): Promise<void>;
  /** Posts a card and opens the next segment. Rejects with code `platform.no-route` if nobody can see the card. */
  ask(card: ApprovalCard): Promise<void>;
  /** Updates a posted card: settled rows show their outcome without buttons, open rows keep their buttons. */
  settle(card: ApprovalCard): Promise<void>;
  /** Posts a tool's question with one button per option, or updates the posted one. Closes the segment, like `ask`. */
  question(card: QuestionCard): Promise<void>;
  finish(text: string, files: ToolFile[]): Promise<void>;
  /** Ends the reply visibly as failed. `text` says what happened and what to do. */
  fail(text: string): Promise<void>;
  /** Drops pending writes, because another process resumes the reply. Absent if writes are never pending. */
  leave?(): Promise<void>;
}

export interface PlatformHandlers {
  /** Resolves to a notice if the message is not answered; the platform must show it to the author. */
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
  /** Resolves when the platform can receive messages. */
  connect(handlers: PlatformHandlers, signal: AbortSignal): Promise<void>;
  /** Works without `connect`, because a worker process writes replies but receives no messages. */
  reply(target: ReplyTarget, posts: Posts): Reply;
  /** Finds the person with their current roles. Undefined if they have left. Absent on platforms without roles. */
  lookUp?(person: Author, conversationId: string): Promise<Author | undefined>;
  chat?: ChatActions;
  /**
   * Opens an attachment that has a `source`. Works without `connect`. Rejects with a `RemoraError` whose message says what to
   * do if the file was deleted or the service refuses it.
   */
  openFile?(attachment: Attachment, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
  health(): PlatformHealth;
  close(): Promise<void>;
}
