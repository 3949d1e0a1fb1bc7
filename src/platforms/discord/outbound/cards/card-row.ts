/** One item of an approval card: shortened as text, in full as a file. */
import { formatNumber } from "../../../../lib/text/format-number.ts";
import type { CardItem } from "../../../../ports/card.ts";
import { codeBlock, cutAt, withoutFences } from "../plain-text.ts";
import { closingLines, type Fitted, factLines, fitLines, warningLines } from "./card-lines.ts";

export interface RowOptions {
  /** In characters, at least 800. */
  room: number;
  fileName: string | undefined;
  /** The first line above shows the whole call. */
  isCallAbove: boolean;
}

const maxNoticeLength = 160;
const blockMarks = codeBlock("").length;
/** People would have to scroll from the first line to the buttons. */
const maxShownLines = 24;
const shownHeadLines = 12;
const shownTailLines = 5;

export function rowText(item: CardItem, { room, fileName, isCallAbove }: RowOptions): Fitted {
  const above = fitLines(warningLines(item), Math.floor(room / 4));
  const below = fitLines([...factLines(item), ...closingLines(item)], Math.floor(room / 3));
  const left = room - above.text.length - below.text.length - 3 * 20 - maxNoticeLength;
  // Separate backticks before shortening, because that adds characters.
  const call = isCallAbove ? nothing : shortened(withoutFences(item.callText), left);
  const isWhole = [call, above, below].every((part) => part.isWhole);
  const notice = isWhole ? "" : noticeFor(item, call, fileName);
  const blocks = [above.text, call.text === "" ? "" : codeBlock(call.text), below.text, notice];
  return { text: blocks.filter((block) => block !== "").join("\n"), isWhole };
}

const nothing: Fitted = { text: "", isWhole: true };

/** Directly above the buttons, where it can't be a part of the call. */
function noticeFor({ callText }: CardItem, call: Fitted, fileName: string | undefined): string {
  const length = formatNumber(callText.length);
  if (fileName === undefined)
    return `⚠️ **This is too long for a card (${length} characters) and I can't attach files here, so it can't be approved here.**`;
  const left = formatNumber(Math.max(0, callText.length - call.text.length));
  const what = call.isWhole ? "Some lines are shortened." : `${left} of ${length} characters are not shown.`;
  return `⚠️ **${what} Read \`${fileName}\` before you approve.**`;
}

export function wholeRow(item: CardItem): string {
  const { headline, reason, callText, warning, facts, undo, progress } = item;
  const parts = [
    headline,
    reason,
    callText,
    facts?.join("\n"),
    warning === undefined ? undefined : `Warning: ${warning}`,
    undo,
    progress,
  ];
  return `${parts.filter((part) => part !== undefined && part !== "").join("\n\n")}\n`;
}

/** Keeps whole lines of the beginning and the end. Only a very long line is cut. */
function shortened(text: string, room: number): Fitted {
  const lines = text.split("\n");
  if (text.length + blockMarks <= room && lines.length <= maxShownLines) return { text, isWhole: true };
  const kept = Math.max(80, room - blockMarks - 20);
  const wanted = lines.length <= shownHeadLines + shownTailLines ? lines.length : shownHeadLines;
  const head = lines.slice(0, wanted).join("\n");
  const headEnd = cutAt(head, Math.floor(kept * 0.65));
  const lineEnd = head.lastIndexOf("\n", headEnd);
  const shownHead = head.slice(0, headEnd < head.length && lineEnd > headEnd / 2 ? lineEnd : headEnd);
  const tail = text.slice(shownHead.length).split("\n").slice(-shownTailLines).join("\n");
  const shownTail = tail.slice(cutAt(tail, Math.max(0, tail.length - Math.floor(kept * 0.35))));
  return { text: `${shownHead}\n…\n${shownTail}`, isWhole: false };
}
