/**
 * Discord's own search, which also finds what was said before the agent came: one request for each server, in the channels
 * that the person can read. Discord searches as the bot, so what is found elsewhere is dropped, and private threads are too.
 */
import type { APIMessage, APIThreadChannel, RESTGetAPIGuildMessagesSearchResult, RouteLike } from "discord.js";
import { pause } from "../../../lib/backoff.ts";
import { isSamePerson } from "../../../lib/text/same-person.ts";
import type {
  ChatActions,
  ChatLine,
  ChatQuery,
  FoundByService,
  SeenChannel,
  ServiceSearch,
} from "../../../ports/chat.ts";
import type { LoggedMessage } from "../../../ports/chat-log.ts";
import type { DiscordApi } from "../api/api.ts";
import { isPublicThread } from "../api/channels.ts";
import { isSnowflake, messageLink } from "../conversation-id.ts";
import { isWritten, lineOf } from "../inbound/lines.ts";
import { asMessage } from "../inbound/raw-message.ts";
import { maxSearchChannels, maxSearchResults, maxSearchWords, snowflakeEpochMs } from "../limits.ts";

type SearchAnswer = Extract<RESTGetAPIGuildMessagesSearchResult, { messages: unknown }>;

/** Discord builds a server's index at its first search. Short, because the agent's answer waits. */
const maxIndexWaitMs = 8_000;
/** Discord may say 0, and means a short delay. */
const minIndexWaitMs = 1_000;
const tryLater = "Discord is still building its search of this server, which may take some minutes";

export function createMessageSearch(api: DiscordApi): NonNullable<ChatActions["search"]> {
  /** Undefined if the index is not built in time. */
  async function ask(guildId: string, query: URLSearchParams): Promise<SearchAnswer | undefined> {
    const route: RouteLike = `/guilds/${guildId}/messages/search`;
    for (let left = maxIndexWaitMs; ; ) {
      const answer = await api.request<RESTGetAPIGuildMessagesSearchResult>({ method: "GET", route, query });
      if ("messages" in answer) return answer;
      const waitMs = Math.max(minIndexWaitMs, answer.retry_after * 1_000);
      if (!(waitMs <= left)) return undefined;
      left -= waitMs;
      await pause(waitMs, new AbortController().signal);
    }
  }

  async function searchGuild(guildId: string, channels: readonly SeenChannel[], query: ChatQuery) {
    const answer = await ask(guildId, parametersOf(query, channels));
    if (answer === undefined) return { messages: [], isWhole: false };
    const threads = new Map((answer.threads ?? []).map((thread) => [thread?.id, thread]));
    const found = answer.messages.flat() as (APIMessage | null)[];
    return {
      messages: found.flatMap((message) => messageIn(guildId, message, threads.get(message?.channel_id ?? ""))),
      isWhole: !answer.doing_deep_historical_index,
    };
  }

  return async (query, { listed, channel }: ServiceSearch): Promise<FoundByService> => {
    const wanted = (channel === undefined ? listed : [channel]).filter(({ isOpenHere }) => isOpenHere);
    const byGuild = Object.groupBy(wanted, ({ spaceId }) => spaceId ?? "");
    const found = await Promise.all(
      Object.entries(byGuild).map(([guildId, channels = []]) => searchGuild(guildId, channels, query)),
    );
    const messages = found.flatMap((each) => each.messages);
    return {
      messages: messages.filter(({ author }) => query.author === undefined || isSamePerson(query.author, author)),
      others: [],
      ...(found.every(({ isWhole }) => isWhole) ? {} : { notice: tryLater }),
    };
  };
}

function parametersOf({ text, author, after, before }: ChatQuery, channels: readonly SeenChannel[]): URLSearchParams {
  const [, authorId] = /^<?@?!?(\d+)>?$/.exec(author?.trim() ?? "") ?? [];
  const pairs: [string, string][] = [
    ["content", text.slice(0, maxSearchWords)],
    ["limit", String(maxSearchResults)],
    ["sort_by", "relevance"],
    ["author_type", "user"],
    // Who finds what is decided by the rights in each channel, and those of age-restricted ones are no other.
    ["include_nsfw", "true"],
    ...channels.slice(0, maxSearchChannels).map(({ id }): [string, string] => ["channel_id", id]),
  ];
  if (authorId !== undefined && isSnowflake(authorId)) pairs.push(["author_id", authorId]);
  if (after !== undefined) pairs.push(["min_id", snowflakeAt(after)]);
  if (before !== undefined) pairs.push(["max_id", snowflakeAt(before)]);
  return new URLSearchParams(pairs);
}

/** The rights in a public thread are those of its channel; a private thread has readers of its own. */
function messageIn(guildId: string, message: APIMessage | null, thread: APIThreadChannel | undefined): LoggedMessage[] {
  if (message === null || (thread !== undefined && !isPublicThread(thread))) return [];
  const line = readLine(message);
  if (line === undefined) return [];
  const { id, author, text, at } = line;
  const link = messageLink(guildId, message.channel_id, id);
  return [{ platform: "discord", id, channelId: thread?.parent_id ?? message.channel_id, author, text, at, link }];
}

/** Undefined if nobody wrote it, or it has another form than Discord documents: the others that were found still count. */
function readLine(message: APIMessage): ChatLine | undefined {
  try {
    const found = asMessage(message);
    return found !== undefined && isWritten(found) ? lineOf(found, { isShown: () => true }) : undefined;
  } catch {
    return undefined;
  }
}

function snowflakeAt(at: number): string {
  return String(BigInt(Math.max(0, Math.floor(at) - snowflakeEpochMs)) << 22n);
}
