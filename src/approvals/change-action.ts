/** Handles what people can do with changes besides deciding: read the complete diff, undo, run again. */
import type { AnswerChoice, AnswerReceipt } from "../ports/message.ts";
import { accepted, alreadySettledText, notYoursText, refused } from "./answer-text.ts";
import { type ApprovalRow, rowChoices } from "./card.ts";
import { escapeHiddenLines } from "./card-text.ts";
import { mayTakeBack } from "./changes.ts";
import type { Click } from "./click.ts";
import type { ApprovalsContext } from "./context.ts";

export function isChangeAction(choice: AnswerChoice): choice is "diff" | "undo" | "again" {
  return choice === "diff" || choice === "undo" || choice === "again";
}

/** Everyone who sees the card may read the diff. Undo and run again need the right to do so. */
export async function actOnChanges(context: ApprovalsContext, row: ApprovalRow, click: Click): Promise<AnswerReceipt> {
  const { changes } = context;
  const { choice, by, isOperator } = click;
  if (changes === undefined || !rowChoices(row, context.mask).includes(choice))
    return refused(await alreadySettledText(context, [row]));
  if (choice === "diff") {
    const text = await changes.diff(row.body);
    if (text === undefined) return refused("The diff is gone: the changes were kept or discarded.");
    const file = { name: "changes.diff", text: escapeHiddenLines(context.mask(text)) };
    return { ...accepted("The whole diff:"), file };
  }
  if (!mayTakeBack(context, row.body, by, isOperator)) {
    // Also those who have approved can take it back.
    const anyone = { ...row, body: { ...row.body, votes: [] } };
    return refused(await notYoursText(context, [anyone], click));
  }
  return choice === "undo" ? await changes.undo(row.body, row.id, by) : await changes.runAgain(row.body, row.id, by);
}
