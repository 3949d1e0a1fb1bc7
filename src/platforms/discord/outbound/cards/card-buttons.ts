/**
 * The buttons of a card: one row for each item that can be answered, and one row for all items together. What people
 * need less often is behind More….
 */
import { ButtonStyle } from "discord.js";
import { type ApprovalCard, type CardItem, moreChoices } from "../../../../ports/card.ts";
import type { AnswerChoice } from "../../../../ports/message.ts";
import { choiceLabel } from "../../../shared/card-choices.ts";
import type { ButtonPlace, MoreChoice } from "../../interactions/custom-id.ts";
import { maxButtonsPerRow } from "../../limits.ts";
import { type Button, type ButtonRow, button, rowsOf } from "../buttons.ts";

const styles: Partial<Record<AnswerChoice, Button["style"]>> = {
  approve: ButtonStyle.Success,
  deny: ButtonStyle.Danger,
};
const order: readonly AnswerChoice[] = ["approve", "deny", "part", "diff", "undo", "again", "end", "reask"];

/** At most five: no item offers more than approve, deny, two choices about files, and More…. */
export function itemButtons(
  item: CardItem,
  choices: readonly AnswerChoice[],
  suffix: string,
  place: ButtonPlace,
): Button[] {
  const { approvalId: id } = item;
  const shown = order.filter((choice) => choices.includes(choice));
  const buttons = shown.map((choice) =>
    button({ type: "answer", choice }, choiceLabel(choice, item) + suffix, id, place, styles[choice]),
  );
  const more = moreOf(item, choices);
  const menu =
    more.length === 0
      ? []
      : [button({ type: "more", choices: more }, suffix === "" ? "More…" : `More${suffix}…`, id, place)];
  return [...buttons, ...menu].slice(0, maxButtonsPerRow);
}

function moreOf({ editJson }: CardItem, choices: readonly AnswerChoice[]): MoreChoice[] {
  const offered = moreChoices.filter(
    (choice) => choices.includes(choice) && (choice !== "edit" || editJson !== undefined),
  ) as MoreChoice[];
  return choices.includes("deny") ? [...offered, "reason"] : offered;
}

/** Without `canApprove`, leaves out Approve all: a hidden call must not be approved along with the others. */
export function rowForAll(card: ApprovalCard, place: ButtonPlace, canApprove: boolean): ButtonRow[] {
  const open = card.items.filter(({ state }) => state === "open").length;
  const forAll = (choice: "approve" | "deny", label: string) =>
    button({ type: "answer", choice }, `${label} all ${open}`, card.id, place);
  // Plain, because a slip on a coloured button would answer for everything.
  const [approve, deny] = [forAll("approve", "Approve"), forAll("deny", "Deny")];
  return rowsOf(canApprove ? [approve, deny] : [deny]);
}
