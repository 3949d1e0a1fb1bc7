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
/** In characters: longer reasons are cut below an answer that is sent as a file, because the file has all of them. */
const maxBelowLength = 700;
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

/** `below` stays in the message even if the text becomes a file. */
export function renderFinal(text: string, below = ""): FinalRendering {
  const whole = [text, below].filter(Boolean).join("\n\n");
  const converted = toDiscordMarkdown(whole);
  const parts = splitMarkdown(converted, maxMessageLength);
  if (parts.length <= maxAnswerMessages) return { parts };
  const [last = ""] = splitMarkdown(toDiscordMarkdown(below), maxBelowLength);
  const end = last === "" ? fileNote : `${fileNote}\n\n${last}`;
  const [first = ""] = splitMarkdown(converted, maxMessageLength - end.length);
  return { parts: [first + end], file: { name: "answer.md", data: whole, contentType: "text/markdown" } };
}

export function renderAll(text: string): string[] {
  return splitMarkdown(toDiscordMarkdown(text), maxMessageLength);
}
