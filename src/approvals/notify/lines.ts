/** The lines that tell people about a card besides the card itself. Texts are plain; platforms escape them. */
import type { HandedOver, NotifiedPerson, NotifyRecord } from "../../ports/approval.ts";
import type { ApprovalCard, NotePart } from "../../ports/card.ts";
import type { Author } from "../../ports/message.ts";
import { buildCard } from "../card.ts";
import { cleaner } from "../card-text.ts";
import type { ApprovalsContext, CardRows } from "../context.ts";
import { minutesText } from "../why.ts";

type Named = Pick<Author, "id" | "name">;

const maxWhatCharacters = 150;

export function failedCopyLine(context: ApprovalsContext, found: CardRows, person: Named): NotePart[] {
  const text = `: I couldn't send you a direct message. ${requestText(context, found)} is waiting for your answer above.`;
  return [mention(context, person), text];
}

export function handedLine(context: ApprovalsContext, found: CardRows, { by, to }: HandedOver): NotePart[] {
  const clean = cleaner(context.mask);
  return [
    mention(context, to),
    clean(`: ${by.name} handed this to you.`),
    ` ${requestText(context, found)}. Answer above.`,
  ];
}

/** `people` and `roles` have not answered yet. */
export function reminderLine(
  context: ApprovalsContext,
  found: CardRows,
  { people, roles }: Pick<NotifyRecord, "people" | "roles">,
  leftMs: number,
): NotePart[] {
  const clean = cleaner(context.mask);
  const asked: NotePart[] = [
    ...people.map((person) => mention(context, person)),
    ...roles.map(({ id, name }) => ({ roleId: id, name: clean(name) })),
  ];
  const listed = asked.flatMap((part, index) => (index === 0 ? [part] : [", ", part]));
  const waiting = `till waiting for your answer. ${requestText(context, found)} expires in ${minutesText(leftMs)}.`;
  return asked.length === 0 ? [`S${waiting}`] : [...listed, `: s${waiting}`];
}

export function expiryLine(context: ApprovalsContext, { card, rows }: CardRows): NotePart[] {
  const clean = cleaner(context.mask);
  const [first] = rows.filter(({ state }) => state === "expired");
  if (first === undefined) return [];
  const { requester, scope, changes, createdAt, expiresAt } = first.body;
  const within = minutesText((expiresAt ?? createdAt) - createdAt);
  const asked = [
    ...(card.notify?.people ?? []).map(({ name, isMentioned }) => name + (isMentioned ? "" : " (by direct message)")),
    ...(card.notify?.roles ?? []).map(({ name }) => `@${name}`),
  ].map(clean);
  const what = changes === undefined ? "It did not run." : "The changes were discarded.";
  const more = changes === undefined ? " To ask once more, click Ask again on the card." : "";
  const said = `obody answered within ${within}. Asked: ${asked.join(", ")}. ${what}${more}`;
  return scope.startsWith("dm:") ? [`N${said}`] : [mention(context, requester), `: n${said}`];
}

function mention({ mask }: ApprovalsContext, { id, name }: Named | NotifiedPerson): NotePart {
  return { userId: id, name: cleaner(mask)(name) };
}

/** For example `Ann’s request “Run npm install”`. */
function requestText(context: ApprovalsContext, { rows }: CardRows): string {
  const [first] = rows;
  if (first === undefined) return "A request";
  const card = buildCard(first.body.cardId, rows, first.body.target, context);
  const what = [...whatIsAsked(card)].slice(0, maxWhatCharacters).join("");
  return `${card.requesterName}’s request “${what}”`;
}

function whatIsAsked({ items }: ApprovalCard): string {
  const item = items.find(({ state }) => state === "open") ?? items[0];
  // Backticks mark code on cards only.
  return (item?.headline ?? "").replaceAll("`", "");
}
