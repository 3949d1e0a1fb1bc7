/** The buttons of a card: a line for each row that can be answered, and one for all of them. */
import {
  type APIButtonComponentWithCustomId,
  type APIMessageTopLevelComponent,
  ButtonStyle,
  ComponentType,
} from "discord.js";
import type { ApprovalCard, CardItem } from "../../../../ports/approval.ts";
import type { AnswerChoice } from "../../../../ports/message.ts";
import { type ButtonPlace, formatButtonId, parseButtonId } from "../../interactions/custom-id.ts";
import { clip } from "../plain-text.ts";

/** Of a line. */
const maxButtons = 5;
const maxLabel = 80;

const looks: Record<AnswerChoice, { label: string; style: APIButtonComponentWithCustomId["style"] }> = {
  approve: { label: "Approve", style: ButtonStyle.Success },
  deny: { label: "Deny", style: ButtonStyle.Danger },
  edit: { label: "Edit…", style: ButtonStyle.Secondary },
  allow: { label: "Allow", style: ButtonStyle.Secondary },
  part: { label: "Choose files…", style: ButtonStyle.Secondary },
  diff: { label: "Show diff", style: ButtonStyle.Secondary },
  undo: { label: "Undo", style: ButtonStyle.Secondary },
  again: { label: "Run again", style: ButtonStyle.Secondary },
};
const order: readonly AnswerChoice[] = ["approve", "deny", "edit", "allow", "part", "diff", "undo", "again"];

/** These say yes to something, which has to be seen whole first. */
const consents: readonly AnswerChoice[] = ["approve", "edit", "allow", "part"];

/** Choices that may be offered where not everything is seen. */
export function withoutConsent(choices: AnswerChoice[]): AnswerChoice[] {
  return choices.filter((choice) => !consents.includes(choice));
}

/** A line with the buttons that need nothing to be seen; undefined when there are none. */
export function lineWithoutConsent(line: APIMessageTopLevelComponent): APIMessageTopLevelComponent | undefined {
  if (line.type !== ComponentType.ActionRow) return undefined;
  const components = line.components.filter((component) => {
    if (!("custom_id" in component)) return false;
    const meaning = parseButtonId(component.custom_id)?.meaning;
    return meaning?.type === "answer" && !consents.includes(meaning.choice);
  });
  return components.length === 0 ? undefined : { ...line, components };
}

/** `suffix` tells rows apart; undefined when there is nothing to press. */
export function buttonLine(
  item: CardItem,
  choices: AnswerChoice[],
  suffix: string,
  place: ButtonPlace,
): APIMessageTopLevelComponent | undefined {
  const buttons = order
    .filter((choice) => choices.includes(choice) && (choice !== "edit" || item.editJson !== undefined))
    .slice(0, maxButtons)
    .map((choice) => button(choice, labelFor(choice, item) + suffix, item.approvalId, place));
  return buttons.length === 0 ? undefined : { type: ComponentType.ActionRow, components: buttons };
}

/** A call that may not be seen whole is not approved along with others. */
export function lineForAll(card: ApprovalCard, place: ButtonPlace, canApprove: boolean): APIMessageTopLevelComponent {
  const deny = button("deny", "Deny all", card.id, { thread: place.thread });
  const approve = button("approve", "Approve all", card.id, { thread: place.thread });
  return { type: ComponentType.ActionRow, components: canApprove ? [approve, deny] : [deny] };
}

function labelFor(choice: AnswerChoice, item: CardItem): string {
  if (choice === "allow") return allowLabel(item);
  const own = choice === "approve" || choice === "deny" ? item.changes?.labels[choice].trim() : undefined;
  return own || looks[choice].label;
}

/** With the time that the rule would hold, as the rule's own text begins: `For 30 minutes, …`. */
function allowLabel({ grantText }: CardItem): string {
  const [, minutes] = /^For (\d+) minutes?\b/.exec(grantText ?? "") ?? [];
  return minutes === undefined ? "Allow here for a while" : `Allow ${minutes} min here`;
}

function button(choice: AnswerChoice, label: string, id: string, place: ButtonPlace): APIButtonComponentWithCustomId {
  return {
    type: ComponentType.Button,
    style: looks[choice].style,
    label: clip(label, maxLabel),
    custom_id: formatButtonId({ meaning: { type: "answer", choice }, ...place, id }),
  };
}
