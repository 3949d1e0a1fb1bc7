/** One item of an approval card: shortened as text, in full as a file. */
import type { CardItem } from "../../../../ports/card.ts";
import { codeBlock, cutAt, withoutFences } from "../plain-text.ts";
import { closingLines, type Fitted, factLines, fitLines } from "./card-lines.ts";

export interface RowOptions {
  /** In characters, at least 800. */
  room: number;
  fileName: string | undefined;
}

export function rowText(item: CardItem, { room, fileName }: RowOptions): Fitted {
  const around = linesAround(item, Math.floor(room / 2));
  const left = room - around.text.length - 2 * 20 - maxNoticeLength;
  // Separate backticks before shortening, because that adds characters.
  const call = shortened(withoutFences(item.callText), left, fileName);
  const isWhole = call.isWhole && around.isWhole;
  const notice = isWhole ? undefined : noticeFor(item, fileName);
  const blocks = [
    item.callText === "" ? undefined : codeBlock(call.text),
    notice,
    around.text === "" ? undefined : around.text,
  ];
  return { text: blocks.filter((block) => block !== undefined).join("\n"), isWhole };
}

const maxNoticeLength = 160;
const blockMarks = codeBlock("").length;

function noticeFor({ callText }: CardItem, fileName: string | undefined): string {
  const length = callText.length.toLocaleString("en");
  return fileName === undefined
    ? `⚠️ This call is too long for a card (${length} characters) and I can't attach files here, so it can't be approved here.`
    : `📎 Shortened. The full call (${length} characters) is attached as \`${fileName}\`.`;
}

export function wholeRow(item: CardItem): string {
  const { headline, reason, callText, warning, facts, progress } = item;
  const parts = [
    headline,
    reason,
    callText,
    facts?.join("\n"),
    warning === undefined ? undefined : `Warning: ${warning}`,
    progress,
  ];
  return `${parts.filter((part) => part !== undefined && part !== "").join("\n\n")}\n`;
}

function linesAround(item: CardItem, room: number): Fitted {
  const { warning } = item;
  const lines = [
    ...(warning === undefined ? [] : [{ before: "⚠️ ", text: warning }]),
    ...factLines(item),
    ...closingLines(item),
  ];
  return fitLines(lines, room);
}

function shortened(text: string, room: number, fileName: string | undefined): Fitted {
  if (text.length + blockMarks <= room) return { text, isWhole: true };
  const kept = Math.max(80, room - 120);
  const headEnd = cutAt(text, Math.floor(kept * 0.65));
  const tailStart = cutAt(text, text.length - Math.floor(kept * 0.35));
  const missing = (tailStart - headEnd).toLocaleString("en");
  const where = fileName === undefined ? "" : `, see ${fileName}`;
  return {
    text: `${text.slice(0, headEnd)}\n… ${missing} characters left out${where} …\n${text.slice(tailStart)}`,
    isWhole: false,
  };
}
