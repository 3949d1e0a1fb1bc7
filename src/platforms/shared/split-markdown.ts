/**
 * Splits standard Markdown into parts of at most `limit` characters (UTF-16 units). Prefers cuts between paragraphs and
 * blocks, then lines, lines of code, table rows, words, and graphemes. Closes an open fence at a cut, and reopens it
 * after the cut with the same info string. Otherwise the joined parts are the original text, except for blanks at the
 * cuts. A link, code span or table row is split only if it is longer than a part. A blank text has no parts. The file
 * is over 250 lines because all of its functions share one model of a cut.
 */
import { closes, type Fence, type Line, openedBy, scanLines } from "./markdown-lines.ts";
import { type Span, unbreakableSpans } from "./markdown-spans.ts";

export const minPartLength = 100;

interface Cut {
  end: number;
  next: number;
  fence?: Fence;
}

interface Source {
  text: string;
  lines: Line[];
  limit: number;
}

export function splitMarkdown(text: string, limit: number): string[] {
  if (limit < minPartLength)
    throw new RangeError(`a part must have room for ${minPartLength} characters, not ${limit}`);
  const trimmed = text.trimEnd();
  const source = { text: trimmed, lines: scanLines(trimmed, maxOpeningLength(limit)), limit };
  const parts: string[] = [];
  let cut: Cut = { end: 0, next: skipBlankLines(trimmed, 0) };
  let index = 0;
  while (cut.next < trimmed.length) {
    const from = cut.next;
    const head = cut.fence === undefined ? "" : `${openingOf(cut.fence)}\n`;
    while ((source.lines[index + 1]?.start ?? Number.POSITIVE_INFINITY) <= from) index++;
    cut = lastCut(source, from, limit - head.length) ?? nextCut(source, from, index, limit - head.length);
    const tail = cut.fence === undefined ? "" : `\n${closingOf(cut.fence)}`;
    parts.push(head + trimmed.slice(from, cut.end) + tail);
  }
  return parts;
}

function maxOpeningLength(limit: number): number {
  return Math.floor(limit / 4);
}

function openingOf({ prefix, marks, info }: Fence): string {
  return prefix + marks + info;
}

function closingOf({ prefix, marks }: Fence): string {
  return prefix + marks;
}

function lastCut({ text, lines }: Source, from: number, room: number): Cut | undefined {
  const last = lines.at(-1);
  const fence = last?.type === "fence-open" || last?.type === "fence-body" ? last.fence : undefined;
  const length = text.length - from + closingLength(fence);
  return length <= room ? cutAt(text.length, text.length, fence) : undefined;
}

function closingLength(fence: Fence | undefined): number {
  return fence === undefined ? 0 : closingOf(fence).length + 1;
}

/** Minimum fill of a part, as a fraction, per rank of the cut. Below it, use a lower-ranked cut that fills more. */
const minFill = [0.5, 0.5, 0.5, 0.4, 0.4];
const minFillBeforeWords = 0.25;
const neverRank = minFill.length;

interface PossibleCut {
  rank: number;
  /** Length of the part, including the line that closes its fence. */
  length: number;
  end: number;
  /** The first line of the next part, or the first of the blank lines before it. */
  line: Line;
}

function nextCut(source: Source, from: number, index: number, room: number): Cut {
  const { cuts, overflowing } = lineCuts(source, from, index, room);
  const at = ({ end, line }: PossibleCut) => {
    const fence = openBefore(line);
    return cutAt(end, fence === undefined ? skipBlankLines(source.text, line.start) : line.start, fence);
  };
  for (const [rank, fill] of minFill.entries()) {
    const found = cuts.findLast((each) => each.rank === rank && each.length >= fill * room);
    if (found !== undefined) return at(found);
  }
  const best = cuts.findLast((each) => each.rank < neverRank);
  if (best !== undefined && (best.length >= minFillBeforeWords * room || isWholeInOnePart(overflowing, source.limit))) {
    return at(best);
  }
  const inLine = cutInLine(source, overflowing, from, room);
  if (inLine !== undefined) return inLine;
  const last = best ?? cuts.at(-1);
  return last === undefined ? hardCut(source, overflowing, from, room) : at(last);
}

/** True if the row or fence line fits into a part, so it should start the next part rather than be split. */
function isWholeInOnePart(line: Line, limit: number): boolean {
  const isOneLine = line.type.startsWith("table") || line.type === "fence-open" || line.type === "fence-close";
  return isOneLine && line.end - line.start <= limit;
}

function lineCuts({ text, lines }: Source, from: number, index: number, room: number) {
  const cuts: PossibleCut[] = [];
  let overflowing = lines[index] as Line;
  for (let at = index + 1; at < lines.length; at++) {
    const [before, line] = [lines[at - 1] as Line, lines[at] as Line];
    if (line.start - 1 - from > room) break;
    const fence = openBefore(line);
    const end = fence === undefined ? endOfText(text, from, line.start - 1) : line.start - 1;
    const length = end - from + closingLength(fence);
    if (length > room) continue;
    overflowing = line;
    if (end <= from || (before.type === "blank" && fence === undefined)) continue;
    cuts.push({ rank: rankOf(before, line), length, end, line });
  }
  return { cuts, overflowing };
}

function openBefore({ type, fence }: Line): Fence | undefined {
  return type === "fence-body" || type === "fence-close" ? fence : undefined;
}

function cutAt(end: number, next: number, fence: Fence | undefined): Cut {
  return fence === undefined ? { end, next } : { end, next, fence };
}

/** Rates a cut between two lines: 0 is best, and `neverRank` is used only if there is no other cut. */
function rankOf(before: Line, line: Line): number {
  switch (line.type) {
    case "blank":
    case "fence-open":
    case "table-head":
      return 0;
    case "block":
      return 1;
    case "text":
      return before.type === "fence-close" ? 0 : 2;
    case "fence-body":
      return before.type === "fence-open" ? neverRank : 3;
    case "table-row":
      return before.type === "table-delimiter" ? neverRank : 4;
    case "table-delimiter":
    case "fence-close":
      return neverRank;
    default:
      return line.type satisfies never;
  }
}

function cutInLine(source: Source, line: Line, from: number, room: number): Cut | undefined {
  if (line.type === "fence-open" || line.type === "fence-close") return undefined;
  const { text } = source;
  const start = Math.max(from, line.start);
  const most = from + room - closingLength(line.fence);
  if (most <= start) return undefined;
  if (line.fence !== undefined) {
    const end = safeCut(source, line, start, graphemeStart(text, start, most));
    return end > start ? cutAt(end, end, line.fence) : undefined;
  }
  const end = wordCut(source, line, { from, start, most });
  return end > from ? cutAt(endOfText(text, from, end), skipBlanks(text, end), undefined) : undefined;
}

/** Prefers to cut after the last word outside spans, then before the span at the limit, after any word, anywhere. */
function wordCut(source: Source, line: Line, range: { from: number; start: number; most: number }): number {
  const { text, limit } = source;
  const { from, start, most } = range;
  const spans = unbreakableSpans(text.slice(start, Math.min(line.end, most + limit)));
  const isSafe = (at: number) => at > from && safeCut(source, line, start, at) === at;
  const least = start + minFillBeforeWords * (most - start);
  const found = lastWordEnd(text, least, most, spans, start);
  if (found !== undefined && isSafe(found)) return found;
  const inTheWay = spans.find((span) => start + span.start < most && most < start + span.end);
  if (inTheWay !== undefined && isSafe(start + inTheWay.start)) return start + inTheWay.start;
  const within = lastWordEnd(text, least, most, [], start);
  if (within !== undefined && isSafe(within)) return within;
  return safeCut(source, line, start, graphemeStart(text, start, most));
}

function lastWordEnd(text: string, least: number, most: number, spans: Span[], start: number): number | undefined {
  let index = spans.length - 1;
  for (let at = most; at > least; at--) {
    while (index >= 0 && start + (spans[index]?.start ?? 0) >= at) index--;
    const span = spans[index];
    if (span !== undefined && at < start + span.end) at = start + span.start;
    if (at > least && isWordEnd(text, at)) return at;
  }
  return undefined;
}

function isWordEnd(text: string, at: number): boolean {
  return /[\s。、！？，；：]/u.test(text[at - 1] ?? "") || /\s/u.test(text[at] ?? "");
}

/** Limits the search, because a line that consists of fence marks has no safe position. */
const maxSteps = 100;

/** Moves the cut left while the text on either side of it would read as a new fence. */
function safeCut({ text, limit }: Source, line: Line, start: number, wanted: number): number {
  const isFence = (piece: string) =>
    line.type === "fence-body" && line.fence !== undefined
      ? closes(piece, line.fence)
      : openedBy(piece, maxOpeningLength(limit)) !== undefined;
  let at = wanted;
  for (let steps = 0; at > start && steps < maxSteps; steps++) {
    if (!isFence(text.slice(start, at)) && !isFence(text.slice(at, line.end).trimStart())) return at;
    at = graphemeStart(text, start, at - 1);
  }
  return wanted;
}

function graphemeStart(text: string, start: number, at: number): number {
  if (at <= start) return start;
  const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });
  const found = segmenter.segment(text.slice(start, at + 64)).containing(at - start);
  const boundary = start + (found?.index ?? at - start);
  if (boundary > start) return boundary;
  // A grapheme longer than a part is split between its code points.
  return /[\uDC00-\uDFFF]/.test(text[at] ?? "") ? at - 1 : at;
}

function hardCut({ text }: Source, line: Line, from: number, room: number): Cut {
  const open = openBefore(line);
  const end = Math.max(from + 1, graphemeStart(text, from, from + room - closingLength(open)));
  return cutAt(end, end, open);
}

function endOfText(text: string, from: number, end: number): number {
  return from + text.slice(from, end).trimEnd().length;
}

function skipBlanks(text: string, at: number): number {
  return at + (/^\s*/.exec(text.slice(at))?.[0].length ?? 0);
}

function skipBlankLines(text: string, at: number): number {
  return at + (/^(?:[^\S\n]*\n)*/.exec(text.slice(at))?.[0].length ?? 0);
}
