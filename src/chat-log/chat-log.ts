/**
 * Records what people say in channels so that `chat_search` can find it.
 *
 *   1. collect changes for a moment so that recording delays no message
 *   2. send them to the log's thread, which writes them in one transaction, and over the bus to other processes
 *   3. look up a person's name once if the service sends only an id
 *
 * A log that can't be written, for example because the disk is full, is reported once and never delays messages.
 */
import { randomUUID } from "node:crypto";
import { messageOf } from "../lib/errors.ts";
import { removeDatabase } from "../lib/index-database.ts";
import type { Log } from "../lib/log.ts";
import { createLruMap } from "../lib/lru-map.ts";
import type { Redact } from "../lib/redact.ts";
import { createWorkerThread, type Thread } from "../lib/worker-thread.ts";
import type { ChatLog, ChatLogChange, ChatLogOwner, LoggedMessage } from "../ports/chat-log.ts";
import type { Bus } from "../ports/cluster.ts";
import type { InboundMessage } from "../ports/message.ts";
import type { LogAnswer, LogRequest, LogWorkerData } from "./log-worker.ts";
import type { LogQuery, UnnamedPerson } from "./message-index.ts";

export interface ChatLogOptions {
  /** This process's own SQLite file. */
  file: string;
  retentionDays: number;
  megabytes: number;
  /** Channels that are not logged, such as `slack:C0123`. */
  exclude: readonly string[];
  bus: Bus;
  redact: Redact;
  /** The person's current name; the id if there is none. */
  nameOf(platform: string, userId: string): Promise<string>;
  /** Shared with the search index. */
  thread: Thread;
  log: Log;
  now?: () => number;
}

export interface StoredChatLog extends ChatLog {
  isEnabled: boolean;
  isExcluded(platform: string, channelId: string): boolean;
  find(query: LogQuery): Promise<LoggedMessage[]>;
  ofPerson(platform: string, userId: string): Promise<LoggedMessage[]>;
  /** Resolves once the messages are gone from this process's file. */
  forget(owner: ChatLogOwner): Promise<void>;
  prune(): Promise<void>;
  close(): Promise<void>;
}

const collectMs = 200;
/** Changes are written immediately once this many have been collected. */
const maxCollected = 200;
/** If this many changes wait for the thread, further changes are lost. */
const maxUnwritten = 20_000;
const maxTextCharacters = 8_000;
const maxAskedNames = 5_000;
const problemEveryMs = 3_600_000;

export function createChatLog(options: ChatLogOptions): StoredChatLog {
  const { bus, redact, log, now = Date.now } = options;
  const self = randomUUID();
  const excluded = new Set(options.exclude);
  const asked = createLruMap<true>(maxAskedNames);
  const thread = createWorkerThread<LogRequest, LogAnswer>({
    thread: options.thread,
    module: new URL("./log-worker.ts", import.meta.url),
    options: { file: options.file } satisfies LogWorkerData,
    onProblem: (problem) => log.warn({}, problem),
  });
  let collected: ChatLogChange[] = [];
  let unwritten = 0;
  let timer: NodeJS.Timeout | undefined;
  let reportedAt = Number.NEGATIVE_INFINITY;
  let isClosed = false;

  function report(thrown: unknown): void {
    if (isClosed || now() - reportedAt < problemEveryMs) return;
    reportedAt = now();
    log.warn({ error: messageOf(thrown) }, "could not write the chat log, so chat_search misses some messages");
  }

  function note(change: ChatLogChange): void {
    if (isClosed) return;
    collected.push(change);
    if (collected.length >= maxCollected) return void flush();
    timer ??= setTimeout(flush, collectMs).unref();
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (collected.length === 0) return Promise.resolve();
    const changes = collected.map((change) =>
      "text" in change ? { ...change, text: storable(redact(change.text)) } : change,
    );
    collected = [];
    bus.publish({ type: "chat-log", from: self, changes });
    return write(changes);
  }

  async function write(changes: ChatLogChange[], isOwn = true): Promise<void> {
    if (unwritten + changes.length > maxUnwritten) return report(new Error("its thread does not answer"));
    unwritten += changes.length;
    try {
      const answer = await thread.ask({ type: "apply", changes });
      if (isOwn && answer.type === "unnamed") for (const person of answer.people) void learnName(person);
    } catch (thrown) {
      report(thrown);
    } finally {
      unwritten -= changes.length;
    }
  }

  async function learnName({ platform, id }: UnnamedPerson): Promise<void> {
    const key = `${platform}:${id}`;
    if (asked.get(key) !== undefined) return;
    asked.set(key, true);
    const name = await options.nameOf(platform, id).catch(() => id);
    if (name !== id) note({ type: "name", platform, id, name });
  }

  async function messages(request: LogRequest): Promise<LoggedMessage[]> {
    // Flush first: the thread works in order, so the request sees all earlier changes.
    void flush();
    const answer = await thread.ask(request);
    return answer.type === "messages" ? answer.messages : [];
  }

  const stopListening = bus.listen((message) => {
    if (message.type === "chat-log" && message.from !== self) void write(message.changes, false);
  });
  const isExcluded = (platform: string, channelId: string) => excluded.has(`${platform}:${channelId}`);

  return {
    isEnabled: true,
    isExcluded,
    add(message) {
      const { id, platform, author, at, link } = message;
      const channelId = channelOf(message);
      if (channelId === undefined || link === undefined || message.text.trim() === "") return;
      if (isExcluded(platform, channelId)) return;
      const { id: authorId, name: authorName } = author;
      note({ type: "add", platform, id, channelId, authorId, authorName, text: message.text, at, link });
    },
    edit: (platform, id, text) => note({ type: "edit", platform, id, text }),
    remove: (platform, id) => note({ type: "remove", platform, id, at: now() }),
    find: (query) => messages({ type: "find", query }),
    ofPerson: (platform, userId) => messages({ type: "of-person", platform, userId }),
    async forget(owner) {
      note({ type: "forget", owner });
      void flush();
      await thread.ask({ type: "purge" });
    },
    async prune() {
      const olderThan = now() - options.retentionDays * 86_400_000;
      await thread.ask({ type: "prune", olderThan, maxBytes: options.megabytes * 1024 * 1024 });
    },
    async close() {
      stopListening();
      const last = flush();
      isClosed = true;
      await last;
      await thread.close({ type: "close" });
    },
  };
}

/** Converts the messages to a file of the person's export. */
export function exportedMessages(messages: readonly LoggedMessage[]): { path: string; text: string }[] {
  const lines = messages.map(
    ({ at, text, link }) => `- ${new Date(at).toISOString()} ${link}\n  ${text.replaceAll("\n", "\n  ")}`,
  );
  return lines.length === 0
    ? []
    : [{ path: "messages in channels", text: `# Your messages in channels\n\n${lines.join("\n")}` }];
}

/** Records nothing, and deletes what earlier runs recorded. */
export function switchedOffChatLog(file: string): StoredChatLog {
  removeDatabase(file);
  const nothing = async () => {};
  return {
    isEnabled: false,
    isExcluded: () => false,
    ...{ add() {}, edit() {}, remove() {}, forget: nothing, prune: nothing, close: nothing },
    ...{ find: async () => [], ofPerson: async () => [] },
  };
}

/** Returns undefined for messages that must not be logged. */
function channelOf({ scope, isDirect, isPrivate }: InboundMessage): string | undefined {
  if (isDirect || isPrivate === true || !scope.startsWith("channel:")) return undefined;
  return scope.slice("channel:".length);
}

function storable(text: string): string {
  return text.slice(0, maxTextCharacters).toWellFormed();
}
