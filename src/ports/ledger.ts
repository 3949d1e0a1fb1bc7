/**
 * Durable state that needs an atomic step: accepted messages, turns, tool calls, approvals, grants, posts.
 *
 * An entry has a kind, an id, a state and a JSON body. It is created exactly once for an id, and every later change is
 * a compare-and-set on its state: of several callers that move an entry from the same state, exactly one succeeds.
 * What a resolved promise says is on disk (or in Redis) and survives `kill -9`.
 */

import type { PairingRecord } from "./access.ts";
import type { ApprovalRecord, CardRecord, GrantRecord, GrantState } from "./approval.ts";
import type { ApprovalState } from "./card.ts";
import type { RegisteredConversation } from "./conversation.ts";
import type { DraftRecord, DraftState } from "./draft.ts";
import type { InboundMessage } from "./message.ts";
import type { Origin } from "./origin.ts";
import type { QuestionRecord } from "./question.ts";
import type { ScheduleRecord } from "./schedule.ts";
import type { ToolResult } from "./tool.ts";
import type { TurnRecord, TurnState } from "./turn.ts";
import type { UsageCount } from "./usage.ts";

/** `queued → taken → answered`, or `queued → removed`. */
export type MessageState = "queued" | "taken" | "answered" | "removed";

/**
 * `planned → started → done`; `started → waiting → started` between the attempts of a call that is retried;
 * `started → unknown` when it may have run and nobody knows how it ended. Only in `started` an effect may be under way.
 */
export type CallState = "planned" | "started" | "waiting" | "done" | "unknown";

export interface CardNotice {
  cardId: string;
  turnIds: string[];
  /** Only to be recorded: the card is not to be shown because of it. */
  isQuiet?: boolean;
  /** Whoever made the change has come to its end; a notice told before that is due again. */
  isChanged?: boolean;
}

export interface CallEntry {
  turnId: string;
  callId: string;
  name: string;
  /** Attempts that were started. It only grows, so it also tells whether someone else has taken the call over. */
  attempts: number;
  /** Of the first attempt, or when it was planned; milliseconds since the epoch. */
  startedAt: number;
  /** With `waiting`: when the next attempt is due, in milliseconds since the epoch, and how the last one failed. */
  retryAt?: number;
  failure?: string;
  /** With `done` and `unknown`. */
  result?: ToolResult;
}

/** A file, with the content that was written; without `hash`, everything in a folder, `.` for all of it. */
export interface FileMark {
  /** Relative to the folder, encoded as in effects. */
  path: string;
  hash?: string;
  origins: Origin[];
}

export interface FolderMarks {
  /** The real folder. */
  root: string;
  marks: FileMark[];
}

/** Every kind with its states and body. */
export interface LedgerKinds {
  message: { state: MessageState; body: InboundMessage };
  turn: { state: TurnState; body: TurnRecord };
  call: { state: CallState; body: CallEntry };
  /** Grouped by turn. */
  approval: { state: ApprovalState; body: ApprovalRecord };
  /** Grouped by conversation. */
  card: { state: "made"; body: CardRecord };
  /** Grouped by conversation. */
  grant: { state: GrantState; body: GrantRecord };
  /** A card that changed and must be recorded and shown: written before the change, `told` once people can see it. */
  notice: { state: "due" | "told"; body: CardNotice };
  /** The mark that a decision is recorded: in the feedback file and the event log. Grouped by turn. */
  decision: { state: "recorded"; body: Record<string, never> };
  post: { state: "posted"; body: { messageId: string } };
  /** One a day and subject; grouped by subject (usage.ts). */
  usage: { state: "counted"; body: UsageCount };
  /** `open → answered | withdrawn → closed`, the last once its card says so. Grouped by turn. */
  question: { state: "open" | "answered" | "withdrawn" | "closed"; body: QuestionRecord };
  /** Grouped by conversation. */
  draft: { state: DraftState; body: DraftRecord };
  /** One for a real folder that holds files of which somebody else may have written something. */
  "file-origins": { state: "kept"; body: FolderMarks };
  /** Grouped by scope. */
  schedule: { state: "active" | "ended"; body: ScheduleRecord };
  /** Who may write directly; grouped by platform. */
  pairing: { state: "open" | "paired"; body: PairingRecord };
  /** Grouped by scope. */
  conversation: { state: "known"; body: RegisteredConversation };
}

export type LedgerKind = keyof LedgerKinds;

export interface LedgerEntry<K extends LedgerKind> {
  id: string;
  state: LedgerKinds[K]["state"];
  body: LedgerKinds[K]["body"];
  /** What entries are listed by: a conversation, a turn or a card. */
  group: string;
  /** Order of creation within the ledger. */
  sequence: number;
  createdAt: number;
  updatedAt: number;
}

export interface ListOptions<K extends LedgerKind> {
  states?: LedgerKinds[K]["state"][];
  group?: string;
  /** Newest first with `newest`; default oldest first. */
  order?: "oldest" | "newest";
  limit?: number;
}

export interface Ledger {
  /** False, and nothing changed, when the id is taken. */
  create<K extends LedgerKind>(
    kind: K,
    id: string,
    entry: { state: LedgerKinds[K]["state"]; body: LedgerKinds[K]["body"]; group: string },
  ): Promise<boolean>;
  get<K extends LedgerKind>(kind: K, id: string): Promise<LedgerEntry<K> | undefined>;
  /**
   * Moves the entry from one of `from` to `to` and returns it as it is now; undefined, and nothing changed, when it is
   * in another state or missing. `change` makes the new body from the stored one, must be pure, and may be called again;
   * returning undefined from it refuses the step. `from` may contain `to`: that is a guarded change of the body.
   */
  transition<K extends LedgerKind>(
    kind: K,
    id: string,
    from: LedgerKinds[K]["state"][],
    to: LedgerKinds[K]["state"],
    change?: (body: LedgerKinds[K]["body"]) => LedgerKinds[K]["body"] | undefined,
  ): Promise<LedgerEntry<K> | undefined>;
  list<K extends LedgerKind>(kind: K, options: ListOptions<K>): Promise<LedgerEntry<K>[]>;
  /** Removes entries in these states that were last changed before `before`; returns how many. */
  prune<K extends LedgerKind>(kind: K, states: LedgerKinds[K]["state"][], before: number): Promise<number>;
  close(): Promise<void>;
}
