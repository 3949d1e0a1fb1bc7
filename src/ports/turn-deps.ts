/** The stages of the pipeline as `runTurn` takes them: everything it needs, and nothing it could reach by itself. */

import type { Log } from "../lib/log.ts";
import type { Approvals } from "./approval.ts";
import type { ApprovalCard } from "./card.ts";
import type { Containment } from "./containment.ts";
import type { ContextBuilder } from "./context.ts";
import type { Drafts } from "./draft.ts";
import type { Events } from "./events.ts";
import type { Gate } from "./gate.ts";
import type { Ledger } from "./ledger.ts";
import type { Memory } from "./memory.ts";
import type { InboundMessage, ReplyTarget } from "./message.ts";
import type { ModelEvent, Provider } from "./provider.ts";
import type { QuestionCard } from "./question.ts";
import type { Toolbox, ToolFile, ToolQueue, ToolSpec } from "./tool.ts";
import type { ReadAnswer, TaskFiles } from "./turn.ts";
import type { UsageMeter } from "./usage.ts";

/** Reads one model answer: normalises text, parses and checks tool calls. `onText` gets the whole text so far. */
export type ReadModel = (
  events: AsyncIterable<ModelEvent>,
  tools: ToolSpec[],
  usedCallIds: ReadonlySet<string>,
  onText: (text: string) => void,
) => Promise<ReadAnswer>;

/** One reply on its way to a platform. `show` and `activity` return at once; a newer state replaces an unsent older one. */
export interface Delivery {
  show(text: string): void;
  activity(text: string): void;
  ask(card: ApprovalCard): Promise<void>;
  settle(card: ApprovalCard): Promise<void>;
  question(card: QuestionCard): Promise<void>;
  /** Whether a question was posted since it was asked last: then the text goes on below it. */
  takeAsked(): boolean;
  finish(text: string, files: ToolFile[]): Promise<void>;
  fail(text: string): Promise<void>;
  /** Writes nothing more: somebody else goes on with the reply. Never rejects. */
  leave(): Promise<void>;
}

export interface TurnLimits {
  /** Model calls with tools in one turn; one more without tools follows. */
  steps: number;
  /** Calls of one step that run; the others are answered without running. */
  callsPerStep: number;
  /** Denied or blocked calls after which the tools are taken away. */
  refusals: number;
  /** Characters of one message that are read; longer ones are refused with a reason. */
  messageCharacters: number;
}

export interface TurnDeps {
  ledger: Ledger;
  events: Events;
  context: ContextBuilder;
  provider: Provider;
  readModel: ReadModel;
  deliver(target: ReplyTarget): Promise<Delivery>;
  toolbox: Toolbox;
  gate: Gate;
  approvals: Approvals;
  containment: Containment;
  drafts: Pick<Drafts, "settle" | "news">;
  queue: ToolQueue;
  memory: Memory;
  taskFiles: TaskFiles;
  usage: Pick<UsageMeter, "admit">;
  /** With `overlap: steer`: what was said meanwhile, to be read at the next step; else empty. */
  takeSteering(turnId: string, conversationId: string): Promise<InboundMessage[]>;
  limits: TurnLimits;
  log: Log;
}
