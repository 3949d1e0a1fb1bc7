/** What tools can do on Discord besides answering, in the channels that chat-access.ts allows. */
import { type APIChannel, type APIMessage, MessageType, Routes, ThreadAutoArchiveDuration } from "discord.js";
import type { ChatActions, ChatLine } from "../../../ports/chat.ts";
import type { ToolFile } from "../../../ports/tool.ts";
import { platformError } from "../../shared/platform-error.ts";
import { codeOfRefusal, type DiscordApi, discordError, isLimited, unlessRefused, whyNotThere } from "../api/api.ts";
import { isSnowflake } from "../conversation-id.ts";
import { fileAttachment } from "../inbound/attachments.ts";
import { listOf } from "../inbound/fields.ts";
import { lineOf, type ShownLine } from "../inbound/lines.ts";
import { asMessage } from "../inbound/raw-message.ts";
import { filesOf } from "../inbound/shown-message.ts";
import { maxHistoryPage } from "../limits.ts";
import type { ChatAccess } from "./chat-access.ts";
import { emojiFor } from "./emoji.ts";
import { batchesOf, readFiles } from "./files-out.ts";
import { createMessageSearch } from "./message-search.ts";
import { type Messages, nonceOf } from "./messages.ts";
import { renderFinal } from "./render.ts";
import { threadNameFor } from "./thread-name.ts";

export interface ChatActionsOptions {
  api: DiscordApi;
  messages: Messages;
  access: ChatAccess;
}

export function createChatActions({ api, messages, access }: ChatActionsOptions): ChatActions {
  const search = createMessageSearch(api);

  async function post(channelId: string, text: string, files: ToolFile[], key: string): Promise<string> {
    const read = await readFiles(files);
    const { parts, file } = renderFinal(text, read.notes.join("\n\n"));
    const [attached = [], ...more] = batchesOf(file === undefined ? read.files : [file, ...read.files]);
    const all = parts.length === 0 ? [""] : parts;
    const bodies = [
      ...all.map((content, index) => ({ content, files: index === all.length - 1 ? attached : [] })),
      ...more.map((rest) => ({ content: "", files: rest })),
    ];
    if (bodies.every((body) => body.content === "" && body.files.length === 0))
      throw discordError("platform.empty", "a message needs text or a file");
    let first: string | undefined;
    for (const [index, body] of bodies.entries()) {
      const nonce = nonceOf(key, channelId, String(index));
      const { id } = await messages.post(channelId, body, { nonce, retry: "lasting" });
      first ??= id;
    }
    return first ?? "";
  }

  async function startThread(channelId: string, messageId: string, name: string): Promise<string> {
    const body = { name: threadNameFor(name, ""), auto_archive_duration: ThreadAutoArchiveDuration.OneDay };
    const route = Routes.threads(channelId, messageId);
    return (await api.request<APIChannel>({ method: "POST", route, body })).id;
  }

  return {
    channels: access.readable,
    audience: access.audience,
    search: (query, asked) => withExplainedRefusals("search there", () => search(query, asked)),
    history: (place, { limit, before }) =>
      withExplainedRefusals("read there", async () => {
        const channelId = await access.channelFor(place, ["ReadMessageHistory"]);
        const wanted = Math.min(Math.max(1, limit), 200);
        const found: APIMessage[] = [];
        let at = before === undefined ? undefined : checkedId(before);
        while (found.length < wanted) {
          const query = { limit: String(maxHistoryPage), ...(at === undefined ? {} : { before: at }) };
          const route = Routes.channelMessages(channelId);
          const read = listOf(await api.request<unknown>({ method: "GET", route, query }));
          const page = read.flatMap((raw) => asMessage(raw, { channelId }) ?? []);
          found.push(...page.filter(({ type }) => type !== MessageType.ThreadStarterMessage));
          at = page.at(-1)?.id;
          if (read.length < maxHistoryPage || at === undefined) break;
        }
        const chosen = found.slice(0, wanted).reverse();
        const ids = new Set(chosen.map(({ id }) => id));
        return chosen.map((message) => chatLine(lineOf(message, { isShown: (id) => ids.has(id) })));
      }),
    files: (place, messageId) =>
      withExplainedRefusals("read there", async () => {
        const id = checkedId(messageId);
        for (const channel of await access.channelsNear(place)) {
          const route = Routes.channelMessage(channel, id);
          const asked = await unlessRefused(api.request<unknown>({ method: "GET", route }), "unknownMessage");
          const found = asMessage(asked, { channelId: channel });
          if (found !== undefined) return filesOf(found).map(fileAttachment);
        }
        throw discordError("platform.unknown-message", `there is no message ${id} there`);
      }),
    post: (place, { text, files, key }) =>
      withExplainedRefusals("post there", async () => {
        const channelId = await access.channelFor(place, ["SendMessages"]);
        return { messageId: await post(channelId, text, files, key) };
      }),
    react: (place, messageId, emoji) =>
      withExplainedRefusals("react there", async () => {
        const channelId = await access.channelFor(place, ["ReadMessageHistory", "AddReactions"]);
        const route = Routes.channelMessageOwnReaction(
          channelId,
          checkedId(messageId),
          encodeURIComponent(emojiFor(emoji)),
        );
        await api.request({ method: "PUT", route });
      }),
    openThread: (place, { messageId, name, text, key }) =>
      withExplainedRefusals("open a thread there", async () => {
        const channelId = await access.channelFor(place, ["SendMessages", "CreatePublicThreads"]);
        if (messageId === undefined) {
          const first = await post(channelId, text, [], key);
          return { threadId: await startThread(channelId, first, name) };
        }
        const threadId = await startThread(channelId, checkedId(messageId), name);
        await post(threadId, text, [], key);
        return { threadId };
      }),
  };
}

async function withExplainedRefusals<T>(deed: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (isLimited(thrown)) throw discordError("platform.limited", `Discord won't let me ${deed} for a few minutes`);
    if (codeOfRefusal(thrown) === undefined) throw thrown;
    // The model reads it, and may repeat it to people, so it has no code.
    const message = `Discord won't let me ${deed}: ${whyNotThere(thrown)}`;
    throw platformError("discord", "no-access", message, thrown);
  }
}

function chatLine({ quoted: _quoted, isQuoting: _isQuoting, ...line }: ShownLine): ChatLine {
  return line;
}

function checkedId(id: string): string {
  if (isSnowflake(id)) return id;
  throw discordError(
    "platform.unknown-message",
    `"${id.slice(0, 40)}" is not a message id. Ids are numbers, as the history shows them`,
  );
}
