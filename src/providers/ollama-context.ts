/**
 * How many tokens of context Ollama gives a model (`num_ctx`). Without a word from us it is 4,096 on most machines, and Ollama
 * silently drops what does not fit. Another value loads the model anew, so a model keeps its value while the process runs,
 * unless the machine has too little memory for it. What was learned from a refusal counts for an hour: memory may be free again.
 */
import { totalmem } from "node:os";
import { formatNumber } from "../lib/text/format-number.ts";
import type { HealthCheck } from "../ports/health.ts";
import { describeOllamaModel, hostnameOf, type OllamaFacts, probeOllama } from "./ollama-models.ts";

export interface ContextWishes {
  /** `context.tokens`: the longest prompt, as estimated. */
  promptTokens: number;
  /** `models.maxOutputTokens`. */
  answerTokens: number;
  /** `models.ollama.contextTokens`. Absent: automatic. */
  contextTokens?: number;
}

export interface ModelContext {
  facts: OllamaFacts | undefined;
  /** Undefined: the server knows best, because it runs the model elsewhere. */
  numCtx: number | undefined;
  limitedBy?: keyof typeof limits;
  /** What the server really gave, if a refusal said so. Some servers ignore `num_ctx`. */
  given?: number;
}

/** Why a model gets no more, and what to do, for people. */
const limits = {
  model: { why: "It has no more", todo: "Choose another one (models.ollama.model), or lower context.tokens" },
  setting: { why: "models.ollama.contextTokens says so", todo: "Raise it, or lower context.tokens" },
  modelfile: {
    why: "Its Modelfile says so (num_ctx)",
    todo: "Set models.ollama.contextTokens, or lower context.tokens",
  },
  memory: {
    why: "The machine has no memory for more",
    todo: "Choose a smaller model (models.ollama.model), or set models.ollama.contextTokens if a GPU has room",
  },
};

export interface OllamaContexts {
  /** Asks the server once per model. Never rejects. */
  of(model: string, signal: AbortSignal, fetchNow?: typeof globalThis.fetch): Promise<ModelContext>;
  /** The longest prompt for a model that was asked about before. */
  promptTokens(model: string): number | undefined;
  /** For people: what a model that takes less than `context.tokens` gets, why, and what to do. */
  problemOf(model: string): Pick<HealthCheck, "what" | "why" | "todo"> | undefined;
  /** After a refusal that says how many tokens of context there are. */
  learn(model: string, tokens: number): void;
  /**
   * After a refusal for lack of memory with `refused` tokens. False if there is no smaller context worth having. Messages that
   * were refused together shrink it once.
   */
  shrink(model: string, refused: number | undefined): boolean;
}

interface Known {
  decided: ModelContext;
  learned?: Partial<ModelContext>;
  learnedUntil: number;
}

/** Models count differently than our estimate, some up to this much more. */
const tokenizerMargin = 1.15;
/** Longer answers are rare, and each token of context costs memory. */
const maxAnswerTokens = 8_192;
/** With less, hardly more than the instructions, the tools and a question would fit. */
const minContextTokens = 8_192;
/** Whatever a server says that it has. With less, not even the instructions would fit. */
const minGivenTokens = 2_048;
const learnedMs = 3_600_000;
const contextStep = 1_024;
/** Of the machine's memory, as in Ollama's own estimate. */
const usableMemory = 0.8;

export function createOllamaContexts(
  host: string,
  wishes: ContextWishes,
  memoryBytes = memoryOf(host),
  now: () => number = Date.now,
): OllamaContexts {
  const known = new Map<string, Known>();
  const answerTokens = Math.min(wishes.answerTokens, maxAnswerTokens);
  const wanted = upToStep(wishes.promptTokens * tokenizerMargin + answerTokens);

  function decide(facts: OllamaFacts | undefined, modelBytes: number): ModelContext {
    if (facts?.isRemote) return { facts, numCtx: undefined, limitedBy: "model" };
    const { contextLength = Number.POSITIVE_INFINITY, fileContext, tokenBytes } = facts ?? {};
    const within = (numCtx: number, limitedBy: keyof typeof limits): ModelContext =>
      numCtx > contextLength ? { facts, numCtx: contextLength, limitedBy: "model" } : { facts, numCtx, limitedBy };
    if (wishes.contextTokens !== undefined) return within(wishes.contextTokens, "setting");
    if (fileContext !== undefined) return within(fileContext, "modelfile");
    const free = memoryBytes * usableMemory - modelBytes;
    // A model that is larger than the memory is on a GPU, and nobody knows how much room that has.
    const fitting = tokenBytes === undefined || free <= 0 ? wanted : downToStep(free / tokenBytes);
    return within(Math.min(wanted, Math.max(minContextTokens, fitting)), "memory");
  }

  function contextOf(model: string): ModelContext | undefined {
    const { decided, learned, learnedUntil = 0 } = known.get(model) ?? {};
    return decided && (learnedUntil > now() ? { ...decided, ...learned } : decided);
  }

  function learn(model: string, learned: Partial<ModelContext>): void {
    const { decided = { facts: undefined, numCtx: wanted } } = known.get(model) ?? {};
    known.set(model, { decided, learned, learnedUntil: now() + learnedMs });
  }

  function promptTokens(model: string): number | undefined {
    const context = contextOf(model);
    const tokens = context?.given ?? context?.numCtx ?? context?.facts?.contextLength;
    if (tokens === undefined) return undefined;
    return Math.floor((tokens - Math.min(answerTokens, tokens / 4)) / tokenizerMargin);
  }

  return {
    async of(model, signal, fetchNow) {
      const before = contextOf(model);
      if (before !== undefined) return before;
      const [facts, models] = await Promise.all([
        describeOllamaModel(host, model, signal, fetchNow),
        probeOllama(host, signal, fetchNow),
      ]);
      const size = models?.find(({ name }) => name === model || name === `${model}:latest`)?.size ?? 0;
      const context = decide(facts, size);
      // Another request may have been faster, and has loaded the model with its value.
      const first = contextOf(model);
      if (first === undefined && facts !== undefined) known.set(model, { decided: context, learnedUntil: 0 });
      return first ?? context;
    },
    promptTokens,
    problemOf(model) {
      const tokens = promptTokens(model) ?? Number.POSITIVE_INFINITY;
      const { given, numCtx, facts, limitedBy } = contextOf(model) ?? {};
      if (tokens >= wishes.promptTokens || limitedBy === undefined) return undefined;
      const all = formatNumber(given ?? numCtx ?? facts?.contextLength ?? 0);
      const what = `ollama/${model} has ${all} tokens of context, so its prompts are cut to ${formatNumber(tokens)} instead of context.tokens (${formatNumber(wishes.promptTokens)})`;
      return { what, ...limits[limitedBy] };
    },
    learn(model, tokens) {
      const given = Math.max(minGivenTokens, tokens);
      const { numCtx } = contextOf(model) ?? { numCtx: wanted };
      if (given < (numCtx ?? Number.POSITIVE_INFINITY)) learn(model, { numCtx, given, limitedBy: "model" });
    },
    shrink(model, refused) {
      const { numCtx = wanted } = contextOf(model) ?? {};
      if (refused !== undefined && numCtx !== refused) return true;
      if (numCtx <= minContextTokens) return false;
      learn(model, { numCtx: Math.max(minContextTokens, downToStep(numCtx / 2)), limitedBy: "memory" });
      return true;
    },
  };
}

/** Of another machine, nothing is known. */
function memoryOf(host: string): number {
  return /^(?:localhost|127\..*|\[::1\])$/.test(hostnameOf(host) ?? "") ? totalmem() : Number.POSITIVE_INFINITY;
}

function upToStep(tokens: number): number {
  return Math.ceil(tokens / contextStep) * contextStep;
}

function downToStep(tokens: number): number {
  return Math.floor(tokens / contextStep) * contextStep;
}
