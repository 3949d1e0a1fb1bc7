/**
 * What a text becomes as messages: Slack's own Markdown in a block, with a short text beside it for notifications and for
 * clients that show no blocks. A part is at most as long as a block may be, as Slack counts it.
 */
import { splitMarkdown } from "../../shared/split-markdown.ts";
import { maxMarkdownLength, maxUpdateTextBytes } from "../limits.ts";
import { toMrkdwn } from "./mrkdwn.ts";
import { beginningOf, safeMarkdown } from "./safe-text.ts";

export interface MessageContent {
  text: string;
  blocks: Block[];
}

/** A block of Block Kit as plain JSON. */
export type Block = { type: string; [key: string]: unknown };

const maxTextBytes = maxUpdateTextBytes - 100;
const maxShortTextLength = 1_500;
const minPartLength = 100;

export function renderMessage(markdown: string): MessageContent {
  return { text: shortText(markdown), blocks: [{ type: "markdown", text: safeMarkdown(markdown) }] };
}

/** Parts that are each at most `limit` characters as they are sent. */
export function renderParts(markdown: string, limit = maxMarkdownLength): string[] {
  return fitting(markdown, limit, (part) => safeMarkdown(part).length <= limit);
}

/** The same text without blocks, in parts of at most so many bytes; as many as `text` may have everywhere. */
export function renderMrkdwn(markdown: string, limit = maxTextBytes): string[] {
  return fitting(markdown, limit, (part) => Buffer.byteLength(toMrkdwn(part)) <= limit).map(toMrkdwn);
}

/** The beginning, well-formed. */
export function shortText(markdown: string): string {
  const [first = ""] = renderMrkdwn(beginningOf(markdown, maxShortTextLength));
  return first === "" ? "…" : first;
}

function fitting(markdown: string, limit: number, isFit: (part: string) => boolean): string[] {
  return splitMarkdown(markdown, Math.max(minPartLength, limit)).flatMap((part) => {
    if (isFit(part) || limit <= minPartLength) return [part];
    return fitting(part, Math.max(minPartLength, Math.floor(limit / 2)), isFit);
  });
}
