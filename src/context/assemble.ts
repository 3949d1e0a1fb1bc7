/**
 * Context assembly: everything that the model sees in one step.
 *
 *   1. render the stable prefix: identity, procedures, skill index, tool notes
 *   2. add the running turn with its steps; shorten it if it would exceed the budget even without other parts
 *   3. collect candidates (earlier exchanges and the summary of older ones, and for new messages what memory and skills have
 *      on them), and choose those that fit the budget
 *   4. record the outcome once the request is sent
 *
 * A request begins with what the one before it sent, so that the service reads that from its cache. What changes comes last.
 *
 * Never calls a model. Brain name: prefrontal.
 */
import { createHash } from "node:crypto";
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Redact } from "../lib/redact.ts";
import type { ContextBuilder, ContextInput, ContextPreviews, SkillBrief } from "../ports/context.ts";
import type { EphemeralTexts } from "../ports/ephemeral.ts";
import type { Memory } from "../ports/memory.ts";
import type { Scope } from "../ports/message.ts";
import { isFromOutside, type Origin } from "../ports/origin.ts";
import type { CacheHint, ModelMessage, ModelRequest } from "../ports/provider.ts";
import type { NoteSource, ShownContext } from "../ports/shown-context.ts";
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
  type Piece,
  shownPieceOf,
  skillPieces,
  startingWith,
  summaryPieces,
  withoutRepeats,
} from "./candidates.ts";
import { timeText } from "./heard.ts";
import { type Exchange, renderExchange, shortOf } from "./history.ts";
import type { History, ReadHistory } from "./history-store.ts";
import { loadedTools, withNamedCalls } from "./named-tools.ts";
import { createPrefix, type Prefix } from "./prefix.ts";
import { previewOf } from "./preview.ts";
import { createRecall, type Recalled } from "./recall.ts";
import { createRuntimeClock, type RuntimeClock, renderNotes, renderPlace, renderShown } from "./sections.ts";
import { shortenTranscript } from "./shorten.ts";
import { newHits, shownBefore, sourceKey, withCurrent, withoutGone } from "./shown.ts";
import { createSnapshots } from "./snapshot.ts";
import { createSteadyHistory } from "./steady-history.ts";
import { messageTokens, renderTranscript, transcriptOf, withShortIds } from "./transcript.ts";

interface ContextConfig {
  /** Estimated tokens of the complete prompt, including tool schemas. */
  contextTokens: number;
  shares: Shares;
  maxOutputTokens: number;
  /** With `exact`, memory and skills stand in the system prompt, chosen anew for each turn (docs/decisions). */
  layout?: "append" | "exact";
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

/** How many of the newest pauses say how long the next one may be. */
const maxPauses = 8;

/** Of a prompt that is tight, for the newest exchange as it was sent. */
const maxNewestShare = 0.25;

/** A turn that waited for a person goes on with the time at which it began. */
const muchLaterMs = 10 * 60_000;

interface Assembled {
  request: ModelRequest;
  shown: ShownContext[];
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

  async function readHistory(turn: TurnRecord, tools: readonly ToolSpec[], about: Promise<unknown>) {
    const read = await (steadyHistory ?? history).read(turn.conversationId, turn.id, tools);
    const shown = [...read.exchanges.flatMap((exchange) => exchange.shown ?? []), ...(turn.shown ?? [])];
    const sources = shown.flatMap(({ pieces }) => pieces.flatMap(({ source }) => source ?? []));
    await about;
    return { ...read, known: await recall.known(sources) };
  }

  async function assembleTurn(input: ContextInput): Promise<AssembledTurn> {
    const { turn } = input;
    const tools = options.tools(turn.conversationId);
    const about = recall.about(turn);
    const reads = Promise.all([
      readHistory(turn, tools, about),
      about,
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
    const { known, ...read } = stored;
    const current = {
      ...{ briefs, named: offer.named, digest: recalled.digest },
      has: (source: NoteSource) => known.has(sourceKey(source)),
    };
    const share = shareOf(config.contextTokens, config.shares, "skills");
    const exchanges = withCurrent(read.exchanges, current, share);
    const sources = {
      ...{ prefix, offer, briefs, recalled, clock, memoryPieces, origins: own, ephemeral },
      history: { ...read, exchanges },
      shown: withoutGone(turn.shown ?? [], current),
      now: now(),
    };
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
      const { request, origins, allocation, within, shown } = assembled;
      const again = (tokens: number, note: string): ModelRequest => {
        const smaller = within(Math.floor(tokens));
        smaller.notes.push(note);
        writeSnapshot(input, smaller);
        return smaller.request;
      };
      const { usedTokens } = allocation;
      const fitting = (tokens: number) => (usedTokens <= tokens ? request : again(tokens, noteOfFitting));
      const shorter = (tokens = usedTokens) => again(Math.min(tokens, usedTokens * shorterShare), noteOfShorter);
      return { request, fitting, shorter, snapshotPath, estimatedTokens: usedTokens, origins, shown };
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
  /** What earlier steps of the turn have shown. */
  shown: ShownContext[];
  now: number;
  recalled: Recalled;
  clock: RuntimeClock;
  memoryPieces: MemoryPieces;
  origins: Origin[];
  ephemeral: Pick<EphemeralTexts, "get">;
}

function assemble(input: ContextInput, config: ContextConfig, sources: Sources): Assembled {
  const whole = choose(input, config, sources, false);
  const { decisions, usedTokens } = whole.allocation;
  const isTight =
    usedTokens > config.contextTokens ||
    decisions.some(({ candidate, isKept }) => candidate.type === "history" && !isKept);
  return render(input, config, sources, isTight ? choose(input, config, sources, true) : whole);
}

/** With `isTight`, earlier exchanges are shortened, and what they had shown is chosen anew. */
function choose({ turn, ...input }: ContextInput, config: ContextConfig, sources: Sources, isTight: boolean) {
  const { prefix, offer, briefs, history, recalled } = sources;
  const share = (section: "memory" | "skills") => shareOf(config.contextTokens, config.shares, section);
  const exchanges = isTight ? shortened(history.exchanges, config.contextTokens) : history.exchanges;
  const summary = summaryPieces(history.summary);
  const place = renderPlace(turn);
  const isNew = sources.shown.at(-1)?.messages !== turn.messages.length;
  const added = isNew || isTight ? [newContext(turn, recalled)] : [];
  const soFar = [...sources.shown, ...(isNew ? added : [])];
  const own = ownMessages({ turn, ...input }, config, { ...sources, history: { ...history, exchanges } }, soFar, place);
  const { own: hits = [], outside = [] } = Object.groupBy(recalled.hits, ({ origins }) =>
    isFromOutside(origins) ? "outside" : "own",
  );
  const { fresh, repeats } = withoutRepeats(hits, exchanges);
  const { named } = offer;
  const before = shownBefore(exchanges, sources.shown);
  const isExact = config.layout === "exact";
  const found = [
    ...sources.memoryPieces(
      newHits(fresh, isExact ? { ...before, sources: [] } : before),
      recalled.digest,
      share("memory"),
    ),
    ...skillPieces(briefs, turn.messages, { named, loaded: loadedTools(exchanges, named) }, share("skills")),
  ];
  const wanted = isExact ? found : added.length > 0 ? found.filter((piece) => !before.has(piece)) : [];
  const allocation = allocate(config.contextTokens, config.shares, [
    ...prefix.pieces,
    fixedPiece("always", "the running turn", messageTokens(own.messages), [
      ...sources.origins,
      ...sources.shown.flatMap(({ pieces }) => pieces.flatMap(({ origins }) => origins)),
    ]),
    ...wanted,
    ...summary,
    ...historyPieces(exchanges),
  ]);
  return { exchanges, summary, place, isNew, added, own, outside, repeats, before, isExact, allocation };
}

function render({ turn }: ContextInput, config: ContextConfig, sources: Sources, chosen: ReturnType<typeof choose>) {
  const { prefix, offer, recalled, clock } = sources;
  const { exchanges, summary, place, isNew, added, own, outside, repeats, before, isExact, allocation } = chosen;
  const { named } = offer;
  const kept = allocation.decisions.flatMap(({ candidate, isKept }) => (isKept ? [candidate] : []));
  const leftOut = allocation.decisions.filter(({ candidate, isKept }) => !isKept && candidate.section === "skills");
  const texts = kept.flatMap((piece) => (piece.type === "text" ? [shownPieceOf(piece)] : []));
  const withheld = outside.length > 0 && (isExact || !before.isHinted) ? outside.length : 0;
  const news = added.filter(() => isNew || (texts.length > 0 && !isExact));
  const shown = [
    ...sources.shown,
    ...(isExact ? news : news.map((one) => ({ ...one, withheld: isNew ? withheld : 0, pieces: texts }))),
  ];
  const messages = startingWith(
    [place, ...summary.map(({ text }) => text)],
    [
      ...kept.flatMap((piece) => (piece.type === "history" ? renderExchange(piece.exchange, clock) : [])),
      ...own.render(shown),
    ],
  );
  const inSystem = isExact ? renderShown({ messages: 0, at: 0, notes: [], withheld, pieces: texts }) : "";
  const system = [...prefix.system, ...(inSystem === "" ? [] : [{ text: inSystem, isCacheable: false }])];
  const declinedBy = kept.flatMap((piece) => (piece.type === "history" ? (piece.exchange.declinedBy ?? []) : []));
  return {
    request: {
      system,
      messages: withShortIds(withNamedCalls(messages, offer)),
      tools: offer.defined,
      ...(named.length === 0 ? {} : { named }),
      maxOutputTokens: config.maxOutputTokens,
      cache: cacheHint(turn, exchanges),
      ...(declinedBy.length === 0 ? {} : { declinedBy }),
    },
    origins: kept.flatMap((piece) => piece.origins),
    allocation,
    shown,
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

function cacheHint({ conversationId, startedAt }: TurnRecord, exchanges: readonly Exchange[]): CacheHint {
  const key = createHash("sha256").update(conversationId).digest("base64url").slice(0, 24);
  const newest = exchanges.slice(-maxPauses);
  const pauses = newest
    .map(({ endedAt }, index) => (newest[index + 1]?.messages[0]?.at ?? startedAt) - endedAt)
    .sort((one, other) => one - other);
  const pauseMs = pauses[Math.floor(pauses.length / 2)];
  return pauseMs === undefined ? { key } : { key, pauseMs: Math.max(0, pauseMs) };
}

function shortened(exchanges: readonly Exchange[], contextTokens: number): Exchange[] {
  return exchanges.map((one, index) => {
    const isNewest = index === exchanges.length - 1;
    if (isNewest && one.tokens.fresh <= contextTokens * maxNewestShare) return one;
    return { ...shortOf(one), origins: one.origins };
  });
}

/** What the messages that came since the last step bring, before it is known what else has room. */
function newContext(turn: TurnRecord, { at }: Recalled): ShownContext {
  const isFirst = turn.shown === undefined || turn.shown.length === 0;
  const notes = isFirst ? [...(turn.heard?.notes ?? []), ...(turn.news ?? [])] : [];
  const lookingAt = isFirst ? turn.heard?.lookingAt : undefined;
  return {
    ...{ messages: turn.messages.length, at, notes, withheld: 0, pieces: [] },
    ...(lookingAt === undefined ? {} : { lookingAt }),
  };
}

function ownMessages(
  { turn, notes }: ContextInput,
  config: ContextConfig,
  { prefix, history, clock, ephemeral, now }: Sources,
  shown: ShownContext[],
  place: string,
): { messages: ModelMessage[]; render(shown: ShownContext[]): ModelMessage[]; notes: string[] } {
  const tokensOf = (pieces: readonly { tokens: number }[]) => pieces.reduce((sum, { tokens }) => sum + tokens, 0);
  const earlier = historyPieces(history.exchanges).slice(-1);
  const isLater = now - (shown.at(-1)?.at ?? now) > muchLaterMs;
  const late = isLater ? [`it is now ${timeText(now)} (${clock.describe(now)})`] : [];
  const said = [...late, ...notes];
  const asides = [place, renderNotes(said)].map(asMessage);
  const fixedTokens = tokensOf([...prefix.pieces, ...earlier, ...summaryPieces(history.summary)]);
  const room = config.contextTokens - fixedTokens - messageTokens(asides);
  const { transcript, notes: shortenedNotes } = shortenTranscript(
    { ...transcriptOf(turn, ephemeral), shown },
    clock,
    Math.max(room, Math.floor(config.contextTokens / 4)),
    Math.floor(config.contextTokens * maxHeardShare),
  );
  const aside = said.length === 0 ? [] : asides.slice(1);
  const isCut = transcript.shown !== undefined && transcript.shown !== shown;
  const render = (now: ShownContext[]) => [
    ...renderTranscript({ ...transcript, shown: isCut ? (transcript.shown ?? []) : now }, clock),
    ...aside,
  ];
  return { messages: [...render(shown), ...asides.slice(0, 1)], render, notes: shortenedNotes };
}

function asMessage(text: string): ModelMessage {
  return { role: "user", content: [{ type: "text", text }] };
}
