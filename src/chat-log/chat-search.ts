/**
 * Searches what people said in channels, for one requester:
 *
 *   1. ask the platform which channels the requester can see now; if it can't tell, search nothing
 *   2. leave out those that not everybody who reads the answer can see
 *   3. search the others channels in the chat log and with the service's own search, if there is one
 *   4. drop results from other channels, duplicates, and the request itself
 */
import { messageOf, RemoraError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { ChatActions, ChatQuery, FoundLine, SeenChannel } from "../ports/chat.ts";
import type { LoggedMessage } from "../ports/chat-log.ts";
import type { ChatSearch } from "../ports/chat-services.ts";
import type { StoredChatLog } from "./chat-log.ts";

export interface ChatSearchOptions {
  chatLog: Pick<StoredChatLog, "find" | "isEnabled" | "isExcluded">;
  log: Log;
}

const maxResults = 50;

export function createChatSearch({ chatLog, log }: ChatSearchOptions): ChatSearch {
  async function searchService(chat: ChatActions, query: ChatQuery, channel: SeenChannel | undefined) {
    if (chat.search === undefined || query.text.trim() === "") return [];
    try {
      return await chat.search(query, channel);
    } catch (thrown) {
      log.warn({ error: messageOf(thrown) }, "the service's own search failed; only the chat log was searched");
      return [];
    }
  }

  return async ({ messages, target: { platform } }, chat, { channel: named, ...place }, asked) => {
    if (!chatLog.isEnabled && chat.search === undefined) {
      throw new RemoraError({
        code: "chat-log.off",
        place: "chat_search",
        message: "The operator has switched it off (chatLog.enabled).",
      });
    }
    const limit = Math.min(Math.max(1, Math.floor(asked.limit)), maxResults);
    const requests = new Set(messages.map(({ id }) => id));
    const query = { ...asked, limit: limit + requests.size };
    const visible = (await chat.channels(place)).filter(({ id }) => !chatLog.isExcluded(platform, id));
    const wanted = named === undefined ? visible : [channelNamed(visible, named, platform)];
    const { open = [], closed = [] } = Object.groupBy(wanted, ({ isOpenHere }) => (isOpenHere ? "open" : "closed"));
    if (open.length === 0) return { lines: [], restricted: [], closed };
    const channels = new Map(open.map((channel) => [channel.id, channel]));
    const [logged, served] = await Promise.all([
      chatLog.find({ platform, ...query, channels: [...channels.keys()] }),
      searchService(chat, query, named === undefined ? undefined : open[0]),
    ]);
    const isWanted = ({ id, channelId, at }: LoggedMessage) =>
      channels.has(channelId) &&
      !requests.has(id) &&
      at >= (query.after ?? 0) &&
      at < (query.before ?? Number.POSITIVE_INFINITY);
    const found = merged(logged.filter(isWanted), served.filter(isWanted)).slice(0, limit);
    const restricted = open.filter(
      ({ id, isRestricted }) => isRestricted && found.some(({ channelId }) => channelId === id),
    );
    const lines = found.map((message) => lineOf(message, channels.get(message.channelId)?.name ?? "", chat));
    return { lines: await Promise.all(lines), restricted, closed };
  };
}

/** For duplicates, keeps the log's text, which is newer than that of the service's index. */
function merged(logged: LoggedMessage[], served: LoggedMessage[]): LoggedMessage[] {
  const byId = new Map<string, LoggedMessage>();
  for (let rank = 0; rank < Math.max(logged.length, served.length); rank++) {
    for (const message of [logged[rank], served[rank]]) {
      if (message !== undefined && !byId.has(message.id)) byId.set(message.id, message);
    }
  }
  for (const message of logged) byId.set(message.id, message);
  return [...byId.values()];
}

function channelNamed(visible: readonly SeenChannel[], named: string, platform: string): SeenChannel {
  const asked = named.trim().replace(/^<#([^|>]+)(?:\|[^>]*)?>$/, "$1");
  const name = asked.replace(/^#/, "").toLowerCase();
  const found = visible.find(({ id }) => id === asked) ?? visible.find((each) => each.name.toLowerCase() === name);
  if (found !== undefined) return found;
  throw new RemoraError({
    code: "platform.no-access",
    place: `platform ${platform}`,
    message: `${named.slice(0, 100)}: there is no such channel that we can both see.`,
  });
}

async function lineOf(
  { id, author, text, at, link }: LoggedMessage,
  channel: string,
  chat: ChatActions,
): Promise<FoundLine> {
  const isNamed = author.name !== author.id || chat.nameOf === undefined;
  const [name, readable] = await Promise.all([
    isNamed ? author.name : chat.nameOf?.(author.id).catch(() => author.id),
    chat.readable?.(text).catch(() => text) ?? text,
  ]);
  return { id, author: { id: author.id, name: name ?? author.id }, text: readable, at, channel, link };
}
