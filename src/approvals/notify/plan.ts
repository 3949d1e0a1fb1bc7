/**
 * Decides who is told about a card, once, before the card is posted. People who can read the conversation are mentioned
 * there; the others get a copy by direct message. People who have left are skipped. If nobody who may answer is left,
 * the calls are refused.
 */
import { type Approver, approverOf } from "../../lib/approver-entry.ts";
import { messageOf } from "../../lib/errors.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import type { NotifiedPerson, NotifyRecord } from "../../ports/approval.ts";
import type { ReplyTarget } from "../../ports/message.ts";
import type { Reach, ReachedPerson } from "../../ports/reach.ts";
import { maxNamedApprovers, waitingEntries } from "../approver-names.ts";
import { isDashboardEntry } from "../authority.ts";
import type { ApprovalRow } from "../card.ts";
import { type ApprovalsContext, cardRows, endRow } from "../context.ts";
import { audienceOf } from "./audience.ts";
import type { NotifyOptions } from "./options.ts";

/** The card must not wait longer for the service to say who is where. */
const maxLookUpMs = 5_000;
const nobodyLeft = "Nobody can approve this call: everyone who may approve it has left.";

export async function planNotify(context: ApprovalsContext, cardId: string): Promise<void> {
  const { notify, ledger, log } = context;
  const found = await cardRows(ledger, cardId);
  if (notify === undefined || found === undefined || found.card.notify !== undefined) return;
  const open = found.rows.filter((row) => row.state === "open");
  const [first] = open;
  if (first === undefined) return;
  const { approvers, needed } = audienceOf(open);
  const decidedAt = context.now();
  let record: NotifyRecord = { decidedAt, people: [], roles: [], others: 0 };
  let isServiceUp = true;
  if (notify.where !== "off" && approvers.length > 0) {
    const chosen = await choose(context, notify, first.body.target, approvers);
    if (chosen.areAllKnown && chosen.people.length + chosen.roles.length < Math.max(needed, 1)) {
      if (!hasRole(approvers) && !namesDashboardPeople(open)) return await refuse(context, cardId, open);
      log.warn({ cardId }, "nobody who may answer a card can be told about it");
    }
    const { people, roles, others } = chosen;
    record = { decidedAt, people, roles, others };
    isServiceUp = chosen.isServiceUp;
  }
  if (isServiceUp) record = { ...record, ...(await nameOthers(context, notify, open, record)) };
  await ledger.transition("card", cardId, ["made"], "made", (card) =>
    card.notify === undefined ? { ...card, notify: record, nextCheckAt: decidedAt } : undefined,
  );
}

interface Chosen extends Pick<NotifyRecord, "people" | "roles" | "others"> {
  /** False if somebody was not looked up, so that others may be there. */
  areAllKnown: boolean;
  isServiceUp: boolean;
}

async function choose(
  context: ApprovalsContext,
  { where, atMost, reach: reachOf }: NotifyOptions,
  { platform, conversationId }: ReplyTarget,
  approvers: Approver[],
): Promise<Chosen> {
  const reach = reachOf(platform);
  const chosen: Chosen = { people: [], roles: [], others: 0, areAllKnown: true, isServiceUp: true };
  const waiting = [...approvers];
  for (let room = atMost; room > 0 && waiting.length > 0; room = atMost - chosen.people.length - chosen.roles.length) {
    const next = waiting.splice(0, room);
    for (const { id } of next.filter(({ type }) => type === "role")) {
      const name = await inTime(reach?.roleName(id, conversationId)).catch(() => undefined);
      chosen.roles.push({ id, name: name ?? id });
    }
    const ids = next.filter(({ type }) => type === "user").map(({ id }) => id);
    const reached = await lookUp(context, reach, ids, conversationId);
    chosen.isServiceUp &&= reached.isKnown;
    chosen.people.push(...reached.people.map((person) => howToTell(person, where)));
  }
  return { ...chosen, others: waiting.length, areAllKnown: chosen.isServiceUp && waiting.length === 0 };
}

/** The card also names people who are not told, such as those who can answer beside the requester. */
async function nameOthers(
  { log }: ApprovalsContext,
  { reach: reachOf }: NotifyOptions,
  rows: readonly ApprovalRow[],
  { people, roles }: NotifyRecord,
): Promise<Pick<NotifyRecord, "named">> {
  const [first] = rows;
  if (first === undefined) return {};
  const { platform, conversationId } = first.body.target;
  const entries = rows.flatMap(({ body }) => waitingEntries(body).slice(0, maxNamedApprovers));
  const known = new Set([...people, ...roles].map(({ id }) => id));
  const unnamed = [...new Set(entries)]
    .flatMap((entry) => approverOf(entry, platform))
    .filter(({ id }) => !known.has(id));
  const idsOf = (wanted: Approver["type"]) => unnamed.filter(({ type }) => type === wanted).map(({ id }) => id);
  const [userIds, roleIds, reach] = [idsOf("user"), idsOf("role"), reachOf(platform)];
  if (reach === undefined || unnamed.length === 0) return {};
  try {
    const users = inTime(userIds.length === 0 ? undefined : reach.people(userIds, conversationId));
    const names = roleIds.map(async (id) => ({ id, name: await inTime(reach.roleName(id, conversationId)) }));
    const found = [...((await users) ?? []), ...(await Promise.all(names))];
    return { named: found.flatMap(({ id, name }) => (name === undefined ? [] : [{ id, name }])) };
  } catch (thrown) {
    log.warn({ conversationId, error: messageOf(thrown) }, "could not look up the names of who may answer a card");
    return {};
  }
}

/** If the service can't say who is where, everybody is mentioned in the conversation. */
async function lookUp(
  { log }: ApprovalsContext,
  reach: Reach | undefined,
  ids: string[],
  conversationId: string,
): Promise<{ people: ReachedPerson[]; isKnown: boolean }> {
  if (ids.length === 0) return { people: [], isKnown: true };
  try {
    const people = await inTime(reach?.people(ids, conversationId));
    if (people !== undefined) return { people: people.filter(({ isBot }) => !isBot), isKnown: true };
  } catch (thrown) {
    log.warn({ conversationId, error: messageOf(thrown) }, "could not look up who may answer a card");
  }
  return { people: ids.map((id) => ({ id, name: id, isBot: false, isHere: true })), isKnown: false };
}

function howToTell({ id, name, isHere }: ReachedPerson, where: NotifyOptions["where"]): NotifiedPerson {
  const isMentioned = isHere && where !== "dm";
  const isCopied = !isHere || where !== "thread";
  return { id, name, isMentioned, ...(isCopied ? { copy: copyFor(isHere) } : {}) };
}

export function copyFor(isHere: boolean): NonNullable<NotifiedPerson["copy"]> {
  return isHere ? {} : { isFromOutside: true };
}

/** They are not told in a chat, but they can answer. */
function namesDashboardPeople(rows: ApprovalRow[]): boolean {
  return rows.some(({ body }) => body.approvers.some(isDashboardEntry));
}

function hasRole(approvers: Approver[]): boolean {
  return approvers.some(({ type }) => type === "role");
}

async function refuse(context: ApprovalsContext, cardId: string, rows: ApprovalRow[]): Promise<void> {
  const affected = rows.filter((row) => audienceOf([row]).approvers.length > 0);
  await context.notices.around(cardId, [], false, async () => {
    const denied = affected.map((row) => endRow(context, row, ["open"], "denied", nobodyLeft));
    return (await Promise.all(denied)).filter((row) => row !== undefined);
  });
}

async function inTime<T>(work: Promise<T> | undefined): Promise<T | undefined> {
  return work && (await untilAborted(work, AbortSignal.timeout(maxLookUpMs)));
}
