/**
 * The buttons of a card: one row for each item that can be answered, and one row for all items together. What people
 * need less often is behind More….
 */
import {
  type APIActionRowComponent,
  type APIButtonComponentWithCustomId,
  type APIComponentInMessageActionRow,
  ButtonStyle,
  ComponentType,
} from "discord.js";
import { shorten } from "../../../../lib/text/shorten.ts";
import { type ApprovalCard, type CardItem, moreChoices } from "../../../../ports/card.ts";
import type { AnswerChoice } from "../../../../ports/message.ts";
import { type ButtonMeaning, type ButtonPlace, formatButtonId, type MoreChoice } from "../../interactions/custom-id.ts";
import { maxButtonLabelLength, maxButtonsPerRow } from "../../limits.ts";

export type ButtonRow = APIActionRowComponent<APIComponentInMessageActionRow>;
type Style = APIButtonComponentWithCustomId["style"];

const labels: Partial<Record<AnswerChoice, string>> = {
  approve: "Approve",
  deny: "Deny",
  part: "Choose files…",
  diff: "Show diff",
  undo: "Undo",
  again: "Do it again",
  end: "End this permission",
  handover: "Hand over…",
  reask: "Ask again",
};
const styles: Partial<Record<AnswerChoice, Style>> = { approve: ButtonStyle.Success, deny: ButtonStyle.Danger };
const order: readonly AnswerChoice[] = ["approve", "deny", "part", "diff", "undo", "again", "end", "reask"];

/** These choices approve something, so people must be able to see all of it first. */
const consents: readonly AnswerChoice[] = ["approve", "edit", "allow", "part"];

export function withoutConsent(choices: AnswerChoice[]): AnswerChoice[] {
  return choices.filter((choice) => !consents.includes(choice));
}

/** At most five: no item offers more than approve, deny, two choices about files, and More…. */
export function itemButtons(
  item: CardItem,
  choices: readonly AnswerChoice[],
  suffix: string,
  place: ButtonPlace,
): APIButtonComponentWithCustomId[] {
  const { approvalId: id } = item;
  const shown = order.filter((choice) => choices.includes(choice));
  const buttons = shown.map((choice) => answerButton(choice, labelFor(choice, item) + suffix, id, place));
  const more = moreOf(item, choices);
  const menu =
    more.length === 0
      ? []
      : [button({ type: "more", choices: more }, suffix === "" ? "More…" : `More${suffix}…`, id, place)];
  return [...buttons, ...menu].slice(0, maxButtonsPerRow);
}

export function rowOf(buttons: APIButtonComponentWithCustomId[]): ButtonRow | undefined {
  return buttons.length === 0 ? undefined : { type: ComponentType.ActionRow, components: buttons };
}

function moreOf({ editJson }: CardItem, choices: readonly AnswerChoice[]): MoreChoice[] {
  const offered = moreChoices.filter(
    (choice) => choices.includes(choice) && (choice !== "edit" || editJson !== undefined),
  ) as MoreChoice[];
  return choices.includes("deny") ? [...offered, "reason"] : offered;
}

/** Without `canApprove`, leaves out Approve all: a hidden call must not be approved along with the others. */
export function rowForAll(card: ApprovalCard, place: ButtonPlace, canApprove: boolean): ButtonRow {
  const open = card.items.filter(({ state }) => state === "open").length;
  const forAll = (choice: "approve" | "deny", label: string) =>
    button({ type: "answer", choice }, `${label} all ${open}`, card.id, place);
  // Plain, because a slip on a coloured button would answer for everything.
  const [approve, deny] = [forAll("approve", "Approve"), forAll("deny", "Deny")];
  return { type: ComponentType.ActionRow, components: canApprove ? [approve, deny] : [deny] };
}

function labelFor(choice: AnswerChoice, item: CardItem): string {
  const own =
    choice === "approve" || choice === "deny" ? (item.labels ?? item.changes?.labels)?.[choice].trim() : undefined;
  return own || (labels[choice] ?? choice);
}

function answerButton(choice: AnswerChoice, label: string, id: string, place: ButtonPlace) {
  return button({ type: "answer", choice }, label, id, place, styles[choice]);
}

function button(
  meaning: ButtonMeaning,
  label: string,
  id: string,
  place: ButtonPlace,
  style: Style = ButtonStyle.Secondary,
): APIButtonComponentWithCustomId {
  return {
    type: ComponentType.Button,
    style,
    label: shorten(label, maxButtonLabelLength),
    custom_id: formatButtonId({ meaning, ...place, id }),
  };
}
