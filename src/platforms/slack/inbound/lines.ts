/** Converts messages of a history to lines: author, readable text and file names. */
import { z } from "zod";
import type { ChatLine } from "../../../ports/chat.ts";
import type { Author } from "../../../ports/message.ts";
import type { Identity } from "../api/identity.ts";
import type { People } from "../api/people.ts";
import { formatMessageId, timeOf } from "../conversation-id.ts";
import { footerBlock } from "../outbound/footer.ts";
import { messageSchema } from "./events.ts";
import { readText } from "./readable-text.ts";

const blockSchema = z.object({ type: z.string() }).loose();
const lineSchema = messageSchema.extend({ blocks: z.array(blockSchema).optional().catch(undefined) });
export type RawLine = z.infer<typeof lineSchema>;

export const linePageSchema = z.object({
  messages: z.array(lineSchema).default([]),
  has_more: z.boolean().optional(),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional(),
});

export type LineReader = (channel: string, message: RawLine) => Promise<ChatLine & { isOwn: boolean }>;

export function createLineReader(
  identity: () => Promise<Pick<Identity, "userId" | "botId">>,
  people: Pick<People, "author" | "nameOf">,
): LineReader {
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
    const isBot = message.bot_id !== undefined;
    const text = isBot && message.blocks !== undefined ? blocksText(message.blocks) : "";
    const reader = { botUserId: self.userId, nameOf: people.nameOf };
    return {
      id: formatMessageId({ channel, ts: message.ts }),
      author: await lineAuthor(message),
      text: text === "" ? await readText(message.text ?? "", reader) : text,
      at: timeOf(message.ts),
      files: (message.files ?? []).flatMap(nameIn),
      isOwn: message.user === self.userId || (isBot && message.bot_id === self.botId),
      ...(message.reply_count === undefined ? {} : { replies: message.reply_count }),
    };
  };
}

/** In channels shared with other workspaces, Slack gives only the file's id. */
function nameIn(file: unknown): string[] {
  const { data } = z.object({ id: z.string().optional(), name: z.string().optional() }).safeParse(file);
  const name = data?.name ?? data?.id;
  return name === undefined ? [] : [name];
}

/** Returns the readable text of blocks, which in bots' messages often say more than `text`. */
function blocksText(blocks: readonly unknown[]): string {
  return blocks
    .map((block) => textsIn(block).join(""))
    .filter((text) => text.trim() !== "")
    .join("\n");
}

/** The line below an answer is not something that the agent said. */
function isFooter(block: object): boolean {
  return "block_id" in block && typeof block.block_id === "string" && block.block_id.startsWith(footerBlock);
}

function textsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== "object" || value === null) return [];
  const isActions = "type" in value && (value.type === "actions" || value.type === "context_actions");
  if (isActions || isFooter(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    if (key === "text" && typeof item === "string") return [item.replaceAll("&lt;", "<").replaceAll("&gt;", ">")];
    return key === "text" || key === "elements" || key === "fields" ? textsIn(item) : [];
  });
}
