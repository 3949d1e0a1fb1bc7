/**
 * Keeps the marks of a folder within a limit. No mark is ever dropped, because Undo, or another conversation's draft, may
 * bring back what it is about. Above the limit, the oldest become wider: first the marks of one path become one for whatever
 * is there, then those below a top-level folder become one for the folder, and at last one is for the whole working folder.
 */
import type { FileMark } from "../../ports/ledger.ts";
import { distinctOrigins } from "../../ports/origin.ts";

export const maxMarks = 600;
export const wholeFolder = ".";

export function topOf(path: string): string {
  return path.split("/", 1)[0] ?? wholeFolder;
}

export function withMarks(before: readonly FileMark[], written: readonly FileMark[]): FileMark[] {
  const pathOf = ({ path }: FileMark) => path;
  const folderOf = ({ path }: FileMark) => (path === wholeFolder ? undefined : topOf(path));
  const all = joined([...before, ...written]);
  return joinedToOne(widened(widened(all, pathOf), folderOf));
}

/** Replaces the marks with the same new path by one, oldest first, until there are few enough. */
function widened(marks: readonly FileMark[], newPath: (mark: FileMark) => string | undefined): FileMark[] {
  let excess = marks.length - maxMarks;
  if (excess <= 0) return [...marks];
  const wide = new Set<string>();
  for (const [path, group] of Map.groupBy(marks, newPath)) {
    if (excess <= 0) break;
    // For one mark alone, a wider one is no saving.
    if (path === undefined || group.length === 1) continue;
    wide.add(path);
    excess -= group.length - 1;
  }
  const widen = (mark: FileMark): FileMark => {
    const path = newPath(mark);
    return path !== undefined && wide.has(path) ? { path, origins: mark.origins } : mark;
  };
  return joined(marks.map(widen));
}

function joinedToOne(marks: readonly FileMark[]): FileMark[] {
  if (marks.length <= maxMarks) return [...marks];
  const count = marks.length - maxMarks + 1;
  const origins = marks.slice(0, count).flatMap((mark) => mark.origins);
  return joined([{ path: wholeFolder, origins }, ...marks.slice(count)]);
}

/** Marks about the same become one, with the origins of all. */
function joined(marks: readonly FileMark[]): FileMark[] {
  const byKey = Map.groupBy(marks, ({ path, hash, isName }) => JSON.stringify([path, hash, isName]));
  return [...byKey.values()].flatMap((same) => {
    const [first] = same;
    return first === undefined ? [] : [{ ...first, origins: distinctOrigins(same.flatMap(({ origins }) => origins)) }];
  });
}
