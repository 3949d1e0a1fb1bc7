/**
 * An approver asks another approver to answer. This gives no authority: only people who may approve can be asked. It is
 * in the audit log before the other approver hears of it.
 */
import { messageOf } from "../../lib/errors.ts";
import type { NotifiedPerson, NotifyRecord } from "../../ports/approval.ts";
import type { AnswerReceipt, Author } from "../../ports/message.ts";
import type { ReachedPerson } from "../../ports/reach.ts";
import { accepted, notYoursText, refused } from "../answer-text.ts";
import type { ApprovalRow } from "../card.ts";
import { cleaner } from "../card-text.ts";
import type { Click } from "../click.ts";
import type { ApprovalsContext } from "../context.ts";
import { votersHere } from "../has-voted.ts";
import { mayAnswer } from "../may-answer.ts";
import { copyFor } from "./plan.ts";
import { changeRecord } from "./record.ts";

/** Each one pings somebody. */
const maxHandOvers = 10;
const notNow = "I couldn't look that person up, so nothing changed. Try again in a moment.";

/** `rows` are open, and the person who clicked may approve them. */
export async function handOver(
  context: ApprovalsContext,
  cardId: string,
  rows: ApprovalRow[],
  click: Click,
): Promise<AnswerReceipt> {
  const { to, by } = click;
  const [first] = rows;
  if (context.notify === undefined || first === undefined || to === undefined || to === "")
    return refused("Choose the person who should answer.");
  if (to === by.id) return refused("That's you. Choose somebody else, or answer the card.");
  const person = await lookUp(context, to, first).catch((thrown: unknown) => {
    context.log.warn({ cardId, person: to, error: messageOf(thrown) }, "could not look up whom to hand a card to");
    return "unknown" as const;
  });
  if (person === "unknown") return refused(notNow);
  if (person === undefined) return refused("I can't find that person here, so nothing changed.");
  const clean = cleaner(context.mask);
  if (!rows.some((row) => mayApprove(context, row, person))) {
    const who = await notYoursText(context, rows, { ...click, by: person });
    return refused(`${clean(`${person.name} can't approve this, so nothing changed.`)} ${who}`);
  }
  const record = (await context.ledger.get("card", cardId))?.body.notify;
  const handed = record?.handed ?? [];
  if (handed.some((one) => one.to.id === to)) return refused(clean(`${person.name} has already been asked.`));
  if (handed.length >= maxHandOvers) return refused("This card has been handed over too often. Answer it here.");
  const unrecorded = await recordHandOver(context, first, by, person);
  if (unrecorded !== undefined) return refused(unrecorded);
  await context.notices.around(cardId, [], false, async () => {
    await changeRecord(context, cardId, (now) => withHandOver(context, now, by, person));
    return rows;
  });
  context.tellPeople(cardId);
  return accepted(clean(`${person.name} is asked to answer.`));
}

type FoundPerson = Author & Pick<ReachedPerson, "isHere">;

async function lookUp(
  { notify, authority }: ApprovalsContext,
  id: string,
  { body: { target } }: ApprovalRow,
): Promise<FoundPerson | undefined> {
  const [reached] = (await notify?.reach(target.platform)?.people([id], target.conversationId)) ?? [];
  if (reached === undefined || reached.isBot) return undefined;
  const { name, isBot, isHere } = reached;
  const plain: Author = { id, name, isBot, roles: [] };
  const author = authority === undefined ? plain : await authority(plain, target);
  return author === undefined ? undefined : { ...author, name, isHere };
}

function mayApprove(context: ApprovalsContext, row: ApprovalRow, by: Author): boolean {
  return !votersHere(row).includes(by.id) && mayAnswer(context, row, { by, isOperator: false, choice: "approve" });
}

async function recordHandOver(
  { audit, events, log }: ApprovalsContext,
  { id: approvalId, body }: ApprovalRow,
  by: Author,
  to: FoundPerson,
): Promise<string | undefined> {
  const { turnId, conversationId, requester } = body;
  const person = ({ id, name }: Author) => ({ id, name });
  try {
    const who = { by: person(by), to: person(to) };
    await audit.record("approval.handed-over", { turnId, conversationId, approvalId, ...who });
  } catch (thrown) {
    log.error(
      { error: messageOf(thrown) },
      "could not record a hand-over in the audit log, so the card was not handed over",
    );
    return `Nothing was changed: ${messageOf(thrown)}.`;
  }
  events.emit("safety.handed-over", { turnId, conversationId, userId: requester.id, approvalId, by: by.id, to: to.id });
  return undefined;
}

function withHandOver(
  { notify, now }: ApprovalsContext,
  record: NotifyRecord,
  by: Author,
  to: FoundPerson,
): NotifyRecord | undefined {
  const { handed = [], people } = record;
  if (handed.some((one) => one.to.id === to.id)) return undefined;
  const isMentioned = to.isHere && notify?.where !== "dm";
  const added: NotifiedPerson = {
    id: to.id,
    name: to.name,
    isMentioned,
    ...(isMentioned ? {} : { copy: copyFor(to.isHere) }),
  };
  const isKnown = people.some(({ id }) => id === to.id);
  const entry = { by: { id: by.id, name: by.name }, to: { id: to.id, name: to.name }, at: now() };
  return { ...record, people: isKnown ? people : [...people, added], handed: [...handed, entry] };
}
