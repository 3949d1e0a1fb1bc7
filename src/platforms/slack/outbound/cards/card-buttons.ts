/**
 * The buttons of a card's item, and the menu More… for what people need less often. A button carries its choice and the
 * approval's id; so does an option of the menu. Slack shows the menu as `…`: it needs no state and no second message.
 */
import { allowLabel, type CardItem, moreChoices } from "../../../../ports/card.ts";
import type { AnswerChoice } from "../../../../ports/message.ts";
import { maxButtonLabelLength, maxOptionLength } from "../../limits.ts";
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
  why: "remora_why",
  end: "remora_end",
  handover: "remora_handover",
  reask: "remora_reask",
};
export const moreAction = "remora_more";

/** What an option of the menu does: `reason` opens a form for a denial with a reason. */
export type MoreChoice = AnswerChoice | "reason";

const styles: Partial<Record<AnswerChoice, "primary" | "danger">> = { approve: "primary", deny: "danger" };

export function choiceBlock(item: CardItem): Block {
  const buttons = item.choices.filter((choice) => !moreChoices.includes(choice));
  const menu = moreMenu(item);
  return {
    type: "actions",
    elements: [
      ...buttons.map((choice) =>
        button(choiceLabel(choice, item), choiceActions[choice], item.approvalId, styles[choice]),
      ),
      ...(menu === undefined ? [] : [menu]),
    ],
  };
}

function moreMenu(item: CardItem): Block | undefined {
  const choices: MoreChoice[] = moreChoices.filter((choice) => item.choices.includes(choice));
  if (item.choices.includes("deny")) choices.splice(choices.indexOf("why") === -1 ? choices.length : -1, 0, "reason");
  if (choices.length === 0) return undefined;
  const options = choices.map((choice) => ({
    text: { type: "plain_text", text: beginningOf(choiceLabel(choice, item), maxOptionLength), emoji: false },
    value: `${choice}|${item.approvalId}`,
  }));
  return { type: "overflow", action_id: moreAction, options };
}

/** Reads the value of an option of the menu. */
export function readMore(value: string): { choice: MoreChoice; approvalId: string } | undefined {
  const [, choice = "", approvalId = ""] = /^([a-z]+)\|(.+)$/.exec(value) ?? [];
  const known = choice === "reason" || moreChoices.some((each) => each === choice);
  return known ? { choice: choice as MoreChoice, approvalId } : undefined;
}

/** These choices approve something, so people must be able to see all of it first. */
const consents = new Set([choiceActions.approve, choiceActions.edit, choiceActions.allow, choiceActions.part]);

export function withoutConsent(block: Block): Block[] {
  const elements = (block.elements as Block[])
    .filter(({ action_id }) => !consents.has(String(action_id)))
    .map((element) => (element.type === "overflow" ? withoutConsentOptions(element) : element));
  return elements.length === 0 ? [] : [{ ...block, elements }];
}

function withoutConsentOptions(menu: Block): Block {
  const options = (menu.options as { value: string }[]).filter(({ value }) => {
    const { choice = "reason" } = readMore(value) ?? {};
    return choice === "reason" || !consents.has(choiceActions[choice]);
  });
  return { ...menu, options };
}

export function choiceLabel(
  choice: MoreChoice,
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
      return "Do it again";
    case "reason":
      return `${labels?.deny || "Deny"} with reason…`;
    case "why":
      return "Why this asks";
    case "end":
      return "End this permission";
    case "handover":
      return "Hand over…";
    case "reask":
      return "Ask again";
    default:
      return choice satisfies never;
  }
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
