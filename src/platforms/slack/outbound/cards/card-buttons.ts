/** The buttons of a card's item, one for each of its choices. A button carries its choice and the approval's id. */
import type { CardItem } from "../../../../ports/card.ts";
import type { AnswerChoice } from "../../../../ports/message.ts";
import { maxButtonLabelLength } from "../../limits.ts";
import type { Block } from "../render.ts";
import { beginningOf } from "../safe-text.ts";

export const choiceActions: Record<AnswerChoice, string> = {
  approve: "remora_approve",
  deny: "remora_deny",
  edit: "remora_edit",
  allow: "remora_allow",
  part: "remora_part",
  diff: "remora_diff",
  undo: "remora_undo",
  again: "remora_again",
  handover: "remora_handover",
  reask: "remora_reask",
};

const styles: Partial<Record<AnswerChoice, "primary" | "danger">> = { approve: "primary", deny: "danger" };

export function choiceBlock(item: CardItem): Block {
  return {
    type: "actions",
    elements: item.choices.map((choice) =>
      button(choiceLabel(choice, item), choiceActions[choice], item.approvalId, styles[choice]),
    ),
  };
}

/** These choices approve something, so people must be able to see all of it first. */
const consents = new Set([choiceActions.approve, choiceActions.edit, choiceActions.allow, choiceActions.part]);

export function withoutConsent(block: Block): Block[] {
  const elements = (block.elements as Block[]).filter(({ action_id }) => !consents.has(String(action_id)));
  return elements.length === 0 ? [] : [{ ...block, elements }];
}

export function choiceLabel(
  choice: AnswerChoice,
  { changes, grantText, labels = changes?.labels }: Pick<CardItem, "changes" | "grantText" | "labels">,
) {
  switch (choice) {
    case "approve":
      return labels?.approve || "Approve";
    case "deny":
      return labels?.deny || "Deny";
    case "edit":
      return "Edit…";
    case "allow":
      return allowLabel(grantText);
    case "part":
      return "Choose files…";
    case "diff":
      return "Show diff";
    case "undo":
      return "Undo";
    case "again":
      return "Run again";
    case "handover":
      return "Hand over…";
    case "reask":
      return "Ask again";
    default:
      return choice satisfies never;
  }
}

function allowLabel(grantText = ""): string {
  const [, minutes] = /^For (\d+) minutes?\b/.exec(grantText) ?? [];
  return minutes === undefined ? "Allow here for a while" : `Allow ${minutes} min here`;
}

export function button(label: string, action: string, value: string, style?: "primary" | "danger"): Block {
  return {
    type: "button",
    action_id: action,
    text: { type: "plain_text", text: beginningOf(label, maxButtonLabelLength), emoji: false },
    value,
    ...(style === undefined ? {} : { style }),
  };
}
