/**
 * Posts the messages of one reply. A mention is answered in a thread, which is created once the first words are ready.
 * If Discord refuses, the reply is posted elsewhere, and the person is told the reason once:
 *
 *   thread    can't be created, is locked or deleted   → the channel, as a reply to the message
 *   thread    is private or may be, or a forum's post  → `platform.no-route`, because others read the channel
 *   channel   is deleted or not writable, or a DM closed  → `platform.no-route`, because nobody would see the reply
 *
 * The place is stored with the reply's posts so that a resumed reply continues there. The file is over 250 lines
 * because every fallback shares the current place.
 */
import { type APIChannel, type APIMessage, ChannelType, Routes, ThreadAutoArchiveDuration } from "discord.js";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { LruMap } from "../../../lib/lru-map.ts";
import type { ReplyTarget } from "../../../ports/message.ts";
import type { Posts } from "../../../ports/platform.ts";
import { noRoute } from "../../shared/platform-error.ts";
import {
  type DiscordApi,
  isAboutMessage,
  isLimited,
  isRefusal,
  isRefused,
  type RetryPolicy,
  unlessRefused,
  whyNotThere,
} from "../api/api.ts";
import { type Channels, isPublicThread } from "../api/channels.ts";
import type { OwnId } from "../api/own-id.ts";
import { type DiscordConversation, isSnowflake, parseConversationId } from "../conversation-id.ts";
import { createAttempts } from "./attempts.ts";
import { type Messages, nonceOf, type OutgoingMessage } from "./messages.ts";
import { threadNameFor } from "./thread-name.ts";

export interface Origin {
  authorName: string;
  text: string;
}

export interface MessageSenderOptions {
  api: DiscordApi;
  messages: Messages;
  channels: Channels;
  target: ReplyTarget;
  posts: Posts;
  ownId: OwnId;
  /** By message id. Missing origins are fetched. */
  origins: LruMap<Origin>;
  /** Fallback reasons that people were already told, by channel. */
  told: LruMap<true>;
  onPosted(channelId: string): void;
  log: Log;
}

export interface MessageSender {
  /** Rejects with `platform.no-route`, or with Discord's refusal if files or embeds may be the cause. */
  post(message: OutgoingMessage, options: { key: string; retry: RetryPolicy }): Promise<string>;
  /** Returns false if the message no longer exists. */
  edit(messageId: string, message: OutgoingMessage, retry: RetryPolicy): Promise<boolean>;
  /** Finds a message whose id was not stored, because the process died after it was posted. */
  find(key: string): Promise<string | undefined>;
  remove(messageId: string): Promise<void>;
  open(): Promise<string>;
  /** The channel of the reply or, before one is chosen, the channel where typing should show. */
  channelId(): string | undefined;
}

interface Place {
  type: "thread" | "channel" | "dm";
  channelId: string;
  replyTo?: string;
  because?: string;
  /** True if the place was already reopened or recreated. */
  isLastTry?: boolean;
}

const closedDoors = [
  "unknownChannel",
  "missingAccess",
  "missingPermissions",
  "wrongChannelType",
  "notATextChannel",
] as const;

const closedPeople = ["cannotMessageUser", "noMutualGuilds"] as const;

export function createMessageSender(options: MessageSenderOptions): MessageSender {
  const { api, messages, target, posts, log } = options;
  const conversation = parseConversationId(target.conversationId);
  const parentId = conversation?.channel;
  const attempts = createAttempts(options);
  let place: Place | undefined;
  let isKept = false;

  async function firstPlace(): Promise<Place> {
    if (conversation === undefined)
      throw noRouteFor(target, "it is not a Discord conversation", "it is not a Discord conversation");
    const all = await posts.all();
    const kept = all.find(({ key }) => key === "place")?.messageId;
    isKept = kept !== undefined;
    if (conversation.type === "dm") return { type: "dm", channelId: conversation.channel };
    if (kept === conversation.channel) return inChannel(conversation);
    if (kept !== undefined) return { type: "thread", channelId: kept };
    const { thread } = conversation;
    if (thread === null) return inChannel(conversation);
    const isThere = all.length > 0 || thread !== target.messageId || (await isForum(conversation.channel));
    return isThere ? { type: "thread", channelId: thread } : await startThread(conversation, thread);
  }

  /** In a forum, a thread's id always equals that of its first message. */
  async function isForum(channelId: string): Promise<boolean> {
    const type = (await options.channels.get(channelId))?.type;
    return type === ChannelType.GuildForum || type === ChannelType.GuildMedia;
  }

  async function whereToWrite(): Promise<Place> {
    if (place !== undefined) return place;
    place = await firstPlace();
    await explain(place);
    return place;
  }

  /** Stores a place that can't be derived from the conversation id. A resumed reply would look in the thread instead. */
  async function keepPlace({ type, channelId }: Place): Promise<void> {
    const isUsual = conversation?.type === "guild" && conversation.thread === null;
    if (type !== "channel" || isUsual || isKept) return;
    await posts.keep("place", channelId);
    isKept = true;
  }

  function inChannel({ channel }: DiscordConversation, because?: string): Place {
    const replyTo = isSnowflake(target.messageId) ? { replyTo: target.messageId } : {};
    return { type: "channel", channelId: channel, ...replyTo, ...(because === undefined ? {} : { because }) };
  }

  async function startThread({ channel }: DiscordConversation, messageId: string): Promise<Place> {
    const where = conversation as DiscordConversation;
    try {
      const { text, authorName } = await originOf(options, channel, messageId);
      const thread = await api.request<APIChannel>({
        method: "POST",
        route: Routes.threads(channel, messageId),
        body: { name: threadNameFor(text, authorName), auto_archive_duration: ThreadAutoArchiveDuration.OneDay },
      });
      return { type: "thread", channelId: thread.id };
    } catch (thrown) {
      if (isRefusal(thrown, "threadExists")) return { type: "thread", channelId: messageId, isLastTry: true };
      if (isRefusal(thrown, "missingAccess", "missingPermissions"))
        return inChannel(where, "I can't create threads there (missing permission: Create Public Threads)");
      if (isRefusal(thrown, "tooManyThreads") || isLimited(thrown))
        return inChannel(where, "There are too many active threads right now");
      if (isRefusal(thrown, "unknownMessage", "unknownChannel", "wrongChannelType")) return inChannel(where);
      if (!isRefused(thrown)) throw thrown;
      // For example, the server blocks a word in the thread's name.
      return inChannel(where, "Discord refused a thread for that message");
    }
  }

  /** Who reads the channel reads the thread as well. A thread of which nothing is known may have been private. */
  async function isPublic({ channel }: DiscordConversation, thread: string): Promise<boolean> {
    if (await isForum(channel)) return false;
    // A private thread never begins with a message of the channel.
    if (thread === target.messageId) return true;
    try {
      const known = await options.channels.get(thread);
      if (known !== undefined) return isPublicThread(known);
      await api.request({ method: "GET", route: Routes.channelMessage(channel, thread) });
      return true;
    } catch (thrown) {
      if (isRefused(thrown)) return false;
      throw thrown;
    }
  }

  async function nextPlace(at: Place, thrown: unknown): Promise<Place | undefined> {
    const where = conversation as DiscordConversation;
    if (at.type === "thread") {
      const isClosed = isRefusal(thrown, "lockedThread", "archivedThread");
      if (isClosed && !at.isLastTry && (await reopen(at.channelId))) return { ...at, isLastTry: true };
      if (!isRefused(thrown) || isAboutMessage(thrown) || !(await isPublic(where, at.channelId))) return undefined;
      if (isClosed) return inChannel(where, "The thread is locked");
      if (isRefusal(thrown, "unknownChannel"))
        return at.isLastTry ? inChannel(where) : await startThread(where, at.channelId);
      if (isRefusal(thrown, "missingAccess", "missingPermissions"))
        return inChannel(where, "I can't write in the thread (missing permission: Send Messages in Threads)");
      // Whatever it is, the channel may take it.
      return inChannel(where, "Discord refuses it in the thread");
    }
    if (at.type !== "channel") return undefined;
    if (at.replyTo !== undefined && isRefusal(thrown, "noReplyWithoutHistory", "invalidForm"))
      return { type: "channel", channelId: at.channelId };
    return undefined;
  }

  async function reopen(threadId: string): Promise<boolean> {
    try {
      await api.request({ method: "PATCH", route: Routes.channel(threadId), body: { archived: false } });
      return true;
    } catch {
      return false;
    }
  }

  /** A message that may have been posted is looked for. Its nonce may be too old for Discord. */
  async function postOnce(
    { channelId, replyTo }: Place,
    message: OutgoingMessage,
    { key, retry }: { key: string; retry: RetryPolicy },
  ): Promise<string> {
    const found = await attempts.find(key, channelId, replyTo);
    if (found !== undefined) {
      // Edited before it is kept: in a thread that was locked since, the edit fails, and the message is posted elsewhere.
      await attempts.begin(key, message);
      await messages.edit(channelId, found, message, retry);
      await posts.keep(key, found);
      return found;
    }
    await attempts.begin(key, message);
    const nonce = nonceOf(target.turnId, key, channelId);
    const answering = replyTo === undefined ? {} : { replyTo };
    const post = messages.post(channelId, message, { nonce, retry, ...answering });
    const { id, isSame } = await post.catch(async (thrown: unknown) => {
      if (isRefused(thrown)) await attempts.refused(key, message);
      throw thrown;
    });
    options.onPosted(channelId);
    await posts.keep(key, id);
    // An earlier process posted the message and died before it stored the id.
    if (!isSame) await messages.edit(channelId, id, message, retry);
    return id;
  }

  /** Sends the reason separately so that no edit removes it. Failures are ignored, because the reply matters more. */
  async function explain({ type, channelId, because }: Place): Promise<void> {
    if (because === undefined) return;
    log.warn({ conversationId: target.conversationId, because }, "could not write a reply where it belongs");
    const topic = `${parentId} ${because}`;
    if (type === "channel" && options.told.has(topic)) return;
    options.told.set(topic, true);
    const content = `-# ${because}, so I'm answering here.`;
    const nonce = nonceOf(target.turnId, "note", channelId);
    await messages.post(channelId, { content }, { nonce, retry: "once" }).catch(() => {});
  }

  return {
    async post(message, { key, retry }) {
      for (;;) {
        const at = await whereToWrite();
        try {
          await keepPlace(at);
          return await postOnce(at, message, { key, retry });
        } catch (thrown) {
          // Perhaps only files or embeds are forbidden here, so let the caller try a plainer message.
          if (!isPlain(message) && isRefusal(thrown, "missingPermissions")) throw thrown;
          const next = place === undefined ? undefined : await nextPlace(place, thrown);
          if (next === undefined) throw routeProblem(target, thrown, place?.type);
          place = next;
          await explain(next);
        }
      }
    },
    async edit(messageId, message, retry) {
      const { channelId } = await whereToWrite();
      try {
        await messages.edit(channelId, messageId, message, retry);
        return true;
      } catch (thrown) {
        if (isRefusal(thrown, "unknownMessage", "unknownChannel")) return false;
        if (!isRefusal(thrown, "archivedThread") || !(await reopen(channelId))) throw thrown;
        await messages.edit(channelId, messageId, message, retry);
        return true;
      }
    },
    async find(key) {
      if (!(await attempts.isTried(key))) return undefined;
      const { channelId, replyTo } = await whereToWrite();
      const found = await unlessRefused(attempts.find(key, channelId, replyTo), ...closedDoors);
      if (found !== undefined) await posts.keep(key, found);
      return found;
    },
    async remove(messageId) {
      await messages.remove((await whereToWrite()).channelId, messageId);
    },
    open: async () => (await whereToWrite()).channelId,
    channelId: () => place?.channelId ?? parentId,
  };
}

function isPlain({ files = [], embeds = [] }: OutgoingMessage): boolean {
  return files.length === 0 && embeds.length === 0;
}

async function originOf({ api, origins }: MessageSenderOptions, channel: string, messageId: string): Promise<Origin> {
  const known = origins.get(messageId);
  if (known !== undefined) return known;
  const route = Routes.channelMessage(channel, messageId);
  const { author, content } = await api.request<APIMessage>({ method: "GET", route });
  const origin = { authorName: author.global_name ?? author.username, text: content };
  origins.set(messageId, origin);
  return origin;
}

function routeProblem(target: ReplyTarget, thrown: unknown, where: Place["type"] | undefined): unknown {
  const isShut = isRefusal(thrown, ...closedDoors, ...closedPeople, "lockedThread", "archivedThread");
  const isThreadGone = where === "thread" && isRefusal(thrown, "unknownChannel");
  const why = isThreadGone ? "the thread is gone" : whyNotThere(thrown);
  return isShut ? noRouteFor(target, messageOf(thrown), why, thrown) : thrown;
}

function noRouteFor({ conversationId }: ReplyTarget, what: string, why: string, cause?: unknown) {
  return noRoute("discord", `${conversationId}: ${what}`, why, cause);
}
