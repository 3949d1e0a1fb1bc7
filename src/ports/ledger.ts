/**
 * Durable state that needs atomic steps. An entry is created once per id. Every later change is a compare-and-set on
 * its state: if several callers move an entry from the same state, exactly one succeeds. Once a promise resolves, the
 * change is on disk (or in Redis) and survives `kill -9`.
 */
import type { PairingRecord } from "./access.ts";
import type { AccountRecord, SessionRecord, SignInRecord } from "./account.ts";
import type { ApprovalRecord, CardRecord, GrantRecord, GrantState } from "./approval.ts";
import type { ApprovalState } from "./card.ts";
import type { RegisteredConversation } from "./conversation.ts";
import type { DraftRecord, DraftState } from "./draft.ts";
import type { HealthChange } from "./health.ts";
import type { InboundMessage } from "./message.ts";
import type { Origin } from "./origin.ts";
import type { QuestionRecord } from "./question.ts";
import type { RatingRecord, RatingState } from "./rating.ts";
import type { ScheduleRecord } from "./schedule.ts";
import type { ToolResult } from "./tool.ts";
import type { TurnRecord, TurnState } from "./turn.ts";
import type { UsageRecord } from "./usage.ts";

/** A `stopping` message gets no turn, and nobody has told its author yet. */
export type MessageState = "queued" | "taken" | "answered" | "removed" | "stopping" | "stopped";

/**
 * `planned → started → done`, with `started → waiting → started` between attempts. `unknown` follows `started` if
 * nobody knows the outcome. Only a `started` call can have effects.
 */
export type CallState = "planned" | "started" | "waiting" | "done" | "unknown";

export interface CardNotice {
  cardId: string;
  turnIds: string[];
  isQuiet?: boolean;
  /** The card has changed, so a notice that is already `told` becomes due again. */
  isChanged?: boolean;
}

export interface CallEntry {
  turnId: string;
  callId: string;
  name: string;
  /** Number of started attempts. An increase also shows that another process has taken over the call. */
  attempts: number;
  startedAt: number;
  /** When the next attempt is due. Only in state `waiting`. */
  retryAt?: number;
  failure?: string;
  result?: ToolResult;
}

/**
 * The origins of what is at `path`: of its content while it has this `hash`, or of its name. With neither, of everything
 * at and below `path`.
 */
export interface FileMark {
  /** Relative to the folder, encoded like `RawPath`. */
  path: string;
  hash?: string;
  isName?: true;
  origins: Origin[];
}

export interface FolderMarks {
  root: string;
  marks: FileMark[];
}

/** Messages' files that were saved in a working folder. Only these count toward the inbox's limit. */
export interface FolderInbox {
  root: string;
  /** Oldest first. */
  messages: InboxMessage[];
}

export interface InboxMessage {
  /** The message's folder in the working folder, e.g. `inbox/482915037126`. */
  folder: string;
  files: InboxEntry[];
}
export interface InboxEntry {
  name: string;
  bytes: number;
  isComplete: boolean;
  /** The complete file's time of change, in milliseconds; commands that write the file change it. */
  changedAtMs?: number;
}

/** A process that shares the ledger. `writes` counts the changes of its file in the workspace. */
export interface ProcessRecord {
  host: string;
  pid: number;
  workspace: string;
  writes: number;
}

/**
 * A request that a service has signed, under its hash. `process` takes it, and is null once it may be taken again, because
 * nothing was done.
 */
export interface SignedRequest {
  process: string | null;
  takenAt: number;
}

/** Groups: approvals, decisions, questions by turn; cards, grants, drafts by conversation; schedules by scope. */
export interface LedgerKinds {
  message: { state: MessageState; body: InboundMessage };
  turn: { state: TurnState; body: TurnRecord };
  call: { state: CallState; body: CallEntry };
  approval: { state: ApprovalState; body: ApprovalRecord };
  card: { state: "made"; body: CardRecord };
  grant: { state: GrantState; body: GrantRecord };
  /** Written before a card changes. `told` means that the change is recorded and shown. */
  notice: { state: "due" | "told"; body: CardNotice };
  /** Proves that a decision is in the feedback file and the event log. */
  decision: { state: "recorded"; body: Record<string, never> };
  post: { state: "posted"; body: { messageId: string } };
  usage: { state: "counted"; body: UsageRecord };
  /** `closed` once the card shows the outcome. */
  question: { state: "open" | "answered" | "withdrawn" | "closed"; body: QuestionRecord };
  draft: { state: DraftState; body: DraftRecord };
  /** One for each real folder that has files with other people's text. */
  "file-origins": { state: "kept"; body: FolderMarks };
  /** One for each real folder that contains messages' files. */
  inbox: { state: "kept"; body: FolderInbox };
  schedule: { state: "active" | "ended"; body: ScheduleRecord };
  /** Grouped by scope. */
  rating: { state: RatingState; body: RatingRecord };
  /** Which turn a message belongs to, where a reaction names only the message. */
  answer: { state: "posted"; body: { turnId: string } };
  pairing: { state: "open" | "paired"; body: PairingRecord };
  /** `id` is the skill's name. An absent entry means on. */
  "skill-switch": { state: "on" | "off"; body: Record<string, never> };
  health: { state: "noted"; body: HealthChange };
  /** `ended`: nothing of it is left, so the entry goes too, unless it is used again. */
  conversation: { state: "known" | "ended"; body: RegisteredConversation };
  account: { state: "active" | "removed"; body: AccountRecord };
  /** Grouped by identity. */
  session: { state: "active" | "ended"; body: SessionRecord };
  "sign-in": { state: "open" | "used"; body: SignInRecord };
  process: { state: "running" | "ended"; body: ProcessRecord };
  "signed-request": { state: "taken" | "done"; body: SignedRequest };
  /** A random value that all processes of an installation share. */
  secret: { state: "kept"; body: { value: string } };
}

export type LedgerKind = keyof LedgerKinds;

export interface LedgerEntry<K extends LedgerKind> {
  id: string;
  state: LedgerKinds[K]["state"];
  body: LedgerKinds[K]["body"];
  group: string;
  sequence: number;
  createdAt: number;
  updatedAt: number;
}

export interface ListOptions<K extends LedgerKind> {
  states?: LedgerKinds[K]["state"][];
  group?: string;
  order?: "oldest" | "newest";
  /** Lists only entries that were created before the entry with this sequence number. */
  before?: number;
  limit?: number;
  /**
   * Lists only what is due before this time (ms), in any order: active schedules by `nextAt`, active grants, open and
   * approved approvals by `expiresAt`, cards by `nextCheckAt`, parked turns by `wokenAt`. Finds nothing of other
   * kinds. Entries that are not due cost nothing. Combines with `states` only.
   */
  dueBefore?: number;
}

/**
 * `list` with `states` or `group` reads an index too, so a sweep of open entries costs the same however many have ended.
 * With Redis, the body of an ended turn, message or call moves to a file after an hour, which readers don't notice.
 */
export interface Ledger {
  /** Resolves to false, and changes nothing, if the id already exists. Stores the body as it is at the call. */
  create<K extends LedgerKind>(
    kind: K,
    id: string,
    entry: { state: LedgerKinds[K]["state"]; body: LedgerKinds[K]["body"]; group: string },
  ): Promise<boolean>;
  get<K extends LedgerKind>(kind: K, id: string): Promise<LedgerEntry<K> | undefined>;
  /**
   * Resolves to undefined, and changes nothing, unless the entry is in one of the states `from` (which may include
   * `to`). `change` must be pure, because it may run more than once, at any time until the promise settles. So what it
   * uses must not change in the meantime. It may return undefined to refuse the change.
   */
  transition<K extends LedgerKind>(
    kind: K,
    id: string,
    from: LedgerKinds[K]["state"][],
    to: LedgerKinds[K]["state"],
    change?: (body: LedgerKinds[K]["body"]) => LedgerKinds[K]["body"] | undefined,
  ): Promise<LedgerEntry<K> | undefined>;
  list<K extends LedgerKind>(kind: K, options: ListOptions<K>): Promise<LedgerEntry<K>[]>;
  /** Removes entries that were last changed before `before`. Resolves to their number. */
  prune<K extends LedgerKind>(kind: K, states: LedgerKinds[K]["state"][], before: number): Promise<number>;
  close(): Promise<void>;
}
