/** What the choices of a card are called, and which of them approve something. */
import { allowLabel, type CardItem } from "../../ports/card.ts";
import type { AnswerChoice } from "../../ports/message.ts";

/** `reason` opens a form for a denial with a reason. */
export type CardChoice = AnswerChoice | "reason";

const labels: Record<Exclude<AnswerChoice, "allow">, string> = {
  approve: "Approve",
  deny: "Deny",
  edit: "Edit…",
  part: "Choose files…",
  diff: "Show diff",
  undo: "Undo",
  again: "Do it again",
  why: "Why this asks",
  end: "End this permission",
  handover: "Hand over…",
  reask: "Ask again",
};

type LabelledItem = Pick<CardItem, "changes" | "grantText" | "labels">;

export function choiceLabel(choice: CardChoice, item: LabelledItem): string {
  if (choice === "allow") return allowLabel(item.grantText);
  if (choice === "reason") return `${choiceLabel("deny", item)} with reason…`;
  const own = choice === "approve" || choice === "deny" ? (item.labels ?? item.changes?.labels)?.[choice].trim() : "";
  return own || labels[choice];
}

/** A consent approves something, so people must be able to see all of it first. */
export function isConsent(choice: CardChoice): boolean {
  return choice === "approve" || choice === "edit" || choice === "allow" || choice === "part";
}
