/** The modal of Show diff: the text in code boxes, split at line ends. */
import type { AnswerReceipt } from "../../../ports/message.ts";
import type { View } from "../api/views.ts";
import { maxTextObjectLength, maxViewBytes } from "../limits.ts";
import { modal } from "../outbound/blocks.ts";
import type { Block } from "../outbound/render.ts";
import { italic, plain, preformatted, richText } from "../outbound/rich-text.ts";
import { beginningOf } from "../outbound/safe-text.ts";

const title = "Diff";
const maxBoxLength = maxTextObjectLength;
/** Slack accepts more boxes, but nobody reads that far in a modal. */
const maxBoxes = 40;
const maxModalBytes = maxViewBytes - 50_000;
const maxNoteLength = maxTextObjectLength;

export function waitingModal(): View {
  return modal(title, [richText([italic("One moment…")])]);
}

export function noteModal(text: string): View {
  return modal(title, [richText([plain(beginningOf(text, maxNoteLength) || "There is nothing to show.")])]);
}

export function diffModal({ text: note, file }: AnswerReceipt & { file: { text: string } }) {
  const { boxes, rest, isInsideLine } = boxesOf(file.text);
  if (rest > 0) return undefined;
  const more = isInsideLine ? "A line too long for its box continues in the next one." : "";
  const view = modal(title, [...notes(note, more), ...boxes.map(preformatted)]);
  return jsonBytes(view) > maxModalBytes ? undefined : view;
}

export function beginningModal(note: string, text: string): View {
  const { boxes } = boxesOf(text);
  for (let count = boxes.length; ; count = Math.floor(count / 2)) {
    const view = modal(title, [...notes(note, "It starts like this:"), ...boxes.slice(0, count).map(preformatted)]);
    if (count === 0 || jsonBytes(view) <= maxModalBytes) return view;
  }
}

function notes(...texts: string[]): Block[] {
  return texts.filter(Boolean).map((text) => richText([plain(beginningOf(text, maxNoteLength))]));
}

function boxesOf(text: string): { boxes: string[]; rest: number; isInsideLine: boolean } {
  const boxes: string[] = [];
  let isInsideLine = false;
  let from = 0;
  while ((from < text.length && boxes.length < maxBoxes) || boxes.length === 0) {
    const whole = beginningOf(text.slice(from), maxBoxLength);
    const lineEnd = from + whole.length < text.length ? lastLineEnd(text, from, whole.length) : -1;
    const box = lineEnd === -1 ? whole : text.slice(from, lineEnd);
    isInsideLine ||= lineEnd === -1 && from + whole.length < text.length;
    boxes.push(box);
    from = lineEnd === -1 ? from + whole.length : lineEnd + 1;
  }
  return { boxes, rest: text.length - from, isInsideLine };
}

function lastLineEnd(text: string, from: number, most: number): number {
  const found = text.lastIndexOf("\n", from + most);
  return found > from ? found : -1;
}

/** Counts the bytes of the JSON text. Every non-ASCII UTF-16 unit counts as a `\u` escape: six bytes. */
function jsonBytes(view: View): number {
  return [...JSON.stringify(view)].reduce(
    (sum, character) => sum + (character < "\u0080" ? 1 : 6 * character.length),
    0,
  );
}
