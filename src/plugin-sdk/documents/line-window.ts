/** Keeps the requested lines of a text but counts all of them so that a long text never has to be in memory. */
import { maxTextCharacters } from "./limits.ts";

export interface LineWindow {
  /** `length` is the line's full length if `line` is only its beginning. */
  add(line: string, length?: number): void;
  /** True once the requested lines or the maximum number of characters have been kept. */
  isFull(): boolean;
  readonly total: number;
  /** Number of the last kept line; `firstLine - 1` if none was kept. */
  readonly last: number;
  text(): string;
}

export function createLineWindow({ firstLine, lines }: { firstLine: number; lines: number }): LineWindow {
  const kept: string[] = [];
  let total = 0;
  let left = maxTextCharacters;
  let isFull = false;
  return {
    add(line, length = line.length) {
      total += 1;
      if (total < firstLine || isFull) return;
      if (kept.length >= lines || (kept.length > 0 && length >= left)) {
        isFull = true;
        return;
      }
      kept.push(length > left ? cut(line, length) : line);
      left -= length + 1;
    },
    isFull: () => isFull || kept.length >= lines || left <= 0,
    get total() {
      return total;
    },
    get last() {
      return firstLine + kept.length - 1;
    },
    text: () => kept.join("\n"),
  };
}

function cut(line: string, length: number): string {
  return `${line.slice(0, maxTextCharacters)} [… this line has ${length} characters and is cut here]`;
}
