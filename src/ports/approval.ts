/**
 * Approvals as records. A record's id locates it and gives no authority; it is settled exactly once, and a call runs at
 * most once for it. Terminal states never change; every one but `consumed` means that the call did not run because of it.
 */
import type { GateMatch } from "./gate.ts";
import type { AnswerChoice, AnswerReceipt, Author, InboundAnswer, ReplyTarget, Scope } from "./message.ts";
import type { ToolCall } from "./tool.ts";

/** `open → approved → consumed`, or `open → denied | expired | cancelled`, or `approved → expired | cancelled`. */
export type ApprovalState = "open" | "approved" | "consumed" | "denied" | "expired" | "cancelled";

/** One person's yes; `isOperator`: given at the machine itself (command line, dashboard). */
export interface ApprovalVote {
  by: Author;
  at: number;
  isOperator: boolean;
}

export interface ApprovalRecord {
  /** 128 random bits, base64url. */
  id: string;
  /** Several confirms of one step share one card. */
  cardId: string;
  turnId: string;
  conversationId: string;
  scope: Scope;
  target: ReplyTarget;
  requester: Author;
  /** Ids of others whose messages the turn answers as well; with `notRequester` they may not approve either. */
  alsoAsked?: string[];
  /** What runs when it is approved: the call as it was asked for, or as a person edited it. */
  call: ToolCall;
  /** SHA-256 over tool, canonical arguments, working folder and skill file; compared before the call runs. */
  callHash: string;
  /** The hash of the call as the model asked for it; differs from `callHash` once it was edited. */
  requestedHash: string;
  /** The call as the model asked for it, kept when a person edited it. */
  original?: ToolCall;
  workingFolder: string;
  matches: GateMatch[];
  /** Facts that the gate was given besides the call, such as `#taint:untrusted`. */
  extraTags: string[];
  /** What led to the call held text that somebody else may have written: no grant covers it. */
  isTainted?: boolean;
  /** Who may answer: `requester`, `user:<platform>:<id>`, `user:<id>`, `role:<id>`. Empty: nobody. */
  approvers: string[];
  /** How many different people must approve; one denial is enough to deny. */
  quorum: number;
  /** The one who asked may not approve. */
  notRequester: boolean;
  votes: ApprovalVote[];
  /** The grants it was approved by, when nobody was asked. */
  grantIds: string[];
  createdAt: number;
  /** `now == expiresAt` is expired; null: never. */
  expiresAt: number | null;
  decidedBy?: Author;
  decidedAt?: number;
  /** Why it did not run, in a sentence: what the one who denied wrote for the model, or what was found wrong. */
  reason?: string;
  /** What else people must know before they answer, a line each. */
  facts?: string[];
  /** A configured secret stands in it, and people see its name instead: only owners may approve it. */
  isMasked?: boolean;
  /** The record is about changes to the working folder; then `call` only names them. */
  changes?: ChangesRecord;
}

/** The changes that a record is about. */
export interface ChangesRecord {
  draftId: string;
  /** `ask`: a person decides. `report`: the rules kept them, and nobody was asked. */
  kind: "ask" | "report";
  /** SHA-256 over the layer and every file that it touches: only exactly this is kept. */
  hash: string;
  /** Not yet escaped. */
  shown: ShownChanges;
  /** Lossless paths of `shown.files`, in the same order. */
  paths: string[];
  /** Set by the choice `part`: the paths to keep. */
  chosen?: string[];
  /** What became of them once they were decided, in a sentence for people. */
  result?: string;
  /** The entry of the undo journal, as long as it may be undone. */
  undoId?: string;
  /** Nothing was kept because somebody else changed the same files: the request may be worked on again. */
  mayRunAgain?: boolean;
}

/** What ties the records of one card together. */
export interface CardRecord {
  platform: string;
  conversationId: string;
  /** More than one when identical calls of several turns share the card; oldest first. */
  turnIds: string[];
  /** The messages that show the card, once they are known. */
  messages: { turnId: string; messageId: string }[];
}

/** A standing yes of one person, for a while, in one conversation, for what one pattern of one skill asks about. */
export interface GrantRecord {
  /** Short, because people type it; revoking needs no secret. */
  id: string;
  platform: string;
  conversationId: string;
  skill: string;
  pattern: string;
  /** Why the pattern asks, as its skill says; for people. */
  reason?: string;
  /** It counts only for calls that this person may answer. */
  by: Author;
  createdAt: number;
  /** When the person last said so: a grant given again is prolonged. */
  givenAt: number;
  /** `now == expiresAt` is expired. */
  expiresAt: number;
  /** The approval it was given with. */
  origin: { approvalId: string; cardId: string; turnId: string; userId: string; scope: Scope; tool: string };
  revokedBy?: Author;
  revokedAt?: number;
}

export type GrantState = "active" | "revoked" | "expired";

export interface CardItem {
  /** Answers for all identical calls of the card. */
  approvalId: string;
  tool: string;
  /** The whole call, escaped so that no invisible or markup character hides anything; plain text, many lines. */
  callText: string;
  /** Why it asks, a line each: pattern, skill, file and line. */
  reasons: string[];
  /** Shown when folding look-alikes or invisible characters changes the text. */
  warning?: string;
  /** More than one: that many identical calls, answered together. */
  times: number;
  state: ApprovalState;
  /** What may be chosen now: exactly these have a button. Empty once settled. */
  choices: AnswerChoice[];
  /** With `edit` in `choices`: the arguments to begin with, as JSON text without invisible characters. */
  editJson?: string;
  /** With `allow` in `choices`: the rule that will be saved, in words. */
  grantText?: string;
  /** The call as the model asked for it, when a person edited it; as `callText`. */
  editedFrom?: string;
  /** `1 of 2 approvals: Ann`, while more are needed. */
  progress?: string;
  /** `Approved by Ann`, once settled. */
  outcome?: string;
  /** What else people must know before they answer, a line each: hosts that the call reaches, changed files it takes along. */
  facts?: string[];
  /** The item is about changes to the working folder, not about a call: shown instead of `callText` and `reasons`. */
  changes?: ShownChanges;
}

/**
 * What a turn did to its working folder, for people. Plain text throughout, already escaped like every text of a card.
 *
 * Choices of such an item: `approve` keeps the changes, `deny` discards them; `part`, `allow`, `diff`, `undo` and `again`
 * where they can be chosen. Without any choice but `undo` or `diff` it only reports what was kept.
 */
export interface ShownChanges {
  /** One line: `website: 1 file deleted, 2 changed, 3 added`. */
  title: string;
  /** Why a person is asked, or what happened to the changes; one sentence, or empty. */
  summary: string;
  /** Deletions first, then changes, then additions; at most `maxShownFiles`. */
  files: ShownChange[];
  /** Files that are not listed for want of room. */
  moreFiles: number;
  /** The commands that ran, oldest first, one line each, and how they ended: `exit code 0`. */
  commands: { text: string; outcome: string }[];
  /** The end of the last command's output; may have several lines. */
  lastOutput?: string;
  /** The diff, when it is short enough for a card; many lines. A longer one is behind the choice `diff`. */
  diff?: string;
  /** What the buttons are called: a turn that was stopped or failed offers Keep and Discard. */
  labels: { approve: string; deny: string };
}

export interface ShownChange {
  path: string;
  action: "deleted" | "changed" | "added";
  /** `+12 −3`, `14 kB`, `link to x`, `now executable`. */
  detail: string;
}

/** Of one card. */
export const maxShownFiles = 25;

/**
 * What a platform shows. It is made from records alone; no model prose is in it. All its texts are plain text, one line
 * each but `callText` and `editedFrom`; the platform escapes what its own markup would read into them.
 */
export interface ApprovalCard {
  id: string;
  target: ReplyTarget;
  requesterName: string;
  /** Who may answer, in words. */
  approversText: string;
  expiresAt: number | null;
  items: CardItem[];
}

/** What became of an approval when its call is about to run. */
export type ApprovalOutcome =
  | { type: "waiting" }
  /** `call` is what was approved and what must run; with `isEdited` it differs from what the model asked for. */
  | { type: "approved"; by: Author; call: ToolCall; isEdited: boolean }
  | { type: "refused"; state: Exclude<ApprovalState, "open" | "approved" | "consumed">; by?: Author; reason?: string };

/** Changes to show below an answer. */
export interface ChangesRequest {
  turnId: string;
  target: ReplyTarget;
  scope: Scope;
  requester: Author;
  alsoAsked?: string[];
  workingFolder: string;
  changes: ChangesRecord;
  /** What a grant would allow from now on; absent: it can't be allowed in advance. */
  grant?: { pattern: string; reason: string };
  /** Until when it can be answered; null: for ever. Meaningless for a report. */
  expiresAt: number | null;
}

/** What is to be done with changes that were asked about. */
export type ChangesOutcome =
  | { type: "waiting" }
  /** `paths` absent: all of them. */
  | { type: "keep"; by: Author; hash: string; paths?: string[] }
  | { type: "discard"; sentence: string };

export interface ApprovalRequest {
  turnId: string;
  target: ReplyTarget;
  scope: Scope;
  requester: Author;
  /** Ids of others whose messages the turn answers as well. */
  alsoAsked?: string[];
  workingFolder: string;
  /** `extraTags`: what the gate was given besides the call. `isTainted`: no grant covers it. */
  calls: { call: ToolCall; matches: GateMatch[]; extraTags?: string[]; isTainted?: boolean; facts?: string[] }[];
}

export interface Approvals {
  /**
   * Opens one record a call and returns their common card. Asking again for the same calls of a turn returns the same
   * records. Rows need not be open: what a grant covers is approved already, and what nobody may answer, or too many open
   * cards leave no room for, is denied with a reason. When no row is open there is nothing to post.
   */
  open(request: ApprovalRequest): Promise<{ card: ApprovalCard; approvalIds: string[] }>;
  /** Settles at most once; everything else is answered with what happened before. */
  answer(answer: InboundAnswer): Promise<AnswerReceipt>;
  /**
   * Asked right before the call runs, with the call that is about to run. Checks expiry, hash and authority again, and
   * consumes the approval: a second asking for the same one says `approved` only to the same turn and call.
   */
  redeem(approvalId: string, call: ToolCall, workingFolder: string): Promise<ApprovalOutcome>;
  /** What tells this very call (tool, arguments, folder, skill file) from any other, as events name it. */
  hashOf(call: ToolCall, workingFolder: string): string;
  card(cardId: string): Promise<ApprovalCard | undefined>;
  /** Cancels everything of a turn that has not run; `reason` is a sentence for people and the model. */
  cancel(turnId: string, reason?: string): Promise<void>;
  /** Expires what is due. Called by a sweep; nothing is timed in memory. */
  sweep(now: number): Promise<void>;
}

/** Approvals of changes to a working folder: the same records, cards, people and rules as for calls. */
export interface ChangeApprovals {
  /**
   * One record for a hash of a draft; asking again returns the same card. A grant may have approved it already, and what
   * nobody may answer is denied: `state` says so.
   */
  openChanges(
    request: ChangesRequest,
  ): Promise<{ card: ApprovalCard; approvalId: string; state: "open" | "approved" | "denied" | "consumed" }>;
  /** Asked right before the changes are kept. Checks expiry and authority again and consumes the approval. */
  redeemChanges(approvalId: string): Promise<ChangesOutcome>;
  /** Notes what became of them and rewrites the card. */
  finishChanges(approvalId: string, outcome: Pick<ChangesRecord, "result" | "undoId" | "mayRunAgain">): Promise<void>;
  /** The one who asked, and whoever may approve, may also take back. */
  mayTakeBack(approvalId: string, by: Author): Promise<boolean>;
  /** A newer card of the same draft stands in its place. */
  replaceChanges(approvalId: string, reason: string): Promise<void>;
}

/** What people can do with changes besides deciding about them. The drafts implement it. */
export interface ChangesActions {
  /** The whole diff; undefined once there is none any more. */
  diff(record: Pick<ApprovalRecord, "changes">): Promise<string | undefined>;
  undo(record: ApprovalRecord, approvalId: string, by: Author): Promise<AnswerReceipt>;
  runAgain(record: ApprovalRecord, approvalId: string, by: Author): Promise<AnswerReceipt>;
}

/** A decision made at the machine itself, by someone who could as well change the configuration. */
export interface OperatorDecision {
  cardOrApprovalId: string;
  choice: "approve" | "deny" | "part";
  reason?: string;
  /** With `part`: the files to keep, as indexes into `ShownChanges.files`. */
  parts?: number[];
}

/** Approvals as commands, command line and dashboard see them. */
export interface ApprovalDesk extends Approvals, ChangeApprovals {
  /** Notes which message shows the card; from then on a click on another message is not the card's. */
  posted(cardId: string, turnId: string, messageId: string): Promise<void>;
  /** Where nobody may answer, the operator may not either. */
  decide(decision: OperatorDecision): Promise<AnswerReceipt>;
  /**
   * The whole diff of a card about changes, open or settled, for the operator; escaped like every text of a card, because it
   * is written to terminals. Undefined: no such card, or its diff is not kept any more.
   */
  diffOf(cardOrApprovalId: string): Promise<string | undefined>;
  /** Cards with at least one open row, oldest first; of one conversation or of all. */
  listOpen(conversationId?: string): Promise<ApprovalCard[]>;
  /** Grants in force, oldest first; of one conversation or of all. */
  listGrants(conversationId?: string): Promise<GrantRecord[]>;
  /** With `conversationId`, a grant of another conversation is not found. `by` absent: the operator. */
  revokeGrant(grantId: string, conversationId?: string, by?: Author): Promise<AnswerReceipt>;
  /** Resolves when no card is being rewritten. */
  whenIdle(): Promise<void>;
}
