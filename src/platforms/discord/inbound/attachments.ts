/** Reads a message's attachments. A quoted or forwarded message becomes one too: it is not the author's own words. */
import type { APIAttachment, APIMessage } from "discord.js";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import { shorten } from "../../../lib/text/shorten.ts";
import type { Attachment } from "../../../ports/message.ts";
import { personName } from "../api/people.ts";

const maxTextBytes = 200 * 1024;
const maxImageBytes = 1024 * 1024;
const maxTotalBytes = 4 * 1024 * 1024;
const timeoutMs = 10_000;

export async function readAttachments(message: APIMessage, log: Log): Promise<Attachment[]> {
  let left = maxTotalBytes;
  const wanted = message.attachments.map((file) => {
    const kind = kindOf(file);
    const isRead =
      kind !== "other" && file.size <= (kind === "text" ? maxTextBytes : maxImageBytes) && file.size <= left;
    if (isRead) left -= file.size;
    return { file, isRead };
  });
  const files = await Promise.all(
    wanted.map(({ file, isRead }) => (isRead ? readFile(file, log) : Promise.resolve(named(file)))),
  );
  return [...files, ...stickersOf(message), ...forwardedOf(message)];
}

export function quotedMessage({ author, content, attachments }: APIMessage): Attachment {
  const files = attachments.map(({ filename }) => `[file: ${filename}]`);
  const text = [`${personName(author)} (<@${author.id}>) wrote:`, content, ...files]
    .filter((line) => line !== "")
    .join("\n");
  return textAttachment("the message that this answers", text);
}

function forwardedOf({ message_snapshots = [] }: APIMessage): Attachment[] {
  return message_snapshots.map(({ message }) => {
    const files = message.attachments.map(({ filename }) => `[file: ${filename}]`);
    return textAttachment("forwarded message", [message.content, ...files].filter((line) => line !== "").join("\n"));
  });
}

function stickersOf({ sticker_items = [] }: APIMessage): Attachment[] {
  return sticker_items.map(({ name }) => ({
    name: `sticker: ${shorten(name, 100)}`,
    mimeType: "image/x-sticker",
    bytes: 0,
  }));
}

function textAttachment(name: string, text: string): Attachment {
  return { name, mimeType: "text/plain", bytes: Buffer.byteLength(text), text };
}

const imageTypes = /^image\/(?:png|jpeg|gif|webp)\b/;
const textTypes = /^(?:text\/|application\/(?:[\w.+-]*(?:json|xml|yaml|toml|javascript|typescript|sql|sh|x-sh)\b))/;
const otherTypes = /^(?:image|audio|video|font)\/|^application\/(?:pdf|zip|gzip|x-|vnd\.|octet-stream)/;

/** A file without a known type may be text; its content decides. */
function kindOf({ content_type = "" }: APIAttachment): "text" | "image" | "other" {
  if (imageTypes.test(content_type)) return "image";
  if (textTypes.test(content_type)) return "text";
  return otherTypes.test(content_type) ? "other" : "text";
}

function named({ filename, content_type = "application/octet-stream", size }: APIAttachment): Attachment {
  return { name: filename, mimeType: content_type, bytes: size };
}

async function readFile(file: APIAttachment, log: Log): Promise<Attachment> {
  try {
    const content = await download(file.url, kindOf(file) === "image" ? maxImageBytes : maxTextBytes);
    if (content === undefined) return named(file);
    if (kindOf(file) === "text") {
      const text = textFrom(content);
      return text === undefined ? named(file) : { ...named(file), text };
    }
    const mimeType = imageTypeOf(content);
    return mimeType === undefined ? named(file) : { ...named(file), mimeType, imageBase64: content.toString("base64") };
  } catch (thrown) {
    log.warn(
      { file: file.filename, error: messageOf(thrown) },
      "could not read an attachment; passing on its name only",
    );
    return named(file);
  }
}

/** Returns undefined if the file is larger than announced. */
async function download(url: string, cap: number): Promise<Buffer | undefined> {
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs), redirect: "error" });
  if (!response.ok || response.body === null) throw new Error(`the server answered ${response.status}`);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.byteLength;
    if (bytes > cap) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function textFrom(content: Buffer): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(content);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Detects the type from the content, because names and types may be wrong and models refuse a mismatch. */
function imageTypeOf(content: Buffer): string | undefined {
  const head = content.subarray(0, 12).toString("latin1");
  if (head.startsWith("\x89PNG\r\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (head.startsWith("GIF8")) return "image/gif";
  return head.startsWith("RIFF") && head.endsWith("WEBP") ? "image/webp" : undefined;
}
