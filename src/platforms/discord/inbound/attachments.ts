/** Describes a message's files. A quoted or forwarded message becomes an attachment too: it is not the author's own words. */
import type { APIAttachment } from "discord.js";
import { z } from "zod";
import type { Attachment } from "../../../ports/message.ts";
import type { Store } from "../../../ports/store.ts";
import { sourceOf } from "./open-file.ts";
import type { HeldFile, Quote, ShownParts } from "./shown-message.ts";

/** `readable` names whom the texts mention. The answered message is left out if the conversation knows it. */
export function attachmentsOf(
  { files, previews, forwarded, answered }: ShownParts,
  readable: (text: string) => string,
): Attachment[] {
  const quotes = [...forwarded, ...(answered === undefined ? [] : [answered])];
  return [
    ...files.map(fileAttachment),
    ...quotes.flatMap((quote) => quote.files.map((file) => ({ ...fileAttachment(file), ...copyOf(quote) }))),
    ...(previews === "" ? [] : [{ ...textAttachment("link preview", readable(previews)), isPreview: true as const }]),
    ...forwarded.map((quote) => ({ ...textAttachment("forwarded message", readable(quote.text)), ...copyOf(quote) })),
    ...(answered === undefined ? [] : [answeredAttachment(answered, readable)]),
  ];
}

function answeredAttachment(
  answered: NonNullable<ShownParts["answered"]>,
  readable: (text: string) => string,
): Attachment {
  const name = "the message that this answers";
  const { by, text, note } = answered;
  if (note !== undefined) return { name, mimeType: "text/plain", bytes: 0, problem: note };
  return { ...textAttachment(name, `${by} wrote:\n${readable(text)}`), ...copyOf(answered) };
}

function copyOf({ id }: Quote): Pick<Attachment, "quotes"> {
  return id === undefined || id === "" ? {} : { quotes: id };
}

function textAttachment(name: string, text: string): Attachment {
  return { name, mimeType: "text/plain", bytes: Buffer.byteLength(text), text };
}

export function fileAttachment(file: HeldFile): Attachment {
  const { name, mimeType = "application/octet-stream", bytes = 0, problem, from, voiceSeconds } = file;
  const source = sourceOf(file);
  // A voice note of somebody else is not what the author says.
  const isVoice = voiceSeconds !== undefined && from === undefined;
  return {
    ...{ name, mimeType, bytes },
    ...(source === undefined ? {} : { source: { ...source } }),
    ...(problem === undefined ? {} : { problem }),
    ...(isVoice ? { voice: { seconds: voiceSeconds } } : {}),
  };
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
