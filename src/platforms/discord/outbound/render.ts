/** A reply's text as the messages that show it. */
import type { RawFile } from "discord.js";
import { splitMarkdown } from "../../shared/split-markdown.ts";
import { toDiscordMarkdown } from "./markdown.ts";
import { clip } from "./plain-text.ts";

export const messageLimit = 2_000;
/** A longer answer is a file, with its beginning as text. */
export const mostMessages = 3;

/** The line below a text that is still growing, as small print. */
const statusMark = "-# ⏳ ";
const fileNote = "\n-# The full answer is in the file.";

/** While it grows: never more than the messages that it may have in the end. */
export function growingParts(text: string, activity: string): string[] {
  const parts = splitMarkdown(toDiscordMarkdown(text), messageLimit).slice(0, mostMessages);
  if (activity === "") return parts;
  const status = statusMark + clip(activity.replace(/\s+/g, " ").trim(), 300);
  const last = parts.pop();
  if (last === undefined) return [status];
  const both = `${last}\n${status}`;
  return [...parts, both.length <= messageLimit ? both : last];
}

/** The text of a message whose process died without the status line that it may have left; undefined when there is none. */
export function withoutStatus(content: string): string | undefined {
  const at = content.lastIndexOf(statusMark);
  if (at === -1 || (at > 0 && content[at - 1] !== "\n") || content.slice(at).includes("\n")) return undefined;
  return content.slice(0, at).trimEnd();
}

export interface FinalParts {
  parts: string[];
  /** The whole as it was written, when it is longer than people read in a chat. */
  file?: RawFile;
}

export function finalParts(text: string): FinalParts {
  const converted = toDiscordMarkdown(text);
  const parts = splitMarkdown(converted, messageLimit);
  if (parts.length <= mostMessages) return { parts };
  const [first = ""] = splitMarkdown(converted, messageLimit - fileNote.length);
  return { parts: [first + fileNote], file: { name: "answer.md", data: text, contentType: "text/markdown" } };
}

/** All of it as text, however many messages that makes: where no file can be attached. */
export function allParts(text: string): string[] {
  return splitMarkdown(toDiscordMarkdown(text), messageLimit);
}
