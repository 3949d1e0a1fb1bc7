/** Renders a text as messages: Slack's Markdown in a block, plus a short text for clients without blocks. */
import { splitMarkdown } from "../../shared/split-markdown.ts";
import { maxMarkdownLength, maxUpdateTextBytes } from "../limits.ts";
import { toMrkdwn } from "./mrkdwn.ts";
import { beginningOf, safeMarkdown } from "./safe-text.ts";

export interface MessageContent {
  text: string;
  blocks: Block[];
}

export type Block = { type: string; [key: string]: unknown };

/** Slack then fetches no address in the message, and none that an edit adds. */
export const withoutPreviews = { unfurl_links: false, unfurl_media: false };

const maxTextBytes = maxUpdateTextBytes - 100;
const maxShortTextLength = 1_500;
const minPartLength = 100;

export function renderMessage(markdown: string): MessageContent {
  return { text: shortText(markdown), blocks: [{ type: "markdown", text: safeMarkdown(markdown) }] };
}

export function renderParts(markdown: string, limit = maxMarkdownLength): string[] {
  return fitting(markdown, limit, (part) => safeMarkdown(part).length <= limit);
}

/** Renders mrkdwn without blocks. `limit` is in bytes; its default fits every method. */
export function renderMrkdwn(markdown: string, limit = maxTextBytes): string[] {
  return fitting(markdown, limit, (part) => Buffer.byteLength(toMrkdwn(part)) <= limit).map(toMrkdwn);
}

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
