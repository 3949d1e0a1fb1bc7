/** What tools can do in Slack besides answering. ports/chat.ts gives the rules. */
import { z } from "zod";
import { messageOf, RemoraError } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { ChatActions, ChatLine } from "../../../ports/chat.ts";
import type { Author } from "../../../ports/message.ts";
import { attachmentNote } from "../../shared/attachment-note.ts";
import type { SlackApi } from "../api/api.ts";
import { isSlackError } from "../api/api-problems.ts";
import type { Identity } from "../api/identity.ts";
import type { People } from "../api/people.ts";
import { formatMessageId, parseMessageId, timeOf } from "../conversation-id.ts";
import { messageSchema, type RawMessage } from "../inbound/events.ts";
import { readText } from "../inbound/readable-text.ts";
import type { Threads } from "../inbound/threads.ts";
import { maxHistoryPage } from "../limits.ts";
import { createChatAccess, type FoundPlace } from "./chat-access.ts";
import { emojiName } from "./emoji.ts";
import { readFiles, shareFiles, type UploadedFile, uploadFile } from "./files-out.ts";
import { createMessageSender, type MessageSender } from "./message-sender.ts";
import { renderMessage, renderParts } from "./render.ts";

export interface ChatActionsOptions {
  api: SlackApi;
  identity(): Promise<Identity>;
  people: People;
  threads: Threads;
  log: Log;
  signal: AbortSignal;
}

const blockSchema = z.object({ type: z.string() }).loose();
const lineSchema = messageSchema.extend({ blocks: z.array(blockSchema).optional().catch(undefined) });
type Line = z.infer<typeof lineSchema>;
const pageSchema = z.object({
  messages: z.array(lineSchema).default([]),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional(),
});
const nothing = z.unknown();
const maxPages = 10;
const maxParts = 3;
const maxSearchAgeMs = 24 * 3_600_000;
const toolTurn = "tool";

export function createChatActions(options: ChatActionsOptions): ChatActions {
  const { api, identity, people, threads } = options;
  const find = createChatAccess(api, people);

  async function lineOf(channel: string, message: Line, botUserId: string): Promise<ChatLine> {
    const isBot = message.bot_id !== undefined;
    const reader = { botUserId, nameOf: people.nameOf };
    const text = isBot && message.blocks !== undefined ? blocksText(message.blocks) : "";
    return {
      id: formatMessageId({ channel, ts: message.ts }),
      author: await lineAuthor(message),
      text: text === "" ? await readText(message.text ?? "", reader) : text,
      at: timeOf(message.ts),
      files: (message.files ?? []).flatMap(nameIn),
      ...(message.reply_count === undefined ? {} : { replies: message.reply_count }),
    };
  }

  async function lineAuthor(message: RawMessage): Promise<Author> {
    const id = message.user ?? message.bot_id ?? "unknown";
    if (message.user !== undefined && message.subtype !== "bot_message") return await people.author(message.user);
    return { id, name: message.username ?? message.bot_profile?.name ?? id, isBot: true, roles: [] };
  }

  /** Slack returns a thread's pages from the beginning, but a channel's pages from the end. */
  async function newest({ channel, thread }: FoundPlace, limit: number, before: string | undefined): Promise<Line[]> {
    const range = before === undefined ? {} : { latest: before };
    if (thread === null) {
      const page = await api.call("conversations.history", { channel, limit, ...range }, pageSchema);
      return page.messages.reverse();
    }
    const lines: Line[] = [];
    let cursor = "";
    for (let count = 0; count < maxPages; count++) {
      const next = cursor === "" ? {} : { cursor };
      const args = { channel, ts: thread, limit: maxHistoryPage, ...range, ...next };
      const page = await api.call("conversations.replies", args, pageSchema);
      lines.push(...page.messages.filter((each) => before === undefined || Number(each.ts) < Number(before)));
      cursor = page.response_metadata?.next_cursor ?? "";
      if (cursor === "") break;
    }
    return lines.slice(-limit);
  }

  function senderIn(place: FoundPlace): MessageSender {
    const since = ((Date.now() - maxSearchAgeMs) / 1000).toFixed(6);
    return createMessageSender({
      ...{ api, destination: { ...place, since }, turnId: toolTurn, log: options.log, signal: options.signal },
      posts: { all: async () => [], keep: async () => {} },
      botUserId: async () => (await identity()).userId,
    });
  }

  /** Looks for a post with this key before posting so that a retried job posts only once. */
  async function postAll(place: FoundPlace, key: string, text: string): Promise<string> {
    const sender = senderIn(place);
    const parts = renderParts(text === "" ? "…" : text);
    const isLong = parts.length > maxParts;
    let first: string | undefined;
    for (const [index, part] of (isLong ? parts.slice(0, 1) : parts).entries()) {
      const partKey = index === 0 ? key : `${key}:${index}`;
      await sender.keep(`try:${partKey}`, "1");
      const ts = await sender.post(partKey, renderMessage(part));
      first ??= ts;
    }
    const ts = first ?? "";
    await threads.join(place.channel, place.thread ?? ts);
    if (isLong) {
      const whole = await uploadFile(api, { name: "text.md", bytes: Buffer.from(text) });
      await shareFiles(api, { channel: place.channel, thread: place.thread ?? ts }, [whole]);
    }
    return ts;
  }

  return {
    async history(place, { limit, before }) {
      const found = await find(place);
      const { userId } = await identity();
      const count = Math.max(1, Math.min(limit, maxHistoryPage));
      const until = before === undefined ? undefined : tsIn(before, found.channel);
      const lines = await newest(found, count, until);
      return await Promise.all(lines.map((line) => lineOf(found.channel, line, userId)));
    },
    async post(place, { text, files, key }) {
      const found = await find(place);
      const { found: readable, notes } = await readFiles(files);
      const uploaded: UploadedFile[] = [];
      for (const file of readable) {
        await uploadFile(api, file).then(
          (done) => uploaded.push(done),
          (thrown: unknown) => notes.push(attachmentNote(file.name, messageOf(thrown))),
        );
      }
      const ts = await postAll(found, key, [text, ...notes].filter(Boolean).join("\n\n"));
      if (uploaded.length > 0) await shareFiles(api, { channel: found.channel, thread: found.thread ?? ts }, uploaded);
      return { messageId: formatMessageId({ channel: found.channel, ts }) };
    },
    async react(place, messageId, emoji) {
      const { channel } = await find(place);
      const name = emojiName(emoji);
      if (name === undefined) throw unsupported(`Slack needs emoji by name. Write ${emoji.slice(0, 20)} as its :name:`);
      const args = { channel, timestamp: tsIn(messageId, channel), name };
      await api.call("reactions.add", args, nothing).catch((thrown: unknown) => {
        if (!isSlackError(thrown, "already_reacted")) throw thrown;
      });
    },
    async openThread(place, { messageId, name, text, key }) {
      const { channel } = await find(place);
      if (messageId !== undefined) {
        const thread = tsIn(messageId, channel);
        await postAll({ channel, thread }, key, text);
        return { threadId: formatMessageId({ channel, ts: thread }) };
      }
      const title = name.trim() === "" ? "" : `**${name.replace(/[*_`[\]<>\n]/g, " ").trim()}**`;
      const ts = await postAll({ channel, thread: null }, key, [title, text].filter(Boolean).join("\n"));
      return { threadId: formatMessageId({ channel, ts }) };
    },
  };
}

/** Accepts a message id or a bare ts. Rejects messages of other channels. */
function tsIn(messageId: string, channel: string): string {
  const parsed = parseMessageId(messageId.includes(":") ? messageId : `${channel}:${messageId}`);
  if (parsed !== undefined && parsed.channel === channel) return parsed.ts;
  throw new RemoraError({
    code: "platform.no-access",
    place: "platform slack",
    message: `${messageId.slice(0, 60)} is not a message in ${channel}.`,
  });
}

function unsupported(message: string): RemoraError {
  return new RemoraError({ code: "platform.unsupported", place: "platform slack", message });
}

function nameIn(file: unknown): string[] {
  const parsed = z.object({ name: z.string() }).safeParse(file);
  return parsed.success ? [parsed.data.name] : [];
}

/** Returns the readable text of blocks, which often says more than the `text` of a bot's message. */
function blocksText(blocks: readonly unknown[]): string {
  return blocks
    .map((block) => textsIn(block).join(""))
    .filter((text) => text.trim() !== "")
    .join("\n");
}

function textsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== "object" || value === null) return [];
  const isActions = "type" in value && value.type === "actions";
  if (isActions) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    if (key === "text" && typeof item === "string") return [item.replaceAll("&lt;", "<").replaceAll("&gt;", ">")];
    return key === "text" || key === "elements" || key === "fields" ? textsIn(item) : [];
  });
}
