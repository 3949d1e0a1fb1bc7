/** Conversations: what runs and waits in them, and which there are. */
import type { InboundMessage, Scope } from "./message.ts";
import type { TurnRecord } from "./turn.ts";

export interface RegisteredConversation {
  scope: Scope;
  /** Ids of everyone whose messages were part of a turn. */
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
  /** Resolves when the message is durably kept. The same message again changes nothing. */
  accept(message: InboundMessage): Promise<void>;
  /** With `overlap: steer`: takes what the person who asked has said meanwhile into the running turn. */
  takeSteering(turnId: string, conversationId: string): Promise<InboundMessage[]>;
  wake(turnId: string): Promise<void>;
  /** Returns how many turns it ended. */
  stop(conversationId: string): Promise<number>;
  /** The same for a message that says no more than that; false, and it is not kept, when there is nothing to end. */
  stopFor(message: InboundMessage): Promise<boolean>;
  /** The same for all conversations of a scope, as the threads of a channel. */
  stopScope(scope: Scope): Promise<number>;
  /** A message that is still queued is replaced or removed; one that is being worked on is left alone (edit) or stopped (delete). */
  edit(messageKey: string, text: string): Promise<void>;
  remove(messageKey: string): Promise<void>;
  recover(): Promise<void>;
  /** Sees to what nobody works on: messages that could not be before, as when the disk was full, and turns of a process that died. */
  sweep(now?: number): Promise<void>;
  /** Ids of the turns that have not ended. */
  activeTurnIds(): Promise<ReadonlySet<string>>;
  /** Of one conversation, of all conversations of a scope, or of all. */
  status(where?: { conversationId?: string; scope?: Scope }): Promise<ConversationsStatus>;
  /** Resolves when no lane has work. */
  whenIdle(): Promise<void>;
  /** Takes nothing new; running turns are given `graceMs`, then suspended for the next start. */
  close(graceMs: number): Promise<void>;
}
