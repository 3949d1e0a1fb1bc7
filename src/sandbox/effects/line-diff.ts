/** Compares two texts line by line in bounded time. If that takes too long, all remaining lines count as replaced. */
import { diffArrays } from "diff/lib/diff/array.js";

export interface LineEdit {
  type: "same" | "removed" | "added";
  lines: string[];
}

const maxDiffMs = 25;
const maxEditLength = 2_000;
export const maxDiffLines = 50_000;

/** Keeps line breaks so that a missing one at the end counts as a difference. */
export function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** Returns edits in text order, with removed lines before the lines that replace them. */
export function diffLines(before: readonly string[], after: readonly string[]): LineEdit[] {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start++;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  const [oldMiddle, newMiddle] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  return joinNeighbours([
    { type: "same", lines: before.slice(0, start) },
    ...diffMiddle(oldMiddle, newMiddle),
    { type: "same", lines: before.slice(before.length - end) },
  ]);
}

function joinNeighbours(edits: readonly LineEdit[]): LineEdit[] {
  const joined: LineEdit[] = [];
  for (const { type, lines } of edits) {
    const last = joined.at(-1);
    if (last?.type === type) last.lines = last.lines.concat(lines);
    else if (lines.length > 0) joined.push({ type, lines });
  }
  return joined;
}

function diffMiddle(before: string[], after: string[]): LineEdit[] {
  const replaced: LineEdit[] = [
    { type: "removed", lines: before },
    { type: "added", lines: after },
  ];
  if (before.length === 0 || after.length === 0) return replaced;
  const found = diffArrays(before, after, { timeout: maxDiffMs, maxEditLength });
  if (found === undefined) return replaced;
  return found.map(({ value, added, removed }) => ({
    type: added ? "added" : removed ? "removed" : "same",
    lines: value,
  }));
}

export function countEdits(edits: readonly LineEdit[]): { added: number; removed: number } {
  const count = (type: LineEdit["type"]) =>
    edits.reduce((sum, edit) => sum + (edit.type === type ? edit.lines.length : 0), 0);
  return { added: count("added"), removed: count("removed") };
}
