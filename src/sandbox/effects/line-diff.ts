/**
 * Compares two texts line by line. The result depends on nothing but the texts, and takes bounded work: what is too
 * different is parted at the lines that both have exactly once, and what is between them counts as replaced.
 */
import { diffArrays } from "diff/lib/diff/array.js";

export interface LineEdit {
  type: "same" | "removed" | "added";
  lines: string[];
}

/** Work grows with the square of the edits. */
const maxEdits = 400;
const maxComparedLines = 4_000;
const maxComparisons = 100;

/** Keeps line breaks so that a missing one at the end counts as a difference. */
export function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** Returns edits in text order, with removed lines before the lines that replace them. */
export function diffLines(before: readonly string[], after: readonly string[], budget: LineBudget): LineEdit[] {
  return joinNeighbours(trimmed(before, after, (oldLines, newLines) => middle(oldLines, newLines, budget)));
}

/** How many lines may be searched for those that two long texts share. All files of a draft have one budget. */
export interface LineBudget {
  lines: number;
}

export function createLineBudget(): LineBudget {
  return { lines: 1_000_000 };
}

type Compare = (before: string[], after: string[]) => LineEdit[];

function trimmed(before: readonly string[], after: readonly string[], compare: Compare): LineEdit[] {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start++;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  return [
    { type: "same", lines: before.slice(0, start) },
    ...compare(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    { type: "same", lines: before.slice(before.length - end) },
  ];
}

function joinNeighbours(edits: readonly LineEdit[]): LineEdit[] {
  const joined: LineEdit[] = [];
  for (const { type, lines } of edits) {
    const last = joined.at(-1);
    if (last?.type === type) for (const line of lines) last.lines.push(line);
    else if (lines.length > 0) joined.push({ type, lines: [...lines] });
  }
  return joined;
}

function middle(before: string[], after: string[], budget: LineBudget): LineEdit[] {
  const found = compared(before, after);
  if (found !== undefined) return found;
  budget.lines -= before.length + after.length;
  return budget.lines < 0 ? replaced(before, after) : betweenAnchors(before, after);
}

function compared(before: string[], after: string[]): LineEdit[] | undefined {
  if (before.length === 0 || after.length === 0) return replaced(before, after);
  if (before.length + after.length > maxComparedLines) return undefined;
  return diffArrays(before, after, { maxEditLength: maxEdits })?.map(({ value, added, removed }) => ({
    type: added ? "added" : removed ? "removed" : "same",
    lines: value,
  }));
}

function replaced(before: string[], after: string[]): LineEdit[] {
  return [
    { type: "removed", lines: before },
    { type: "added", lines: after },
  ];
}

function betweenAnchors(before: string[], after: string[]): LineEdit[] {
  const edits: LineEdit[] = [];
  let [oldFrom, newFrom] = [0, 0];
  let comparisons = maxComparisons;
  const compare: Compare = (old, now) => {
    const isSmall = Math.min(old.length, now.length) < 2;
    return isSmall || comparisons-- <= 0 ? replaced(old, now) : (compared(old, now) ?? replaced(old, now));
  };
  const between = (oldEnd: number, newEnd: number) =>
    trimmed(before.slice(oldFrom, oldEnd), after.slice(newFrom, newEnd), compare);
  let sameFrom = 0;
  for (const { oldAt, newAt } of anchorsOf(before, after)) {
    if (oldAt > oldFrom || newAt > newFrom) {
      edits.push({ type: "same", lines: before.slice(sameFrom, oldFrom) }, ...between(oldAt, newAt));
      sameFrom = oldAt;
    }
    [oldFrom, newFrom] = [oldAt + 1, newAt + 1];
  }
  edits.push({ type: "same", lines: before.slice(sameFrom, oldFrom) });
  edits.push(...between(before.length, after.length));
  return edits;
}

interface Anchor {
  oldAt: number;
  newAt: number;
}

/** The longest series of lines that each text has once, in the same order: the method of patience diffs. */
function anchorsOf(before: readonly string[], after: readonly string[]): Anchor[] {
  const [oldPlaces, newPlaces] = [uniquePlaces(before), uniquePlaces(after)];
  const shared: Anchor[] = [];
  for (const [line, oldAt] of oldPlaces) {
    const newAt = newPlaces.get(line);
    if (newAt !== undefined) shared.push({ oldAt, newAt });
  }
  shared.sort((one, other) => one.oldAt - other.oldAt);
  /** The last anchor of the best series of each length, and what precedes each anchor in its series. */
  const ends: Anchor[] = [];
  const previous = new Map<Anchor, Anchor | undefined>();
  for (const anchor of shared) {
    const length = firstAtLeast(ends, anchor.newAt);
    previous.set(anchor, ends[length - 1]);
    ends[length] = anchor;
  }
  const series: Anchor[] = [];
  for (let anchor = ends.at(-1); anchor !== undefined; anchor = previous.get(anchor)) series.push(anchor);
  return series.reverse();
}

function uniquePlaces(lines: readonly string[]): Map<string, number> {
  const places = new Map<string, number>();
  const repeated = new Set<string>();
  for (const [at, line] of lines.entries()) {
    if (places.has(line)) repeated.add(line);
    else places.set(line, at);
  }
  for (const line of repeated) places.delete(line);
  return places;
}

function firstAtLeast(ends: readonly Anchor[], newAt: number): number {
  let [low, high] = [0, ends.length];
  while (low < high) {
    const at = (low + high) >> 1;
    if ((ends[at]?.newAt ?? 0) < newAt) low = at + 1;
    else high = at;
  }
  return low;
}

export function countEdits(edits: readonly LineEdit[]): { added: number; removed: number } {
  const count = (type: LineEdit["type"]) =>
    edits.reduce((sum, edit) => sum + (edit.type === type ? edit.lines.length : 0), 0);
  return { added: count("added"), removed: count("removed") };
}
