/**
 * Asks people to add to a budget in dollars. While some of it is left, the turn goes on without waiting. Once it is used
 * up, the turn parks until people have answered.
 */
import { messageOf } from "../../lib/errors.ts";
import { oneLine } from "../../lib/text/sanitize.ts";
import { isTransientStorageError } from "../../lib/transient-errors.ts";
import type { BudgetRequest, OpenedBudget } from "../../ports/approval.ts";
import { requesterOf } from "../../ports/turn.ts";
import type { BudgetAsk, Permit } from "../../ports/usage.ts";
import { postCard } from "./ask-approval.ts";
import { park } from "./park.ts";
import type { TurnRun } from "./turn-store.ts";

const maxNameCharacters = 80;

type BudgetAnswer = { type: "continued" } | { type: "parked" } | { type: "failed"; sentence: string };

export async function waitForBudget(
  run: TurnRun,
  { ask, sentence, done }: Extract<Permit, { type: "asks" }>,
): Promise<BudgetAnswer> {
  const opened = await run.deps.approvals.openBudget(requestFor(run, ask, true));
  if (opened.type === "closed") {
    if (opened.state === "continued") return { type: "continued" };
    return { type: "failed", sentence: `${sentence} ${closedText(opened)}${done}` };
  }
  if (!(await show(run, opened)))
    return { type: "failed", sentence: `${sentence} I could not show a card to ask for more.${done}` };
  await park(run, opened.card.id);
  return { type: "parked" };
}

/** Asks before the budgets are used up. A failure is logged, because the turn does not need the answer yet. */
export async function askBeforehand(run: TurnRun, asks: readonly BudgetAsk[]): Promise<void> {
  for (const ask of asks) {
    try {
      if (!(await run.deps.usage.asked(ask, run.turn.id))) continue;
      const opened = await run.deps.approvals.openBudget(requestFor(run, ask, false));
      if (opened.type === "open") await show(run, opened);
    } catch (thrown) {
      if (isTransientStorageError(thrown)) throw thrown;
      run.deps.log.warn({ turnId: run.turn.id, error: messageOf(thrown) }, "could not ask to add to a budget");
    }
  }
}

/** After the answer, only the budgets of the day matter: they also apply to other turns. */
export async function askAfterAnswer(run: TurnRun): Promise<void> {
  try {
    const asks = await run.deps.usage.asks(run.turn);
    await askBeforehand(
      run,
      asks.filter(({ endsAt }) => endsAt !== null),
    );
  } catch (thrown) {
    if (isTransientStorageError(thrown)) throw thrown;
    run.deps.log.warn({ turnId: run.turn.id, error: messageOf(thrown) }, "could not look up the budgets of a turn");
  }
}

function requestFor({ turn }: TurnRun, ask: BudgetAsk, isBlocking: boolean): BudgetRequest {
  const { id: turnId, target, scope, workingFolder } = turn;
  return { turnId, target, scope, workingFolder, requester: requesterOf(turn), ask, isBlocking };
}

/** False if the card can't be shown. Later text appears below the card. */
async function show(run: TurnRun, { card }: Extract<OpenedBudget, { type: "open" }>): Promise<boolean> {
  const { turn } = run;
  const last = turn.steps.at(-1);
  const isBelowAnswer = turn.isDelivered;
  if (!isBelowAnswer) {
    if (last !== undefined) last.isAboveCard = true;
    turn.hasBudgetCard = true;
    await run.save();
  }
  return await postCard(run, card.id);
}

function closedText({ state, by = "" }: Extract<OpenedBudget, { type: "closed" }>): string {
  switch (state) {
    case "declined":
      return `${oneLine(by, maxNameCharacters) || "Somebody"} decided not to add to it, so I stopped here.`;
    case "expired":
      return "Nobody answered in time, so I stopped here.";
    case "impossible":
      return "Nobody may add to it, so I stopped here.";
    case "cancelled":
    case "continued":
      return "I stopped here.";
    default:
      return state satisfies never;
  }
}
