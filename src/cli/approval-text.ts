/** Renders cards for the command line, as text and as JSON. */
import { escapeHidden } from "../approvals/card-text.ts";
import { type ApprovalCard, type CardItem, moreFilesText, type ShownChanges } from "../ports/card.ts";

export function cardJson({ id, target, requesterName, approversText, expiresAt, items }: ApprovalCard) {
  return {
    cardId: id,
    platform: target.platform,
    conversationId: target.conversationId,
    turnId: target.turnId,
    requester: requesterName,
    approvers: approversText,
    expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
    items: items.map(itemJson),
  };
}

function itemJson(item: CardItem) {
  const { approvalId, tool, headline, callText, editedFrom, why, warning, times, state, progress, outcome } = item;
  const { facts, undo, changes } = item;
  return {
    ...{ approvalId, tool, headline, call: callText, editedFrom, why, warning, times, state, progress, outcome },
    ...{ facts, undo, changes },
  };
}

/** The texts of a card are already escaped, so they are safe for terminals. */
export function cardsText(cards: ApprovalCard[]): string {
  if (cards.length === 0) return "No approvals waiting.\n";
  const count = cards.reduce((sum, card) => sum + openItems(card).length, 0);
  const how =
    "To answer: `remora approvals approve ID` or `deny ID --reason TEXT`. The first characters of an id are enough. A card's id answers for the whole card.";
  const hasDiff = cards.some((card) => openItems(card).some((item) => item.changes !== undefined));
  const why = " `remora approvals why ID` prints the rules that ask.";
  const diff = hasDiff ? " `remora approvals diff ID` prints every command and the whole diff." : "";
  return `${cards.map(cardText).join("\n")}\n${count} open. ${how}${why}${diff}\n`;
}

function cardText(card: ApprovalCard): string {
  const { id, target, requesterName, approversText, expiresAt } = card;
  const until = expiresAt === null ? "never expires" : `expires ${new Date(expiresAt).toISOString()}`;
  const head = [
    `Card ${id}  asked by ${requesterName} in ${escapeHidden(target.conversationId)}, ${until}`,
    `  ${approversText}`,
  ];
  return `${[...head, ...openItems(card).map(itemText)].join("\n")}\n`;
}

function itemText(item: CardItem): string {
  const { approvalId, headline, callText, reason, warning, facts = [], undo, times, progress, changes } = item;
  const notes = [
    ...(warning === undefined ? [] : [`WARNING ${warning}`]),
    ...facts.map((fact) => `NOTE ${fact}`),
    ...(undo === undefined ? [] : [undo]),
    ...(times > 1 ? [`answers for ${times} identical calls`] : []),
    ...(progress === undefined ? [] : [progress]),
  ];
  const about = changes === undefined ? callText.split("\n") : changesLines(changes);
  return [
    `  ${approvalId}  ${headline}`,
    ...(reason === undefined ? [] : [`    ${reason}`]),
    ...about.map((line) => `    ${line}`),
    ...notes.map((note) => `    · ${note}`),
  ].join("\n");
}

function changesLines({
  title,
  summary,
  files,
  moreFiles,
  moreWarned = 0,
  commands,
  moreCommands = 0,
  lastOutput,
}: ShownChanges): string[] {
  return [
    title,
    ...(summary === "" ? [] : [summary]),
    ...files.map(({ path, action, detail, warning = "" }) =>
      [`  ${action.padEnd(7)}`, path, detail, warning].filter((part) => part !== "").join("  "),
    ),
    ...(moreFiles > 0 ? [`  ${moreFilesText(moreFiles, moreWarned)}`] : []),
    ...(moreCommands > 0 ? [`$ … ${moreCommands} earlier ${moreCommands === 1 ? "command" : "commands"}`] : []),
    ...commands.map(({ text, outcome }) => `$ ${text} — ${outcome}`),
    ...(lastOutput === undefined ? [] : lastOutput.split("\n").map((line) => `  | ${line}`)),
  ];
}

function openItems({ items }: ApprovalCard): CardItem[] {
  return items.filter((item) => item.state === "open");
}
