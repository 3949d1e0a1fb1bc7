/** A turn's record is a journal. It is written before each next step, so that any process can continue the turn. */
import type { AbortCause } from "../lib/abort.ts";
import type { RemoraError } from "../lib/errors.ts";
import type { GateMatch, VerdictClass } from "./gate.ts";
import type { InboundMessage, Json, ReplyTarget, Scope } from "./message.ts";
import type { Origin } from "./origin.ts";
import type { ModelToolCall, StopReason, Usage } from "./provider.ts";
import type { ToolCall, ToolResult } from "./tool.ts";

/**
 * A turn is `running` until it parks (waits for a person) or ends. An answer or an expiry makes a parked turn `running` again.
 */
export type TurnState = "running" | "parked" | "done" | "failed" | "stopped";

export interface CallRecord {
  /** As the model asked for it, with an id that is unique in the turn. */
  raw: ModelToolCall;
  /** The parsed and checked call. Absent if that failed; then `result` says why. */
  call?: ToolCall;
  verdict?: { class: VerdictClass; matches: GateMatch[]; tags: string[] };
  /** True if no view over the folder was possible and people were asked about that. */
  isUnconfined?: boolean;
  approvalId?: string;
  cardId?: string;
  /** True if the tool asked the requester a question while it ran. Later text is shown below the question. */
  hasAsked?: boolean;
  /** Who changed the arguments on the card; `call` is then what was approved, `raw` what the model asked for. */
  editedBy?: string;
  /** When the call was handed to the queue, in milliseconds since the epoch. */
  startedAt?: number;
  result?: ToolResult;
}

export interface StepRecord {
  text: string;
  /** Number of the turn's messages that the model saw in this step. Absent if it saw all of them. */
  seenMessages?: number;
  /** Origins of text in this step's prompt that the requester has not written. Absent in records of earlier versions. */
  untrusted?: Origin[];
  calls: CallRecord[];
  /**
   * Data that the provider needs back with this step (provider.ts). Present only with calls, because a step without calls ends
   * the turn.
   */
  carry?: Json;
  stop: StopReason;
  /** The `provider/model` that answered, and the one that was asked first. */
  model: string;
  requestedModel: string;
  usage: Usage;
  at: number;
}

export interface TurnRecord {
  id: string;
  conversationId: string;
  scope: Scope;
  /**
   * One or more messages of one person, oldest first. What the person said while another turn ran is merged into the next turn.
   */
  messages: InboundMessage[];
  target: ReplyTarget;
  workingFolder: string;
  steps: StepRecord[];
  startedAt: number;
  endedAt?: number;
  /**
   * Id of the only run that may write. Every process that takes up the turn sets a new id, so a run presumed dead can't write
   * any more.
   */
  owner?: string;
  /** Why the turn must end. The process that runs it, or takes it up next, ends it. */
  abort?: AbortCause;
  /** True once the platform has accepted the final text. */
  isDelivered: boolean;
  /** What people saw of an unfinished last step. It is kept in the reply. */
  unfinishedText?: string;
  /** What happened to the drafts of earlier turns, one sentence each, for the model. */
  news?: string[];
  failure?: string;
}

/** Returns the person for whom a turn runs: the author of its messages. Only this person's rights count. */
export function requesterOf(turn: TurnRecord) {
  const newest = turn.messages.at(-1);
  if (newest === undefined) throw new TypeError(`turn ${turn.id} has no message`);
  return newest.author;
}

export function callsOf(turn: TurnRecord): CallRecord[] {
  return turn.steps.flatMap((step) => step.calls);
}

/** Returns the steps since the last card or question. Earlier text is above the card or question and is not written again. */
export function openSegment(turn: TurnRecord): StepRecord[] {
  const lastAsked = turn.steps.findLastIndex((step) => step.calls.some(isBelow));
  return turn.steps.slice(lastAsked + 1);
}

function isBelow({ cardId, hasAsked }: CallRecord): boolean {
  return cardId !== undefined || hasAsked === true;
}

export function textOf(steps: StepRecord[]): string {
  return steps
    .map((step) => step.text.trim())
    .filter((text) => text !== "")
    .join("\n\n");
}

/** The result of reading one model answer. `failed` contains the text that had already been shown. */
export type ReadAnswer =
  | {
      type: "answer";
      text: string;
      calls: ParsedCall[];
      stop: StopReason;
      usage: Usage;
      model: string;
      carry?: Json;
      firstTokenMs: number;
    }
  | { type: "failed"; text: string; error: RemoraError };

export type ParsedCall = { raw: ModelToolCall; call: ToolCall } | { raw: ModelToolCall; problem: string };

/** Human-readable account of a turn with tools, rewritten completely at every change. */
export interface TaskFiles {
  /** Does nothing for a turn without tool calls. */
  save(turn: TurnRecord, state: TurnState): Promise<void>;
}
