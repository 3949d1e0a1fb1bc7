/** Keeps the requested lines of a text and counts all of them, so that a long text never has to be in memory. */
import { maxTextCharacters } from "./limits.ts";

export interface LineWindow {
  /** `length` is the full length of a line of which only the beginning is at hand. */
  add(line: string, length?: number): void;
  /** The requested number of lines or characters is reached. */
  isFull(): boolean;
  readonly total: number;
  /** Equal to the line before the first if there are none. */
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
