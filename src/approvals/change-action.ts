/** Handles what people can do with changes besides deciding: read all of them, undo, run again. */
import { messageOf } from "../lib/errors.ts";
import type { AnswerChoice, AnswerReceipt } from "../ports/message.ts";
import { accepted, alreadySettledText, notYoursText, refused } from "./answer-text.ts";
import { type ApprovalRow, rowChoices } from "./card.ts";
import { escapeFile } from "./card-text.ts";
import { mayTakeBack } from "./changes.ts";
import type { Click } from "./click.ts";
import type { ApprovalsContext } from "./context.ts";

export function isChangeAction(choice: AnswerChoice): choice is "diff" | "undo" | "again" {
  return choice === "diff" || choice === "undo" || choice === "again";
}

type WholeText = { type: "whole"; title: string; text: string } | { type: "gone"; why: string };

/** Everything that the changes are, escaped. Nothing else than what Approve keeps is shown. */
export async function wholeText({ changes, mask }: ApprovalsContext, { body }: ApprovalRow): Promise<WholeText> {
  const whole = await changes?.diff(body);
  if (whole === undefined) return { type: "gone", why: "The diff is gone: the changes were kept or discarded." };
  if (whole === "changed") return { type: "gone", why: changedSince };
  const { unseen = whole.missing } = body.changes ?? {};
  const text = await escapeFile(mask(whole.text));
  return { type: "whole", title: unseen === undefined ? "The whole diff:" : `Not everything is here: ${unseen}`, text };
}

const changedSince =
  "These files have changed since this card was made, so it can't show them, and Approve keeps nothing. Deny it, and ask again.";

/** Everyone who sees the card may read the diff. Undo and run again need the right to do so. */
export async function actOnChanges(context: ApprovalsContext, row: ApprovalRow, click: Click): Promise<AnswerReceipt> {
  const { changes } = context;
  const { choice, by, isOperator } = click;
  if (changes === undefined || !rowChoices(row, context.mask).includes(choice))
    return refused(await alreadySettledText(context, [row]));
  if (choice === "diff") {
    const whole = await wholeText(context, row);
    if (whole.type === "gone") return refused(whole.why);
    const delivered = (isWhole: boolean) => noteDelivery(context, row, isWhole);
    return { ...accepted(whole.title), file: { name: "changes.diff", text: whole.text, delivered } };
  }
  if (!mayTakeBack(context, row.body, by, isOperator)) {
    // Also those who have approved can take it back.
    const anyone = { ...row, body: { ...row.body, votes: [] } };
    return refused(await notYoursText(context, [anyone], click));
  }
  return choice === "undo" ? await changes.undo(row.body, row.id, by) : await changes.runAgain(row.body, row.id, by);
}

/** Never rejects, because the person has their answer already. */
async function noteDelivery({ ledger, log }: ApprovalsContext, { id }: ApprovalRow, isWhole: boolean): Promise<void> {
  const noted = ledger.transition("approval", id, ["open"], "open", (body) =>
    body.changes === undefined || (body.changes.isUndelivered ?? false) === !isWhole
      ? undefined
      : { ...body, changes: { ...body.changes, isUndelivered: !isWhole } },
  );
  await noted.catch((thrown: unknown) => {
    log.warn({ approvalId: id, error: messageOf(thrown) }, "could not note whether a diff was delivered");
  });
}
