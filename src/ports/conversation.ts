import type { Attachment, InboundMessage, Scope } from "./message.ts";
import type { TurnRecord } from "./turn.ts";

export interface RegisteredConversation {
  scope: Scope;
  userIds: string[];
}

export interface ConversationRegistry {
  note(turn: TurnRecord): Promise<void>;
  list(): Promise<(RegisteredConversation & { id: string })[]>;
}

export interface ConversationsStatus {
  running: number;
  parked: number;
  queued: number;
}

/** What goes on in a conversation: a turn runs, cards or questions wait for people, or nothing. */
export type Work = "running" | "waiting" | "none";

export interface Conversations {
  /** Resolves when the message is durably stored, to false if it was already accepted. What is new in it is added then. */
  accept(message: InboundMessage): Promise<boolean>;
  /** If `overlap` is `steer`, takes the requester's new messages into the running turn. */
  takeSteering(turnId: string, conversationId: string): Promise<InboundMessage[]>;
  wake(turnId: string): Promise<void>;
  /** Ends turns and waiting requests, and resolves to how many: all, or those of which everything was said by `saidBy`. */
  stop(conversationId: string, saidBy?: number): Promise<number>;
  /** Resolves to false if the turn has ended or does not exist. */
  stopTurn(turnId: string): Promise<boolean>;
  /**
   * Handles a message that only says stop: ends the turns here, and what its author asked before and still waits. If there is
   * nothing to stop, resolves to false without storing the message.
   */
  stopFor(message: InboundMessage): Promise<boolean>;
  /**
   * For a message that says `stop` and begins a conversation of its own, in a DM or as a mention in a channel: stops what its
   * author has asked before in the other ones there, and nothing of anybody else. Resolves to the number of requests.
   */
  stopBeside(message: InboundMessage): Promise<number>;
  stopScope(scope: Scope): Promise<number>;
  /**
   * Changes a queued message. A turn that has taken it is told at its next step. If its words are new, calls of the turn that wait
   * for an answer are cancelled: they are for the old words. `remove` stops a turn that consists of only this message. Both resolve
   * to whether a turn has taken the message, now or earlier.
   */
  edit(messageKey: string, text: string, attachments?: Attachment[]): Promise<boolean>;
  remove(messageKey: string): Promise<boolean>;
  /** The platform's messages that wait for a turn, or whose turn has not ended. */
  unanswered(platform: string): Promise<InboundMessage[]>;
  recover(): Promise<void>;
  sweep(now?: number): Promise<void>;
  activeTurnIds(): Promise<ReadonlySet<string>>;
  status(where?: { conversationId?: string; scope?: Scope }): Promise<ConversationsStatus>;
  whenIdle(): Promise<void>;
  /** Starts no new work, and waits for running turns. When `overdue` aborts, they are suspended. */
  close(overdue: AbortSignal): Promise<void>;
}
