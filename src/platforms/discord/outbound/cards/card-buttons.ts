/** The buttons of a card: one row for each item that can be answered, and one row for all items together. */
import {
  type APIButtonComponentWithCustomId,
  type APIMessageTopLevelComponent,
  ButtonStyle,
  ComponentType,
} from "discord.js";
import { shorten } from "../../../../lib/text/shorten.ts";
import type { ApprovalCard, CardItem } from "../../../../ports/card.ts";
import { type AnswerChoice, answerChoices } from "../../../../ports/message.ts";
import { type ButtonPlace, formatButtonId, parseButtonId } from "../../interactions/custom-id.ts";
import { maxButtonLabelLength, maxButtonsPerRow } from "../../limits.ts";

const looks: Record<AnswerChoice, { label: string; style: APIButtonComponentWithCustomId["style"] }> = {
  approve: { label: "Approve", style: ButtonStyle.Success },
  deny: { label: "Deny", style: ButtonStyle.Danger },
  edit: { label: "Edit…", style: ButtonStyle.Secondary },
  allow: { label: "Allow", style: ButtonStyle.Secondary },
  part: { label: "Choose files…", style: ButtonStyle.Secondary },
  diff: { label: "Show diff", style: ButtonStyle.Secondary },
  undo: { label: "Undo", style: ButtonStyle.Secondary },
  again: { label: "Run again", style: ButtonStyle.Secondary },
  handover: { label: "Hand over…", style: ButtonStyle.Secondary },
  reask: { label: "Ask again", style: ButtonStyle.Secondary },
};
const order = answerChoices;

/** These choices approve something, so people must be able to see all of it first. */
const consents: readonly AnswerChoice[] = ["approve", "edit", "allow", "part"];

export function withoutConsent(choices: AnswerChoice[]): AnswerChoice[] {
  return choices.filter((choice) => !consents.includes(choice));
}

export function lineWithoutConsent(line: APIMessageTopLevelComponent): APIMessageTopLevelComponent | undefined {
  if (line.type !== ComponentType.ActionRow) return undefined;
  const components = line.components.filter((component) => {
    if (!("custom_id" in component)) return false;
    const meaning = parseButtonId(component.custom_id)?.meaning;
    return meaning?.type === "answer" && !consents.includes(meaning.choice);
  });
  return components.length === 0 ? undefined : { ...line, components };
}

export function buttonLine(
  item: CardItem,
  choices: AnswerChoice[],
  suffix: string,
  place: ButtonPlace,
): APIMessageTopLevelComponent | undefined {
  const buttons = order
    .filter((choice) => choices.includes(choice) && (choice !== "edit" || item.editJson !== undefined))
    .slice(0, maxButtonsPerRow)
    .map((choice) => button(choice, labelFor(choice, item) + suffix, item.approvalId, place));
  return buttons.length === 0 ? undefined : { type: ComponentType.ActionRow, components: buttons };
}

/** Without `canApprove`, leaves out Approve all: a hidden call must not be approved along with the others. */
export function lineForAll(card: ApprovalCard, place: ButtonPlace, canApprove: boolean): APIMessageTopLevelComponent {
  const deny = button("deny", "Deny all", card.id, { thread: place.thread });
  const approve = button("approve", "Approve all", card.id, { thread: place.thread });
  return { type: ComponentType.ActionRow, components: canApprove ? [approve, deny] : [deny] };
}

function labelFor(choice: AnswerChoice, item: CardItem): string {
  if (choice === "allow") return allowLabel(item);
  const own =
    choice === "approve" || choice === "deny" ? (item.labels ?? item.changes?.labels)?.[choice].trim() : undefined;
  return own || looks[choice].label;
}

/** Takes the minutes from the beginning of the rule's text: `For 30 minutes, …`. */
function allowLabel({ grantText }: CardItem): string {
  const [, minutes] = /^For (\d+) minutes?\b/.exec(grantText ?? "") ?? [];
  return minutes === undefined ? "Allow here for a while" : `Allow ${minutes} min here`;
}

function button(choice: AnswerChoice, label: string, id: string, place: ButtonPlace): APIButtonComponentWithCustomId {
  return {
    type: ComponentType.Button,
    style: looks[choice].style,
    label: shorten(label, maxButtonLabelLength),
    custom_id: formatButtonId({ meaning: { type: "answer", choice }, ...place, id }),
  };
}
