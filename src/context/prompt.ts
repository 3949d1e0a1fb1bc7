/**
 * Chooses what a prompt has within a budget of tokens, and renders it: the history, then what the newest messages bring up, then
 * the running turn. If earlier exchanges don't fit, they are shortened, and what they had shown is chosen anew.
 */
import type { ContextInput, SkillBrief } from "../ports/context.ts";
import type { EphemeralTexts } from "../ports/ephemeral.ts";
import { isFromOutside, type Origin } from "../ports/origin.ts";
import type { ModelMessage, ModelRequest } from "../ports/provider.ts";
import type { ShownContext } from "../ports/shown-context.ts";
import type { ToolOffer } from "../ports/tool-offer.ts";
import type { TurnRecord } from "../ports/turn.ts";
import { type Allocation, allocate, type Shares, shareOf } from "./budget.ts";
import {
  fixedPiece,
  historyPieces,
  type MemoryPieces,
  type Piece,
  shownPieceOf,
  skillPieces,
  summaryPieces,
  type TextPiece,
  withoutRepeats,
} from "./candidates.ts";
import { timeText } from "./heard.ts";
import { type Exchange, shortOf } from "./history.ts";
import type { ReadHistory } from "./history-store.ts";
import { loadedTools } from "./named-tools.ts";
import type { Prefix } from "./prefix.ts";
import { asMessage, requestOf } from "./prompt-request.ts";
import type { Recalled } from "./recall.ts";
import { type RuntimeClock, renderNotes, renderPlace, renderShown } from "./sections.ts";
import { shortenTranscript } from "./shorten.ts";
import { newHits, shownBefore } from "./shown.ts";
import { messageTokens, renderTranscript, transcriptOf } from "./transcript.ts";

/** Share of the budget for what others said before the turn. */
const maxHeardShare = 0.25;

/** Of the notes that a turn brings although the prompt has many. All that came up would soon make the history outgrow its limit. */
const leastNoteTokens = 300;

/** Of a prompt that is tight, for the newest exchange as it was sent. */
const maxNewestShare = 0.25;

/** A turn that waited for a person goes on with the time at which it began. */
const muchLaterMs = 10 * 60_000;

export interface ContextConfig {
  /** Estimated tokens of the complete prompt, including tool schemas. */
  contextTokens: number;
  shares: Shares;
  maxOutputTokens: number;
  /** With `exact`, memory and skills stand in the system prompt, chosen anew for each turn (docs/decisions). */
  layout?: "append" | "exact";
}

export interface Assembled {
  request: ModelRequest;
  shown: ShownContext[];
  origins: Origin[];
  allocation: Allocation<Piece>;
  notes: string[];
}

export interface PromptSources {
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

export function assemblePrompt(input: ContextInput, config: ContextConfig, sources: PromptSources): Assembled {
  const whole = choose(input, config, sources, false);
  const { decisions, usedTokens } = whole.allocation;
  const isTight =
    usedTokens > config.contextTokens ||
    decisions.some(({ candidate, isKept }) => candidate.type === "history" && !isKept);
  return render(input, config, sources, isTight ? choose(input, config, sources, true) : whole);
}

/** With `isTight`, earlier exchanges are shortened, and what they had shown is chosen anew. */
function choose({ turn, ...input }: ContextInput, config: ContextConfig, sources: PromptSources, isTight: boolean) {
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
  const notes = sources.memoryPieces(
    newHits(fresh, isExact ? { ...before, sources: [] } : before),
    recalled.digest,
    share("memory"),
  );
  const room = Math.min(share("memory") / 4, share("memory") / 2 - before.noteTokens);
  const few = isExact ? notes : withinNotes(notes, room);
  const found = [
    ...few,
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
  const others = added.length === 0 ? [] : notes.filter((note) => !few.includes(note));
  return { exchanges, summary, place, isNew, added, own, outside, repeats, others, before, isExact, allocation };
}

function render(
  { turn }: ContextInput,
  config: ContextConfig,
  sources: PromptSources,
  chosen: ReturnType<typeof choose>,
) {
  const { prefix, recalled } = sources;
  const { summary, place, isNew, added, outside, repeats, others, before, isExact, allocation } = chosen;
  const kept = allocation.decisions.flatMap(({ candidate, isKept }) => (isKept ? [candidate] : []));
  const leftOut = allocation.decisions.filter(({ candidate, isKept }) => !isKept && candidate.section === "skills");
  const texts = kept.flatMap((piece) => (piece.type === "text" ? [shownPieceOf(piece)] : []));
  const withheld = outside.length > 0 && (isExact || !before.isHinted) ? outside.length : 0;
  const news = added.filter(() => isNew || (texts.length > 0 && !isExact));
  const shown = [
    ...sources.shown,
    ...(isExact ? news : news.map((one) => ({ ...one, withheld: isNew ? withheld : 0, pieces: texts }))),
  ];
  const earlier = kept.flatMap((piece) => (piece.type === "history" ? [piece.exchange] : []));
  const inSystem = isExact ? renderShown({ messages: 0, at: 0, notes: [], withheld, pieces: texts }) : "";
  const system = [...prefix.system, ...(inSystem === "" ? [] : [{ text: inSystem, isCacheable: false }])];
  const { maxOutputTokens } = config;
  const own = chosen.own.render(shown);
  return {
    request: { ...requestOf(turn, { system, place, summary, earlier, own }, sources), maxOutputTokens },
    origins: kept.flatMap((piece) => piece.origins),
    allocation,
    shown,
    notes: [
      ...prefix.notes,
      ...recalled.problems,
      ...chosen.own.notes,
      ...leftOut.map(({ candidate, reason }) => `skill ${candidate.name} left out: ${reason}`),
      // Skip memories with text from outside: nobody asked for them, and they could steer the turn or force approvals.
      ...outside.map((hit) => `memory ${hit.path} § ${hit.heading} left out: it contains text from outside`),
      ...others.map(({ name }) => `memory ${name} left out: there was room for better ones only`),
      ...repeats.map((hit) => `memory ${hit.path} § ${hit.heading} left out: the history already says it`),
    ],
  };
}

function shortened(exchanges: readonly Exchange[], contextTokens: number): Exchange[] {
  return exchanges.map((one, index) => {
    const isNewest = index === exchanges.length - 1;
    if (isNewest && one.tokens.fresh <= contextTokens * maxNewestShare) return one;
    return { ...shortOf(one), origins: one.origins };
  });
}

/** The best notes that have room beside those that the prompt has, and a few in any case. One message gets half of all that room. */
function withinNotes(notes: readonly TextPiece[], room: number): TextPiece[] {
  let left = Math.max(room, leastNoteTokens);
  return notes.filter(({ kind, tokens }) => {
    if (kind !== "note") return true;
    left -= tokens;
    return left >= 0;
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
  { prefix, history, clock, ephemeral, now }: PromptSources,
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
