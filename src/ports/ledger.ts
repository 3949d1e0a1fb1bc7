/**
 * The ledger keeps durable state that needs atomic steps: messages, turns, tool calls, approvals, grants, posts.
 *
 * An entry has a kind, an id, a state and a JSON body. It is created once per id. Every later change is a compare-and-set on
 * its state: of several callers that move an entry from the same state, exactly one succeeds. Once a promise resolves, the
 * change is on disk (or in Redis) and survives `kill -9`.
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
 * `planned → started → done`; `started → waiting → started` between attempts; `started → unknown` when it may have run and
 * nobody knows the outcome. Only in `started` an effect can be happening.
 */
export type CallState = "planned" | "started" | "waiting" | "done" | "unknown";

export interface CardNotice {
  cardId: string;
  turnIds: string[];
  /** Only record the change; don't update the card. */
  isQuiet?: boolean;
  /** The change is complete. A notice that was told earlier becomes due again. */
  isChanged?: boolean;
}

export interface CallEntry {
  turnId: string;
  callId: string;
  name: string;
  /** Started attempts. Only grows, so it also reveals that another process has taken over the call. */
  attempts: number;
  /** Start of the first attempt, or the time of planning; milliseconds since the epoch. */
  startedAt: number;
  /** With `waiting`: due time of the next attempt in milliseconds since the epoch, and the last failure. */
  retryAt?: number;
  failure?: string;
  result?: ToolResult;
}

/** A file with its content. Without `hash`: everything in a folder; `.`: the whole folder. */
export interface FileMark {
  /** Relative to the folder, encoded as in effects. */
  path: string;
  hash?: string;
  origins: Origin[];
}

export interface FolderMarks {
  root: string;
  marks: FileMark[];
}

/** Grouped: approvals, decisions, questions by turn; cards, grants, drafts by conversation; schedules, conversations by scope. */
export interface LedgerKinds {
  message: { state: MessageState; body: InboundMessage };
  turn: { state: TurnState; body: TurnRecord };
  call: { state: CallState; body: CallEntry };
  approval: { state: ApprovalState; body: ApprovalRecord };
  card: { state: "made"; body: CardRecord };
  grant: { state: GrantState; body: GrantRecord };
  /** Written before a card changes; `told` once the change is recorded and shown. */
  notice: { state: "due" | "told"; body: CardNotice };
  /** Marks a decision as recorded in the feedback file and the event log. */
  decision: { state: "recorded"; body: Record<string, never> };
  post: { state: "posted"; body: { messageId: string } };
  /** One per day and subject; grouped by subject. */
  usage: { state: "counted"; body: UsageCount };
  /** `open → answered | withdrawn → closed`; `closed` once the card shows it. */
  question: { state: "open" | "answered" | "withdrawn" | "closed"; body: QuestionRecord };
  draft: { state: DraftState; body: DraftRecord };
  /** One per real folder with files that hold text by others. */
  "file-origins": { state: "kept"; body: FolderMarks };
  schedule: { state: "active" | "ended"; body: ScheduleRecord };
  pairing: { state: "open" | "paired"; body: PairingRecord };
  conversation: { state: "known"; body: RegisteredConversation };
}

export type LedgerKind = keyof LedgerKinds;

export interface LedgerEntry<K extends LedgerKind> {
  id: string;
  state: LedgerKinds[K]["state"];
  body: LedgerKinds[K]["body"];
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
  /** Resolves to false, and changes nothing, when the id exists. */
  create<K extends LedgerKind>(
    kind: K,
    id: string,
    entry: { state: LedgerKinds[K]["state"]; body: LedgerKinds[K]["body"]; group: string },
  ): Promise<boolean>;
  get<K extends LedgerKind>(kind: K, id: string): Promise<LedgerEntry<K> | undefined>;
  /**
   * Undefined, and nothing changes, when the entry is missing or not in a state of `from`. `change` must be pure and can be
   * called more than once; it refuses the step by returning undefined. `from` may contain `to`, to change only the body.
   */
  transition<K extends LedgerKind>(
    kind: K,
    id: string,
    from: LedgerKinds[K]["state"][],
    to: LedgerKinds[K]["state"],
    change?: (body: LedgerKinds[K]["body"]) => LedgerKinds[K]["body"] | undefined,
  ): Promise<LedgerEntry<K> | undefined>;
  list<K extends LedgerKind>(kind: K, options: ListOptions<K>): Promise<LedgerEntry<K>[]>;
  /** Removes entries in these states last changed before `before`. Resolves to their number. */
  prune<K extends LedgerKind>(kind: K, states: LedgerKinds[K]["state"][], before: number): Promise<number>;
  close(): Promise<void>;
}
