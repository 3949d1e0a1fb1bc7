/** A compactor over a store, with a model that answers when the test lets it. */
import { type CompactorOptions, createCompactor } from "../../src/context/compaction.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { Leases } from "../../src/ports/cluster.ts";
import type { RemoraEvent } from "../../src/ports/events.ts";
import type { Origin } from "../../src/ports/origin.ts";
import type { ModelEvent, ModelRequest, Provider } from "../../src/ports/provider.ts";
import type { StepRecord, TurnRecord } from "../../src/ports/turn.ts";
import type { AdmittedCall, ModelCall, UsageMeter } from "../../src/ports/usage.ts";
import { readModel } from "../../src/response/parse.ts";
import { createInMemoryLeases } from "../../src/storage/in-memory-cluster.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";
import { hangs, says } from "../doubles/scripted-provider.ts";
import { textOfMessage, type World } from "./world.ts";

const usage = { inputTokens: 90, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 };
const base = { stop: "end" as const, model: "m", requestedModel: "m", usage, at: 1 };
/** About 60 tokens. */
export const words = "some words that nobody needs to know about, but they take their place in the history ".repeat(3);
/** Of the history. Six exchanges fit. */
export const historyTokens = 700;

export interface Said {
  by?: string;
  text?: string;
  answer?: string;
  origins?: Origin[];
  changes?: Partial<TurnRecord>;
}

export function endedTurn(
  id: string,
  { by = "ann", text = `said in ${id}`, answer = `answer of ${id}`, origins, changes }: Said = {},
) {
  const author = { id: by, name: by, isBot: false, roles: [] };
  const message = inboundMessage({ id, author, text: `${text} ${words}` });
  const steps: StepRecord[] = [
    ...(origins === undefined ? [] : [reading(origins)]),
    { ...base, text: answer, calls: [] },
  ];
  return turnRecord({ id, messages: [message], steps, endedAt: 1_000, ...changes });
}

function reading(origins: Origin[]): StepRecord {
  const raw = { id: "c1", name: "fetch", inputJson: "{}" };
  const result = { callId: "c1", name: "fetch", status: "ok" as const, text: "a page", origins, attempts: 1 };
  return { ...base, text: "", calls: [{ raw, result: { ...result, durationMs: 1, files: [] } }] };
}

/** Answers each request by what `answer` returns for it. */
export function createModel(
  answer: (request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelEvent> | ModelEvent[],
) {
  const requests: ModelRequest[] = [];
  const provider: Provider = {
    name: "test",
    model: "test/model",
    async *stream(request, signal) {
      requests.push(request);
      yield* answer(request, signal);
    },
  };
  return { requests, provider };
}

export const summarizing = (text: string) => createModel(() => says(text, "test/model"));
export const hanging = () =>
  createModel((request, signal) => {
    const step = hangs();
    return typeof step === "function" ? step(request, signal) : step;
  });

/** A permit that limits nothing. */
export function admittedCall(onCount: (call: ModelCall) => void = () => {}): AdmittedCall {
  return {
    ...{ type: "admitted", asks: [] },
    count(call) {
      onCount(call);
      return { usage: call.usage, written: Promise.resolve() };
    },
    end: async () => {},
  };
}

export function createCompaction(world: World, provider: Provider, changes: Partial<CompactorOptions> = {}) {
  const counted: ModelCall[] = [];
  const events: RemoraEvent[] = [];
  const bus = createEvents();
  bus.listen((event) => events.push(event));
  const meter: Pick<UsageMeter, "admitAside"> = {
    admitAside: async () => admittedCall((call) => counted.push(call)),
  };
  const history = changes.history ?? world.history();
  const leases: Leases = createInMemoryLeases();
  const compactor = createCompactor({
    ...{ history, provider, readModel, usage: meter, leases, events: bus, log: silentLog },
    ...{ contextTokens: 8_000, historyTokens, maxOutputTokens: 4_000, tools: () => [] },
    ...changes,
  });
  return {
    ...{ history, compactor, counted, events },
    /** Adds turns, and waits for what that started. */
    async add(...turns: TurnRecord[]): Promise<void> {
      for (const turn of turns) {
        await history.add(turn, []);
        compactor.consider(turn);
        await compactor.whenIdle();
      }
    },
    read: () => history.read("test:c1", "", []),
  };
}

export function promptOf(request: ModelRequest | undefined): string {
  return (request?.messages ?? []).map(textOfMessage).join("\n");
}

export function turnsOf(count: number, from = 1): TurnRecord[] {
  return Array.from({ length: count }, (_, index) => endedTurn(`t${from + index}`));
}
