/** Adds to a card whom its message mentions, and to a copy who asks and where. */
import type { Mask } from "../../lib/redact.ts";
import { namesText } from "../../lib/text/names-text.ts";
import type { CardRecord, NotifiedPerson, NotifyRecord } from "../../ports/approval.ts";
import { type ApprovalCard, type CardItem, type CardNotify, type NotePart, noteText } from "../../ports/card.ts";
import { copyTurnId } from "../../ports/copies.ts";
import type { AnswerChoice, ReplyTarget } from "../../ports/message.ts";
import { waitingEntries } from "../approver-names.ts";
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
  const reader = notify.people.find(({ id }) => copyTurnId(first, id) === card.target.turnId);
  const copy = reader === undefined ? {} : { copy: copyOf(card.requesterName, notify, rows, reader, clean) };
  // A second turn that shares the card shows it too. That must not ping again.
  const mentions = card.target.turnId === first;
  const shown = isOpen ? cardNotify(notify, rows, { mentions, isCopy: reader !== undefined }, clean) : undefined;
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

function hasOtherApprovers({ body }: ApprovalRow): boolean {
  const entries = waitingEntries(body);
  return entries.length > 1 || entries.some((entry) => entry.startsWith("role:"));
}

/** `reader` got the copy. Once nobody waits for the reader, the copy only says whose request it is. */
function copyOf(
  requesterName: string,
  { place, people, roles, others, elsewhere }: NotifyRecord,
  rows: ApprovalRow[],
  reader: NotifiedPerson,
  clean: (text: string) => string,
) {
  const where = place === undefined ? "" : ` in ${clean(place.name)}`;
  const why = elsewhere === undefined ? "" : ` I can't write there: ${elsewhere}.`;
  const link = place?.link === undefined ? {} : { link: place.link };
  const { approvers, needed } = audienceOf(rows);
  const isAsked = (id: string) => approvers.some((one) => one.type === "user" && one.id === id);
  if (!isAsked(reader.id) && !approvers.some(({ type }) => type === "role"))
    return { text: `${requesterName}’s request${where}.${why}`, ...link };
  const others_ = people.filter(({ id }) => id !== reader.id && isAsked(id)).map(({ name }) => clean(name));
  const more = others === 0 ? [] : [others === 1 ? "one other person" : `${others} others`];
  const names = namesText(["you", ...others_, ...roles.map(({ name }) => `@${clean(name)}`), ...more], "or");
  const what = needed <= 1 ? "an answer from" : `${needed} approvals${where}, from`;
  return { text: `${requesterName} needs ${what} ${names}${needed <= 1 ? where : ""}.${why}`, ...link };
}

function cardNotify(
  record: NotifyRecord,
  rows: ApprovalRow[],
  { mentions, isCopy }: { mentions: boolean; isCopy: boolean },
  clean: (text: string) => string,
): CardNotify | undefined {
  const { approvers, needed } = audienceOf(rows);
  const waiting = new Set(approvers.filter(({ type }) => type === "user").map(({ id }) => id));
  const people = record.people.filter(({ id }) => waiting.has(id));
  const isMentioned = (person: NotifiedPerson) => mentions && person.isMentioned;
  const names: NotePart[] = [
    ...people.map((person) => (isMentioned(person) ? mention(person, clean) : clean(person.name))),
    ...record.roles.map((role) => (mentions ? { roleId: role.id, name: clean(role.name) } : `@${clean(role.name)}`)),
  ];
  const handed = (record.handed ?? []).map(({ by, to }) => clean(`${by.name} handed this to ${to.name}.`));
  // A copy begins with who is asked.
  const waitingLine =
    names.length === 0 || isCopy ? [] : waitingFor(names, needed, record.others, copiedTo(people, clean));
  if (waitingLine.length + handed.length === 0) return undefined;
  const line = [...waitingLine, ...handed.map((text, index) => (waitingLine.length + index === 0 ? text : ` ${text}`))];
  return {
    userIds: people.filter(isMentioned).map(({ id }) => id),
    roleIds: mentions ? record.roles.map(({ id }) => id) : [],
    line,
    text: noteText(line),
  };
}

/** For example ` Cara was asked by direct message.` */
function copiedTo(people: NotifiedPerson[], clean: (text: string) => string): string {
  const names = people
    .filter(({ isMentioned, copy }) => !isMentioned && copy !== undefined)
    .map(({ name }) => clean(name));
  return names.length === 0
    ? ""
    : ` ${namesText(names)} ${names.length === 1 ? "was" : "were"} asked by direct message.`;
}

function mention({ id, name }: NotifiedPerson, clean: (text: string) => string): NotePart {
  return { userId: id, name: clean(name) };
}

function waitingFor(names: NotePart[], needed: number, others: number, copied: string): NotePart[] {
  const more = others === 0 ? "" : ` ${others === 1 ? "One other person" : `${others} others`} may answer too.`;
  const isOr = needed <= 1;
  const listed = names.flatMap((name, index) => {
    const isLast = index === names.length - 1;
    return index === 0 ? [name] : [isLast && isOr ? " or " : ", ", name];
  });
  const lead = isOr ? "Waiting for " : `${needed} people must approve. Asked: `;
  return [lead, ...listed, `.${copied}${more}`];
}
