/**
 * What a text becomes as messages: Slack's own Markdown in a block, with a short text beside it for notifications and for
 * clients that show no blocks. A part is at most as long as a block may be, as Slack counts it.
 */
import { splitMarkdown } from "../../shared/split-markdown.ts";
import { toMrkdwn } from "./mrkdwn.ts";
import { beginningOf, safeMarkdown } from "./safe-text.ts";

export interface MessageContent {
  text: string;
  blocks: Block[];
}

/** A block of Block Kit as plain JSON. */
export type Block = { type: string; [key: string]: unknown };

/** Of all markdown blocks of one message. */
export const markdownLimit = 12_000;
/** Bytes of `text` in chat.update, the strictest of the methods. */
const textBytes = 3_900;
const leastPart = 100;

export function contentOf(markdown: string): MessageContent {
  return { text: shortText(markdown), blocks: [{ type: "markdown", text: safeMarkdown(markdown) }] };
}

/** Parts that are each at most `limit` characters as they are sent. */
export function partsOf(markdown: string, limit = markdownLimit): string[] {
  return fitting(markdown, limit, (part) => safeMarkdown(part).length <= limit);
}

/** The same text without blocks, in parts of at most so many bytes; as many as `text` may have everywhere. */
export function mrkdwnParts(markdown: string, limit = textBytes): string[] {
  return fitting(markdown, limit, (part) => Buffer.byteLength(toMrkdwn(part)) <= limit).map(toMrkdwn);
}

/** The beginning, well-formed. */
export function shortText(markdown: string): string {
  const [first = ""] = mrkdwnParts(beginningOf(markdown, 1_500));
  return first === "" ? "…" : first;
}

function fitting(markdown: string, limit: number, isFit: (part: string) => boolean): string[] {
  return splitMarkdown(markdown, Math.max(leastPart, limit)).flatMap((part) => {
    if (isFit(part) || limit <= leastPart) return [part];
    return fitting(part, Math.max(leastPart, Math.floor(limit / 2)), isFit);
  });
}
