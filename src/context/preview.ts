/** Counts what a prompt would contain, for `/remora context`. */
import type { ContextPreview } from "../ports/context.ts";
import type { Allocation } from "./budget.ts";
import type { Piece } from "./candidates.ts";
import type { Summary } from "./summary.ts";

export function previewOf(
  { decisions, table, usedTokens }: Allocation<Piece>,
  summary: Summary | undefined,
  asked: { model: string; budgetTokens: number },
): ContextPreview {
  const exchanges = decisions.filter(({ candidate }) => candidate.type === "history");
  const shown = exchanges.filter(({ isKept }) => isKept).length;
  return {
    ...asked,
    usedTokens,
    sections: table.map(({ section, used, kept, leftOut }) => ({ section, tokens: used, kept, leftOut })),
    exchanges: { shown, leftOut: exchanges.length - shown },
    ...(summary === undefined ? {} : { summary: { turns: summary.turns, at: summary.at } }),
  };
}
