/** Converts messages of a history to lines: author, readable text and file names. */
import { z } from "zod";
import type { ChatLine } from "../../../ports/chat.ts";
import type { Author } from "../../../ports/message.ts";
import type { Identity } from "../api/identity.ts";
import type { People } from "../api/people.ts";
import { formatMessageId, timeOf } from "../conversation-id.ts";
import { messagesSchema, type RawMessage } from "./events.ts";
import { createShownReader, type ShownReaderOptions } from "./shown-message.ts";

export type RawLine = RawMessage;

export const linePageSchema = z.object({
  messages: messagesSchema,
  has_more: z.boolean().optional(),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional(),
});

export type ReadLine = ChatLine & { isOwn: boolean; isQuoting?: true };
export type LineReader = (channel: string, message: RawLine) => Promise<ReadLine>;

export function createLineReader(
  identity: () => Promise<Pick<Identity, "userId" | "botId">>,
  people: Pick<People, "author" | "nameOf">,
  isOpenIn: ShownReaderOptions["isOpenIn"],
): LineReader {
  const read = createShownReader({ nameOf: people.nameOf, isOpenIn });

  async function lineAuthor(message: RawLine): Promise<Author> {
    const id = message.user ?? message.bot_id ?? "unknown";
    if (message.user !== undefined && message.subtype !== "bot_message") {
      const author = await people.author(message.user);
      // An app may post in a person's name.
      return { ...author, isBot: author.isBot || message.bot_id !== undefined };
    }
    return { id, name: message.username ?? message.bot_profile?.name ?? id, isBot: true, roles: [] };
  }

  return async (channel, message) => {
    const self = await identity();
    const isOwn = message.user === self.userId || (message.bot_id !== undefined && message.bot_id === self.botId);
    const { text, files, quotes } = await read(message, { channel, botUserId: self.userId, isOwn });
    return {
      id: formatMessageId({ channel, ts: message.ts }),
      author: await lineAuthor(message),
      text,
      at: timeOf(message.ts),
      files: files.map(({ name }) => name),
      isOwn,
      ...(quotes.length === 0 ? {} : { isQuoting: true }),
      ...(message.reply_count === undefined ? {} : { replies: message.reply_count }),
    };
  };
}
