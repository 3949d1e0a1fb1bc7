/**
 * The platform port: where people are.
 *
 * Receiving: a handler's promise resolves when the thing is durably kept; only then does the platform acknowledge it.
 * Sending: one writer per reply; a `Reply` shows the text in segments, and an approval card closes a segment, so that
 * what comes after an answer stands below the card. Anything posted is kept in `Posts` at once, so that any process,
 * also one started after a crash, goes on with the same reply and posts nothing twice.
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

/** The platform's ids of what a turn has posted, by a key that the platform chooses (`text:0:0`, `card:<id>`). */
export interface Posts {
  all(): Promise<{ key: string; messageId: string }[]>;
  keep(key: string, messageId: string): Promise<void>;
}

export interface Reply {
  /** The open segment's whole text so far, standard Markdown. Resolves when the platform has taken it; never rejects for a passing failure. */
  write(text: string): Promise<void>;
  /** One status line under the text, replaced by the next; an empty string removes it. */
  activity(text: string): Promise<void>;
  /** Posts a card and opens the next segment. Rejects with code `platform.no-route` when nobody can see it. */
  ask(card: ApprovalCard): Promise<void>;
  /** Rewrites a posted card as it is now: settled rows show their outcome without buttons, open rows keep theirs. */
  settle(card: ApprovalCard): Promise<void>;
  /** Posts a question of a tool with a button an option, or rewrites the posted one as it is now. As `ask`, it closes the segment. */
  question(card: QuestionCard): Promise<void>;
  /** The open segment's final text, and files; ends the reply. */
  finish(text: string, files: ToolFile[]): Promise<void>;
  /** Ends the reply visibly as failed; `text` says what happened and what to do. */
  fail(text: string): Promise<void>;
  /** Somebody else goes on with this reply: nothing that still waits here is written any more. Absent where nothing waits. */
  leave?(): Promise<void>;
}

export interface PlatformHandlers {
  /** With a notice the message is not answered, and its author is to be told why. */
  onMessage(message: InboundMessage): Promise<Notice | undefined>;
  onAnswer(answer: InboundAnswer): Promise<AnswerReceipt>;
  onPick(pick: InboundPick): Promise<AnswerReceipt>;
  onCommand(command: InboundCommand): Promise<CommandReceipt>;
  /** A message was edited or deleted; it counts only while it is still queued. */
  onEdited(platform: string, messageId: string, text: string): Promise<void>;
  onDeleted(platform: string, messageId: string): Promise<void>;
}

export interface PlatformHealth {
  isConnected: boolean;
  /** One line a person can act on; with shards, the state of each. */
  detail: string;
}

export interface Platform {
  name: string;
  /** Resolves when messages can come in. */
  connect(handlers: PlatformHandlers, signal: AbortSignal): Promise<void>;
  /** Works without `connect`: a worker writes replies and never receives. */
  reply(target: ReplyTarget, posts: Posts): Reply;
  /** The person as the service knows them now, with their roles; undefined: no longer there. Absent where nobody has roles. */
  lookUp?(person: Author, conversationId: string): Promise<Author | undefined>;
  /** What tools may do in the chat besides answering; works without `connect`. */
  chat?: ChatActions;
  health(): PlatformHealth;
  close(): Promise<void>;
}
