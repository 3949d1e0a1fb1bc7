/** The first line of an item, and the only line of a settled one. Nothing in an argument formats, links or mentions. */
import { shorten } from "../../../../lib/text/shorten.ts";
import { type CardItem, type HeadlinePart, headlineParts, outcomeMark } from "../../../../ports/card.ts";
import { escapePlain } from "../plain-text.ts";

const maxOutcomeLength = 500;

export function headlineText({ headline, channels }: Pick<CardItem, "headline" | "channels">): string {
  return headlineParts(headline, channels).map(partText).join("");
}

/** For example ``✅ Ben approved `npm install` · 14:02``, with the time in the reader's zone. */
export function settledText(item: CardItem): string {
  const { outcome = "", channels, settledAt, grant } = item;
  const line = headlineParts(shorten(outcome, maxOutcomeLength), channels).map(partText).join("");
  const time = settledAt === undefined ? "" : ` · ${timeText(settledAt)}`;
  const until = grant === undefined ? "" : `\nUntil ${timeText(grant.until)}, ${escapePlain(grant.text)}.`;
  return `${outcomeMark(item)} ${line}${time}${until}`.trim();
}

function timeText(at: number): string {
  return `<t:${Math.floor(at / 1000)}:t>`;
}

function partText({ text, kind }: HeadlinePart): string {
  if (kind === "code") return `\`${text}\``;
  // Discord shows a channel's name, and notifies nobody.
  return kind === "channel" && /^\d+$/.test(text) ? `<#${text}>` : escapePlain(text);
}
