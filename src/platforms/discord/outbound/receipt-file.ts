/** The file of a receipt, such as a complete diff: an attachment, or text where files are not allowed. */
import type { RawFile } from "discord.js";
import { formatNumber } from "../../../lib/text/format-number.ts";
import type { ReceiptFile } from "../../../ports/message.ts";
import { maxAttachmentBytes, maxMessageLength } from "../limits.ts";
import { codeBlock, cutAt, withoutFences } from "./plain-text.ts";
import { maxAnswerMessages } from "./render.ts";

/** Attaches as much as fits. `note` is Markdown that says what is missing. `maxBytes` is the channel's limit. */
export function attachmentFor(
  { name, text }: ReceiptFile,
  maxBytes = maxAttachmentBytes,
): { attachment: RawFile; note: string } {
  const bytes = Buffer.from(text);
  const contentType = "text/plain; charset=utf-8";
  if (bytes.length <= maxBytes) return { attachment: { name, data: bytes, contentType }, note: "" };
  const end = bytes.lastIndexOf("\n", maxBytes - 1) + 1;
  const head = bytes.subarray(0, end === 0 ? maxBytes : end);
  const note = `\n⚠️ The file has ${megabytes(bytes.length)} and Discord takes at most ${megabytes(maxBytes)}, so only its beginning is attached.`;
  return { attachment: { name, data: head, contentType }, note };
}

/** Leaves room for the receipt's own text, the fences around each part, and the note. */
const maxShown = maxMessageLength * (maxAnswerMessages - 1) - 200;

export function attachmentText({ text }: ReceiptFile): { shown: string; isWhole: boolean } {
  const whole = withoutFences(text);
  const beginning = whole.slice(0, cutAt(whole, maxShown));
  const missing = whole.length - beginning.length;
  const note = `\n⚠️ ${formatNumber(missing)} more characters don't fit here, and I can't attach files.`;
  return { shown: codeBlock(beginning, "diff") + (missing === 0 ? "" : note), isWhole: missing === 0 };
}

function megabytes(bytes: number): string {
  return `${formatNumber(Math.round(bytes / 100_000) / 10)} MB`;
}
