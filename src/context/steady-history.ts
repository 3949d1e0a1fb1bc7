/**
 * Gives all steps of a turn the same history so that the prompt's prefix stays the same, even if older exchanges are
 * summarised between two steps. Any other change, such as a removal on request, takes effect at once.
 */
import { createLruMap } from "../lib/lru-map.ts";
import { deletedText } from "../ports/message.ts";
import type { ToolSpec } from "../ports/tool.ts";
import type { Exchange } from "./history.ts";
import type { History, ReadHistory } from "./history-store.ts";

export interface SteadyHistory {
  read(conversationId: string, turnId: string, tools: readonly ToolSpec[]): Promise<ReadHistory>;
  drop(turnId: string): void;
}

const maxTurns = 200;

export function createSteadyHistory(history: Pick<History, "read">): SteadyHistory {
  const shown = createLruMap<ReadHistory>(maxTurns);
  return {
    async read(conversationId, turnId, tools) {
      const stored = await history.read(conversationId, turnId, tools);
      const before = shown.get(turnId);
      if (before !== undefined && isOnlyCompacted(before, stored)) return before;
      shown.set(turnId, stored);
      return stored;
    },
    drop: (turnId) => shown.delete(turnId),
  };
}

/** True if both cover the same turns, but the summary in `now` includes more of them. */
function isOnlyCompacted(before: ReadHistory, now: ReadHistory): boolean {
  if (now.summary === undefined || now.summary.id === before.summary?.id) return false;
  const summarized = new Set(now.summary.turnIds);
  const known = new Map(now.exchanges.map((exchange) => [exchange.turnId, wordsIn(exchange)]));
  const isAsSaid = (one: Exchange) => (known.get(one.turnId) ?? wordsIn(one)) === wordsIn(one);
  const isSame = before.exchanges.at(-1)?.turnId === now.exchanges.at(-1)?.turnId;
  const isKept = (turnId: string) => summarized.has(turnId) || known.has(turnId);
  const turnIds = [...(before.summary?.turnIds.slice(-1) ?? []), ...before.exchanges.map(({ turnId }) => turnId)];
  return isSame && turnIds.every(isKept) && before.exchanges.every(isAsSaid);
}

/** Without what a compaction shortens. */
function wordsIn({ messages, heard }: Exchange): string {
  const gone = heard?.messages.filter(({ text }) => text === deletedText) ?? [];
  return JSON.stringify([messages.map(({ text }) => text), gone.length]);
}
