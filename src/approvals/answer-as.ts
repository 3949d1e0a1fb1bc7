/**
 * Answers of people who have signed in to the dashboard. The rules are those of the chat: the person is looked up again,
 * with the roles of now, and must satisfy the rule recorded with the request and the current one.
 */
import { createTimedCache } from "../lib/timed-cache.ts";
import type { AnsweringPerson, ApprovalDesk, OperatorDecision } from "../ports/approval.ts";
import type { AnswerReceipt, Author, ReplyTarget } from "../ports/message.ts";
import { answerCard } from "./answer.ts";
import { type ApprovalsContext, cardRows } from "./context.ts";
import { mayStillAnswer, personNow } from "./may-answer.ts";

const maxShownMs = 60_000;
const maxShownPeople = 1_000;

export async function answerAs(
  context: ApprovalsContext,
  person: AnsweringPerson,
  { cardOrApprovalId: id, ...decision }: OperatorDecision,
): Promise<AnswerReceipt> {
  return await answerCard(context, { ...decision, ...person, id, isOperator: false });
}

/**
 * The dashboard refreshes every few seconds, and services limit look-ups of people, so what it shows may be a minute old.
 * An answer looks the person up again. A person who can't be looked up can't answer.
 */
export function createAnswerable(context: ApprovalsContext): ApprovalDesk["answerable"] {
  const { now } = context;
  const shown = createTimedCache<Author | undefined>({ keepMs: maxShownMs, maxEntries: maxShownPeople, now });

  const shownPerson = (person: AnsweringPerson, target: ReplyTarget) =>
    shown(JSON.stringify([person.platform, person.by.id, target.platform, target.conversationId]), () =>
      personNow(context, person, target).catch(() => undefined),
    );

  return async (person, cardIds) => {
    const cards = await Promise.all(cardIds.map((cardId) => cardRows(context.ledger, cardId)));
    const ids = await Promise.all(
      cards.map(async (found) => {
        const [first] = found?.rows ?? [];
        const by = first === undefined ? undefined : await shownPerson(person, first.body.target);
        if (found === undefined || by === undefined) return [];
        return found.rows.filter((row) => mayStillAnswer(context, row, by, person.platform)).map(({ id }) => id);
      }),
    );
    return new Set(ids.flat());
  };
}
