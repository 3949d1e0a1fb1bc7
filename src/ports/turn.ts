/** A turn's record is a journal, saved before each step so that any process can continue the turn. */
import type { AbortCause } from "../lib/abort.ts";
import type { RemoraError } from "../lib/errors.ts";
import type { BoundFiles } from "./bound-files.ts";
import type { Heard } from "./earlier.ts";
import type { GateMatch, VerdictClass } from "./gate.ts";
import type { InboundMessage, Json, ReplyTarget, Scope } from "./message.ts";
import type { Origin } from "./origin.ts";
import type { ModelToolCall, StopReason, Usage } from "./provider.ts";
import type { ShownContext } from "./shown-context.ts";
import type { ToolCall, ToolResult } from "./tool.ts";

/** `parked` turns wait for a person. An answer or an expiry makes them `running` again. */
export type TurnState = "running" | "parked" | "done" | "failed" | "stopped";

export interface CallRecord {
  raw: ModelToolCall;
  /** Absent if the call could not be parsed; `result` then says why. */
  call?: ToolCall;
  verdict?: { class: VerdictClass; matches: GateMatch[]; tags: string[] };
  isUnconfined?: boolean;
  approvalId?: string;
  cardId?: string;
  /** The tool asked the requester a question while it ran. Later text appears below the question. */
  hasAsked?: boolean;
  /** Who changed the arguments on the card. `call` is the approved version; `raw` is the model's. */
  editedBy?: string;
  /** The files that its approval covers. */
  bound?: BoundFiles;
  /** Counts the cards for which the files of the call changed before it ran. */
  round?: number;
  startedAt?: number;
  /** An interruption leaves nothing of the call behind. */
  isContained?: boolean;
  result?: ToolResult;
}

export interface StepRecord {
  text: string;
  /** How many of the turn's messages the model saw in this step. Absent if it saw all of them. */
  seenMessages?: number;
  /** Origins of text in the prompt that the requester did not write. Absent in records of earlier versions. */
  untrusted?: Origin[];
  calls: CallRecord[];
  /** Data that the provider needs back (provider.ts). Present only with calls, because other steps end the turn. */
  carry?: Json;
  stop: StopReason;
  model: string;
  requestedModel: string;
  /** The code of the failure because of which another model than the requested one answered. */
  insteadBecause?: string;
  usage: Usage;
  /** US dollars. Absent if the model has no price. */
  cost?: number;
  /** The provider reported no tokens, so `usage` and `cost` are estimates. */
  isEstimated?: boolean;
  /** It seems to say only what the model will do, so the model was asked once more. No part of the answer if it then called a tool. */
  isAnnouncement?: true;
  /** More of the request became known after the model had answered it, so the model was asked again. No part of the answer. */
  isSuperseded?: true;
  /** A card about a budget was posted below this step's text. */
  isAboveCard?: boolean;
  at: number;
}

export interface TurnRecord {
  id: string;
  conversationId: string;
  scope: Scope;
  /** Oldest first, all by the same person. Messages sent during another turn are merged into the next turn. */
  messages: InboundMessage[];
  target: ReplyTarget;
  workingFolder: string;
  steps: StepRecord[];
  startedAt: number;
  endedAt?: number;
  /** Id of the only run that may write. Each takeover sets a new id, so a run presumed dead can't write. */
  owner?: string;
  /** Set while the turn is parked: people have answered or stopped it, and no run has continued it since. */
  wokenAt?: number;
  /** Why the turn must end. The process that runs or next resumes the turn ends it. */
  abort?: AbortCause;
  /** True once the platform has accepted the final text. */
  isDelivered: boolean;
  /** Set while the turn still runs although people have seen how it ended: its changes are settled, and memory is written. */
  isEndShown?: boolean;
  /** The visible text of an unfinished last step, which the reply keeps. */
  unfinishedText?: string;
  /** People were asked to add to a budget. */
  hasBudgetCard?: boolean;
  /** US dollars of calls that broke off after they had begun to answer, estimated. */
  brokenCost?: number;
  /** What was said before the first message. Saved before the first step so that every step has the same prompt. */
  heard?: Heard;
  /** Saved with each step, oldest first, so that the prompt of a later step begins with that of the earlier one. */
  shown?: ShownContext[];
  news?: string[];
  failure?: string;
  /** Why, in more words than people read below the answer: Details shows it. */
  failureReason?: string;
  /** The same messages would fail again in the same way. */
  isFailureFinal?: boolean;
  /** A model declined to answer. Later prompts leave out what was asked, because it would be refused again. */
  isRefused?: boolean;
  /** The turn must still end in this way, because the service accepted nothing when it was to end. */
  ending?: { state: "failed" | "stopped"; sentence: string };
  /** Since when, how often and why the service did not accept what the turn has to show. */
  undelivered?: { since: number; tries: number; because: string };
}

/** Only this person's rights count. */
export function requesterOf(turn: Pick<TurnRecord, "id" | "messages">) {
  const newest = turn.messages.at(-1);
  if (newest === undefined) throw new TypeError(`turn ${turn.id} has no message`);
  return newest.author;
}

export function callsOf(turn: TurnRecord): CallRecord[] {
  return turn.steps.flatMap((step) => step.calls);
}

/** Stands for what a person asked and a model declined to answer, wherever a later prompt could repeat it. */
export const refusedText = "(What was asked here is left out, because a model declined to answer it.)";

/** Returns the steps since the last card or question. Text above a card or question is not written again. */
/** The call may have run, and nobody knows whether it did. */
export function isOfUnknownOutcome({ startedAt, isContained, result }: CallRecord): boolean {
  if (isContained === true) return false;
  return result === undefined ? startedAt !== undefined : result.status === "interrupted";
}

export function openSegment(turn: TurnRecord): StepRecord[] {
  const lastAsked = turn.steps.findLastIndex((step) => step.isAboveCard === true || step.calls.some(isBelow));
  return turn.steps.slice(lastAsked + 1);
}

function isBelow({ cardId, hasAsked }: CallRecord): boolean {
  return cardId !== undefined || hasAsked === true;
}

export function textOf(steps: StepRecord[]): string {
  const said = steps.filter((step) => step.isSuperseded !== true && !isFulfilledAnnouncement(step, steps));
  const texts = said.map((step) => step.text.trim());
  // Some models say the same before each call.
  return texts.filter((text, index) => text !== "" && text !== texts[index - 1]).join("\n\n");
}

/** True if the model announced a call in this step, and made one later. */
export function isFulfilledAnnouncement<S extends { calls: readonly unknown[]; isAnnouncement?: true }>(
  step: S,
  steps: readonly S[],
): boolean {
  return step.isAnnouncement === true && steps.slice(steps.indexOf(step) + 1).some(({ calls }) => calls.length > 0);
}

/** What a model had said before its stream broke or it declined. `usage` is present if the service counted it. */
export interface BrokenText {
  model: string;
  text: string;
  usage?: Usage;
}

/** `failed` contains the text that people had already seen. */
export type ReadAnswer =
  | {
      type: "answer";
      text: string;
      calls: ParsedCall[];
      stop: StopReason;
      usage: Usage;
      model: string;
      carry?: Json;
      insteadBecause?: string;
      broken: BrokenText[];
      firstTokenMs: number;
    }
  /** `isCounted`: `broken` has what the failed call itself has used. */
  | { type: "failed"; text: string; broken: BrokenText[]; error: RemoraError; isCounted?: true };

export type ParsedCall = { raw: ModelToolCall; call: ToolCall } | { raw: ModelToolCall; problem: string };

export interface TaskFiles {
  save(turn: TurnRecord, state: TurnState): Promise<void>;
}
