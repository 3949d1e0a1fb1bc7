/**
 * Tells people about cards: copies by direct message, one reminder, and the line about an expiry. The card's record says
 * what is still to do, and every message has a post key. So a crash repeats nothing, and any process can continue.
 */
import { messageOf, RemoraError } from "../../lib/errors.ts";
import type { NotifiedPerson, NotifyRecord } from "../../ports/approval.ts";
import { copyTurnId, turnIdOfCopy } from "../../ports/copies.ts";
import { type ApprovalsContext, type CardRows, cardRows, cardsOf } from "../context.ts";
import { failedCopyLine, handedLine } from "./lines.ts";
import { copyFor } from "./plan.ts";
import { changeRecord, halfTimeOf, mainTarget } from "./record.ts";
import { remind } from "./remind.ts";
import { tellExpiry } from "./tell-expiry.ts";

export interface Notifier {
  /** Starts what is due for a card, in the background. */
  start(cardId: string): void;
  sweep(now: number): Promise<void>;
  /** Tells the requester if a card has expired. Rejects if that failed, so that the caller tries again. */
  settled(cardId: string): Promise<void>;
  /** As `ApprovalDesk.askElsewhere`. */
  elsewhere(cardId: string, why: string): Promise<boolean>;
  whenIdle(): Promise<void>;
}

const never = Number.POSITIVE_INFINITY;

export function createNotifier(context: ApprovalsContext): Notifier {
  const running = new Set<Promise<void>>();
  let areAllScheduled = false;

  /** Only one process works on a card, and only one that reaches its conversation. */
  async function alone(cardId: string, work: (found: CardRows, record: NotifyRecord) => Promise<void>): Promise<void> {
    const { notify, ledger } = context;
    const found = await cardRows(ledger, cardId);
    const record = found?.card.notify;
    if (notify === undefined || found === undefined || record === undefined) return;
    if (notify.reach(found.card.platform) === undefined || !(await notify.serves(found.card.conversationId))) return;
    const lease = await notify.leases.acquire(`notify:${cardId}`);
    if (lease === undefined) return;
    try {
      const now = await cardRows(ledger, cardId);
      if (now?.card.notify !== undefined) await work(now, now.card.notify);
    } finally {
      await lease.release();
    }
  }

  async function deliver(cardId: string): Promise<void> {
    await alone(cardId, async (found, record) => {
      const isShown = mainTarget(found) !== undefined || record.elsewhere !== undefined;
      if (!found.rows.some(({ state }) => state === "open") || !isShown) return;
      await sendCopies(context, cardId, found, record);
      await tellHandedOver(context, cardId, found, record);
      await remind(context, cardId);
    });
  }

  function start(cardId: string): void {
    const work = deliver(cardId)
      .catch((thrown: unknown) =>
        context.log.warn({ cardId, error: messageOf(thrown) }, "could not tell people about a card; trying again soon"),
      )
      .finally(() => running.delete(work));
    running.add(work);
  }

  /** Does nothing if another process has changed the card's record. */
  async function postpone(cardId: string, from: number | undefined, to: number): Promise<void> {
    await context.ledger.transition("card", cardId, ["made"], "made", ({ nextCheckAt, ...card }) => {
      if (nextCheckAt !== from) return undefined;
      return to === never ? card : { ...card, nextCheckAt: to };
    });
  }

  /** Cards of earlier versions have no time, so a start looks at all open ones once. */
  async function checkUnscheduled(now: number): Promise<void> {
    const open = await context.ledger.list("approval", { states: ["open"] });
    for (const cardId of new Set(open.map(({ body }) => body.cardId))) await postpone(cardId, undefined, now);
    areAllScheduled = true;
  }

  return {
    start,
    async sweep(now) {
      if (!areAllScheduled) await checkUnscheduled(now);
      for (const { id, body } of await context.ledger.list("card", { dueBefore: now + 1 })) {
        const found = await cardRows(context.ledger, id);
        const dueAt = found === undefined ? never : nextDueAt(found);
        if (dueAt <= now) start(id);
        else await postpone(id, body.nextCheckAt, dueAt);
      }
    },
    async elsewhere(cardId, why) {
      await changeRecord(context, cardId, (record) => everybodyGetsCopies(record, why));
      await addRequester(context, cardId);
      // In a moment of trouble, the next sweep sends them.
      await deliver(cardId);
      const people = (await cardRows(context.ledger, cardId))?.card.notify?.people ?? [];
      return people.some(({ copy }) => copy !== undefined && copy.problem === undefined);
    },
    settled: (cardId) => tellExpiry(context, cardId),
    async whenIdle() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}

function everybodyGetsCopies(record: NotifyRecord, why: string): NotifyRecord {
  const people = record.people.map((person) => ({ ...person, isMentioned: false, copy: person.copy ?? copyFor(true) }));
  return { ...record, people, elsewhere: why };
}

async function addRequester(context: ApprovalsContext, cardId: string): Promise<void> {
  const requester = (await cardRows(context.ledger, cardId))?.rows[0]?.body.requester;
  if (requester === undefined || requester.isBot) return;
  const { id, name } = requester;
  await changeRecord(context, cardId, (record) =>
    record.people.some((person) => person.id === id)
      ? undefined
      : { ...record, people: [...record.people, { id, name, isMentioned: false, copy: copyFor(true) }] },
  );
}

function nextDueAt({ card: { notify }, rows }: CardRows): number {
  if (notify === undefined || !rows.some(({ state }) => state === "open")) return never;
  if (notify.people.length + notify.roles.length === 0) return never;
  const isWaiting = notify.people.some(({ copy }) => copy !== undefined && copy.isPosted !== true);
  if (isWaiting || notify.handed?.some(({ toldAt }) => toldAt === undefined)) return 0;
  return notify.remindedAt === undefined ? halfTimeOf(notify, rows) : never;
}

/** The notice is written before a copy is posted. So a copy that is posted while the card is settled is updated too. */
async function sendCopies(
  context: ApprovalsContext,
  cardId: string,
  found: CardRows,
  record: NotifyRecord,
): Promise<void> {
  const due = record.people.filter(({ copy }) => copy !== undefined && copy.isPosted !== true);
  if (due.length === 0) return;
  await context.notices.around(cardId, [], false, async () => {
    await keepPlace(context, cardId, found, record);
    for (const person of due) {
      await sendCopy(context, cardId, found, person).catch((thrown: unknown) =>
        context.log.warn(
          { cardId, person: person.id, error: messageOf(thrown) },
          "could not send a card by direct message; trying again soon",
        ),
      );
    }
    const rows = (await cardRows(context.ledger, cardId))?.rows ?? [];
    return rows.some(({ state }) => state === "open") ? [] : rows;
  });
}

/** A copy without a link is better than none. */
async function keepPlace(
  context: ApprovalsContext,
  cardId: string,
  { card }: CardRows,
  record: NotifyRecord,
): Promise<void> {
  if (record.place !== undefined) return;
  const [turnId] = card.turnIds;
  const messageId = card.messages.find((message) => message.turnId === turnId)?.messageId ?? "";
  const place = await context.notify
    ?.reach(card.platform)
    ?.place(card.conversationId, messageId)
    .catch(() => undefined);
  if (place !== undefined) await changeRecord(context, cardId, (now) => ({ ...now, place }));
}

async function sendCopy(
  context: ApprovalsContext,
  cardId: string,
  found: CardRows,
  { id, name, copy }: NotifiedPerson,
): Promise<void> {
  const { notify } = context;
  const change = (more: NonNullable<NotifiedPerson["copy"]>) =>
    changeRecord(context, cardId, (record) => ({
      ...record,
      people: record.people.map((person) =>
        person.id === id ? { ...person, copy: { ...person.copy, ...more } } : person,
      ),
    }));
  let problem = copy?.problem;
  try {
    if (problem === undefined) {
      const reach = notify?.reach(found.card.platform);
      if (copy?.conversationId === undefined) await change({ conversationId: (await reach?.direct(id)) ?? "" });
      const [turnId = ""] = found.card.turnIds;
      const card = (await cardsOf(context, cardId)).find(({ target }) => target.turnId === copyTurnId(turnId, id));
      if (card !== undefined) await notify?.post(card);
    }
  } catch (thrown) {
    if (thrown instanceof RemoraError && thrown.isRetryable) throw thrown;
    problem = messageOf(thrown);
    context.log.warn(
      { cardId, person: id, error: problem },
      "could not send a card by direct message; mentioning them",
    );
    await change({ problem });
  }
  const target = mainTarget(found);
  if (problem !== undefined && target !== undefined)
    await notify?.say(target, { key: `instead-${cardId}-${id}`, line: failedCopyLine(context, found, { id, name }) });
  await change({ isPosted: true });
}

/** Somebody who can't read the conversation gets a copy instead. */
async function tellHandedOver(
  context: ApprovalsContext,
  cardId: string,
  found: CardRows,
  record: NotifyRecord,
): Promise<void> {
  const target = mainTarget(found);
  for (const [index, handed] of (record.handed ?? []).entries()) {
    if (handed.toldAt !== undefined || target === undefined) continue;
    const isMentioned = record.people.some(({ id, isMentioned: here }) => id === handed.to.id && here);
    if (isMentioned)
      await context.notify?.say(target, { key: `handed-${cardId}-${index}`, line: handedLine(context, found, handed) });
    const toldAt = context.now();
    await changeRecord(context, cardId, (now) => ({
      ...now,
      handed: (now.handed ?? []).map((one, at) => (at === index ? { ...one, toldAt } : one)),
    }));
  }
}

/** Recognizes the messages of a card, so that only the first one starts the copies. */
export function isCopyTurn(turnId: string): boolean {
  return turnIdOfCopy(turnId) !== turnId;
}
