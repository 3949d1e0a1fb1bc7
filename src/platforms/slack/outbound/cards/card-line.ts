/** The first line of an item: what will happen while it is open, and what became of it once it is settled. */
import { type CardItem, headlineParts, outcomeMark } from "../../../../ports/card.ts";
import type { Block } from "../render.ts";
import { bold, channelLink, code, dateText, plain, type RichElement, richText } from "../rich-text.ts";
import { beginningOf } from "../safe-text.ts";

const maxOutcomeLength = 700;

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
