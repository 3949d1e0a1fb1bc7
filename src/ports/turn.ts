/** A turn's record is a journal, written before the next thing happens, so that any process can do the next undone step. */
import type { AbortCause } from "../lib/abort.ts";
import type { RemoraError } from "../lib/errors.ts";
import type { GateMatch, VerdictClass } from "./gate.ts";
import type { InboundMessage, Json, ReplyTarget, Scope } from "./message.ts";
import type { Origin } from "./origin.ts";
import type { ModelToolCall, StopReason, Usage } from "./provider.ts";
import type { ToolCall, ToolResult } from "./tool.ts";

/** `running` until it parks (waits for a person) or ends; a parked turn is made `running` again by an answer or an expiry. */
export type TurnState = "running" | "parked" | "done" | "failed" | "stopped";

export interface CallRecord {
  /** As the model asked for it, with an id that is unique in the turn. */
  raw: ModelToolCall;
  /** Parsed and checked; absent when it could not be, and then `result` says why. */
  call?: ToolCall;
  verdict?: { class: VerdictClass; matches: GateMatch[]; tags: string[] };
  /** No view could be made over the folder, and people were asked about that. */
  isUnconfined?: boolean;
  approvalId?: string;
  cardId?: string;
  /** The tool asked the person something meanwhile: what is said after it stands below the question. */
  hasAsked?: boolean;
  /** Who changed the arguments on the card; `call` is then what was approved, `raw` what the model asked for. */
  editedBy?: string;
  /** Milliseconds since the epoch; when it was handed to the queue. */
  startedAt?: number;
  result?: ToolResult;
}

export interface StepRecord {
  text: string;
  /** How many of the turn's messages the model was shown for this step; absent: all of them. */
  seenMessages?: number;
  /** What the prompt of this step held that the person who asked has not written; absent: of an earlier version. */
  untrusted?: Origin[];
  calls: CallRecord[];
  /** What the provider wants back with this step (provider.ts); only with calls, as the turn ends without them. */
  carry?: Json;
  stop: StopReason;
  /** `provider/model` that answered, and the one that was asked first. */
  model: string;
  requestedModel: string;
  usage: Usage;
  at: number;
}

export interface TurnRecord {
  id: string;
  conversationId: string;
  scope: Scope;
  /** One or more, oldest first, all of one person: what that person said while another turn ran is merged into the next. */
  messages: InboundMessage[];
  target: ReplyTarget;
  workingFolder: string;
  steps: StepRecord[];
  startedAt: number;
  endedAt?: number;
  /** Whose run of it counts: made anew each time somebody takes it up, so that a run that was given up for dead writes nothing more. */
  owner?: string;
  /** It is to end because of this; whoever runs it, or takes it up next, sees to that. */
  abort?: AbortCause;
  /** The final text has been handed to the platform and taken. */
  isDelivered: boolean;
  /** What people saw of a last step that did not come to its end; it stays in the reply. */
  unfinishedText?: string;
  /** What became of the drafts of earlier turns, for the model; a sentence each. */
  news?: string[];
  failure?: string;
}

/** The person a turn is run for: the author of its messages. Nobody else's rights count in it. */
export function requesterOf(turn: TurnRecord) {
  const newest = turn.messages.at(-1);
  if (newest === undefined) throw new TypeError(`turn ${turn.id} has no message`);
  return newest.author;
}

export function callsOf(turn: TurnRecord): CallRecord[] {
  return turn.steps.flatMap((step) => step.calls);
}

/** The steps since the last card or question: text up to there stands above it and is not written again. */
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

/** What came of reading one model answer; `failed` carries what had been shown by then. */
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

/** Human-readable account of a turn with tools, rewritten whole at every change. */
export interface TaskFiles {
  /** Does nothing for a turn without tool calls. */
  save(turn: TurnRecord, state: TurnState): Promise<void>;
}
