/**
 * `TurnDeps` for tests of the turn loop: a real ledger in memory, a scripted model, and small stand-ins for parts with their
 * own tests. `reply` holds everything that a person would see.
 */
import { createModelNotes } from "../../src/engine/turn/answered-by.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { RemoraEvent } from "../../src/ports/events.ts";
import type { VerdictClass } from "../../src/ports/gate.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { Episode, Feedback } from "../../src/ports/memory.ts";
import type { ToolCall, ToolJob, ToolResult, ToolSpec } from "../../src/ports/tool.ts";
import type { TurnRecord } from "../../src/ports/turn.ts";
import type { TurnDeps, TurnLimits } from "../../src/ports/turn-deps.ts";
import { originsOfTurn } from "../../src/ports/turn-origins.ts";
import type { DollarLimits, UsageLimits } from "../../src/ports/usage.ts";
import { createDelivery } from "../../src/response/deliver.ts";
import { readModel } from "../../src/response/parse.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import type { PriceOf } from "../../src/usage/prices.ts";
import { createUsageMeter } from "../../src/usage/usage.ts";
import { createRecordingReply, type RecordingReply } from "./recording-reply.ts";
import { createScriptedProvider, type ScriptedProvider, type ScriptStep } from "./scripted-provider.ts";

export const noDollarLimits: DollarLimits = {
  ...{ turn: null, user: null, channel: null, scheduleRun: null, schedule: null },
  ...{ step: 2, unpriced: "refuse" },
};
export const noLimits: UsageLimits = { userTokensPerDay: null, channelTokensPerDay: null, dollars: noDollarLimits };

export interface StageDoubles {
  stages: TurnDeps;
  ledger: Ledger;
  provider: ScriptedProvider;
  reply: RecordingReply;
  events: RemoraEvent[];
  /** Calls that reached the queue, in the order they started. */
  ran: ToolJob[];
  episodes: Episode[];
  feedback: Feedback[];
  close(): Promise<void>;
}

export interface StageDoubleOptions {
  steps: ScriptStep[];
  tools?: ToolSpec[];
  /** The gate's verdict on a call; default safe. */
  judge?: (tool: string, args: unknown) => VerdictClass;
  /** What a tool answers; default `ran NAME`. */
  runTool?: (job: ToolJob, signal: AbortSignal) => Promise<Partial<ToolResult>>;
  /** True for calls that affect nothing outside their draft; default none. */
  contained?: () => boolean;
  approvals?: Partial<TurnDeps["approvals"]>;
  takeSteering?: TurnDeps["takeSteering"];
  footer?: TurnDeps["footer"];
  earlier?: TurnDeps["earlier"];
  files?: TurnDeps["files"];
  limits?: Partial<TurnLimits>;
  usageLimits?: Partial<UsageLimits>;
  priceOf?: PriceOf;
  saveEpisode?: (episode: Episode) => Promise<void>;
  ledger?: Ledger;
  reply?: RecordingReply;
  /** What the requester reads in a direct message. */
  direct?: RecordingReply;
}

/** Writes the turn to the ledger as running, as the conversations do before they run it. */
export async function keepTurn(ledger: Ledger, turn: TurnRecord): Promise<TurnRecord> {
  await ledger.create("turn", turn.id, { state: "running", body: turn, group: turn.conversationId });
  return turn;
}

export function createStageDoubles(options: StageDoubleOptions): StageDoubles {
  const ledger = options.ledger ?? createSqliteLedger({ path: ":memory:" });
  const provider = createScriptedProvider(options.steps);
  const reply = options.reply ?? createRecordingReply();
  const direct = options.direct ?? createRecordingReply();
  const [ran, episodes, feedback, heard]: [ToolJob[], Episode[], Feedback[], RemoraEvent[]] = [[], [], [], []];
  const events = createEvents((thrown) => {
    throw thrown;
  });
  events.listen((event) => heard.push(event));
  const stages: TurnDeps = {
    ledger,
    events,
    provider,
    ephemeral: { get: () => undefined, drop() {} },
    modelNotes: createModelNotes(),
    askDirectly: async () => "Not read: asked again in a direct message.",
    readModel,
    context: contextDouble(options.tools ?? []),
    deliver: async () => createDelivery({ reply, redact: (text) => text, log: silentLog }),
    deliverDirect: async () => ({
      delivery: createDelivery({ reply: direct, redact: (text) => text, log: silentLog }),
      asked: "#general",
    }),
    tellUnseen: async () => {},
    toolbox: { specs: () => options.tools ?? [], run: () => Promise.reject(new Error("the queue runs tools")) },
    gate: gateDouble(options.judge ?? (() => "safe")),
    approvals: { ...refusingApprovals, ...options.approvals },
    containment: {
      isContained: options.contained ?? (() => false),
      isUnconfined: async () => false,
      problem: () => undefined,
      reasons: () => [],
      facts: async () => [],
      undo: () => "Can't be undone.",
    },
    drafts: { settle: async () => {}, news: async () => [] },
    isGivenFolder: () => false,
    queue: {
      async run(job, signal) {
        ran.push(job);
        return resultOf(job, await options.runTool?.(job, signal));
      },
      counts: () => ({ waiting: 0, running: 0 }),
      close: async () => {},
    },
    memory: {
      search: async () => [],
      stillKnown: async (sources) => [...sources],
      digest: async () => "",
      changeEpisode: async () => {},
      async saveEpisode(episode) {
        await options.saveEpisode?.(episode);
        episodes.push(episode);
      },
      async recordFeedback(entry) {
        feedback.push(entry);
      },
      close: async () => {},
    },
    earlier: options.earlier ?? { read: async () => undefined, markKnown: async () => {} },
    taskFiles: { save: async () => {} },
    files: options.files ?? { fetch: () => Promise.reject(new Error("no message of this test has a file")) },
    usage: createUsageMeter({
      ledger,
      priceOf: options.priceOf ?? (() => undefined),
      limits: { ...noLimits, ...options.usageLimits },
      log: silentLog,
    }),
    footer: options.footer ?? (async () => undefined),
    takeSteering: options.takeSteering ?? (async () => []),
    limits: { steps: 8, callsPerStep: 32, refusals: 3, messageCharacters: 1_000, ...options.limits },
    log: silentLog,
  };
  return { stages, ledger, provider, reply, events: heard, ran, episodes, feedback, close: () => ledger.close() };
}

/** The turn's own messages as the model would get them, without sections. */
function contextDouble(known: ToolSpec[]): TurnDeps["context"] {
  return {
    async build({ turn, tools, notes }) {
      const said = turn.messages.map((message) => message.text).join("\n");
      const request = {
        system: [...notes, ...(turn.news ?? [])].map((text) => ({ text, isCacheable: false })),
        messages: [
          { role: "user" as const, content: [{ type: "text" as const, text: said }] },
          ...turn.steps.flatMap((step) => [
            { role: "assistant" as const, text: step.text, toolCalls: step.calls.map((call) => call.raw) },
            ...step.calls.map(({ raw, result }) => ({
              role: "tool" as const,
              callId: raw.id,
              name: raw.name,
              text: result?.text ?? "",
              isError: result?.status !== "ok",
            })),
          ]),
        ],
        tools,
        maxOutputTokens: 100,
      };
      return { request, snapshotPath: "", estimatedTokens: 0, origins: originsOfTurn(turn, known), shown: [] };
    },
    remember: async () => {},
    current: async (turn) => turn,
    amend: async () => {},
    forget: async () => {},
    flush: () => {},
    prepare: () => {},
  };
}

function gateDouble(judge: (tool: string, args: unknown) => VerdictClass): TurnDeps["gate"] {
  return {
    classify(tool, args) {
      const verdict = judge(tool, args);
      const rule = { skill: "rules", file: "SKILL.md", line: 1, pattern: "p", form: "exact" };
      const matches =
        verdict === "safe" ? [] : [{ ...rule, kind: verdict === "block" ? ("danger" as const) : ("confirm" as const) }];
      return { class: verdict, matches, tags: [], input: args as ToolCall["input"], argsJson: JSON.stringify(args) };
    },
  };
}

const refusingApprovals: TurnDeps["approvals"] = {
  open: () => Promise.reject(new Error("nothing should be asked in this test")),
  answer: () => Promise.reject(new Error("nothing is answered in this test")),
  redeem: () => Promise.reject(new Error("nothing is redeemed in this test")),
  hashOf: (call) => JSON.stringify(call.input),
  card: async () => undefined,
  cancel: async () => {},
  sweep: async () => {},
  openBudget: async () => ({ type: "closed", state: "impossible" }),
  closeBudgets: async () => {},
};

function resultOf(job: ToolJob, changes: Partial<ToolResult> = {}): ToolResult {
  const { id: callId, name } = job.call;
  return { callId, name, status: "ok", text: `ran ${name}`, attempts: 1, durationMs: 1, files: [], ...changes };
}
