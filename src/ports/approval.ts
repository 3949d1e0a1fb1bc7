/** Approval records. An id gives no authority. Each is settled once, for good, and its call runs at most once. */
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
  cardId: string;
  turnId: string;
  conversationId: string;
  scope: Scope;
  target: ReplyTarget;
  requester: Author;
  /** Ids of other people who asked for it too. With `notRequester` they may not approve either. */
  alsoAsked?: string[];
  /** The model's call, or a person's edit of it. */
  call: ToolCall;
  /** SHA-256 over tool, canonical arguments, working folder and skill file. Compared before the call runs. */
  callHash: string;
  requestedHash: string;
  /** The model's call, kept when a person edited it. */
  original?: ToolCall;
  workingFolder: string;
  matches: GateMatch[];
  extraTags: string[];
  /** The prompt held text that somebody else may have written, so no grant covers the call. */
  isTainted?: boolean;
  /** `requester`, `user:<platform>:<id>`, `user:<id>` or `role:<id>`. Empty: nobody may answer. */
  approvers: string[];
  /** Different people who must approve. One denial denies. */
  quorum: number;
  notRequester: boolean;
  votes: ApprovalVote[];
  grantIds: string[];
  createdAt: number;
  /** Inclusive; null: never. */
  expiresAt: number | null;
  decidedBy?: Author;
  decidedAt?: number;
  /** Why the call did not run, in a sentence: the denier's own words, or the problem that was found. */
  reason?: string;
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
  result?: string;
  undoId?: string;
  /** Nothing was kept, because somebody else changed the same files; the request can run again. */
  mayRunAgain?: boolean;
}

export interface CardRecord {
  platform: string;
  conversationId: string;
  turnIds: string[];
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
  reason?: string;
  /** Counts only for calls that this person may answer. */
  by: Author;
  createdAt: number;
  /** Last time the person gave it; giving it again extends it. */
  givenAt: number;
  /** Inclusive. */
  expiresAt: number;
  origin: { approvalId: string; cardId: string; turnId: string; userId: string; scope: Scope; tool: string };
  revokedBy?: Author;
  revokedAt?: number;
}

export type GrantState = "active" | "revoked" | "expired";

export type ApprovalOutcome =
  | { type: "waiting" }
  /** Exactly `call` must run. With `isEdited` it differs from the model's call. */
  | { type: "approved"; by: Author; call: ToolCall; isEdited: boolean }
  | { type: "refused"; state: Exclude<ApprovalState, "open" | "approved" | "consumed">; by?: Author; reason?: string };

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
  alsoAsked?: string[];
  workingFolder: string;
  /** `extraTags`: tags that the gate got besides the call. `isTainted`: no grant covers the call. */
  calls: { call: ToolCall; matches: GateMatch[]; extraTags?: string[]; isTainted?: boolean; facts?: string[] }[];
}

export interface Approvals {
  /**
   * One record per call; the same calls of a turn return the same records. A row may be settled already: approved by a grant,
   * or denied because nobody may answer or too many cards are open. Without an open row there is nothing to post.
   */
  open(request: ApprovalRequest): Promise<{ card: ApprovalCard; approvalIds: string[] }>;
  /** Settles at most once. Any later answer gets a receipt with the earlier outcome. */
  answer(answer: InboundAnswer): Promise<AnswerReceipt>;
  /**
   * Call it right before the call runs, with that call. Checks expiry, hash and authority again and consumes the approval. A
   * second redemption says `approved` only to the same turn and call.
   */
  redeem(approvalId: string, call: ToolCall, workingFolder: string): Promise<ApprovalOutcome>;
  hashOf(call: ToolCall, workingFolder: string): string;
  card(cardId: string): Promise<ApprovalCard | undefined>;
  /** Cancels every approval of a turn that has not run. `reason`: for people and the model. */
  cancel(turnId: string, reason?: string): Promise<void>;
  /** Expires what is due. Nothing is timed in memory. */
  sweep(now: number): Promise<void>;
}

/** Approvals of changes to a working folder, with the same records, cards and rules as those of calls. */
export interface ChangeApprovals {
  /** One record per hash of a draft; the same hash returns the same card. A grant may have approved it already. */
  openChanges(
    request: ChangesRequest,
  ): Promise<{ card: ApprovalCard; approvalId: string; state: "open" | "approved" | "denied" | "consumed" }>;
  /** Call it right before the changes are kept. Checks expiry and authority again and consumes the approval. */
  redeemChanges(approvalId: string): Promise<ChangesOutcome>;
  finishChanges(approvalId: string, outcome: Pick<ChangesRecord, "result" | "undoId" | "mayRunAgain">): Promise<void>;
  /** True for the requester and for everyone who may approve. */
  mayTakeBack(approvalId: string, by: Author): Promise<boolean>;
  /** Cancels the approval, because a newer card shows the same draft. */
  replaceChanges(approvalId: string, reason: string): Promise<void>;
}

/** What people can do with changes besides deciding. The drafts implement it. */
export interface ChangesActions {
  diff(record: Pick<ApprovalRecord, "changes">): Promise<string | undefined>;
  undo(record: ApprovalRecord, approvalId: string, by: Author): Promise<AnswerReceipt>;
  runAgain(record: ApprovalRecord, approvalId: string, by: Author): Promise<AnswerReceipt>;
}

export interface OperatorDecision {
  cardOrApprovalId: string;
  choice: "approve" | "deny" | "part";
  reason?: string;
  parts?: number[];
}

export interface ApprovalDesk extends Approvals, ChangeApprovals {
  /** Notes which message shows the card. From then on, clicks on other messages are refused. */
  posted(cardId: string, turnId: string, messageId: string): Promise<void>;
  /** When nobody may answer, the operator may not either. */
  decide(decision: OperatorDecision): Promise<AnswerReceipt>;
  /** Escaped, because terminals show it. Undefined: no such card, or its diff is gone. */
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
