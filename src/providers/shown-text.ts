/** The text of an answer that people see: without what was left out of it, and without the spaces around that. */
import { createTextPlace, type TextPlace } from "./text-place.ts";

export interface ReadText {
  /** All text before was thinking, and is void. */
  isNew: boolean;
  text: string;
}

export interface ShownText {
  place(): TextPlace;
  /** People have seen words of this answer. */
  hasText(): boolean;
  /** Words as they are, with the spaces before them. */
  put(text: string): void;
  /** As `put`, but spaces at the beginning, and behind something that was left out, wait for more words. */
  say(text: string): void;
  /** Something was left out here. */
  leaveOut(): void;
  isBehindGap(): boolean;
  /** Spaces that wait. */
  takeSpace(): string;
  /** All text so far is void. */
  restart(): void;
  /** What is new since the last time. */
  read(): ReadText;
}

export function createShownText(): ShownText {
  let place = createTextPlace();
  let shown = "";
  let isNew = false;
  let hasText = false;
  let isBehindGap = false;
  let space = "";

  function put(text: string): void {
    shown += text;
    place.add(text);
    hasText ||= /\S/.test(text);
    isBehindGap = false;
    space = "";
  }

  return {
    place: () => place,
    hasText: () => hasText,
    put,
    say(text) {
      const start = text.search(/\S/);
      const isFirst = !isBehindGap && !hasText && place.line() === "";
      if (start === -1 && (isBehindGap || isFirst)) {
        space += text;
        return;
      }
      if (!isBehindGap) return put(space + text);
      const between = space + text.slice(0, start);
      const isDouble = /^$|\s$/.test(place.line()) && !between.includes("\n");
      put(`${hasText && !isDouble ? between : ""}${text.slice(start)}`);
    },
    leaveOut() {
      isBehindGap = true;
    },
    isBehindGap: () => isBehindGap,
    takeSpace() {
      const taken = space;
      space = "";
      return taken;
    },
    restart() {
      place = createTextPlace();
      shown = "";
      space = "";
      hasText = false;
      isNew = true;
    },
    read() {
      const read = { isNew, text: shown };
      isNew = false;
      shown = "";
      return read;
    },
  };
}
