/**
 * Posts, updates and finds the messages of one turn. Posting in Slack is not idempotent, so each post leaves two traces:
 * `try:<key>` in the ledger beforehand (`try:stream:<key>` for a native stream, `try:<key>:<file id>` for files), and metadata
 * with turn and key on the message. Files have their ids instead. After a crash or a lost connection, the sender looks for these
 * traces before it posts again.
 */
import { z } from "zod";
import { pause } from "../../../lib/backoff.ts";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { LruMap } from "../../../lib/lru-map.ts";
import { upperFirst } from "../../../lib/text/sentence.ts";
import type { Posts } from "../../../ports/platform.ts";
import { anyAnswer, type SlackApi } from "../api/api.ts";
import { isSlackError, isThreadProblem, isUnknownRefusal, whyNotThere } from "../api/api-problems.ts";
import { formatMessageId, parseMessageId } from "../conversation-id.ts";
import type { AgentSession } from "./agent-sessions.ts";
import { smallLine } from "./blocks.ts";
import { shareFiles, type UploadedFile } from "./files-out.ts";
import { type Destination, messagesOf } from "./messages-of.ts";
import { type MessageContent, withoutPreviews } from "./render.ts";
import { escapeText } from "./safe-text.ts";

export interface MessageSenderOptions {
  api: SlackApi;
  destination: Destination;
  /** Absent outside threads. */
  session?: AgentSession | undefined;
  posts: Posts;
  turnId: string;
  botUserId(): Promise<string>;
  onPosted?(ts: string): Promise<void>;
  /** Called before `onPosted` if the message is not where it belongs, and again if an earlier process has posted it. */
  onMoved?(ts: string): Promise<void>;
  /** A thread of the channel that takes posts, if the channel itself takes none. Undefined if there is none. */
  openThread?(): Promise<string | undefined>;
  /** Why messages are not where they belong, as people of a channel have read it already. */
  told: LruMap<true>;
  log: Log;
  signal: AbortSignal;
}

export interface MessageSender {
  begin(): Promise<void>;
  keys(): string[];
  /** Posts once. If the message already exists, updates it to this content. Resolves to the message's ts. */
  post(key: string, content: MessageContent): Promise<string>;
  /** Like `post`, but `start` creates the message, as a native stream. Leaves an existing message unchanged. */
  postStream(key: string, start: () => Promise<string>): Promise<{ ts: string; isFound: boolean }>;
  update(ts: string, key: string, content: MessageContent): Promise<void>;
  endStream(ts: string, key: string): Promise<void>;
  remove(ts: string, key: string): Promise<void>;
  /** The key for this text: another one if its message was removed, because a removed message can't be written again. */
  textKey(number: number): string;
  tsOf(key: string): string | undefined;
  /** Like `tsOf`, but also finds a post whose ts was not stored. */
  find(key: string): Promise<string | undefined>;
  /** Shows uploaded files once. Call `areShared` first: if an earlier process showed the files, nothing needs to be uploaded. */
  share(key: string, files: readonly UploadedFile[]): Promise<void>;
  /** True if files were shown under this key, also by a process that died before it stored this. */
  areShared(key: string): Promise<boolean>;
  metadata(key: string): Metadata;
  /** True once the place of the turn has refused a post, and messages go to the next one. */
  hasMoved(): boolean;
  /** True if the message began as a native stream, or may have. */
  isStream(key: string): boolean;
  isKept(key: string): boolean;
  keep(key: string, value: string): Promise<void>;
}

export interface Metadata {
  event_type: string;
  /** `thread` is where a message belongs that stands elsewhere; empty for the channel. */
  event_payload: { turn: string; key: string; thread?: string };
}

/** Of the files of a complete answer. */
export const endFilesKey = "files:end";
const postEvent = "remora_post";
/** The message names its thread, unless Slack has left it out without a word, because the first message is gone. */
const postedSchema = z.object({ ts: z.string(), message: z.object({ thread_ts: z.string().optional() }).optional() });
const movedSchema = z.object({
  event_type: z.literal(postEvent),
  event_payload: z.object({ thread: z.string().regex(/^(?:\d+\.\d{6})?$/) }),
});
/** The thread that takes the posts of a channel without threads, or an empty value for the channel. */
const placeKey = "place";
/** Why the messages are not where they belong. */
const whyKey = "note:place";
const maxPostTries = 4;
const minWaitMs = 250;

export function createMessageSender(options: MessageSenderOptions): MessageSender {
  const { api, destination, posts, turnId } = options;
  const kept = new Map<string, string>();
  /** Where messages go since the turn's own place has refused one. */
  let moved: Destination | undefined;

  function metadata(key: string): Metadata {
    const thread = moved === undefined ? {} : { thread: destination.thread ?? "" };
    return { event_type: postEvent, event_payload: { turn: turnId, key, ...thread } };
  }

  const placeNow = () => moved ?? destination;

  /**
   * Goes on in the next place if this one refuses, once: from a thread to its channel, or from a channel that takes only replies
   * to a thread of it. Both have the same readers.
   */
  async function hasMovedOn(thrown: unknown, mayBeUnknown = false): Promise<boolean> {
    if (moved !== undefined) return false;
    const { thread } = destination;
    const isShut = isThreadProblem(thrown) || (mayBeUnknown && isUnknownRefusal(thrown));
    if (thread !== null && isShut) moved = { ...destination, thread: null };
    else if (thread === null && isSlackError(thrown, "restricted_action_thread_only_channel")) {
      const open = await options.openThread?.();
      if (open !== undefined) moved = { ...destination, thread: open };
    }
    if (moved === undefined) return false;
    await keep(placeKey, moved.thread ?? "");
    options.log.warn(
      { turnId, error: messageOf(thrown) },
      "could not write where it belongs; writing in the next place",
    );
    const why = `${upperFirst(whyNotThere(thrown).replace(/\bthere$/, "here"))}, so I write here.`;
    const topic = `${destination.channel} ${why}`;
    if (options.told.has(topic)) return true;
    options.told.set(topic, true);
    // What follows matters more.
    await post(whyKey, { text: escapeText(why), blocks: [smallLine(why)] }).catch(() => {});
    return true;
  }

  async function keep(key: string, value: string): Promise<void> {
    if (kept.has(key)) return;
    kept.set(key, value);
    await posts.keep(key, value);
  }

  function tsOf(key: string): string | undefined {
    const id = kept.get(key);
    return id === undefined ? undefined : parseMessageId(id)?.ts;
  }

  async function find(key: string): Promise<string | undefined> {
    const known = tsOf(key);
    if (known !== undefined || !(kept.has(`try:${key}`) || kept.has(streamTry(key)))) return known;
    const found = await lookFor(key);
    if (found !== undefined) await keepPost(key, found);
    return found;
  }

  /** The place comes first: whoever reads the key later does not ask again where the message belongs. */
  async function keepPost(key: string, ts: string): Promise<void> {
    if (moved !== undefined) await options.onMoved?.(ts);
    await keep(key, formatMessageId({ channel: destination.channel, ts }));
  }

  async function postBy(key: string, tryKey: string, start: () => Promise<string>) {
    const known = await find(key);
    const posted = known === undefined ? await startOnce(key, tryKey, start) : { ts: known, isFound: true };
    if (known === undefined) await keepPost(key, posted.ts);
    if (!posted.isFound) await options.onPosted?.(posted.ts);
    return posted;
  }

  async function startOnce(key: string, tryKey: string, start: () => Promise<string>) {
    await keep(tryKey, "1");
    for (let tries = 1; ; tries++) {
      try {
        return { ts: await start(), isFound: false };
      } catch (thrown) {
        // What Slack has against a stream says nothing about posts.
        if (await hasMovedOn(thrown, tryKey !== streamTry(key))) {
          // An earlier process may have moved on, too. A locked thread can still be read, so nothing told us so far.
          const found = await lookFor(key);
          if (found !== undefined) return { ts: found, isFound: true };
          // A stream stands in a thread only.
          if (tryKey === streamTry(key)) throw thrown;
          continue;
        }
        if (!isSlackError(thrown, "unreachable", "http", "internal_error", "fatal_error") || tries === maxPostTries)
          throw thrown;
        options.log.info(
          { turnId, key, error: messageOf(thrown) },
          "a post may or may not have succeeded; looking for it",
        );
        await pause(minWaitMs * 2 ** tries, options.signal);
        const found = await lookFor(key);
        if (found !== undefined) return { ts: found, isFound: true };
      }
    }
  }

  /** Repeats `work` in the next place if this one refuses. */
  async function whereOpen<T>(work: (place: Destination) => Promise<T>): Promise<T> {
    try {
      return await work(placeNow());
    } catch (thrown) {
      if (!(await hasMovedOn(thrown))) throw thrown;
      return await work(placeNow());
    }
  }

  async function post(key: string, content: MessageContent): Promise<string> {
    const { ts, isFound } = await postBy(key, `try:${key}`, async () => {
      const { channel, thread } = placeNow();
      const place = { channel, ...(thread === null ? {} : { thread_ts: thread }) };
      const args = { ...place, metadata: metadata(key), ...withoutPreviews, ...content };
      const { ts, message } = await api.call("chat.postMessage", args, postedSchema, { isOnce: true });
      if (thread !== null && message !== undefined && message.thread_ts === undefined) await options.onMoved?.(ts);
      return ts;
    });
    if (isFound) await update(ts, key, content);
    return ts;
  }

  function lookFor(key: string): Promise<string | undefined> {
    return whereOpen((place) => lookIn(place, key));
  }

  async function lookIn(place: Destination, key: string): Promise<string | undefined> {
    const mine = await options.botUserId();
    let stray: string | undefined;
    for await (const message of messagesOf(api, place)) {
      if (message.metadata?.event_type === postEvent) {
        const { turn, key: theirs } = message.metadata.event_payload;
        if (turn === turnId && theirs === key) return message.ts;
      } else if (kept.has(streamTry(key)) && message.user === mine && message.streaming_state !== undefined) {
        // A stream gets its metadata when it ends. If it has none, its process died before that. Only who tried to start
        // one may take it: another turn may be streaming in the same thread.
        stray = message.ts;
      }
    }
    return stray;
  }

  async function areShared(key: string): Promise<boolean> {
    if (kept.has(key)) return true;
    const tries = [...kept].flatMap(([name, ids]) => (name.startsWith(`try:${key}:`) ? [ids] : []));
    if (tries.length === 0) return false;
    const found = await whereOpen((place) => findFiles(place, tries));
    if (found !== undefined) await keep(key, found);
    return found !== undefined;
  }

  /** Returns those of `tries` that are shown there. Each is a list of file ids. */
  async function findFiles(place: Destination, tries: string[]): Promise<string | undefined> {
    for await (const { files } of messagesOf(api, place)) {
      const found = tries.find((ids) => files.some(({ id }) => ids.split(",").includes(id)));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async function update(ts: string, key: string, content: MessageContent): Promise<void> {
    const args = { channel: destination.channel, ts, metadata: metadata(key) };
    const change = () => api.call("chat.update", { ...args, ...content }, anyAnswer);
    await change().catch(async (thrown: unknown) => {
      if (!isSlackError(thrown, "streaming_state_conflict")) throw thrown;
      await endStream(ts, key);
      await change();
    });
  }

  async function endStream(ts: string, key: string): Promise<void> {
    const args = { channel: destination.channel, ts, metadata: metadata(key) };
    const stop = (fields: object) => api.call("chat.stopStream", { ...args, ...fields }, anyAnswer);
    const stopped = options.session?.stopping(undefined, stop) ?? stop({});
    await stopped.catch((thrown: unknown) => {
      if (!isSlackError(thrown, "message_not_in_streaming_state", "stopped_by_user", "message_not_found")) throw thrown;
    });
  }

  return {
    async begin() {
      for (const { key, messageId } of await posts.all()) kept.set(key, messageId);
      const thread = kept.get(placeKey);
      if (thread !== undefined) moved = { ...destination, thread: thread || null };
    },
    keys: () => [...kept.keys()],
    post,
    postStream: (key, start) => postBy(key, streamTry(key), start),
    update,
    endStream,
    async remove(ts, key) {
      await api.call("chat.delete", { channel: destination.channel, ts }, anyAnswer).catch((thrown: unknown) => {
        // Some organizations keep everything. Then the message stays, and is not written again either.
        const isKept = isSlackError(thrown, "cant_delete_message", "compliance_exports_prevent_deletion");
        if (!isKept && !isSlackError(thrown, "message_not_found")) throw thrown;
      });
      await keep(`removed:${key}`, ts);
    },
    textKey(number) {
      for (let key = `text:${number}`; ; key += ":next") if (!kept.has(`removed:${key}`)) return key;
    },
    tsOf,
    find,
    async share(key, files) {
      const [first] = files;
      if (first === undefined) return;
      const ids = files.map(({ id }) => id).join(",");
      await keep(`try:${key}:${first.id}`, ids);
      await whereOpen(async (place) => {
        // As with text, an earlier process may have left the thread, too.
        const isThere = moved !== undefined && (await areShared(key));
        if (!isThere) await shareFiles(api, place, files);
      });
      await keep(key, ids);
    },
    areShared,
    metadata,
    hasMoved: () => moved !== undefined,
    isStream: (key) => kept.has(streamTry(key)),
    isKept: (key) => kept.has(key),
    keep,
  };
}

/** The thread to which a message belongs that stands outside it; null if that is the channel. Undefined if it was not moved. */
export function threadOfMoved(metadata: unknown): string | null | undefined {
  const { data } = movedSchema.safeParse(metadata);
  return data && (data.event_payload.thread || null);
}

function streamTry(key: string): string {
  return `try:stream:${key}`;
}
