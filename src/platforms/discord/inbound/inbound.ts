/**
 * Handles incoming messages: each message once, and those of each place (channel, thread or DM) in order. `catchUp`
 * fetches a place's missed messages from its cursor on. Edits and deletions queue behind the message they concern.
 *
 * A message counts as processed once the handler has stored it; only then does the cursor advance. A message that can't
 * be stored is retried until it is, and later messages of its place wait.
 */
import { type APIMessage, Routes } from "discord.js";
import { messageOf, type RemoraError } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import { createLruMap } from "../../../lib/lru-map.ts";
import type { InboundMessage, Notice } from "../../../ports/message.ts";
import type { PlatformHandlers } from "../../../ports/platform.ts";
import { codeOfRefusal, type DiscordApi, discordError, isPassing, isRefusal } from "../api/api.ts";
import { isThread } from "../api/channels.ts";
import { parseConversationId } from "../conversation-id.ts";
import { maxHistoryPage } from "../limits.ts";
import { type Cursors, newerId, type PlaceType, snowflakeAt } from "./cursors.ts";
import { createOrderedQueues } from "./ordered-queue.ts";
import { type InboundContext, messageText, type RawMessage, readInbound } from "./read-message.ts";

export interface Inbound {
  add(raw: RawMessage): void;
  catchUp(placeId: string): void;
  edited(raw: RawMessage): void;
  deleted(channelId: string, ids: string[]): void;
  whenIdle(): Promise<void>;
}

export interface InboundOptions {
  api: DiscordApi;
  context: InboundContext;
  cursors: Cursors;
  handlers: PlatformHandlers;
  /** Called after a message is stored. `notice` says why it gets no answer; `channelId` is where it was posted. */
  onKept(message: InboundMessage, notice: Notice | undefined, channelId: string): void;
  /** Called once for a message that can't be stored now. */
  onRefused(messageId: string, notice: Notice, channelId: string): void;
  log: Log;
  signal: AbortSignal;
}

/** Limit per place, each time the process was offline. */
const maxMissedMessages = 1_000;
/** Messages older than this are not fetched, because nobody still waits for their answers. */
const maxAwayMs = 24 * 3_600_000;

export function createInbound({
  api,
  context,
  cursors,
  handlers,
  onKept,
  onRefused,
  log,
  signal,
}: InboundOptions): Inbound {
  const queues = createOrderedQueues(log, signal);
  const done = createLruMap<true>(5_000);
  const told = createLruMap<true>(5_000);
  /** Places whose queue was full. Messages that did not fit are fetched once the queue is empty. */
  const behind = new Set<string>();

  async function take(raw: RawMessage): Promise<void> {
    if (done.has(raw.id)) return;
    const type = (await unlessHopeless(raw, () => typeOf(raw))) ?? "channel";
    const message = await unlessHopeless(raw, () => readInbound(raw, context));
    if (message !== undefined) {
      const notice = await handlers.onMessage(message);
      if (notice?.later !== undefined) throw refusedForNow(message, notice.later, raw.channel_id);
      const thread = message.isAddressed ? messageThread(message) : undefined;
      // Needed even before the thread exists: if somebody opens it later, its messages belong to this conversation.
      if (thread !== undefined) cursors.markOwn(thread, raw.id);
      onKept(message, notice, raw.channel_id);
    }
    done.set(raw.id, true);
    cursors.advance(raw.channel_id, type, raw.id);
  }

  /** The queue tries the message again, and after a restart, it is fetched again. */
  function refusedForNow({ id }: InboundMessage, text: string, channelId: string): RemoraError {
    if (!told.has(id)) onRefused(id, { text }, channelId);
    told.set(id, true);
    return discordError("discord.refused-for-now", "a message can't be stored now");
  }

  /** Returns undefined for a message that can never be read, because retrying would block its channel. */
  async function unlessHopeless<T>({ id, channel_id }: RawMessage, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (thrown) {
      if (isPassing(thrown) || signal.aborted) throw thrown;
      log.error({ messageId: id, channel: channel_id, error: messageOf(thrown) }, "could not read a message");
      return undefined;
    }
  }

  async function typeOf(raw: RawMessage): Promise<PlaceType> {
    if (raw.guild_id === undefined) return "dm";
    const facts = await context.channels.get(raw.channel_id);
    return facts !== undefined && isThread(facts) ? "thread" : "channel";
  }

  async function fetchMissed(placeId: string): Promise<void> {
    const oldest = snowflakeAt(Date.now() - maxAwayMs);
    for (let read = 0; read < maxMissedMessages; ) {
      const after = newerId(cursors.readUpTo(placeId), oldest);
      const page = await pageAfter(placeId, after);
      for (const raw of page) await take(raw);
      read += page.length;
      if (page.length < maxHistoryPage) return;
    }
    log.warn(
      { channel: placeId, messages: maxMissedMessages },
      "too many messages arrived while disconnected; the newest were not read",
    );
  }

  async function pageAfter(channelId: string, after: string): Promise<RawMessage[]> {
    try {
      const facts = await context.channels.get(channelId);
      // Without its facts, the channel could be mistaken for a DM.
      if (facts === undefined) return [];
      const inGuild = facts.guildId === undefined ? {} : { guild_id: facts.guildId };
      const page = await api.request<APIMessage[]>({
        method: "GET",
        route: Routes.channelMessages(channelId),
        query: { after, limit: String(maxHistoryPage) },
        signal,
      });
      return page.map((raw) => ({ ...raw, ...inGuild })).sort(byAge);
    } catch (thrown) {
      if (codeOfRefusal(thrown) === undefined || isPassing(thrown)) throw thrown;
      if (isRefusal(thrown, "unknownChannel", "missingAccess", "missingPermissions")) cursors.forget(channelId);
      // Give up, because new messages must not wait for a page that will never load.
      else log.error({ channel: channelId, error: messageOf(thrown) }, "could not read a channel's missed messages");
      return [];
    }
  }

  function addWork(placeId: string, work: () => Promise<void>): void {
    if (behind.has(placeId) || queues.add(placeId, work)) return;
    behind.add(placeId);
    log.warn({ channel: placeId }, "a channel's queue is full; later messages are fetched once it is empty");
    queues.addLast(placeId, async () => {
      behind.delete(placeId);
      await fetchMissed(placeId);
    });
  }

  return {
    add: (raw) => addWork(raw.channel_id, () => take(raw)),
    catchUp: (placeId) => addWork(placeId, () => fetchMissed(placeId)),
    edited(raw) {
      addWork(raw.channel_id, async () => {
        const text = await unlessHopeless(raw, () => messageText(raw, raw.guild_id, context));
        if (text !== undefined) await handlers.onEdited("discord", raw.id, text);
      });
    },
    deleted(channelId, ids) {
      addWork(channelId, async () => {
        for (const id of ids) await handlers.onDeleted("discord", id);
      });
    },
    whenIdle: () => queues.whenIdle(),
  };
}

function byAge(one: RawMessage, other: RawMessage): number {
  return newerId(one.id, other.id) === one.id ? 1 : -1;
}

function messageThread({ conversationId }: InboundMessage): string | undefined {
  const conversation = parseConversationId(conversationId);
  return conversation?.type === "guild" ? (conversation.thread ?? undefined) : undefined;
}
