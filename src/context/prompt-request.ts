/**
 * The request of a prompt's parts, in the order in which services read and cache them: system text, place, summary, earlier
 * exchanges, and what is new. So a summary's request can begin as the one before it.
 */
import { createHash } from "node:crypto";
import type { CacheHint, ModelMessage, ModelRequest, SystemPart } from "../ports/provider.ts";
import type { ToolOffer } from "../ports/tool-offer.ts";
import type { TurnRecord } from "../ports/turn.ts";
import { historyPieces, type SummaryPiece, startingWith, summaryPieces } from "./candidates.ts";
import { type Exchange, renderExchange } from "./history.ts";
import type { ReadHistory } from "./history-store.ts";
import { withNamedCalls } from "./named-tools.ts";
import type { Prefix } from "./prefix.ts";
import { type RuntimeClock, renderPlace } from "./sections.ts";
import { messageTokens, withShortIds } from "./transcript.ts";

/** How many of the newest pauses say how long the next one may be. */
const maxPauses = 8;

interface PromptParts {
  system: SystemPart[];
  place: string;
  summary: readonly SummaryPiece[];
  earlier: readonly Exchange[];
  own: readonly ModelMessage[];
}

interface RequestSources {
  offer: ToolOffer;
  clock: RuntimeClock;
}

export interface ContinuedPrompt {
  request: Omit<ModelRequest, "maxOutputTokens">;
  /** Estimated. */
  tokens: number;
}

export function requestOf(
  turn: TurnRecord,
  { system, place, summary, earlier, own }: PromptParts,
  { offer, clock }: RequestSources,
): Omit<ModelRequest, "maxOutputTokens"> {
  const messages = startingWith(
    [place, ...summary.map(({ text }) => text)],
    [...earlier.flatMap((exchange) => renderExchange(exchange, clock)), ...own],
  );
  const declinedBy = earlier.flatMap((exchange) => exchange.declinedBy ?? []);
  return {
    system,
    messages: withShortIds(withNamedCalls(messages, offer)),
    tools: offer.defined,
    ...(offer.named.length === 0 ? {} : { named: offer.named }),
    cache: cacheHint(turn, earlier),
    ...(declinedBy.length === 0 ? {} : { declinedBy }),
  };
}

/** What the last request of the conversation had, with its answer, and then `text`. `turn` has ended. */
export function continuePrompt(
  turn: TurnRecord,
  text: string,
  { prefix, history, ...sources }: RequestSources & { prefix: Prefix; history: ReadHistory },
): ContinuedPrompt {
  const [summary, own] = [summaryPieces(history.summary), [asMessage(text)]];
  const parts = { system: prefix.system, place: renderPlace(turn), summary, earlier: history.exchanges, own };
  const pieces = [...prefix.pieces, ...summary, ...historyPieces(history.exchanges)];
  const tokens = pieces.reduce((sum, piece) => sum + piece.tokens, messageTokens([asMessage(parts.place), ...own]));
  return { request: requestOf(turn, parts, sources), tokens };
}

function cacheHint({ id, conversationId, startedAt }: TurnRecord, exchanges: readonly Exchange[]): CacheHint {
  const key = createHash("sha256").update(conversationId).digest("base64url").slice(0, 24);
  const newest = exchanges.filter(({ turnId }) => turnId !== id).slice(-maxPauses);
  const next = (index: number) => newest[index + 1]?.messages[0]?.at ?? startedAt;
  return { key, pausesMs: newest.map(({ endedAt }, index) => Math.max(0, next(index) - endedAt)) };
}

export function asMessage(text: string): ModelMessage {
  return { role: "user", content: [{ type: "text", text }] };
}
