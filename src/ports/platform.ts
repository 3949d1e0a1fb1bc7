/**
 * A platform must acknowledge an event only after the handler has resolved: only then is the event durably stored.
 * `Posts` records every post immediately so that another process can resume a reply without posting twice.
 */
import { RemoraError } from "../lib/errors.ts";
import type { AnswerFooter, FooterReceipt, InboundFooterClick } from "./answer-footer.ts";
import type { ApprovalCard, CardNote } from "./card.ts";
import type { ChatActions } from "./chat.ts";
import type { Earlier, EarlierWanted } from "./earlier.ts";
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
import type { Progress } from "./progress.ts";
import type { QuestionCard } from "./question.ts";
import type { Reach } from "./reach.ts";
import type { ToolFile } from "./tool.ts";

/** Message ids of a turn's posts, by keys that the platform chooses (`text:0:0`, `card:<id>`, which anything may follow after a colon). */
export interface Posts {
  all(): Promise<{ key: string; messageId: string }[]>;
  keep(key: string, messageId: string): Promise<void>;
  /**
   * True if another process may continue the reply by now, because this one stalled. Ask right before each write: what this
   * process still wants to show is older. Absent if no other process can.
   */
  isLost?(): boolean;
}

/** True if the service accepts nothing at the moment (unreachable, 5xx, a refused token). Call again later. */
export function isPlatformAway(thrown: unknown): boolean {
  return (thrown instanceof RemoraError && thrown.code === "platform.away") || isReplyLost(thrown);
}

/** True if nothing was written, because of `Posts.isLost`. */
export function isReplyLost(thrown: unknown): boolean {
  return thrown instanceof RemoraError && thrown.code === "platform.reply-lost";
}

/** The level at which to log why something was not shown. It is no problem if another process shows it. */
export function unshownLevel(thrown: unknown): "info" | "warn" {
  return isReplyLost(thrown) ? "info" : "warn";
}

/**
 * True if nobody would see the message there, for good: the channel is gone, closed or forbidden, or the service refuses it for
 * a reason that nobody knows. `plain` ends the sentence "I can't write in #x: ".
 */
export function isNoRoute(thrown: unknown): thrown is RemoraError {
  return thrown instanceof RemoraError && thrown.code === "platform.no-route";
}

/**
 * While the service accepts nothing, `ask`, `note`, `question`, `finish` and `fail` reject with code `platform.away`. The
 * same call later, from any process, continues where the first one stopped and posts nothing twice.
 */
export interface Reply {
  /** Replaces the Markdown since the last card or question. Never rejects for a transient failure. */
  write(text: string): Promise<void>;
  /**
   * What follows may repeat words of others, so from now on the service must not fetch an address in it by itself, as for a
   * preview: the address itself could carry something out. Absent where the service never does that in an answer.
   */
  avoidPreviews?(): void;
  /**
   * Shows what the turn is doing, in place of the previous progress. Called at every change and at least every ten seconds
   * while the turn works, so that indicators can be renewed. Must not reject, and must not delay the text.
   */
  progress(progress: Progress): Promise<void>;
  /** Posts a card and opens the next segment. Rejects with code `platform.no-route` if nobody can see the card. */
  ask(card: ApprovalCard): Promise<void>;
  /** Updates a posted card. Only open rows keep their buttons. */
  settle(card: ApprovalCard): Promise<void>;
  /** Posts one line below what is there, once per key. Pings exactly the people and roles that it names. Resolves to its id. */
  note(note: CardNote): Promise<string>;
  /** Posts a tool's question, or updates the posted one. Opens the next segment, like `ask`. Posts no closed question. */
  question(card: QuestionCard): Promise<void>;
  /**
   * If the service refuses the footer, the text appears without it. `notes` are below the text. They must be in a message,
   * also if the text is so long that it goes into a file.
   */
  finish(text: string, files: ToolFile[], footer?: AnswerFooter, notes?: string): Promise<void>;
  /** Shows `reason` like the notes of `finish`. */
  fail(text: string, reason: string, footer?: AnswerFooter): Promise<void>;
  /** Ends the open segment and removes the progress, because the turn waits for people. */
  park(): Promise<void>;
  /** Drops pending writes, because another process resumes the reply. */
  leave?(): Promise<void>;
}

export interface PlatformHandlers {
  /** If the message is not answered, resolves to a notice that the platform must show to the author. */
  onMessage(message: InboundMessage): Promise<Notice | undefined>;
  onAnswer(answer: InboundAnswer): Promise<AnswerReceipt>;
  onPick(pick: InboundPick): Promise<AnswerReceipt>;
  onCommand(command: InboundCommand): Promise<CommandReceipt>;
  /** Clicks and reactions below an answer. */
  onFooter(click: InboundFooterClick): Promise<FooterReceipt>;
  /**
   * More is known of a message: it was edited, or came in two events. `attachments` are all that it has now; absent if they stay.
   * A message that waits becomes this; a turn that has taken it is told at its next step, if it is news to people. Also of messages that
   * were answered, or that the agent has only read beside others. Of any other, it has no effect.
   */
  onEdited(platform: string, messageId: string, text: string, attachments?: Attachment[]): Promise<void>;
  onDeleted(platform: string, messageId: string): Promise<void>;
  /** The platform's messages that wait for a turn, or whose turn has not ended. */
  unanswered(platform: string): Promise<InboundMessage[]>;
}

export interface PlatformHealth {
  isConnected: boolean;
  detail: string;
}

export interface Platform {
  name: string;
  connect(handlers: PlatformHandlers, signal: AbortSignal): Promise<void>;
  /** Works without `connect`, because a worker process writes replies but receives no messages. */
  reply(target: ReplyTarget, posts: Posts): Reply;
  /** A person has ended the conversation; its next message begins a new one. Absent where nothing shows that. */
  ended?(conversationId: string): Promise<void>;
  /** Undefined if the person has left. Absent on platforms without roles. */
  lookUp?(person: Author, conversationId: string): Promise<Author | undefined>;
  /** Whether the person belongs to the server or workspace, about now. Absent where everybody who can write to the agent does. */
  isInSpace?(person: Author, spaceId: string): Promise<boolean>;
  /** People rate answers by reactions, which name only the message. */
  isRatedByReaction?: boolean;
  /** Checks now whether the person can read the conversation. If in doubt, resolves to false. */
  mayRead?(conversationId: string, person: Author): Promise<boolean>;
  chat?: ChatActions;
  reach: Reach;
  /**
   * Reads what was said before the message, only where the message's author can read. Works before `connect`. After an
   * abort, soon resolves with what it has read. Rejects with a `RemoraError` if nothing could be read.
   */
  earlier?(message: InboundMessage, wanted: EarlierWanted, signal: AbortSignal): Promise<Earlier>;
  /**
   * Opens an attachment that has a `source`. Works without `connect`. Rejects with a `RemoraError` whose message says what to
   * do if the file was deleted or the service refuses it.
   */
  openFile?(attachment: Attachment, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Reads a message again, and reports like an event if it was edited or deleted. Resolves once that is stored, or at once if
   * this process receives no messages. Never rejects.
   */
  lookAgain?(message: InboundMessage): Promise<void>;
  /** Asks the service whether the token still works. The answer is part of `health`. Rejects if there is none. */
  probe?(signal: AbortSignal): Promise<void>;
  health(): PlatformHealth;
  /** Call when the process is about to end. From then on, all requests to the service fail at once. */
  hurry?(): void;
  close(): Promise<void>;
}
