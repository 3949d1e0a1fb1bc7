/** Reminds those who have not answered, once, when half of a card's time is over. */
import type { NotifyRecord } from "../../ports/approval.ts";
import { type ApprovalsContext, type CardRows, cardRows } from "../context.ts";
import { votersHere } from "../has-voted.ts";
import { audienceOf } from "./audience.ts";
import { reminderLine } from "./lines.ts";
import { changeRecord, halfTimeOf, mainTarget } from "./record.ts";
import { copyTargetOf } from "./shown.ts";

export async function remind(context: ApprovalsContext, cardId: string): Promise<void> {
  const found = await cardRows(context.ledger, cardId);
  const record = found?.card.notify;
  if (found === undefined || record === undefined || record.remindedAt !== undefined) return;
  const at = context.now();
  const target = mainTarget(found);
  if ((target === undefined && record.elsewhere === undefined) || at < halfTimeOf(record, found.rows)) return;
  const { people, roles } = stillAsked(record, found);
  const key = `remind-${cardId}`;
  const leftMs =
    Math.min(...found.rows.flatMap(({ state, body }) => (state === "open" ? [body.expiresAt ?? at] : []))) - at;
  const here = people.filter(({ isMentioned }) => isMentioned);
  if (target !== undefined && here.length + roles.length > 0)
    await context.notify?.say(target, { key, line: reminderLine(context, found, { people: here, roles }, leftMs) });
  for (const person of people) {
    const copy = person.isMentioned ? undefined : copyTargetOf(cardId, found.card, person.id);
    const line = reminderLine(context, found, { people: [], roles: [] }, leftMs);
    if (copy !== undefined && person.copy?.problem === undefined) await context.notify?.say(copy, { key, line });
  }
  await changeRecord(context, cardId, (now) => ({ ...now, remindedAt: at }));
}

function stillAsked({ people, roles }: NotifyRecord, { rows }: CardRows): Pick<NotifyRecord, "people" | "roles"> {
  const { approvers } = audienceOf(rows);
  const isAsked = (type: "user" | "role", id: string) => approvers.some((one) => one.type === type && one.id === id);
  // A person may have been handed the card because of a role.
  const byRole = approvers.some(({ type }) => type === "role");
  const voted = new Set(rows.flatMap(votersHere));
  return {
    people: people.filter(({ id }) => !voted.has(id) && (isAsked("user", id) || byRole)),
    roles: roles.filter(({ id }) => isAsked("role", id)),
  };
}
