/**
 * Context assembly: everything that the model sees in one step.
 *
 *   1. render the stable prefix: identity, procedures, skill index, tool notes
 *   2. add the running turn with its steps; shorten it if it would exceed the budget even without other parts
 *   3. collect candidates (earlier exchanges and the summary of older ones, memory, triggered skills), and choose those that
 *      fit the budget
 *   4. record the outcome once the request is sent
 *
 * Never calls a model. Brain name: prefrontal.
 */
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Redact } from "../lib/redact.ts";
import type { ContextBuilder, ContextInput, ContextPreviews, SkillBrief } from "../ports/context.ts";
import type { EphemeralTexts } from "../ports/ephemeral.ts";
import type { Memory } from "../ports/memory.ts";
import type { Scope } from "../ports/message.ts";
import { isFromOutside, type Origin } from "../ports/origin.ts";
import type { ModelMessage, ModelRequest } from "../ports/provider.ts";
import type { ToolSpec } from "../ports/tool.ts";
import { offerOf, type ToolOffer } from "../ports/tool-offer.ts";
import type { TurnRecord } from "../ports/turn.ts";
import { originsOfTurn } from "../ports/turn-origins.ts";
import { type Payer, payerOf } from "../ports/usage.ts";
import { createBrainFiles } from "./brain-files.ts";
import { type Allocation, allocate, type Shares, shareOf } from "./budget.ts";
import {
  createMemoryPieces,
  fixedPiece,
  historyPieces,
  type MemoryPieces,
  newestWithin,
  type Piece,
  skillPieces,
  startingWith,
  summaryPieces,
  volatileParts,
  withoutRepeats,
} from "./candidates.ts";
import { renderExchange } from "./history.ts";
import type { History, ReadHistory } from "./history-store.ts";
import { loadedTools, withNamedCalls } from "./named-tools.ts";
import { createPrefix, type Prefix } from "./prefix.ts";
import { previewOf } from "./preview.ts";
import { createRecall, type Recalled } from "./recall.ts";
import { createRuntimeClock, type RuntimeClock, renderRuntime } from "./sections.ts";
import { shortenTranscript } from "./shorten.ts";
import { createSnapshots } from "./snapshot.ts";
import { createSteadyHistory } from "./steady-history.ts";
import { messageTokens, renderTranscript, transcriptOf } from "./transcript.ts";

interface ContextConfig {
  /** Estimated tokens of the complete prompt, including tool schemas. */
  contextTokens: number;
  shares: Shares;
  maxOutputTokens: number;
}

export interface ContextBuilderOptions {
  workspace: string;
  history: History;
  /** Whether the conversation started over after the turn had begun. */
  isLeftBehind?(turn: TurnRecord): Promise<boolean>;
  /** True if older exchanges can be summarised while a turn runs. */
  isCompacting: boolean;
  memory: Memory;
  skills(conversationId: string): SkillBrief[];
  /** All tools, even those not offered to the model: their specs say what earlier calls may have read. */
  tools(conversationId: string): readonly ToolSpec[];
  config: ContextConfig;
  ephemeral: Pick<EphemeralTexts, "get">;
  redact: Redact;
  log: Log;
  /** The preferred model as `provider/model`, for snapshots. */
  defaultModel: string;
  preferredModel?(conversationId: string, scope: Scope): Promise<string | undefined>;
  /** The digest that names a person to model services. */
  endUserOf?(person: Pick<Payer, "platform" | "user">): Promise<string | undefined>;
  now?(): number;
}

/** Share of the budget for what others said before the turn. */
const maxHeardShare = 0.25;

/** Of the tokens of a prompt that a model has refused as too long. */
const shorterShare = 0.5;
const noteOfShorter = "asked again with half the tokens or less, because the model refused the prompt as too long";
const noteOfFitting = "built within fewer tokens, because the model takes no more";

interface Assembled {
  request: ModelRequest;
  origins: Origin[];
  allocation: Allocation<Piece>;
  notes: string[];
}

interface AssembledTurn extends Assembled {
  history: ReadHistory;
  /** Assembles the same sources within another budget. */
  within(contextTokens: number): Assembled;
}

export function createContextBuilder(options: ContextBuilderOptions): ContextBuilder & ContextPreviews {
  const { workspace, config, log, history, ephemeral } = options;
  const now = options.now ?? Date.now;
  const clock = createRuntimeClock();
  const memoryPieces = createMemoryPieces();
  const renderPrefix = createPrefix(createBrainFiles(workspace, log), config.contextTokens, config.shares);
  const steadyHistory = options.isCompacting ? createSteadyHistory(history) : undefined;
  const recall = createRecall(options.memory, log, now);
  // Only log a failure, because a full disk must not stop the answer.
  const snapshots = createSnapshots(workspace, options.redact, (turnId, thrown) =>
    log.error({ turnId, error: messageOf(thrown) }, "could not write the snapshot of a model call"),
  );

  function writeSnapshot({ turn, step }: ContextInput, assembled: Assembled): string {
    const [model, budgetTokens] = [options.defaultModel, config.contextTokens];
    return snapshots.write({ ...assembled, turn, step, at: now(), model, budgetTokens });
  }

  async function assembleTurn(input: ContextInput): Promise<AssembledTurn> {
    const { turn } = input;
    const tools = options.tools(turn.conversationId);
    const reads = Promise.all([
      (steadyHistory ?? history).read(turn.conversationId, turn.id, tools),
      recall.about(turn),
      options.preferredModel?.(turn.conversationId, turn.scope),
      options.endUserOf?.(payerOf(turn)),
    ]);
    // Render what needs none of them while the search works in its thread. A failure is that of the await below.
    reads.catch(() => {});
    const briefs = options.skills(turn.conversationId);
    const own = originsOfTurn(turn, tools);
    const offer = offerOf(input.tools);
    const prefix = renderPrefix(briefs, offer);
    const [stored, recalled, preferredModel, endUser] = await reads;
    const sources = { prefix, offer, briefs, history: stored, recalled, clock, memoryPieces, origins: own, ephemeral };
    const within = (contextTokens: number): Assembled => {
      const assembled = assemble(input, { ...config, contextTokens }, sources);
      if (preferredModel !== undefined) assembled.request.preferredModel = preferredModel;
      if (endUser !== undefined) assembled.request.endUser = endUser;
      return assembled;
    };
    return { ...within(config.contextTokens), within, history: stored };
  }

  function drop(turnId: string): void {
    recall.drop(turnId);
    steadyHistory?.drop(turnId);
  }

  return {
    prepare: (message) => recall.prepare(message),
    async build(input) {
      const assembled = await assembleTurn(input);
      const snapshotPath = writeSnapshot(input, assembled);
      const { request, origins, allocation, within } = assembled;
      const again = (tokens: number, note: string): ModelRequest => {
        const smaller = within(Math.floor(tokens));
        smaller.notes.push(note);
        writeSnapshot(input, smaller);
        return smaller.request;
      };
      const { usedTokens } = allocation;
      const fitting = (tokens: number) => (usedTokens <= tokens ? request : again(tokens, noteOfFitting));
      const shorter = (tokens = usedTokens) => again(Math.min(tokens, usedTokens * shorterShare), noteOfShorter);
      return { request, fitting, shorter, snapshotPath, estimatedTokens: usedTokens, origins };
    },
    async preview(turn, tools) {
      const { allocation, history: stored, request } = await assembleTurn({ turn, step: 1, tools, notes: [] });
      drop(turn.id);
      const model = request.preferredModel ?? options.defaultModel;
      return previewOf(allocation, stored.summary, { model, budgetTokens: config.contextTokens });
    },
    async remember(turn) {
      drop(turn.id);
      if ((await options.isLeftBehind?.(turn)) === true) return;
      await history.add(turn, options.tools(turn.conversationId));
    },
    forget: (conversationId, person) => history.clear(conversationId, person),
    flush: () => snapshots.flush(),
  };
}

interface Sources {
  prefix: Prefix;
  offer: ToolOffer;
  briefs: SkillBrief[];
  history: ReadHistory;
  recalled: Recalled;
  clock: RuntimeClock;
  memoryPieces: MemoryPieces;
  origins: Origin[];
  ephemeral: Pick<EphemeralTexts, "get">;
}

function assemble(input: ContextInput, config: ContextConfig, sources: Sources): Assembled {
  const { turn } = input;
  const { prefix, offer, briefs, history, recalled } = sources;
  const share = (section: "memory" | "skills") => shareOf(config.contextTokens, config.shares, section);
  const earlier = historyPieces(history.exchanges);
  const summary = summaryPieces(history.summary);
  const own = ownMessages(input, config, sources, (earlier.at(-1)?.tokens ?? 0) + (summary[0]?.tokens ?? 0));
  const historyShare = shareOf(config.contextTokens, config.shares, "history");
  const { own: hits = [], outside = [] } = Object.groupBy(recalled.hits, ({ origins }) =>
    isFromOutside(origins) ? "outside" : "own",
  );
  const { fresh, repeats } = withoutRepeats(hits, newestWithin(earlier, historyShare));
  const { named } = offer;
  const pieces: Piece[] = [
    ...prefix.pieces,
    fixedPiece("always", "the running turn", messageTokens(own.messages), sources.origins),
    ...sources.memoryPieces(fresh, recalled.digest, share("memory")),
    ...skillPieces(briefs, turn.messages, { named, loaded: loadedTools(history.exchanges, named) }, share("skills")),
    ...summary,
    ...earlier,
  ];
  const allocation = allocate(config.contextTokens, config.shares, pieces);
  const kept = allocation.decisions.flatMap(({ candidate, isKept }) => (isKept ? [candidate] : []));
  const leftOut = allocation.decisions.filter(({ candidate, isKept }) => !isKept && candidate.section === "skills");
  const messages = startingWith(
    summary.map(({ text }) => text),
    [
      ...kept.flatMap((piece) => (piece.type === "history" ? renderExchange(piece.exchange, piece.isStale) : [])),
      ...own.messages,
    ],
  );
  const system = [...prefix.system, ...volatileParts(kept, outside.length)];
  const declinedBy = kept.flatMap((piece) => (piece.type === "history" ? (piece.exchange.declinedBy ?? []) : []));
  return {
    request: {
      system,
      messages: withNamedCalls(messages, offer),
      tools: offer.defined,
      ...(named.length === 0 ? {} : { named }),
      maxOutputTokens: config.maxOutputTokens,
      ...(declinedBy.length === 0 ? {} : { declinedBy }),
    },
    origins: kept.flatMap((piece) => piece.origins),
    allocation,
    notes: [
      ...prefix.notes,
      ...recalled.problems,
      ...own.notes,
      ...leftOut.map(({ candidate, reason }) => `skill ${candidate.name} left out: ${reason}`),
      // Skip memories with text from outside: nobody asked for them, and they could steer the turn or force approvals.
      ...outside.map((hit) => `memory ${hit.path} § ${hit.heading} left out: it contains text from outside`),
      ...repeats.map((hit) => `memory ${hit.path} § ${hit.heading} left out: the history already says it`),
    ],
  };
}

function ownMessages(
  { turn, notes }: ContextInput,
  config: ContextConfig,
  { prefix, recalled, clock, ephemeral }: Sources,
  earlierTokens: number,
): { messages: ModelMessage[]; notes: string[] } {
  const fixedTokens = prefix.pieces.reduce((sum, piece) => sum + piece.tokens, 0);
  const runtime = renderRuntime(turn, recalled.at, clock, [...notes, ...(turn.heard?.notes ?? [])]);
  const runtimeTokens = messageTokens([{ role: "user", content: [{ type: "text", text: runtime }] }]);
  const room = config.contextTokens - fixedTokens - earlierTokens - runtimeTokens;
  const { transcript, notes: shortened } = shortenTranscript(
    transcriptOf(turn, ephemeral),
    Math.max(room, Math.floor(config.contextTokens / 4)),
    Math.floor(config.contextTokens * maxHeardShare),
  );
  return { messages: renderTranscript(transcript, runtime), notes: shortened };
}
