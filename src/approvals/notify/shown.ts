/** Adds to a card whom its message mentions, and to a copy who asks and where. */
import type { Mask } from "../../lib/redact.ts";
import type { CardRecord, NotifiedPerson, NotifyRecord } from "../../ports/approval.ts";
import { type ApprovalCard, type CardItem, type CardNotify, type NotePart, noteText } from "../../ports/card.ts";
import { copyTurnId } from "../../ports/copies.ts";
import type { AnswerChoice, ReplyTarget } from "../../ports/message.ts";
import type { ApprovalRow } from "../card.ts";
import { cleaner } from "../card-text.ts";
import { audienceOf, isExpiredCall } from "./audience.ts";

/** The copies that have been sent or are being sent. */
export function copyTargets(cardId: string, card: CardRecord): ReplyTarget[] {
  return (card.notify?.people ?? []).flatMap(({ id }) => copyTargetOf(cardId, card, id) ?? []);
}

/** Undefined if the person has no copy, or if their direct conversation is not open yet. */
export function copyTargetOf(
  cardId: string,
  { platform, turnIds, notify }: CardRecord,
  personId: string,
): ReplyTarget | undefined {
  const [turnId] = turnIds;
  const { conversationId } = notify?.people.find(({ id }) => id === personId)?.copy ?? {};
  if (notify === undefined || turnId === undefined || conversationId === undefined) return undefined;
  // As for a schedule's message, there is no message to answer, and nothing of the copy is older than this time.
  const messageId = `schedule:card-${cardId}:${notify.decidedAt}`;
  return { platform, conversationId, turnId: copyTurnId(turnId, personId), messageId };
}

export function withNotify(
  mask: Mask,
  card: ApprovalCard,
  { turnIds, notify }: CardRecord,
  rows: ApprovalRow[],
): ApprovalCard {
  const isOpen = rows.some(({ state }) => state === "open");
  if (notify === undefined) return card;
  const [first = ""] = turnIds;
  const clean = cleaner(mask);
  const isCopy = notify.people.some(({ id }) => copyTurnId(first, id) === card.target.turnId);
  const copy = isCopy ? { copy: copyOf(card.requesterName, notify, clean) } : {};
  // A second turn that shares the card shows it too. That must not ping again.
  const mentions = !isCopy && card.target.turnId === first;
  const shown = isOpen ? cardNotify(notify, rows, mentions, clean) : undefined;
  const items = card.items.map((item) => ({ ...item, choices: [...item.choices, ...moreChoices(item, card, rows)] }));
  return { ...card, items, ...copy, ...(shown === undefined ? {} : { notify: shown }) };
}

/** A card is handed over as a whole, so only its first open item offers it. */
function moreChoices({ approvalId }: CardItem, { items }: ApprovalCard, rows: ApprovalRow[]): AnswerChoice[] {
  const row = rows.find(({ id }) => id === approvalId);
  if (row === undefined) return [];
  const firstOpen = items.find(({ state }) => state === "open");
  if (firstOpen?.approvalId === approvalId) return hasOtherApprovers(row) ? ["handover"] : [];
  return isExpiredCall(row) && row.body.askedAgain === undefined ? ["reask"] : [];
}

function hasOtherApprovers({ body: { approvers, notRequester } }: ApprovalRow): boolean {
  const entries = approvers.filter((entry) => entry !== "requester" || !notRequester);
  return entries.length > 1 || entries.some((entry) => entry.startsWith("role:"));
}

function copyOf(requesterName: string, { place }: NotifyRecord, clean: (text: string) => string) {
  const where = place === undefined ? "" : ` in ${clean(place.name)}`;
  const link = place?.link === undefined ? {} : { link: place.link };
  return { text: `${requesterName} asks for your answer${where}.`, ...link };
}

function cardNotify(
  record: NotifyRecord,
  rows: ApprovalRow[],
  mentions: boolean,
  clean: (text: string) => string,
): CardNotify | undefined {
  const { approvers, needed } = audienceOf(rows);
  const waiting = new Set(approvers.filter(({ type }) => type === "user").map(({ id }) => id));
  const people = record.people.filter(({ id }) => waiting.has(id));
  const isMentioned = (person: NotifiedPerson) => mentions && person.isMentioned;
  const names: NotePart[] = [
    ...people.map((person) => (isMentioned(person) ? mention(person, clean) : nameOf(person, clean))),
    ...record.roles.map((role) => (mentions ? { roleId: role.id, name: clean(role.name) } : `@${clean(role.name)}`)),
  ];
  const handed = (record.handed ?? []).map(({ by, to }) => clean(` ${by.name} handed this to ${to.name}.`).trim());
  if (names.length + handed.length === 0) return undefined;
  const waitingLine = names.length === 0 ? [] : waitingFor(names, needed, record.others);
  const line = [...waitingLine, ...handed.map((text, index) => (waitingLine.length + index === 0 ? text : ` ${text}`))];
  return {
    userIds: people.filter(isMentioned).map(({ id }) => id),
    roleIds: mentions ? record.roles.map(({ id }) => id) : [],
    line,
    text: noteText(line),
  };
}

function mention({ id, name }: NotifiedPerson, clean: (text: string) => string): NotePart {
  return { userId: id, name: clean(name) };
}

function nameOf({ name, copy }: NotifiedPerson, clean: (text: string) => string): string {
  return copy === undefined ? clean(name) : `${clean(name)} (direct message)`;
}

function waitingFor(names: NotePart[], needed: number, others: number): NotePart[] {
  const more = others === 0 ? "" : ` ${others === 1 ? "One other person" : `${others} others`} may answer too.`;
  const isOr = needed <= 1;
  const listed = names.flatMap((name, index) => {
    const isLast = index === names.length - 1;
    return index === 0 ? [name] : [isLast && isOr ? " or " : ", ", name];
  });
  const lead = isOr ? "Waiting for " : `${needed} people must approve. Asked: `;
  return [lead, ...listed, `.${more}`];
}
