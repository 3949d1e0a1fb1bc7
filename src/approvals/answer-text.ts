/** Receipts: what a person reads after clicking. */
import type { AnswerReceipt } from "../ports/message.ts";
import { approverNames } from "./approver-names.ts";
import type { ApprovalRow } from "./card.ts";
import { cleaner } from "./card-text.ts";
import type { Click } from "./click.ts";
import { type ApprovalsContext, knownNames } from "./context.ts";
import { recordHeadline } from "./headline.ts";
import { settledLine } from "./outcome.ts";
import { whyLines } from "./why.ts";

export const unknownCard = "This card is no longer valid, so nothing was changed. Ask again if you still need it.";

export const hasLeft = "You can't answer this: you are no longer where it was asked, so nothing was changed.";
export const mayNotUseNow =
  "You can't answer this: you asked for it, and you may not use me here any more. Nothing was changed.";
export const unchecked =
  "Could not check whether you may still answer this, so nothing was changed. Try again in a moment.";

export function accepted(text: string): AnswerReceipt {
  return { accepted: true, text };
}

export function refused(text: string): AnswerReceipt {
  return { accepted: false, text };
}

export async function alreadySettledText(context: ApprovalsContext, rows: ApprovalRow[]): Promise<string> {
  const now = await Promise.all(rows.map((row) => context.ledger.get("approval", row.id)));
  const outcomes = now.flatMap((row) =>
    row === undefined ? [] : settledLine(row, recordHeadline(row.body, context.mask).text, context.mask),
  );
  return `Nothing left to answer. ${[...new Set(outcomes)].join("; ").replace(/\.$/, "")}.`;
}

export async function notYoursText(context: ApprovalsContext, rows: ApprovalRow[], click: Click): Promise<string> {
  const card = await context.ledger.get("card", rows[0]?.body.cardId ?? "");
  const known = knownNames(card?.body ?? {});
  const names = [...new Set(rows.map(({ body }) => approverNames(body, known)))].join(" or ");
  const isAsker = rows.some(({ body }) => body.notRequester && body.requester.id === click.by.id);
  const why = isAsker ? "You asked for this, so somebody else must approve it. " : "";
  const who = names === "" ? "Nobody can answer this." : `Only ${names} can answer this.`;
  return cleaner(context.mask)(why + who);
}

/** Anyone who sees a card may ask why. Each line is about one rule. */
export function whyText({ mask }: Pick<ApprovalsContext, "mask">, rows: readonly ApprovalRow[]): string {
  const lines = whyLines(rows.flatMap(({ body }) => body.matches)).map(cleaner(mask));
  return lines.length === 0 ? "No rule asks about this." : lines.join("\n");
}
