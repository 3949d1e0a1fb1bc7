/** Approval records. Knowing an id gives no authority. Each record settles once, and its call runs at most once. */
import type { BoundFiles } from "./bound-files.ts";
import type { ApprovalCard, ApprovalState, ShownChanges } from "./card.ts";
import type { GateMatch } from "./gate.ts";
import type { AnswerReceipt, Author, InboundAnswer, ReplyTarget, Scope } from "./message.ts";
import type { ToolCall } from "./tool.ts";
import type { BudgetAsk } from "./usage.ts";

/** `isOperator` is true if the vote came from the command line or the dashboard. */
export interface ApprovalVote {
  by: Author;
  at: number;
  isOperator: boolean;
  /** Where `by` is an identity. Absent if it is the platform of the card. */
  platform?: string;
  /** The person was asked by a copy while not in the card's conversation, so need not be in it. */
  isFromOutside?: boolean;
}

/** A person who has signed in to the dashboard. `by.id` is an identity on `platform`. */
export interface AnsweringPerson {
  platform: string;
  by: Author;
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
  /** Other people who asked for the same call. If `notRequester` is set, they may not approve it either. */
  alsoAsked?: string[];
  /** The call to run: the model's, or a person's edit of it, with the model's call in `original`. */
  call: ToolCall;
  /** SHA-256 of tool, canonical arguments, working folder and skill file. Checked again before the call runs. */
  callHash: string;
  requestedHash: string;
  original?: ToolCall;
  workingFolder: string;
  matches: GateMatch[];
  /** The tool's `ask:` at that time, so that a new version of the skill does not change the words of an open card. */
  ask?: string;
  extraTags: string[];
  /** The prompt contained text that the requester may not have written, so no grant covers the call. */
  isTainted?: boolean;
  /** `requester`, `user:<platform>:<id>`, `user:<id>` or `role:<id>`. If empty, nobody may answer. */
  approvers: string[];
  /** How many people must approve. One denial is enough to deny the call. */
  quorum: number;
  notRequester: boolean;
  votes: ApprovalVote[];
  grantIds: string[];
  createdAt: number;
  expiresAt: number | null;
  decidedBy?: Author;
  decidedAt?: number;
  /** Why the call did not run: the denier's own words, or the problem that was found. */
  reason?: string;
  facts?: string[];
  /** Whether it can be undone, in one sentence. Absent in old records and for budgets, whose cards say it too. */
  undo?: string;
  /** The card shows the name of a configured secret instead of its value, so only owners may approve. */
  isMasked?: boolean;
  /** The files that it covers. Absent in old records, for calls that open none, and if a grant allowed the call. */
  bound?: BoundFiles;
  /** Counts the cards before it for which the call's files changed before the call ran. */
  round?: number;
  /** What has changed in its files since the card before. */
  difference?: string;
  /** Who asked again after it had expired. */
  askedAgain?: Pick<Author, "id" | "name">;
  changes?: ChangesRecord;
  /** An approval that adds to a budget instead of running a call. */
  budget?: BudgetRecord;
}

export interface BudgetRecord extends BudgetAsk {
  /** The turn waits for the answer. Before the budget is used up, it goes on. */
  isBlocking: boolean;
}

export interface ChangesRecord {
  draftId: string;
  kind: "ask" | "report";
  /** SHA-256 of the draft's layer and every file that it touches. The draft is kept only if it still has this hash. */
  hash: string;
  /** Not yet escaped. */
  shown: ShownChanges;
  /** The exact paths of `shown.files`, in the same order. `chosen` lists the paths to keep after the choice `part`. */
  paths: string[];
  chosen?: string[];
  result?: string;
  undoId?: string;
  mayRunAgain?: boolean;
  /** Why not everything can be shown, as a sentence. Such changes can't be approved. */
  unseen?: string;
  /** The service did not take all of the diff when somebody last asked for it, so no click there approves it. */
  isUndelivered?: boolean;
}

/** What people read before they approve changes: what ran, and the complete diff. Not yet escaped. */
export interface WholeChanges {
  text: string;
  /** Why `text` does not show everything, as a sentence. */
  missing?: string;
}

export interface CardRecord {
  platform: string;
  conversationId: string;
  turnIds: string[];
  /** A copy for one person has a `turnId` of its own (copies.ts). */
  messages: { turnId: string; messageId: string }[];
  /** Absent in records of earlier versions, and until it is decided who is told. */
  notify?: NotifyRecord;
  /** When the next sweep is to look at the card, because somebody may have to be told. Absent in old records, and if nobody has to be. */
  nextCheckAt?: number;
}

/** Who is told about a card. Decided once, before the card is posted. */
export interface NotifyRecord {
  decidedAt: number;
  people: NotifiedPerson[];
  roles: { id: string; name: string }[];
  /** How many others may answer. */
  others: number;
  /** People and roles whom the card names, but does not tell. */
  named?: { id: string; name: string }[];
  /** Where the card is, for its copies. */
  place?: { name: string; link?: string };
  /** Why the card stands in its copies only: the end of "I can't write there: ". */
  elsewhere?: string;
  handed?: HandedOver[];
  remindedAt?: number;
  /** When the requester was told that nobody had answered. */
  expiryToldAt?: number;
}

export interface NotifiedPerson {
  id: string;
  name: string;
  isMentioned: boolean;
  /** Present for a person who gets a copy. Without `conversationId`, the copy has not been posted yet. */
  copy?: {
    conversationId?: string;
    isPosted?: boolean;
    problem?: string;
    /** The person was not in the conversation when the copy was decided on. */
    isFromOutside?: boolean;
  };
}

export interface HandedOver {
  by: Pick<Author, "id" | "name">;
  to: Pick<Author, "id" | "name">;
  at: number;
  toldAt?: number;
}

/** A person's advance approval of calls that match a skill's pattern, for one conversation and a limited time. */
export interface GrantRecord {
  id: string;
  platform: string;
  conversationId: string;
  skill: string;
  pattern: string;
  reason?: string;
  /** The grant covers only calls that this person may answer. */
  by: Author;
  createdAt: number;
  /** Giving the grant again extends it and updates this time. */
  givenAt: number;
  expiresAt: number;
  /** Files that changes under this grant have deleted or emptied. */
  lost?: string[];
  /** The sizes that files had before changes under this grant shortened them. */
  firstSizes?: Record<string, number>;
  origin: { approvalId: string; cardId: string; turnId: string; userId: string; scope: Scope; tool: string };
  revokedBy?: Author;
  revokedAt?: number;
}

export type GrantState = "active" | "revoked" | "expired";

export type ApprovalOutcome =
  | { type: "waiting" }
  /** `call` is exactly what must run. If `isEdited`, a person has changed the model's call. */
  | { type: "approved"; by: Author; call: ToolCall; isEdited: boolean; bound?: BoundFiles }
  | {
      type: "refused";
      state: Exclude<ApprovalState, "open" | "approved" | "consumed">;
      by?: Author;
      reason?: string;
      /** These files have changed since `before`, so people must be asked again. */
      changed?: { files: string[]; before: BoundFiles };
    };

export interface ChangesGrant {
  /** What Allow would allow. */
  rules: { pattern: string; reason: string }[];
  /** Present if grants for all of these rules cover these changes. */
  covers?: {
    /** Names every file, because nobody sees the changes before they are kept. */
    shown: Pick<ChangesRecord, "shown" | "paths">;
    /** The files that are deleted or emptied, compared with their sizes before the grant. They count until it ends. */
    lost(firstSizes: Readonly<Record<string, number>>): string[];
    /** The sizes before of the files that get shorter. */
    shrunk: Readonly<Record<string, number>>;
    /** Why people are asked nevertheless, after others were lost under the grant. */
    problem(lost: readonly string[], lostBefore: readonly string[]): Promise<string | undefined>;
  };
}

export interface ChangesRequest {
  turnId: string;
  target: ReplyTarget;
  scope: Scope;
  requester: Author;
  alsoAsked?: string[];
  workingFolder: string;
  changes: ChangesRecord;
  /** Made of the same bytes as the hash. Absent for a report. */
  whole?: WholeChanges;
  /** Here changes are kept without asking, and only these are too many. So they can be approved without being shown whole. */
  keepsUnasked?: boolean;
  /** Absent if no such changes can be approved in advance. */
  grant?: ChangesGrant;
  undo?: string;
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
  calls: {
    call: ToolCall;
    matches: GateMatch[];
    extraTags?: string[];
    isTainted?: boolean;
    facts?: string[];
    undo?: string;
    /** How often its files have changed before it ran, and the files of the card before. */
    round?: number;
    before?: BoundFiles;
  }[];
}

export interface Approvals {
  /**
   * Creates one record per call. Repeating it for the same calls of a turn returns the same records. Some rows may
   * already be settled, by a grant or because nobody may answer. If no row is open, don't post the card.
   */
  open(request: ApprovalRequest): Promise<{ card: ApprovalCard; approvalIds: string[] }>;
  /** Settles the approval at most once. Later answers get a receipt with the earlier outcome. */
  answer(answer: InboundAnswer): Promise<AnswerReceipt>;
  /**
   * Must be called right before the call runs. Checks expiry, hash and authority again, and consumes the approval. A
   * second redemption returns `approved` only for the same turn and call.
   */
  redeem(approvalId: string, call: ToolCall, workingFolder: string): Promise<ApprovalOutcome>;
  hashOf(call: ToolCall, workingFolder: string): string;
  /** As the turn shows it. Several turns can share a card. */
  card(cardId: string, turnId?: string): Promise<ApprovalCard | undefined>;
  /**
   * Cancels the turn's approvals whose calls have not run yet. People and the model see `reason`. Cards about the budget
   * of a day stay open, because it is not the turn's own.
   */
  cancel(turnId: string, reason?: string): Promise<void>;
  /** Expires the approvals that are due. Must be called regularly, because there are no timers. */
  sweep(now: number): Promise<void>;
}

export interface ChangeApprovals {
  /** Creates one record per hash of a draft. A grant may approve the changes immediately. */
  openChanges(
    request: ChangesRequest,
  ): Promise<{ card: ApprovalCard; approvalId: string; state: "open" | "approved" | "denied" | "consumed" }>;
  /** Must be called right before the changes are kept. Checks expiry and authority again, and consumes the approval. */
  redeemChanges(approvalId: string): Promise<ChangesOutcome>;
  finishChanges(approvalId: string, outcome: Pick<ChangesRecord, "result" | "undoId" | "mayRunAgain">): Promise<void>;
  /** True for the requester and for everyone who may approve. */
  mayTakeBack(approvalId: string, by: Author): Promise<boolean>;
  replaceChanges(approvalId: string, reason: string): Promise<void>;
}

export interface BudgetRequest {
  turnId: string;
  target: ReplyTarget;
  scope: Scope;
  requester: Author;
  workingFolder: string;
  ask: BudgetAsk;
  isBlocking: boolean;
}

export type OpenedBudget =
  | { type: "open"; card: ApprovalCard }
  /** `impossible`: nobody may answer. `by` is the display name of the person who decided. */
  | { type: "closed"; state: "continued" | "declined" | "expired" | "cancelled" | "impossible"; by?: string };

export interface BudgetApprovals {
  /** Creates one record per turn, budget and addition. Repeating it returns the same record, or what became of it. */
  openBudget(request: BudgetRequest): Promise<OpenedBudget>;
  /** Closes the open cards about the turn's own budget, because the turn has ended. */
  closeBudgets(turnId: string): Promise<void>;
}

export interface ChangesActions {
  /** `changed`: the files are no longer those of the record's hash. Undefined if the draft was kept or discarded. */
  diff(record: Pick<ApprovalRecord, "changes">): Promise<WholeChanges | "changed" | undefined>;
  undo(record: ApprovalRecord, approvalId: string, by: Author): Promise<AnswerReceipt>;
  runAgain(record: ApprovalRecord, approvalId: string, by: Author): Promise<AnswerReceipt>;
}

export interface OperatorDecision {
  cardOrApprovalId: string;
  choice: "approve" | "deny" | "part";
  reason?: string;
  parts?: number[];
}

export interface ApprovalDesk extends Approvals, ChangeApprovals, BudgetApprovals {
  /**
   * Asks by direct message, because nobody would see the card where it belongs: whom it would tell, and who asked for it. `why`
   * ends the sentence "I can't write there: ". Resolves to false if that reaches nobody.
   */
  askElsewhere(cardId: string, why: string): Promise<boolean>;
  /** Records which message shows the card. After that, clicks on other messages are refused. */
  posted(cardId: string, turnId: string, messageId: string): Promise<void>;
  /** If nobody may answer, the operator may not either. */
  decide(decision: OperatorDecision): Promise<AnswerReceipt>;
  /** Counts as this person's own answer: the same people may give it as in the chat. */
  decideAs(person: AnsweringPerson, decision: OperatorDecision): Promise<AnswerReceipt>;
  /** Ids of the open approvals on these cards that this person may answer now. */
  answerable(person: AnsweringPerson, cardIds: readonly string[]): Promise<Set<string>>;
  /** Returns the diff, escaped for terminals. */
  diffOf(cardOrApprovalId: string): Promise<string | undefined>;
  /** True if an answer of this person to an open row of the card would count. */
  mayAnswer(cardId: string, platform: string, by: Author): Promise<boolean>;
  listOpen(conversationId?: string): Promise<ApprovalCard[]>;
  listGrants(conversationId?: string): Promise<GrantRecord[]>;
  /** If `by` is absent, the operator revokes the grant. */
  revokeGrant(grantId: string, conversationId?: string, by?: Author): Promise<AnswerReceipt>;
  whenIdle(): Promise<void>;
}
