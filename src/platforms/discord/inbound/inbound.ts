/**
 * What is said, on its way in: each place's messages in order, each once, and never past one that is not kept yet.
 *
 *   add        one that the gateway brings
 *   catchUp    those of a place that were missed: asked for page by page from the last one that is done with
 *   edited, deleted   behind the message they are about
 *
 * A message is done with when the handler has kept it; only then the place's cursor moves. One that can't be kept is tried again
 * until it is, and the rest of its place waits behind it.
 */
import { type APIMessage, Routes } from "discord.js";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import { createLruMap } from "../../../lib/lru-map.ts";
import type { InboundMessage, Notice } from "../../../ports/message.ts";
import type { PlatformHandlers } from "../../../ports/platform.ts";
import { codeOfRefusal, type DiscordApi, isPassing, isRefusal } from "../api/api.ts";
import { isThread } from "../api/channels.ts";
import { parseConversationId } from "../conversation-id.ts";
import { type Cursors, newerOf, type PlaceType, snowflakeAt } from "./cursors.ts";
import { createOrderedLanes } from "./ordered-queue.ts";
import { type InboundContext, type RawMessage, readInbound, textOf } from "./read-message.ts";

export interface Intake {
  add(raw: RawMessage): void;
  catchUp(placeId: string): void;
  edited(raw: RawMessage): void;
  deleted(channelId: string, ids: string[]): void;
  whenIdle(): Promise<void>;
}

export interface IntakeOptions {
  api: DiscordApi;
  context: InboundContext;
  cursors: Cursors;
  handlers: PlatformHandlers;
  /** After a message is kept: it is answered, or its author is told why not. `channelId`: where it stands. */
  onKept(message: InboundMessage, notice: Notice | undefined, channelId: string): void;
  log: Log;
  signal: AbortSignal;
}

const pageSize = 100;
/** Of one place after one time away. */
const mostMissed = 1_000;
/** Nobody waits longer for an answer. */
const longestAwayMs = 24 * 3_600_000;

export function createIntake({ api, context, cursors, handlers, onKept, log, signal }: IntakeOptions): Intake {
  const lanes = createOrderedLanes(log, signal);
  const done = createLruMap<true>(5_000);
  /** Places whose lane was full: what did not fit is fetched when it is empty. */
  const behind = new Set<string>();

  async function take(raw: RawMessage): Promise<void> {
    if (done.has(raw.id)) return;
    const type = (await unlessHopeless(raw, () => typeOf(raw))) ?? "channel";
    const message = await unlessHopeless(raw, () => readInbound(raw, context));
    if (message !== undefined) {
      const notice = await handlers.onMessage(message);
      const thread = message.isAddressed ? threadOf(message) : undefined;
      // Also one that is not there yet: whoever opens it, what is said there belongs to this.
      if (thread !== undefined) cursors.markOwn(thread, raw.id);
      onKept(message, notice, raw.channel_id);
    }
    done.set(raw.id, true);
    cursors.advance(raw.channel_id, type, raw.id);
  }

  /** Undefined for what would fail each time, and hold up its channel for good. */
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
    const oldest = snowflakeAt(Date.now() - longestAwayMs);
    for (let read = 0; read < mostMissed; ) {
      const after = newerOf(cursors.readUpTo(placeId), oldest);
      const page = await pageAfter(placeId, after);
      for (const raw of page) await take(raw);
      read += page.length;
      if (page.length < pageSize) return;
    }
    log.warn(
      { channel: placeId, messages: mostMissed },
      "too many messages arrived while disconnected; the newest were not read",
    );
  }

  /** Oldest first. */
  async function pageAfter(channelId: string, after: string): Promise<RawMessage[]> {
    try {
      const facts = await context.channels.get(channelId);
      // What can't be told from a DM is not read as one.
      if (facts === undefined) return [];
      const inGuild = facts.guildId === undefined ? {} : { guild_id: facts.guildId };
      const page = await api.request<APIMessage[]>({
        method: "GET",
        route: Routes.channelMessages(channelId),
        query: { after, limit: String(pageSize) },
        signal,
      });
      return page.map((raw) => ({ ...raw, ...inGuild })).sort(byAge);
    } catch (thrown) {
      if (codeOfRefusal(thrown) === undefined || isPassing(thrown)) throw thrown;
      if (isRefusal(thrown, "unknownChannel", "missingAccess", "missingPermissions")) cursors.forget(channelId);
      // What is said there from now on must not wait for what can't be had.
      else log.error({ channel: channelId, error: messageOf(thrown) }, "could not read a channel's missed messages");
      return [];
    }
  }

  function addWork(placeId: string, work: () => Promise<void>): void {
    if (behind.has(placeId) || lanes.add(placeId, work)) return;
    behind.add(placeId);
    log.warn({ channel: placeId }, "a channel's queue is full; later messages are fetched once it is empty");
    lanes.addLast(placeId, async () => {
      behind.delete(placeId);
      await fetchMissed(placeId);
    });
  }

  return {
    add: (raw) => addWork(raw.channel_id, () => take(raw)),
    catchUp: (placeId) => addWork(placeId, () => fetchMissed(placeId)),
    edited(raw) {
      addWork(raw.channel_id, async () => {
        const text = await unlessHopeless(raw, () => textOf(raw, raw.guild_id, context));
        if (text !== undefined) await handlers.onEdited("discord", raw.id, text);
      });
    },
    deleted(channelId, ids) {
      addWork(channelId, async () => {
        for (const id of ids) await handlers.onDeleted("discord", id);
      });
    },
    whenIdle: () => lanes.whenIdle(),
  };
}

function byAge(one: RawMessage, other: RawMessage): number {
  return newerOf(one.id, other.id) === one.id ? 1 : -1;
}

function threadOf({ conversationId }: InboundMessage): string | undefined {
  const conversation = parseConversationId(conversationId);
  return conversation?.type === "guild" ? (conversation.thread ?? undefined) : undefined;
}
