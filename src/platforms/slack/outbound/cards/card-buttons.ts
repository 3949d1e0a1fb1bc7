/**
 * The buttons of a card's item, and the menu More… for what people need less often. A button carries its choice and the
 * approval's id; so does an option of the menu. Slack shows the menu as `…`: it needs no state and no second message.
 */
import { type CardItem, moreChoices } from "../../../../ports/card.ts";
import { type AnswerChoice, answerChoices } from "../../../../ports/message.ts";
import { type CardChoice, choiceLabel, isConsent } from "../../../shared/card-choices.ts";
import { maxOptionLength } from "../../limits.ts";
import { button, plainText } from "../blocks.ts";
import type { Block } from "../render.ts";
import { beginningOf } from "../safe-text.ts";

export function actionOf(choice: AnswerChoice): string {
  return `remora_${choice}`;
}

export function choiceOf(action: unknown): AnswerChoice | undefined {
  return answerChoices.find((choice) => actionOf(choice) === action);
}

export const moreAction = "remora_more";

const styles: Partial<Record<AnswerChoice, "primary" | "danger">> = { approve: "primary", deny: "danger" };

export function choiceBlock(item: CardItem): Block {
  const buttons = item.choices.filter((choice) => !moreChoices.includes(choice));
  const menu = moreMenu(item);
  return {
    type: "actions",
    elements: [
      ...buttons.map((choice) => button(choiceLabel(choice, item), actionOf(choice), item.approvalId, styles[choice])),
      ...(menu === undefined ? [] : [menu]),
    ],
  };
}

function moreMenu(item: CardItem): Block | undefined {
  const choices: CardChoice[] = moreChoices.filter((choice) => item.choices.includes(choice));
  if (item.choices.includes("deny")) choices.splice(choices.indexOf("why") === -1 ? choices.length : -1, 0, "reason");
  if (choices.length === 0) return undefined;
  const options = choices.map((choice) => ({
    text: plainText(beginningOf(choiceLabel(choice, item), maxOptionLength)),
    value: `${choice}|${item.approvalId}`,
  }));
  return { type: "overflow", action_id: moreAction, options };
}

/** Reads the value of an option of the menu. */
export function readMore(value: string): { choice: CardChoice; approvalId: string } | undefined {
  const [, choice = "", approvalId = ""] = /^([a-z]+)\|(.+)$/.exec(value) ?? [];
  const known = choice === "reason" || moreChoices.some((each) => each === choice);
  return known ? { choice: choice as CardChoice, approvalId } : undefined;
}

export function withoutConsent(block: Block): Block[] {
  const elements = (block.elements as Block[])
    .filter(({ action_id }) => !isConsent(choiceOf(action_id) ?? "reason"))
    .map((element) => (element.type === "overflow" ? withoutConsentOptions(element) : element));
  return elements.length === 0 ? [] : [{ ...block, elements }];
}

function withoutConsentOptions(menu: Block): Block {
  const options = (menu.options as { value: string }[]).filter(
    ({ value }) => !isConsent(readMore(value)?.choice ?? "reason"),
  );
  return { ...menu, options };
}
