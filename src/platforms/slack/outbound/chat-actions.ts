/** What tools can do in Slack besides answering. ports/chat.ts gives the rules. */
import { messageOf, RemoraError } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { LruMap } from "../../../lib/lru-map.ts";
import { namesText } from "../../../lib/text/names-text.ts";
import { upperFirst } from "../../../lib/text/sentence.ts";
import type { ChatActions } from "../../../ports/chat.ts";
import { platformError } from "../../shared/platform-error.ts";
import { attachmentNote } from "../../shared/tool-files.ts";
import { anyAnswer, type SlackApi } from "../api/api.ts";
import { isAway, isRefusal, isSlackError, isThreadProblem, plainOf } from "../api/api-problems.ts";
import type { Identity } from "../api/identity.ts";
import type { People } from "../api/people.ts";
import { formatMessageId, parseMessageId } from "../conversation-id.ts";
import type { SlackFiles } from "../inbound/attachments.ts";
import { createLineReader, linePageSchema, type RawLine } from "../inbound/lines.ts";
import { readThread } from "../inbound/read-thread.ts";
import { readMarks } from "../inbound/readable-text.ts";
import { createShownReader } from "../inbound/shown-message.ts";
import type { Threads } from "../inbound/threads.ts";
import { maxHistoryPage } from "../limits.ts";
import type { ChatAccess, FoundPlace } from "./chat-access.ts";
import { emojiName } from "./emoji.ts";
import { readFiles, shareFiles, type UploadedFile, uploadFile } from "./files-out.ts";
import { createMessageSender, type MessageSender } from "./message-sender.ts";
import { renderMessage, renderParts } from "./render.ts";

export interface ChatActionsOptions {
  api: SlackApi;
  identity(): Promise<Identity>;
  people: People;
  access: ChatAccess;
  threads: Threads;
  search: NonNullable<ChatActions["search"]>;
  describeFiles: SlackFiles["describe"];
  told: LruMap<true>;
  log: Log;
  signal: AbortSignal;
}

const maxParts = 3;
const maxSearchAgeMs = 24 * 3_600_000;
const toolTurn = "tool";

export function createChatActions(options: ChatActionsOptions): ChatActions {
  const { api, identity, people, threads } = options;
  const { find, audience, channels } = options.access;
  const { isOpenIn } = options.access;
  const readLine = createLineReader(identity, people, isOpenIn);
  const readShown = createShownReader({ nameOf: people.nameOf, isOpenIn });

  async function newest(
    { channel, thread }: FoundPlace,
    limit: number,
    before: string | undefined,
  ): Promise<RawLine[]> {
    if (thread !== null) {
      const { root, lines } = await readThread(api, { channel, thread, before, wanted: limit }, options.signal);
      return [...(root === undefined ? [] : [root]), ...lines].slice(-limit);
    }
    const range = before === undefined ? {} : { latest: before };
    const page = await api.call("conversations.history", { channel, limit, ...range }, linePageSchema);
    return page.messages.reverse();
  }

  function senderIn(place: FoundPlace): MessageSender {
    const since = ((Date.now() - maxSearchAgeMs) / 1000).toFixed(6);
    return createMessageSender({
      ...{ api, destination: { ...place, since }, turnId: toolTurn, log: options.log, signal: options.signal },
      onMoved: (ts) => threads.moved(place.channel, ts, place.thread),
      told: options.told,
      posts: { all: async () => [], keep: async () => {} },
      botUserId: async () => (await identity()).userId,
    });
  }

  /** Looks for a post with this key before posting so that a retried job posts only once. */
  async function postAll(place: FoundPlace, key: string, text: string, files: UploadedFile[] = []): Promise<string> {
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
    // The message is posted, so a full disk must not make it fail.
    await threads.join(place.channel, place.thread ?? ts).catch((thrown: unknown) => {
      options.log.warn({ channel: place.channel, error: messageOf(thrown) }, "could not remember a thread");
    });
    const thread = sender.hasMoved() ? null : place.thread;
    await tellingWhatStands(async () => {
      const whole = isLong ? [await uploadFile(api, { name: "text.md", bytes: Buffer.from(text) })] : [];
      if (isLong || files.length > 0) await shareBelow({ channel: place.channel, thread }, ts, [...whole, ...files]);
    });
    return ts;
  }

  /** In the thread, or below the message in the channel if it has no threads. */
  async function shareBelow({ channel, thread }: FoundPlace, ts: string, files: UploadedFile[]): Promise<void> {
    await shareFiles(api, { channel, thread: thread ?? ts }, files).catch(async (thrown: unknown) => {
      if (!(thread === null ? isRefusal(thrown) : isThreadProblem(thrown))) throw thrown;
      await shareFiles(api, { channel, thread: null }, files);
    });
  }

  return {
    channels: (place) => inWords(() => channels(place)),
    audience: (place) => inWords(() => audience(place)),
    nameOf: people.nameOf,
    readable: (text) => readMarks(text, people.nameOf),
    search: (query, asked) => inWords(() => options.search(query, asked)),
    history: (place, { limit, before }) =>
      inWords(async () => {
        const found = await find(place);
        const count = Math.max(1, Math.min(limit, maxHistoryPage));
        const until = before === undefined ? undefined : tsIn(before, found.channel);
        const lines = await newest(found, count, until);
        const read = await Promise.all(lines.map((line) => readLine(found.channel, line)));
        return read.map(({ isOwn: _isOwn, isQuoting: _isQuoting, ...line }) => line);
      }),
    files: (place, messageId) =>
      inWords(async () => {
        const { channel } = await find(place);
        const ts = tsIn(messageId, channel);
        const args = { channel, ts, oldest: ts, latest: ts, inclusive: true, limit: 2 };
        const { messages } = await api
          .call("conversations.replies", args, linePageSchema)
          .catch((thrown: unknown) =>
            isSlackError(thrown, "thread_not_found") ? { messages: [] } : Promise.reject(thrown),
          );
        const found = messages.find((each) => each.ts === ts);
        if (found === undefined) return [];
        const { files } = await readShown(found, { channel, botUserId: (await identity()).userId });
        return await options.describeFiles(files, "");
      }),
    post: (place, { text, files, key }) =>
      inWords(async () => {
        const found = await find(place);
        const { found: readable, notes } = await readFiles(files);
        const uploaded: UploadedFile[] = [];
        for (const file of readable) {
          await uploadFile(api, file).then(
            (done) => uploaded.push(done),
            (thrown: unknown) => notes.push(attachmentNote(file.name, plainOf(thrown))),
          );
        }
        const words = [text, ...notes].filter(Boolean).join("\n\n");
        // A notification would say nothing of files alone.
        const names = uploaded.map(({ title }) => `\`${title.replaceAll("`", "'")}\``);
        const said = words === "" && names.length > 0 ? `Here is ${namesText(names)}.` : words;
        const ts = await postAll(found, key, said, uploaded);
        return { messageId: formatMessageId({ channel: found.channel, ts }) };
      }),
    react: (place, messageId, emoji) =>
      inWords(async () => {
        const { channel } = await find(place);
        const name = emojiName(emoji);
        if (name === undefined) {
          const advice = `Slack needs emoji by name. Write ${emoji.slice(0, 20)} as its :name:`;
          throw platformError("slack", "unsupported", advice);
        }
        const args = { channel, timestamp: tsIn(messageId, channel), name };
        await api.call("reactions.add", args, anyAnswer).catch((thrown: unknown) => {
          if (!isSlackError(thrown, "already_reacted")) throw thrown;
        });
      }),
    openThread: (place, { messageId, name, text, key }) =>
      inWords(async () => {
        const { channel } = await find(place);
        if (messageId !== undefined) {
          const thread = tsIn(messageId, channel);
          await postAll({ channel, thread }, key, text);
          return { threadId: formatMessageId({ channel, ts: thread }) };
        }
        const title = name.trim() === "" ? "" : `**${name.replace(/[*_`[\]<>\n]/g, " ").trim()}**`;
        const ts = await postAll({ channel, thread: null }, key, [title, text].filter(Boolean).join("\n"));
        return { threadId: formatMessageId({ channel, ts }) };
      }),
  };
}

/** The model would post words again that stand already. */
async function tellingWhatStands(share: () => Promise<void>): Promise<void> {
  await share().catch((thrown: unknown) => {
    if (isAway(thrown)) throw thrown;
    const why = `the text is posted, so don't post it again, but its file could not be shown: ${plainOf(thrown)}`;
    throw platformError("slack", "file-not-shown", why, thrown, why);
  });
}

/** The model reads the failure, and may repeat it to people, so it has no name of Slack's. */
async function inWords<T>(work: () => Promise<T>): Promise<T> {
  return await work().catch((thrown: unknown) => {
    if (!isRefusal(thrown) && !isAway(thrown)) throw thrown;
    const { plain, isRetryable } = thrown as RemoraError;
    const [code, place] = ["platform.refused", "platform slack"];
    throw new RemoraError({ code, place, message: upperFirst(plain), isRetryable, cause: thrown });
  });
}

/** Accepts a message id or a bare ts. Rejects messages of other channels. */
function tsIn(messageId: string, channel: string): string {
  const parsed = parseMessageId(messageId.includes(":") ? messageId : `${channel}:${messageId}`);
  if (parsed !== undefined && parsed.channel === channel) return parsed.ts;
  throw platformError("slack", "no-access", `${messageId.slice(0, 60)} is not a message in ${channel}.`);
}
