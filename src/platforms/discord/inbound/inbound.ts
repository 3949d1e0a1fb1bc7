/**
 * Handles incoming messages: each message once, and those of each place (channel, thread or DM) in order. `catchUp`
 * fetches a place's missed messages from its cursor on. Edits and deletions queue behind the message they concern, and may
 * arrive before it. An event that says nothing new of a message has no effect.
 *
 * A message counts as processed once the handler has stored it; only then does the cursor advance. A message that can't
 * be stored is retried until it is, and later messages of its place wait.
 *
 * Once a shard's cursors are unloaded, its messages are left to the next process that holds it, which gets them again: the
 * cursors also say which threads are the bot's own.
 */
import { createHash } from "node:crypto";
import { Routes } from "discord.js";
import { messageOf, type RemoraError } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import { createLruMap } from "../../../lib/lru-map.ts";
import type { InboundMessage, Notice } from "../../../ports/message.ts";
import type { PlatformHandlers } from "../../../ports/platform.ts";
import { type CatchUpReport, newReport } from "../../shared/catch-up-report.ts";
import { type DiscordApi, discordError, hidden, isAway, isPassing, unlessRefused } from "../api/api.ts";
import { isThread } from "../api/channels.ts";
import { parseConversationId } from "../conversation-id.ts";
import type { Cursors, PlaceType } from "./cursors.ts";
import { type Fields, fieldsOf, textOf } from "./fields.ts";
import { createMissed } from "./missed.ts";
import { createOrderedQueues } from "./ordered-queue.ts";
import { asMessage, type RawMessage } from "./raw-message.ts";
import { type InboundContext, readChanged, readInbound } from "./read-message.ts";
import { createSlots } from "./slots.ts";

/** All resolve once what they were given is durably stored, or left out after `unloaded`; they stay open if the process ends before. */
export interface Inbound {
  add(raw: RawMessage, unloaded?: AbortSignal): Promise<void>;
  catchUp(placeId: string, unloaded?: AbortSignal): Promise<void>;
  /** The event's data: it may lack what has not changed. */
  edited(data: Fields, unloaded?: AbortSignal): Promise<void>;
  deleted(channelId: string, ids: string[], unloaded?: AbortSignal): Promise<void>;
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
  /** Called after each place whose missed messages were read. */
  onProgress(report: CatchUpReport): void;
  log: Log;
  signal: AbortSignal;
}

const maxPlacesAtOnce = 20;

export function createInbound(options: InboundOptions): Inbound {
  const { api, context, cursors, handlers, onKept, onRefused, onProgress, log, signal } = options;
  const queues = createOrderedQueues(log, signal);
  /** What was handed on of each message, as a digest. */
  const done = createLruMap<string>(5_000);
  /** Changes and deletions of messages that have not come yet. */
  const early = createLruMap<Fields | "deleted">(500);
  const told = createLruMap<true>(5_000);
  /** Places whose queue was full. Messages that did not fit are fetched once the queue is empty; who waits for them. */
  const behind = new Map<string, { waiting: (() => void)[]; unloaded: AbortSignal | undefined }>();
  const slots = createSlots(maxPlacesAtOnce);
  const readMissed = createMissed({ api, context, cursors, log, signal });
  let report = newReport();

  async function take(first: RawMessage, unloaded?: AbortSignal): Promise<void> {
    if (unloaded?.aborted) return;
    // Sent again after a lost connection, perhaps with more than before.
    if (done.has(first.id)) return await change(first);
    const later = early.get(first.id);
    const raw = withChanges(first, later);
    const type = (await unlessHopeless(raw, () => typeOf(raw))) ?? "channel";
    const message = later === "deleted" ? undefined : await unlessHopeless(raw, () => readInbound(raw, context));
    if (unloaded?.aborted) return;
    if (message !== undefined) {
      const notice = await handlers.onMessage(message);
      if (notice?.later !== undefined) throw refusedForNow(message, notice.later, raw.channel_id);
      const thread = message.isAddressed && notice === undefined ? messageThread(message) : undefined;
      // Needed even before the thread exists: if somebody opens it later, its messages belong to this conversation.
      if (thread !== undefined) cursors.markOwn(thread, raw.guild_id ?? "", raw.id);
      onKept(message, notice, raw.channel_id);
    }
    done.set(raw.id, message === undefined ? "" : digestOf(message));
    early.delete(raw.id);
    cursors.advance({ id: raw.channel_id, type, guild: raw.guild_id }, raw.id);
  }

  async function change(raw: RawMessage): Promise<void> {
    const changed = await unlessHopeless(raw, () => readChanged(raw, context));
    if (changed === undefined) return;
    const { text, attachments, isAddressed } = changed;
    const digest = digestOf(changed);
    if (done.get(raw.id) === digest) return;
    await handlers.onEdited("discord", raw.id, text, isAddressed ? attachments : undefined);
    if (done.has(raw.id)) done.set(raw.id, digest);
  }

  async function changeBy(data: Fields): Promise<void> {
    const raw = asMessage(data);
    if (raw === undefined) return;
    if (!done.has(raw.id)) early.set(raw.id, { ...fieldsIn(early.get(raw.id)), ...data });
    if (data.content !== undefined && data.author !== undefined) return await change(raw);
    // The rest of a message that this process has never heard of is nobody's question here.
    const whole = done.has(raw.id) ? await fetched(raw) : undefined;
    if (whole !== undefined) await change(whole);
  }

  async function fetched({
    id,
    channel_id: channelId,
    guild_id: guildId,
  }: RawMessage): Promise<RawMessage | undefined> {
    const route = Routes.channelMessage(channelId, id);
    const asked = api.request<unknown>({ method: "GET", route, isBackground: true, signal });
    return asMessage(await unlessRefused(asked, ...hidden), { channelId, guildId });
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
      // A refused token may be put right, so the message can be read later.
      if (isAway(thrown) || isPassing(thrown) || signal.aborted) throw thrown;
      log.error({ messageId: id, channel: channel_id, error: messageOf(thrown) }, "could not read a message");
      return undefined;
    }
  }

  async function typeOf(raw: RawMessage): Promise<PlaceType> {
    if (raw.guild_id === undefined) return "dm";
    const facts = await context.channels.get(raw.channel_id);
    return facts !== undefined && isThread(facts) ? "thread" : "channel";
  }

  /** Work that is repeated until it succeeds. What can't be stored is tried alone, before all is read again. */
  function fetchMissed(placeId: string, unloaded?: AbortSignal): () => Promise<void> {
    let next: RawMessage | undefined;
    async function takeNext(raw: RawMessage): Promise<void> {
      next = raw;
      await take(raw, unloaded);
      next = undefined;
      report.messages += 1;
    }
    return async () => {
      if (unloaded?.aborted) return;
      if (next !== undefined) await takeNext(next);
      const { messages, old } = await readMissed(placeId, report);
      if (old !== undefined) cursors.advance({ id: placeId, type: await typeOf(old), guild: old.guild_id }, old.id);
      for (const raw of messages) await takeNext(raw);
    };
  }

  function addWork(placeId: string, work: () => Promise<void>, unloaded?: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const late = behind.get(placeId);
    if (late !== undefined && late.unloaded?.aborted !== true) {
      late.waiting.push(resolve);
      return promise;
    }
    if (late === undefined && queues.add(placeId, () => work().then(resolve))) return promise;
    const all = { waiting: [resolve], unloaded };
    behind.set(placeId, all);
    log.warn({ channel: placeId }, "a channel's queue is full; later messages are fetched once it is empty");
    const fetch = fetchMissed(placeId, unloaded);
    queues.addLast(placeId, async () => {
      if (behind.get(placeId) === all) behind.delete(placeId);
      await fetch();
      for (const done of all.waiting) done();
    });
    return promise;
  }

  async function catchUp(placeId: string, fetch: () => Promise<void>): Promise<void> {
    const free = await slots.take(placeId);
    try {
      await fetch();
      report.read += 1;
      report.isOver = report.read === report.total;
      onProgress(report);
    } finally {
      free();
    }
  }

  return {
    add(raw, unloaded) {
      slots.hurry(raw.channel_id);
      // Discord does not list DMs: until the first message is stored, a lost connection would hide those after it.
      if (raw.guild_id === undefined && cursors.known(raw.channel_id) === undefined) {
        cursors.advance({ id: raw.channel_id, type: "dm", guild: undefined }, String(BigInt(raw.id) - 1n));
      }
      return addWork(raw.channel_id, () => take(raw, unloaded), unloaded);
    },
    catchUp(placeId, unloaded) {
      if (report.isOver) report = newReport();
      report.total += 1;
      const fetch = fetchMissed(placeId, unloaded);
      return addWork(placeId, () => catchUp(placeId, fetch), unloaded);
    },
    edited(data, unloaded) {
      // The agent edits its own messages all the time, and a webhook's edits change no request.
      const isOwn = textOf(fieldsOf(data.author)?.id) === context.botId();
      if (isOwn || textOf(data.webhook_id) !== "") return Promise.resolve();
      const edit = async () => {
        if (!unloaded?.aborted) await changeBy(data);
      };
      return addWork(textOf(data.channel_id), edit, unloaded);
    },
    deleted(channelId, ids, unloaded) {
      const remove = async () => {
        for (const id of ids) {
          if (!done.has(id)) early.set(id, "deleted");
          await handlers.onDeleted("discord", id);
        }
      };
      return addWork(channelId, remove, unloaded);
    },
    whenIdle: () => queues.whenIdle(),
  };
}

/** A message that is fetched may know more than the event. */
function withChanges(raw: RawMessage, later: Fields | "deleted" | undefined): RawMessage {
  if (later === undefined || later === "deleted") return raw;
  const timeOf = (value: unknown) => Date.parse(textOf(value)) || 0;
  if (timeOf(raw.edited_timestamp) > timeOf(later.edited_timestamp)) return raw;
  return asMessage({ ...raw, ...later }) ?? raw;
}

function fieldsIn(value: Fields | "deleted" | undefined): Fields {
  return value === undefined || value === "deleted" ? {} : value;
}

/** Links to files change each time. */
function digestOf({ text, attachments }: Pick<InboundMessage, "text" | "attachments">): string {
  const files = attachments.map((file) => [file.name, file.bytes, file.text]);
  return createHash("sha256")
    .update(JSON.stringify([text, files]))
    .digest("base64");
}

function messageThread({ conversationId }: InboundMessage): string | undefined {
  const conversation = parseConversationId(conversationId);
  return conversation?.type === "guild" ? (conversation.thread ?? undefined) : undefined;
}
