/** Shortens lines of plain text so that they fit on a card. */
import { shorten } from "../../../../lib/text/shorten.ts";
import type { CardItem } from "../../../../ports/card.ts";
import { escapePlain } from "../plain-text.ts";

export interface CardLine {
  /** `before` and `after` are Markdown; `text` is plain. */
  before: string;
  text: string;
  after?: string;
}

export interface Fitted {
  text: string;
  isWhole: boolean;
}

/** Maximum lengths of a line, tried in this order. */
const lineLengths = [300, 200, 120, 80, 40];

/** Fits the lines into `room` characters, at least 40. Shortens the lines first, then drops some and counts them. */
export function fitLines(lines: CardLine[], room: number): Fitted {
  for (const longest of lineLengths) {
    const text = lines.map((line) => lineText(line, longest)).join("\n");
    if (text.length <= room) return { text, isWhole: lines.every((line) => line.text.length <= longest) };
  }
  const kept: string[] = [];
  let left = room - maxMoreLength;
  for (const line of lines) {
    const text = lineText(line, lineLengths.at(-1) ?? 0);
    if (text.length + 1 > left) break;
    left -= text.length + 1;
    kept.push(text);
  }
  return { text: [...kept, `and ${lines.length - kept.length} more lines`].join("\n"), isWhole: false };
}

const maxMoreLength = 30;

function lineText({ before, text, after = "" }: CardLine, longest: number): string {
  return before + escapePlain(shorten(text, longest)) + after;
}

export function factLines({ facts = [] }: CardItem): CardLine[] {
  return facts.map((text) => ({ before: "• **", text, after: "**" }));
}

export function warningLines({ warning }: CardItem): CardLine[] {
  return warning === undefined ? [] : [{ before: "⚠️ **", text: warning, after: "**" }];
}

export function closingLines({ undo, progress }: CardItem): CardLine[] {
  return [undo, progress].flatMap((text) => (text === undefined ? [] : [{ before: "**", text, after: "**" }]));
}
