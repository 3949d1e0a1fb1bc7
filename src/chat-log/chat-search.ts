/**
 * Searches what people said in channels, for one requester:
 *
 *   1. ask the platform which channels the requester can see now; if it can't tell, search nothing
 *   2. leave out those that not everybody who reads the answer can see
 *   3. search the others channels in the chat log and with the service's own search, if there is one
 *   4. drop results from other channels, duplicates, and the request itself
 *
 * What only the service's own search has found may not be stored, so the answer says whether there is any.
 */
import { messageOf, RemoraError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { ChatActions, ChatQuery, FoundByService, FoundLine, SeenChannel, ServiceSearch } from "../ports/chat.ts";
import type { LoggedMessage } from "../ports/chat-log.ts";
import type { ChatSearch } from "../ports/chat-services.ts";
import type { StoredChatLog } from "./chat-log.ts";

export interface ChatSearchOptions {
  chatLog: Pick<StoredChatLog, "find" | "isEnabled" | "isExcluded">;
  log: Log;
}

const maxResults = 50;

export function createChatSearch({ chatLog, log }: ChatSearchOptions): ChatSearch {
  async function searchService(
    chat: ChatActions,
    query: ChatQuery,
    asked: ServiceSearch,
  ): Promise<Partial<FoundByService>> {
    if (chat.search === undefined || query.text.trim() === "") return {};
    try {
      return await chat.search(query, asked);
    } catch (thrown) {
      log.warn({ error: messageOf(thrown) }, "the service's own search failed; only the chat log was searched");
      return { notice: "The chat service's own search did not work just now" };
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
    const messageIds = messages.flatMap(({ id, replyTo, askedAt }) =>
      [id, replyTo, askedAt?.messageId].filter((each) => each !== undefined),
    );
    const requests = new Set(messageIds);
    const query = { ...asked, limit: limit + requests.size };
    const isSearched = ({ id }: SeenChannel) => !chatLog.isExcluded(platform, id);
    const visible = (await chat.channels(place)).filter(isSearched);
    const wanted = named === undefined ? visible : [channelNamed(visible, named, platform)];
    const { open = [], closed = [] } = byAudience(wanted);
    const [only] = named === undefined ? [] : open;
    if (named !== undefined && only === undefined) return { lines: [], restricted: [], closed, isEphemeral: false };
    const [logged, served] = await Promise.all([
      open.length === 0 ? [] : chatLog.find({ platform, ...query, channels: open.map(({ id }) => id) }),
      searchService(chat, query, {
        ...place,
        messageIds,
        listed: visible,
        ...(only === undefined ? {} : { channel: only }),
      }),
    ]);
    const others = byAudience(named === undefined ? (served.others ?? []).filter(isSearched) : []);
    const channels = new Map([...open, ...(others.open ?? [])].map((channel) => [channel.id, channel]));
    const isWanted = ({ id, channelId, at }: LoggedMessage) =>
      channels.has(channelId) &&
      !requests.has(id) &&
      at >= (query.after ?? 0) &&
      at < (query.before ?? Number.POSITIVE_INFINITY);
    const kept = logged.filter(isWanted);
    const found = merged(kept, (served.messages ?? []).filter(isWanted)).slice(0, limit);
    const known = new Set(kept.map(({ id }) => id));
    const restricted = [...channels.values()].filter(
      ({ id, isRestricted }) => isRestricted && found.some(({ channelId }) => channelId === id),
    );
    const lines = found.map((message) => lineOf(message, channels.get(message.channelId)?.name ?? "", chat));
    return {
      ...{ lines: await Promise.all(lines), restricted },
      closed: [...closed, ...(others.closed ?? [])],
      isEphemeral: found.some(({ id }) => !known.has(id)),
      ...(served.notice === undefined ? {} : { notice: noticeText(served.notice, chatLog.isEnabled) }),
    };
  };
}

function noticeText(because: string, hasRecord: boolean): string {
  const missing = "what people said before I came to a channel may be missing";
  return `${because}, so ${hasRecord ? missing : "much may be missing: I keep no record of my own here"}. Say so if it matters.`;
}

function byAudience(channels: readonly SeenChannel[]) {
  return Object.groupBy(channels, ({ isOpenHere }) => (isOpenHere ? "open" : "closed"));
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
