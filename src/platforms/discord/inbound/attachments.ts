/** Describes a message's attachments. A quoted or forwarded message becomes one too: it is not the author's own words. */
import { type APIAttachment, type APIMessage, MessageFlags } from "discord.js";
import { z } from "zod";
import { shorten } from "../../../lib/text/shorten.ts";
import type { Attachment } from "../../../ports/message.ts";
import type { Store } from "../../../ports/store.ts";
import { personName } from "../api/people.ts";
import { withoutFooter } from "../outbound/footer.ts";
import { filesOf, sourceOf } from "./open-file.ts";
import { saidIn, saidInForward } from "./said-text.ts";

export function describeAttachments(message: APIMessage): Attachment[] {
  const isVoice = ((message.flags ?? 0) & MessageFlags.IsVoiceMessage) !== 0;
  const files = filesOf(message).map((file) => ({
    ...fileAttachment(message, file),
    ...(isVoice ? { voice: { seconds: file.duration_secs ?? 0 } } : {}),
  }));
  return [...files, ...stickersOf(message), ...forwardedOf(message)];
}

export function quotedMessage(message: APIMessage): Attachment {
  const { id, author, attachments } = message;
  const said = saidIn(message);
  const files = attachments.map(({ filename }) => `[file: ${filename}, of message ${id}]`);
  const text = [
    `${personName(author)} (<@${author.id}>) wrote:`,
    author.bot === true ? withoutFooter(said) : said,
    ...files,
  ]
    .filter((line) => line !== "")
    .join("\n");
  return { ...textAttachment("the message that this answers", text), quotes: id };
}

function forwardedOf({ message_snapshots = [], message_reference: from }: APIMessage): Attachment[] {
  const quotes = from?.message_id === undefined ? {} : { quotes: from.message_id };
  return message_snapshots.map(({ message }) => {
    const files = message.attachments.map(({ filename }) => `[file: ${filename}]`);
    const text = [saidInForward(message), ...files].filter((line) => line !== "").join("\n");
    return { ...textAttachment("forwarded message", text), ...quotes };
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

export function fileAttachment(message: Pick<APIMessage, "channel_id" | "id">, file: APIAttachment): Attachment {
  const { filename, content_type: mimeType = "application/octet-stream", size } = file;
  return { name: filename, mimeType, bytes: size, source: { ...sourceOf(message, file) } };
}

/** As long as missed messages are fetched. */
const givenKeptMs = 7 * 86_400_000;
const givenSchema = z.array(
  z.object({
    id: z.string(),
    filename: z.string(),
    size: z.number(),
    url: z.string(),
    content_type: z.string().exactOptional(),
  }),
);

/** Files that were given to a command. The command's message has none, and may be read after a restart. */
export function createGivenFiles(store: Store) {
  const keyOf = (interactionId: string) => `discord:given:${interactionId}`;
  return {
    keep: (interactionId: string, files: readonly APIAttachment[]) =>
      store.set(keyOf(interactionId), z.json().array().parse(givenSchema.parse(files)), givenKeptMs),
    async of(interactionId: string): Promise<APIAttachment[]> {
      const { data = [] } = givenSchema.safeParse(await store.get(keyOf(interactionId)));
      return data.map((file) => ({ ...file, proxy_url: file.url }));
    },
  };
}
