/**
 * Approvals as records. A record's id locates it and gives no authority. Each record is settled exactly once, and its call
 * runs at most once. Terminal states never change; all but `consumed` mean that this record did not let the call run.
 */
import type { ApprovalCard, ApprovalState, ShownChanges } from "./card.ts";
import type { GateMatch } from "./gate.ts";
import type { AnswerReceipt, Author, InboundAnswer, ReplyTarget, Scope } from "./message.ts";
import type { ToolCall } from "./tool.ts";

/** One person's approval. `isOperator`: given on the command line or the dashboard. */
export interface ApprovalVote {
  by: Author;
  at: number;
  isOperator: boolean;
}

export interface ApprovalRecord {
  /** 128 random bits, base64url. */
  id: string;
  /** The calls of one step share a card. */
  cardId: string;
  turnId: string;
  conversationId: string;
  scope: Scope;
  target: ReplyTarget;
  requester: Author;
  /** Ids of other people who asked for it too. With `notRequester` they may not approve either. */
  alsoAsked?: string[];
  /** The call that runs once approved: the model's, or a person's edit. */
  call: ToolCall;
  /** SHA-256 over tool, canonical arguments, working folder and skill file. Compared before the call runs. */
  callHash: string;
  /** The hash of the model's call. Differs from `callHash` after an edit. */
  requestedHash: string;
  /** The model's call, kept when a person edited it. */
  original?: ToolCall;
  workingFolder: string;
  matches: GateMatch[];
  /** Tags that the gate got besides the call, such as `#taint:untrusted`. */
  extraTags: string[];
  /** The prompt held text that somebody else may have written, so no grant covers the call. */
  isTainted?: boolean;
  /** `requester`, `user:<platform>:<id>`, `user:<id>` or `role:<id>`. Empty: nobody may answer. */
  approvers: string[];
  /** Different people who must approve. One denial denies. */
  quorum: number;
  /** The requester may not approve. */
  notRequester: boolean;
  votes: ApprovalVote[];
  /** The grants that approved it without asking. */
  grantIds: string[];
  createdAt: number;
  /** Inclusive; null: never. */
  expiresAt: number | null;
  decidedBy?: Author;
  decidedAt?: number;
  /** Why the call did not run, in a sentence: the denier's own words, or the problem that was found. */
  reason?: string;
  /** Further facts for the decision, one line each. */
  facts?: string[];
  /** People see the name of a configured secret in place of the secret, so only owners may approve. */
  isMasked?: boolean;
  /** Set for changes to the working folder; `call` then only names them. */
  changes?: ChangesRecord;
}

export interface ChangesRecord {
  draftId: string;
  /** `ask`: a person decides. `report`: the rules kept the changes without asking. */
  kind: "ask" | "report";
  /** SHA-256 over the layer and every file that it touches. Only exactly this state is kept. */
  hash: string;
  /** Not yet escaped. */
  shown: ShownChanges;
  /** Exact paths of `shown.files`, in the same order. */
  paths: string[];
  /** Set by the choice `part`: the paths to keep. */
  chosen?: string[];
  /** The outcome, in a sentence for people. */
  result?: string;
  /** The entry of the undo journal, while undo is possible. */
  undoId?: string;
  /** Nothing was kept, because somebody else changed the same files; the request can run again. */
  mayRunAgain?: boolean;
}

/** What ties the records of one card together. */
export interface CardRecord {
  platform: string;
  conversationId: string;
  /** Oldest first. Identical calls of several turns can share a card. */
  turnIds: string[];
  /** The known messages that show the card. */
  messages: { turnId: string; messageId: string }[];
}

/** One person's approval in advance, for a while, in one conversation, for what one pattern of one skill asks about. */
export interface GrantRecord {
  /** Short, because people type it. Revoking needs no secret. */
  id: string;
  platform: string;
  conversationId: string;
  skill: string;
  pattern: string;
  /** The pattern's reason in its skill, for people. */
  reason?: string;
  /** Counts only for calls that this person may answer. */
  by: Author;
  createdAt: number;
  /** Last time the person gave it; giving it again extends it. */
  givenAt: number;
  /** Inclusive. */
  expiresAt: number;
  /** The approval that it was given with. */
  origin: { approvalId: string; cardId: string; turnId: string; userId: string; scope: Scope; tool: string };
  revokedBy?: Author;
  revokedAt?: number;
}

export type GrantState = "active" | "revoked" | "expired";

/** Result of redeeming an approval right before its call runs. */
export type ApprovalOutcome =
  | { type: "waiting" }
  /** Exactly `call` must run. With `isEdited` it differs from the model's call. */
  | { type: "approved"; by: Author; call: ToolCall; isEdited: boolean }
  | { type: "refused"; state: Exclude<ApprovalState, "open" | "approved" | "consumed">; by?: Author; reason?: string };

/** Changes to show below an answer, as a question or a report. */
export interface ChangesRequest {
  turnId: string;
  target: ReplyTarget;
  scope: Scope;
  requester: Author;
  alsoAsked?: string[];
  workingFolder: string;
  changes: ChangesRecord;
  /** The rule that a grant would hold; absent: the changes can't be allowed in advance. */
  grant?: { pattern: string; reason: string };
  /** null: never. Ignored for a report. */
  expiresAt: number | null;
}

/** Tells the drafts what to do with changes. */
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
  /** Ids of other people who asked for it too. */
  alsoAsked?: string[];
  workingFolder: string;
  /** `extraTags`: tags that the gate got besides the call. `isTainted`: no grant covers the call. */
  calls: { call: ToolCall; matches: GateMatch[]; extraTags?: string[]; isTainted?: boolean; facts?: string[] }[];
}

export interface Approvals {
  /**
   * Opens one record per call and returns their common card. The same calls of a turn always return the same records. A row
   * may be settled already: approved by a grant, or denied because nobody may answer or too many cards are open. When no
   * row is open, there is nothing to post.
   */
  open(request: ApprovalRequest): Promise<{ card: ApprovalCard; approvalIds: string[] }>;
  /** Settles at most once. Any later answer gets a receipt with the earlier outcome. */
  answer(answer: InboundAnswer): Promise<AnswerReceipt>;
  /**
   * Must be called right before the call runs, with that call. Checks expiry, hash and authority again and consumes the
   * approval. A second redemption says `approved` only to the same turn and call.
   */
  redeem(approvalId: string, call: ToolCall, workingFolder: string): Promise<ApprovalOutcome>;
  /** The call's hash (tool, arguments, folder, skill file), as events name it. */
  hashOf(call: ToolCall, workingFolder: string): string;
  card(cardId: string): Promise<ApprovalCard | undefined>;
  /** Cancels every approval of a turn that has not run. `reason`: a sentence for people and the model. */
  cancel(turnId: string, reason?: string): Promise<void>;
  /** Expires what is due. Nothing is timed in memory. */
  sweep(now: number): Promise<void>;
}

/** Approvals of changes to a working folder, with the same records, cards and rules as those of calls. */
export interface ChangeApprovals {
  /**
   * Opens one record per hash of a draft; the same hash returns the same card. `state` tells whether a grant has approved
   * it, or whether it is denied because nobody may answer.
   */
  openChanges(
    request: ChangesRequest,
  ): Promise<{ card: ApprovalCard; approvalId: string; state: "open" | "approved" | "denied" | "consumed" }>;
  /** Must be called right before the changes are kept. Checks expiry and authority again and consumes the approval. */
  redeemChanges(approvalId: string): Promise<ChangesOutcome>;
  /** Notes the outcome and updates the card. */
  finishChanges(approvalId: string, outcome: Pick<ChangesRecord, "result" | "undoId" | "mayRunAgain">): Promise<void>;
  /** True for the requester and for everyone who may approve. */
  mayTakeBack(approvalId: string, by: Author): Promise<boolean>;
  /** Cancels the approval, because a newer card shows the same draft. */
  replaceChanges(approvalId: string, reason: string): Promise<void>;
}

/** What people can do with changes besides deciding. The drafts implement it. */
export interface ChangesActions {
  /** The whole diff; undefined once it is gone. */
  diff(record: Pick<ApprovalRecord, "changes">): Promise<string | undefined>;
  undo(record: ApprovalRecord, approvalId: string, by: Author): Promise<AnswerReceipt>;
  runAgain(record: ApprovalRecord, approvalId: string, by: Author): Promise<AnswerReceipt>;
}

/** A decision on the command line or the dashboard. */
export interface OperatorDecision {
  cardOrApprovalId: string;
  choice: "approve" | "deny" | "part";
  reason?: string;
  /** With `part`: the files to keep, as indexes into `ShownChanges.files`. */
  parts?: number[];
}

/** The approvals that commands, command line and dashboard use. */
export interface ApprovalDesk extends Approvals, ChangeApprovals {
  /** Notes which message shows the card. From then on, clicks on other messages are refused. */
  posted(cardId: string, turnId: string, messageId: string): Promise<void>;
  /** When nobody may answer, the operator may not either. */
  decide(decision: OperatorDecision): Promise<AnswerReceipt>;
  /**
   * The whole diff of a card, for the operator. Escaped, because terminals show it. Undefined: no such card, or its diff is
   * gone.
   */
  diffOf(cardOrApprovalId: string): Promise<string | undefined>;
  /** Cards with an open row, oldest first; of one conversation or of all. */
  listOpen(conversationId?: string): Promise<ApprovalCard[]>;
  /** Active grants, oldest first; of one conversation or of all. */
  listGrants(conversationId?: string): Promise<GrantRecord[]>;
  /** `conversationId` limits the search to one conversation. `by` absent: the operator. */
  revokeGrant(grantId: string, conversationId?: string, by?: Author): Promise<AnswerReceipt>;
  /** Resolves when no card update is running. */
  whenIdle(): Promise<void>;
}
