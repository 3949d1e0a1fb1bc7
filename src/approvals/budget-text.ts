/** What a card about a budget says. */
import { formatDollars } from "../lib/text/format-usage.mjs";
import type { CardItem } from "../ports/card.ts";
import type { BudgetAsk } from "../ports/usage.ts";

/** The card's sentence, such as `This channel has used $8.00 of $10.00 today.` Not escaped. */
export function budgetSentence({ kind, name, used, limit }: BudgetAsk): string {
  const amount = `${formatDollars(used)} of ${formatDollars(limit)}`;
  switch (kind) {
    case "turn":
      return `This request has used ${amount}.`;
    case "scheduleRun":
      return `This run of the schedule has used ${amount}.`;
    case "user":
      return `${name} has used ${amount} today.`;
    case "channel":
      return `This channel has used ${amount} today.`;
    case "schedule":
      return `This schedule has used ${amount} today.`;
    default:
      return kind satisfies never;
  }
}

/** The first line says all, so there is no call to show. */
export function budgetItem(ask: BudgetAsk): Pick<CardItem, "callText" | "labels"> {
  return { callText: "", labels: budgetLabels(ask) };
}

export function budgetHeadline(ask: BudgetAsk): string {
  return `${budgetSentence(ask)} Continue, +${formatDollars(ask.step)}?`;
}

export function budgetLabels({ limit, step }: BudgetAsk): { approve: string; deny: string } {
  return { approve: `Continue, +${formatDollars(step)}`, deny: `Stop at ${formatDollars(limit)}` };
}
