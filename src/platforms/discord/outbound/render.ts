/** Renders a reply's text as messages. */
import type { RawFile } from "discord.js";
import { shorten } from "../../../lib/text/shorten.ts";
import { maxHeadlineLength } from "../../../ports/progress.ts";
import { splitMarkdown } from "../../shared/split-markdown.ts";
import { maxMessageLength } from "../limits.ts";
import { toDiscordMarkdown } from "./markdown.ts";
import { escapePlain } from "./plain-text.ts";

/** An answer longer than this is sent as a file, after its beginning as text. */
export const maxAnswerMessages = 3;

const statusMark = "-# ⏳ ";
const fileNote = "\n-# The full answer is in the file.";

/** Uses no more messages for an unfinished text than the finished text may have. */
export function renderPartial(text: string, activity: string): string[] {
  const parts = splitMarkdown(toDiscordMarkdown(text), maxMessageLength).slice(0, maxAnswerMessages);
  if (activity === "") return parts;
  const status = statusMark + escapePlain(shorten(activity.replace(/\s+/g, " ").trim(), maxHeadlineLength));
  const last = parts.pop();
  if (last === undefined) return [status];
  const both = `${last}\n${status}`;
  return [...parts, both.length <= maxMessageLength ? both : last];
}

/** Removes the status line that a dead process left behind. Returns undefined if there is none. */
export function withoutStatus(content: string): string | undefined {
  const at = content.lastIndexOf(statusMark);
  if (at === -1 || (at > 0 && content[at - 1] !== "\n") || content.slice(at).includes("\n")) return undefined;
  return content.slice(0, at).trimEnd();
}

export interface FinalRendering {
  parts: string[];
  file?: RawFile;
}

export function renderFinal(text: string): FinalRendering {
  const converted = toDiscordMarkdown(text);
  const parts = splitMarkdown(converted, maxMessageLength);
  if (parts.length <= maxAnswerMessages) return { parts };
  const [first = ""] = splitMarkdown(converted, maxMessageLength - fileNote.length);
  return { parts: [first + fileNote], file: { name: "answer.md", data: text, contentType: "text/markdown" } };
}

export function renderAll(text: string): string[] {
  return splitMarkdown(toDiscordMarkdown(text), maxMessageLength);
}
