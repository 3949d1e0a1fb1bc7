import type { Log } from "../lib/log.ts";
import type { AnswerFooter } from "./answer-footer.ts";
import type { Approvals, BudgetApprovals } from "./approval.ts";
import type { ApprovalCard, CardNote } from "./card.ts";
import type { AskDirectly } from "./chat-services.ts";
import type { Containment } from "./containment.ts";
import type { ContextBuilder } from "./context.ts";
import type { Drafts } from "./draft.ts";
import type { Heard } from "./earlier.ts";
import type { EphemeralTexts } from "./ephemeral.ts";
import type { Events } from "./events.ts";
import type { Gate } from "./gate.ts";
import type { Ledger } from "./ledger.ts";
import type { Memory } from "./memory.ts";
import type { InboundMessage, ReplyTarget } from "./message.ts";
import type { Progress } from "./progress.ts";
import type { ModelEvent, Provider } from "./provider.ts";
import type { QuestionCard } from "./question.ts";
import type { Toolbox, ToolFile, ToolQueue, ToolSpec } from "./tool.ts";
import type { ReadAnswer, TaskFiles, TurnRecord } from "./turn.ts";
import type { TurnFiles } from "./turn-files.ts";
import type { BudgetDecisions, UsageMeter } from "./usage.ts";

export interface AnswerListener {
  /** Gets the complete text so far. */
  onText(text: string): void;
  onNotice?(text: string): void;
}

/** Reads one model answer. */
export type ReadModel = (
  events: AsyncIterable<ModelEvent>,
  tools: ToolSpec[],
  usedCallIds: ReadonlySet<string>,
  listener: AnswerListener,
) => Promise<ReadAnswer>;

/** Writes one reply to a platform. `show` and `progress` return immediately; a newer state replaces an unsent one. */
export interface Delivery {
  show(text: string): void;
  /** Call it before `show` gets text that others may have influenced. It applies to everything that follows. */
  avoidPreviews(): void;
  progress(progress: Progress): void;
  ask(card: ApprovalCard): Promise<void>;
  settle(card: ApprovalCard): Promise<void>;
  note(note: CardNote): Promise<string>;
  question(card: QuestionCard): Promise<void>;
  /** True if a question was posted since the last `takeAsked`. The text then continues below the question. */
  takeAsked(): boolean;
  finish(text: string, files: ToolFile[], footer?: AnswerFooter, notes?: string): Promise<void>;
  fail(text: string, reason: string, footer?: AnswerFooter): Promise<void>;
  /** Removes the progress, because the turn waits for people. Never rejects. */
  park(): Promise<void>;
  /** Stops writing, because another process continues the reply. Never rejects. */
  leave(): Promise<void>;
}

export type TurnEnding = "done" | "failed" | "stopped";

export interface TurnLimits {
  /** Maximum model calls with tools in one turn. One call without tools follows. */
  steps: number;
  /** Maximum tool calls that run in one step. The others get an error instead. */
  callsPerStep: number;
  /** After this many denied or blocked calls, the model gets no more tools. */
  refusals: number;
  messageCharacters: number;
}

/** Reads what was said before a turn, once per turn, and remembers what each conversation knows. */
export interface EarlierMessages {
  /** Never rejects. Undefined if there is nothing to tell. */
  read(turn: TurnRecord, signal: AbortSignal): Promise<Heard | undefined>;
  /** Marks what was said up to the turn's first message as known. Calling it again does no harm. Never rejects. */
  markKnown(turn: TurnRecord): Promise<void>;
}

/** Remembers which conversation has read that another model answers. */
export interface ModelNotes {
  /** True if the conversation should read the note now. An empty note says that the requested model answers again. */
  isNew(turn: Pick<TurnRecord, "id" | "conversationId">, note: string): boolean;
}

export interface TurnDeps {
  ledger: Ledger;
  events: Events;
  context: ContextBuilder;
  provider: Provider;
  modelNotes: ModelNotes;
  readModel: ReadModel;
  deliver(target: ReplyTarget): Promise<Delivery>;
  /** Opens a direct message with the turn's requester. Rejects if the service refuses it. */
  deliverDirect(turn: TurnRecord): Promise<Delivery>;
  askDirectly: AskDirectly;
  toolbox: Toolbox;
  gate: Gate;
  approvals: Approvals & BudgetApprovals;
  containment: Containment;
  drafts: Pick<Drafts, "settle" | "news">;
  /** True for a folder that the settings give. Its files have no origins, but others may have written them. */
  isGivenFolder(folder: string): boolean;
  queue: ToolQueue;
  files: TurnFiles;
  memory: Memory;
  ephemeral: Pick<EphemeralTexts, "get" | "drop">;
  earlier: EarlierMessages;
  taskFiles: TaskFiles;
  usage: Pick<UsageMeter, "admit" | "asks"> & Pick<BudgetDecisions, "asked">;
  /** What to show below the turn's answer. Never rejects. */
  footer(turn: TurnRecord, end: TurnEnding): Promise<AnswerFooter | undefined>;
  /** Takes the requester's new messages. Empty unless `overlap` is `steer`. */
  takeSteering(turnId: string, conversationId: string): Promise<InboundMessage[]>;
  limits: TurnLimits;
  log: Log;
}
