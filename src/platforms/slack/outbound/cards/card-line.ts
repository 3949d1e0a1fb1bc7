/**
 * The first line of a card and of an item: who asks and what will happen while it is open, and what became of it once it is
 * settled. Notifications show the first line, or on phones `noticeOf`.
 */
import { type ApprovalCard, type CardItem, headlineParts, openCountText, outcomeMark } from "../../../../ports/card.ts";
import type { Block } from "../render.ts";
import { bold, channelLink, code, dateText, plain, type RichElement, richText } from "../rich-text.ts";
import { beginningOf, escapeText } from "../safe-text.ts";

const maxOutcomeLength = 700;
const maxNotificationLength = 700;
/** Leaves a notification room for what is asked. */
const maxRequesterLength = 60;

export function noticeOf({ items, requesterName }: ApprovalCard): string {
  const open = items.filter((item) => item.state === "open");
  const names = [...new Set(open.map((item) => item.headline))].slice(0, 3).join("; ");
  if (open.length > 0) return escapeText(beginningOf(`${requesterName} asks: ${names}`, maxNotificationLength));
  const outcomes = [...new Set(items.map((item) => item.outcome ?? item.state))].slice(0, 3).join("; ");
  return escapeText(beginningOf(outcomes, maxNotificationLength));
}

/** A single item begins with its own first line. */
export function headBlocks(card: ApprovalCard, part: number): Block[] {
  const open = card.items.filter((item) => item.state === "open").length;
  if (card.items.length === 1 || open === 0) return [];
  return [richText([asks(card), bold(openCountText(open)), plain(part === 0 ? "" : " (continued)")])];
}

export function asks({ requesterName }: ApprovalCard) {
  return plain(`${beginningOf(requesterName, maxRequesterLength)} asks: `);
}

export function headlineElements({ headline, channels }: Pick<CardItem, "headline" | "channels">): RichElement[] {
  return headlineParts(headline, channels).map(({ text, kind }) => {
    if (kind === "code") return code(text, "bold");
    // Slack shows a channel's name, and only to people who can see the channel. It notifies nobody.
    return kind === "channel" && /^[CG]/.test(text) ? channelLink(text) : bold(text);
  });
}

/** One line such as ``✅ Ben approved `npm install` · 14:02``, with the time in the reader's zone. */
export function settledBlocks(item: CardItem): Block[] {
  const { outcome = "", channels, settledAt, grant } = item;
  const line = [
    plain(`${outcomeMark(item)} `),
    ...headlineParts(beginningOf(outcome, maxOutcomeLength), channels).map(({ text, kind }) => {
      if (kind === "code") return code(text);
      return kind === "channel" && /^[CG]/.test(text) ? channelLink(text) : plain(text);
    }),
    ...(settledAt === undefined ? [] : [plain(" · "), dateText(settledAt, "{time}")]),
  ];
  if (grant === undefined) return [richText(line)];
  const until = [plain("\nUntil "), dateText(grant.until, "{time}"), plain(`, ${grant.text}.`)];
  return [richText([...line, ...until])];
}
