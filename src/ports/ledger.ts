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
 * `planned → started → done`; `started → waiting → started` between attempts; `started → unknown` if the call may have run
 * and nobody knows the outcome. The call can have effects only in `started`.
 */
export type CallState = "planned" | "started" | "waiting" | "done" | "unknown";

export interface CardNotice {
  cardId: string;
  turnIds: string[];
  /** Only record the change; don't update the card. */
  isQuiet?: boolean;
  /** The change is complete. A notice that was already told becomes due again. */
  isChanged?: boolean;
}

export interface CallEntry {
  turnId: string;
  callId: string;
  name: string;
  /** Number of started attempts. It only grows, so it also reveals that another process has taken over the call. */
  attempts: number;
  /** Start of the first attempt, or the time of planning; milliseconds since the epoch. */
  startedAt: number;
  /** Present in state `waiting`. `retryAt` is when the next attempt is due, in milliseconds since the epoch. */
  retryAt?: number;
  failure?: string;
  result?: ToolResult;
}

/** Marks a file by its content. Without `hash`, marks everything in a folder; `.` is the complete working folder. */
export interface FileMark {
  /** Relative to the folder, encoded like `RawPath`. */
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
  /** Written before a card changes. In state `told`, the change is recorded and shown. */
  notice: { state: "due" | "told"; body: CardNotice };
  /** Marks a decision as recorded in the feedback file and the event log. */
  decision: { state: "recorded"; body: Record<string, never> };
  post: { state: "posted"; body: { messageId: string } };
  /** One per day and subject; grouped by subject. */
  usage: { state: "counted"; body: UsageCount };
  /** `open → answered | withdrawn → closed`; `closed` once the card shows the outcome. */
  question: { state: "open" | "answered" | "withdrawn" | "closed"; body: QuestionRecord };
  draft: { state: DraftState; body: DraftRecord };
  /** One for each real folder with files that contain other people's text. */
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
  /** Resolves to false, and changes nothing, if the id already exists. */
  create<K extends LedgerKind>(
    kind: K,
    id: string,
    entry: { state: LedgerKinds[K]["state"]; body: LedgerKinds[K]["body"]; group: string },
  ): Promise<boolean>;
  get<K extends LedgerKind>(kind: K, id: string): Promise<LedgerEntry<K> | undefined>;
  /**
   * Resolves to undefined, and changes nothing, if the entry is missing or not in one of the states `from`. `change` must be
   * pure, because it may be called more than once; it refuses the transition by returning undefined. `from` may contain `to`,
   * to change only the body.
   */
  transition<K extends LedgerKind>(
    kind: K,
    id: string,
    from: LedgerKinds[K]["state"][],
    to: LedgerKinds[K]["state"],
    change?: (body: LedgerKinds[K]["body"]) => LedgerKinds[K]["body"] | undefined,
  ): Promise<LedgerEntry<K> | undefined>;
  list<K extends LedgerKind>(kind: K, options: ListOptions<K>): Promise<LedgerEntry<K>[]>;
  /** Removes entries in these states that were last changed before `before`. Resolves to their number. */
  prune<K extends LedgerKind>(kind: K, states: LedgerKinds[K]["state"][], before: number): Promise<number>;
  close(): Promise<void>;
}
