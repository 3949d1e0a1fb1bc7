/** What people read when a limit holds a call back. */

import { formatNumber } from "../lib/text/format-number.ts";
import { formatDollars } from "../lib/text/format-usage.mjs";
import { callsOf, type TurnRecord } from "../ports/turn.ts";
import type { BudgetAsk, BudgetKind } from "../ports/usage.ts";
import { dayMs } from "./budgets.ts";

export function usedUpTokensText(whose: string, used: number, limit: number, now: number): string {
  return (
    `Today's tokens of ${whose} are used up: ${formatNumber(used)} of ${formatNumber(limit)}. ` +
    `I did not ask the model. The limit resets ${resetText(now)}. Whoever runs me can raise it.`
  );
}

export function busyText(of: "tokens" | "dollars", whose: string, limit: number): string {
  const what =
    of === "tokens" ? `today's ${formatNumber(limit)} tokens of ${whose}` : `the ${formatDollars(limit)} of ${whose}`;
  return (
    `Requests that are running now may use up ${what}. ` +
    "I did not ask the model. Please ask again when they are done."
  );
}

export function usedUpBudgetText({ kind, name, used, limit, endsAt }: BudgetAsk, now: number): string {
  const amount = `${formatDollars(used)} of ${formatDollars(limit)}`;
  const resets = endsAt === null ? "" : ` It resets ${resetText(now)}.`;
  return `The budget of ${budgetOwner(kind, name)} is used up: ${amount}.${resets}`;
}

export function unpricedText(model: string): string {
  return (
    `${model} has no price, so I can't tell what it would cost, and did not ask it. ` +
    "Whoever runs me can add its price."
  );
}

export function budgetOwner(kind: BudgetKind, name: string): string {
  switch (kind) {
    case "turn":
      return "this request";
    case "scheduleRun":
      return "this run";
    case "user":
      return `${name} for today`;
    case "channel":
      return "this channel for today";
    case "schedule":
      return "this schedule for today";
    default:
      return kind satisfies never;
  }
}

function resetText(now: number): string {
  const minutes = Math.ceil((dayMs - (now % dayMs)) / 60_000);
  return `at 00:00 UTC, in ${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Empty before the first step, when nothing is done yet. */
export function restText(turn?: TurnRecord): string {
  return turn === undefined || turn.steps.length === 0 ? "" : " The rest of your request is not done.";
}

export function earlierCallsText(turn?: TurnRecord): string {
  if (turn === undefined) return "";
  const ran = callsOf(turn).flatMap(({ call, result }) =>
    call === undefined || result === undefined ? [] : `\`${call.name}\` (${result.status})`,
  );
  return ran.length === 0 ? "" : ` Before that I had called: ${ran.join(", ")}.`;
}
