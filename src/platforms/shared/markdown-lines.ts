/**
 * Classifies the lines of a Markdown text for splitting. Models indent fences, quote them, and put them after list
 * markers. A quoted fence ends with its quote. An opening line longer than `maxOpeningLength` counts as text.
 */

export interface Fence {
  /** Spaces and quote marks before the fence. A list marker is replaced by as many spaces. */
  prefix: string;
  marks: string;
  info: string;
}

export type LineType =
  | "blank"
  | "text"
  /** A heading, list item, rule or quote. It is a good place to start a part. */
  | "block"
  | "table-head"
  | "table-delimiter"
  | "table-row"
  | "fence-open"
  | "fence-body"
  | "fence-close";

export interface Line {
  type: LineType;
  /** Offsets in the text. `end` is the offset of the line feed, or the end of the text. */
  start: number;
  end: number;
  fence?: Fence;
}

const opening = /^((?:[ \t]*>)*[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(`{3,}|~{3,})(.*)$/;
const closing = /^(?:[ \t]*>)*[ \t]*(`{3,}|~{3,})[ \t\r]*$/;
const blockStart = /^[ \t]*(?:#{1,6}[ \t]|[-*+][ \t]|\d{1,9}[.)][ \t]|>|-{3,}[ \t\r]*$|\*{3,}[ \t\r]*$)/;
const tableDelimiter = /^[ \t>]*\|?(?:[ \t]*:?-+:?[ \t]*\|)+(?:[ \t]*:?-+:?[ \t]*)?\r?$/;
/** Delimiter rows are short, so longer lines are not tested. */
const maxDelimiterLength = 2_000;

export function scanLines(text: string, maxOpeningLength: number): Line[] {
  const lines: Line[] = [];
  let fence: Fence | undefined;
  let isTable = false;
  for (const { start, end } of offsetsOf(text)) {
    const line = text.slice(start, end);
    if (fence !== undefined && quoteDepth(line) < quoteDepth(fence.prefix)) fence = undefined;
    if (fence !== undefined) {
      const isEnd = closes(line, fence);
      lines.push({ type: isEnd ? "fence-close" : "fence-body", start, end, fence });
      if (isEnd) fence = undefined;
      continue;
    }
    fence = openedBy(line, maxOpeningLength);
    const previous = lines.at(-1);
    const type: LineType = fence === undefined ? typeOf(line, isTable, previous, text) : "fence-open";
    if (type === "table-delimiter" && previous !== undefined) previous.type = "table-head";
    isTable = type === "table-delimiter" || type === "table-row";
    lines.push({ type, start, end, ...(fence === undefined ? {} : { fence }) });
  }
  return lines;
}

export function openedBy(line: string, maxOpeningLength: number): Fence | undefined {
  const found = opening.exec(line);
  if (found === null || line.length > maxOpeningLength) return undefined;
  const [, prefix = "", marks = "", info = ""] = found;
  // Backticks later in the line make it a code span, not a fence.
  if (marks.startsWith("`") && info.includes("`")) return undefined;
  return { prefix: prefix.replace(/[^\s>]/g, " "), marks, info: info.trimEnd() };
}

export function closes(line: string, { marks }: Fence): boolean {
  const [, found] = closing.exec(line) ?? [];
  return found?.[0] === marks[0] && (found?.length ?? 0) >= marks.length;
}

function typeOf(line: string, isTable: boolean, previous: Line | undefined, text: string): LineType {
  if (line.trim() === "") return "blank";
  if (isTable && line.includes("|")) return "table-row";
  const isBelowText = previous?.type === "text" && text.slice(previous.start, previous.end).includes("|");
  if (isBelowText && line.length <= maxDelimiterLength && tableDelimiter.test(line)) return "table-delimiter";
  return blockStart.test(line) ? "block" : "text";
}

function quoteDepth(line: string): number {
  return /^[ \t>]*/.exec(line)?.[0].replace(/[^>]/g, "").length ?? 0;
}

function* offsetsOf(text: string): Generator<{ start: number; end: number }> {
  for (let start = 0; start <= text.length; ) {
    const found = text.indexOf("\n", start);
    const end = found === -1 ? text.length : found;
    yield { start, end };
    start = end + 1;
  }
}
