/** Conversations: their turns, their messages, and their registry. */
import type { InboundMessage, Scope } from "./message.ts";
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

export interface Conversations {
  /** Resolves when the message is durably kept. Ignores a known message. */
  accept(message: InboundMessage): Promise<void>;
  /** With `overlap: steer`: takes the requester's new messages into the running turn. */
  takeSteering(turnId: string, conversationId: string): Promise<InboundMessage[]>;
  wake(turnId: string): Promise<void>;
  /** Resolves to the number of turns that it ended. */
  stop(conversationId: string): Promise<number>;
  /** Stops because of a message that only says stop. Resolves to false, and does not keep it, when nothing runs. */
  stopFor(message: InboundMessage): Promise<boolean>;
  stopScope(scope: Scope): Promise<number>;
  /** Changes a queued message. `remove` also stops a turn that is only about this message. */
  edit(messageKey: string, text: string): Promise<void>;
  remove(messageKey: string): Promise<void>;
  recover(): Promise<void>;
  sweep(now?: number): Promise<void>;
  activeTurnIds(): Promise<ReadonlySet<string>>;
  status(where?: { conversationId?: string; scope?: Scope }): Promise<ConversationsStatus>;
  whenIdle(): Promise<void>;
  /** Starts nothing new. Suspends turns that still run after `graceMs`. */
  close(graceMs: number): Promise<void>;
}
