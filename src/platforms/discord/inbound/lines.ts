/** Converts messages of a history to lines for tools and the model. */
import type { APIMessage } from "discord.js";
import type { ChatLine } from "../../../ports/chat.ts";
import type { Author } from "../../../ports/message.ts";
import { authorOf } from "../api/people.ts";
import { joined } from "./fields.ts";
import { asMessage } from "./raw-message.ts";
import { askMark } from "./read-message.ts";
import { namesIn, readableText } from "./readable-text.ts";
import { isTelling } from "./service-messages.ts";
import { quoted, shownParts, wholeText } from "./shown-message.ts";

/** True for what counts as said. */
export function isWritten(message: APIMessage): boolean {
  return isTelling({ ...message });
}

export interface ShownLine extends ChatLine {
  /** Who wrote the words that it quotes, if it does. */
  quoted?: Author;
  /** It has words of others: a forwarded message, or what Discord shows of a page. */
  isQuoting?: true;
}

export interface LineOptions {
  /** Messages that stand beside it: their words are not quoted again. */
  isShown(id: string): boolean;
  /** It may be a question of `/remora ask`, which is its person's. */
  mayBeAsk?: boolean;
  /** Without what Discord shows of linked pages. */
  isBrief?: boolean;
}

export function lineOf(message: APIMessage, { isShown, mayBeAsk = true, isBrief = false }: LineOptions): ShownLine {
  const { id, author, content, timestamp, thread, interaction_metadata } = message;
  const isAsk = mayBeAsk && content.startsWith(askMark) && interaction_metadata !== undefined;
  const whole = shownParts(message);
  const parts = isBrief ? { ...whole, previews: "" } : whole;
  const said = readableText(isAsk ? content.slice(askMark.length) : wholeText(parts), namesIn(message));
  const quote = isAsk ? undefined : quoteOf(message, parts.answered, isShown);
  const text = quote === undefined ? said : joined([quote.text, said]);
  const replies = thread !== undefined && "message_count" in thread ? thread.message_count : undefined;
  return {
    id,
    author: authorOf(isAsk ? interaction_metadata.user : author),
    text,
    at: Date.parse(timestamp),
    files: [...parts.files, ...parts.forwarded.flatMap(({ files }) => files)].map(({ name }) => name),
    ...(replies === undefined ? {} : { replies }),
    ...(quote?.by === undefined ? {} : { quoted: quote.by }),
    ...(parts.forwarded.length > 0 || parts.previews !== "" ? { isQuoting: true } : {}),
  };
}

/** Discord shows above an answer what it answers. */
function quoteOf(
  message: APIMessage,
  answered: ReturnType<typeof shownParts>["answered"],
  isShown: (id: string) => boolean,
): { text: string; by?: Author } | undefined {
  if (answered === undefined) return undefined;
  const { by, text, note, id = "" } = answered;
  if (note !== undefined) return { text: `[in reply to ${by}: ${note}]` };
  const author = asMessage(message.referenced_message, { channelId: message.channel_id })?.author;
  if (isShown(id) || text === "" || author === undefined) return { text: `[in reply to ${by}]` };
  return { text: joined([`[in reply to ${by}]`, quoted(readableText(text, namesIn(message)))]), by: authorOf(author) };
}
