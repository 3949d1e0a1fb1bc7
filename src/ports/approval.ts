/** Approval records. Knowing an id gives no authority. Each record is settled only once, and its call runs at most once. */
import type { ApprovalCard, ApprovalState, ShownChanges } from "./card.ts";
import type { GateMatch } from "./gate.ts";
import type { AnswerReceipt, Author, InboundAnswer, ReplyTarget, Scope } from "./message.ts";
import type { ToolCall } from "./tool.ts";

/** One person's approval. `isOperator` is true if it was given on the command line or the dashboard. */
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
  /** Ids of other people who also asked for the call. If `notRequester` is set, they may not approve it either. */
  alsoAsked?: string[];
  /** The model's call, or a person's edit of it. */
  call: ToolCall;
  /** SHA-256 of tool, canonical arguments, working folder and skill file. Checked again before the call runs. */
  callHash: string;
  requestedHash: string;
  /** The model's call, kept if a person edited it. */
  original?: ToolCall;
  workingFolder: string;
  matches: GateMatch[];
  extraTags: string[];
  /** The prompt contained text that somebody else may have written, so no grant covers the call. */
  isTainted?: boolean;
  /** `requester`, `user:<platform>:<id>`, `user:<id>` or `role:<id>`. If empty, nobody may answer. */
  approvers: string[];
  /** Number of different people who must approve. A single denial denies the call. */
  quorum: number;
  notRequester: boolean;
  votes: ApprovalVote[];
  grantIds: string[];
  createdAt: number;
  /** Inclusive, in milliseconds since the epoch. Null if the approval never expires. */
  expiresAt: number | null;
  decidedBy?: Author;
  decidedAt?: number;
  /** In one sentence, why the call did not run: the denier's own words, or the problem that was found. */
  reason?: string;
  facts?: string[];
  /** The card shows the name of a configured secret instead of its value, so only owners may approve. */
  isMasked?: boolean;
  /** Set if the approval is about changes to the working folder; `call` then only names the changes. */
  changes?: ChangesRecord;
}

export interface ChangesRecord {
  draftId: string;
  /** `ask` if a person decides, `report` if the rules already kept the changes without asking. */
  kind: "ask" | "report";
  /** SHA-256 of the draft's layer and every file that it touches. The draft is kept only if it still has this hash. */
  hash: string;
  /** Not yet escaped. */
  shown: ShownChanges;
  /** Exact paths of `shown.files`, in the same order. */
  paths: string[];
  /** The paths to keep, if a person chose `part`. */
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

/** One person's approval in advance, for a limited time and one conversation, of what one pattern of one skill asks about. */
export interface GrantRecord {
  /** Short, because people type it to revoke the grant. It need not be a secret. */
  id: string;
  platform: string;
  conversationId: string;
  skill: string;
  pattern: string;
  reason?: string;
  /** The grant covers only calls that this person may answer. */
  by: Author;
  createdAt: number;
  /** When the person last gave the grant. Giving it again extends it. */
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
  /** Exactly `call` must run. If `isEdited`, it differs from the model's call. */
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
  /** The rule that a grant would contain. Absent if the changes can't be allowed in advance. */
  grant?: { pattern: string; reason: string };
  /** Null if the approval never expires. Ignored for a report. */
  expiresAt: number | null;
}

export type ChangesOutcome =
  | { type: "waiting" }
  /** If `paths` is absent, all paths are kept. */
  | { type: "keep"; by: Author; hash: string; paths?: string[] }
  | { type: "discard"; sentence: string };

export interface ApprovalRequest {
  turnId: string;
  target: ReplyTarget;
  scope: Scope;
  requester: Author;
  alsoAsked?: string[];
  workingFolder: string;
  /** `extraTags` are tags that the gate got in addition to the call. If `isTainted`, no grant covers the call. */
  calls: { call: ToolCall; matches: GateMatch[]; extraTags?: string[]; isTainted?: boolean; facts?: string[] }[];
}

export interface Approvals {
  /**
   * Creates one record per call; opening the same calls of a turn again returns the same records. A row of the card may already
   * be settled: approved by a grant, or denied because nobody may answer or too many cards are open. If no row is open, there
   * is nothing to post.
   */
  open(request: ApprovalRequest): Promise<{ card: ApprovalCard; approvalIds: string[] }>;
  /** Settles the approval at most once. Any later answer gets a receipt with the earlier outcome. */
  answer(answer: InboundAnswer): Promise<AnswerReceipt>;
  /**
   * Must be called right before the tool call runs, with that tool call. Checks expiry, hash and authority again and consumes
   * the approval. A second redemption returns `approved` only for the same turn and tool call.
   */
  redeem(approvalId: string, call: ToolCall, workingFolder: string): Promise<ApprovalOutcome>;
  hashOf(call: ToolCall, workingFolder: string): string;
  card(cardId: string): Promise<ApprovalCard | undefined>;
  /** Cancels every approval of the turn whose call has not run yet. People and the model see `reason`. */
  cancel(turnId: string, reason?: string): Promise<void>;
  /** Expires the approvals that are due. There are no timers in memory, so this must be called regularly. */
  sweep(now: number): Promise<void>;
}

/** Approvals of changes to a working folder, with the same records, cards and rules as approvals of calls. */
export interface ChangeApprovals {
  /**
   * Creates one record per hash of a draft; the same hash returns the same card. A grant may already have approved the changes.
   */
  openChanges(
    request: ChangesRequest,
  ): Promise<{ card: ApprovalCard; approvalId: string; state: "open" | "approved" | "denied" | "consumed" }>;
  /** Must be called right before the changes are kept. Checks expiry and authority again and consumes the approval. */
  redeemChanges(approvalId: string): Promise<ChangesOutcome>;
  finishChanges(approvalId: string, outcome: Pick<ChangesRecord, "result" | "undoId" | "mayRunAgain">): Promise<void>;
  /** True for the requester and for everyone who may approve. */
  mayTakeBack(approvalId: string, by: Author): Promise<boolean>;
  /** Cancels the approval, because a newer card shows the same draft. */
  replaceChanges(approvalId: string, reason: string): Promise<void>;
}

/** What people can do with changes besides deciding about them. Implemented by the drafts. */
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
  /** Records which message shows the card. From then on, clicks on other messages are refused. */
  posted(cardId: string, turnId: string, messageId: string): Promise<void>;
  /** If nobody may answer, the operator may not either. */
  decide(decision: OperatorDecision): Promise<AnswerReceipt>;
  /** Returns the diff, escaped for terminals. Undefined if there is no such card or its diff no longer exists. */
  diffOf(cardOrApprovalId: string): Promise<string | undefined>;
  /** Lists the cards with an open row, oldest first, of one conversation or of all. */
  listOpen(conversationId?: string): Promise<ApprovalCard[]>;
  /** Lists the active grants, oldest first, of one conversation or of all. */
  listGrants(conversationId?: string): Promise<GrantRecord[]>;
  /** `conversationId` limits the search to one conversation. If `by` is absent, the operator revokes the grant. */
  revokeGrant(grantId: string, conversationId?: string, by?: Author): Promise<AnswerReceipt>;
  /** Resolves when no card update is running. */
  whenIdle(): Promise<void>;
}
