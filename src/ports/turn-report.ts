/**
 * What a turn did, for people: each step and call, who decided, what was kept, how long it took, and what it cost. Built from
 * the ledger alone. Texts have configured secrets masked and hidden characters escaped, but may contain markup. They are on
 * one line unless noted.
 */
import type { ShownChange } from "./card.ts";
import type { Scope } from "./message.ts";
import type { Usage } from "./provider.ts";
import type { ToolStatus } from "./tool.ts";
import type { TurnRecord, TurnState } from "./turn.ts";

export interface TurnReport {
  turnId: string;
  platform: string;
  conversationId: string;
  scope: Scope;
  requester: { id: string; name: string };
  /** The beginning of what the requester wrote. */
  asked: string;
  state: TurnState;
  startedAt: number;
  endedAt?: number;
  /** Without the time that it waited for people. Up to now, if the turn has not ended. */
  workedMs: number;
  waitedMs: number;
  /** Names of the people who answered, or nobody if the waiting ended without an answer. */
  waitedFor: string[];
  tokens: number;
  /** US dollars. Absent unless at least one step has a price. */
  cost?: number;
  /** Steps without a price, which `cost` does not cover. */
  unpricedSteps: number;
  steps: StepReport[];
  changes: ChangesReport[];
  /** Where text in the prompts came from that the requester did not write, without the texts. */
  othersTexts: string[];
  /** Why the turn failed or was stopped. */
  failure?: string;
  /** May the requester start the same request again? False if it could do something twice, or would only fail again. */
  isSafeToRetry: boolean;
}

export interface StepReport {
  number: number;
  at: number;
  model: string;
  /** Present if another model was asked first. */
  requestedModel?: string;
  usage: Usage;
  cost?: number;
  calls: CallReport[];
}

/** `waiting` for people, `running`, and `not-run` because the turn ended before. */
export type CallOutcome = ToolStatus | "waiting" | "running" | "not-run";

export interface CallReport {
  id: string;
  tool: string;
  /** What the call does or did, in plain words; otherwise the beginning of the call. Pairs of backticks mark code. */
  headline: string;
  /** The whole call on several lines, as on cards. Very long ones end with a note of how much is missing. */
  callText: string;
  verdict: "allowed" | "asked" | "blocked" | "not-judged";
  /** Why it was asked about or blocked, in words. */
  why: string[];
  /** The rules behind `why`: skill, pattern, file and line. */
  rules: string[];
  approval?: ApprovalReport;
  editedBy?: string;
  outcome: CallOutcome;
  /** If it was interrupted, nothing of it is left. */
  isContained?: boolean;
  startedAt?: number;
  /** Total of all attempts. Absent if the call did not run. */
  durationMs?: number;
  attempts: number;
  /** The beginning of the result, on several lines. Empty if there is none. */
  result: string;
  isResultCut: boolean;
  files: string[];
}

export interface ApprovalReport {
  state: "open" | "approved" | "denied" | "expired" | "cancelled";
  askedAt: number;
  decidedAt?: number;
  /** In order. Several if the call needed several approvals. */
  by: { name: string; at: number; isOperator: boolean }[];
  /** Somebody had allowed such calls in advance, so nobody was asked. */
  isInAdvance: boolean;
  reason?: string;
}

export interface ChangesReport {
  title: string;
  /** `kept` also after an undo, which `result` then mentions. */
  state: "waiting" | "kept" | "discarded";
  /** Who decided; absent if the rules did. */
  by?: string;
  decidedAt?: number;
  result: string;
  files: ShownChange[];
  moreFiles: number;
  moreWarned?: number;
}

export interface TurnReports {
  /** Undefined if the record is gone: records are kept for 30 days. */
  read(turnId: string): Promise<TurnReport | undefined>;
  of(turn: TurnRecord, state: TurnState): Promise<TurnReport>;
  /** The conversation's turns, newest first. */
  newest(conversationId: string, limit: number): Promise<TurnReport[]>;
}
