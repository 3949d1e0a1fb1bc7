/**
 * Stores the newest state of each message of the local chat in one SQLite file. The writing statement itself computes
 * the next revision number, so two processes never use the same one. A finished write survives `kill -9`.
 */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from "node:sqlite";
import { messageOf, RemoraError } from "../../lib/errors.ts";
import { createGroupCommit } from "../../lib/group-commit.ts";
import { isDiskFull } from "../../lib/shortage.ts";
import { useWriteAheadLog } from "../../lib/sqlite.ts";
import type { Scope } from "../../ports/message.ts";
import { type ChatChannels, channelsSchema, createChatChannels } from "./chat-channels.ts";
import { type ChatFiles, createChatFiles, filesSchema } from "./chat-files.ts";
import type { ChatMessage, Person, PlacedMessage, StoredMessage } from "./chat-message.ts";
import { type ChatSearch, createChatSearch } from "./chat-search.ts";

/**
 * A read by id also sees writes that wait for their commit, so a caller that reads and then writes without a pause misses
 * no write of this process. The lists `page` and `changes` contain only committed writes.
 */
export interface ChatStore {
  people(): Person[];
  addPerson(person: Person): boolean;
  get(id: string): StoredMessage | undefined;
  /** Resolves to false if the id is taken. `isHandedOver` is false until the agent has durably stored the message. */
  insert(message: ChatMessage, isHandedOver: boolean): Promise<boolean>;
  /** Creates or replaces the message. A replaced message keeps its position. Writes happen in the order of the calls. */
  put(message: ChatMessage): Promise<void>;
  /** Where the message was written. Undefined if there is none. */
  spotOf(id: string): Pick<ChatMessage, "place" | "thread"> | undefined;
  markHandedOver(id: string): Promise<void>;
  isHandedOver(id: string): boolean;
  notHandedOver(): StoredMessage[];
  /** Returns messages outside threads that are older than `before`, newest last. */
  page(viewer: string, place: Scope, before: number, limit: number): StoredMessage[];
  /** Like `page`, without what is known of the threads. */
  placed(viewer: string, place: Scope, before: number, limit: number): PlacedMessage[];
  /** Returns the first message of a thread, then its newest replies (older than `before`), newest last. */
  thread(viewer: string, id: string, limit: number, before?: number): StoredMessage[];
  /** Counts what was said in a thread before a position, without cards and unfinished answers. */
  countReplies(id: string, before?: number): number;
  /** True if the agent was addressed in the thread or has written in it. */
  isAgentsThread(id: string): boolean;
  revision(): number;
  changes(viewer: string, since: number, limit: number): StoredMessage[];
  /** Messages whose card waits for an answer, oldest first. */
  waitingCards(viewer: string, limit: number): StoredMessage[];
  /** Changes whenever a person or a channel is added. */
  listsVersion(): number;
  channels: ChatChannels;
  search: ChatSearch;
  files: ChatFiles;
  /** The listener gets each message that this process has written. */
  onChange(listener: (message: ChatMessage) => void): () => void;
  close(): void;
}

const schemaVersion = 2;
const schema = `
  CREATE TABLE IF NOT EXISTS people (id TEXT PRIMARY KEY, name TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS messages (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, revision INTEGER NOT NULL UNIQUE,
    type TEXT NOT NULL, place TEXT NOT NULL, thread TEXT, only_for TEXT, is_agents INTEGER NOT NULL,
    is_deleted INTEGER NOT NULL, state TEXT NOT NULL, at INTEGER NOT NULL, is_handed_over INTEGER NOT NULL, body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS messages_by_place ON messages (place, thread, sequence);
  CREATE INDEX IF NOT EXISTS messages_by_thread ON messages (thread, sequence);
  CREATE INDEX IF NOT EXISTS messages_not_handed_over ON messages (sequence) WHERE is_handed_over = 0;
  CREATE INDEX IF NOT EXISTS messages_waiting ON messages (sequence) WHERE state = 'waiting';
  ${channelsSchema}
  ${filesSchema}
  PRAGMA user_version = ${schemaVersion};`;

const nextRevision = "(SELECT coalesce(max(revision), 0) + 1 FROM messages)";
const replies =
  "FROM messages reply WHERE reply.thread = message.id AND reply.is_deleted = 0 AND reply.only_for IS NULL";
/** Only the first message of a thread has replies. */
const ofReplies = (what: string, more = "") =>
  `CASE WHEN message.thread IS NULL THEN (SELECT ${what} ${replies}${more}) END`;
const columns = `message.sequence, message.revision, message.body,
  ${ofReplies("count(*)")} AS replies, ${ofReplies("max(reply.at)")} AS last_reply_at,
  ${ofReplies("count(*)", " AND reply.state = 'waiting'")} AS waiting_cards`;
const visible =
  "(message.place LIKE 'channel:%' OR message.place = :dm) AND coalesce(message.only_for, :viewer) = :viewer";
const outsideThreads = `WHERE ${visible} AND message.place = :place AND message.thread IS NULL AND message.sequence < :before
  ORDER BY message.sequence DESC LIMIT :limit`;

export function createChatStore(path: string): ChatStore {
  const database = open(path);
  const group = createGroupCommit(database);
  const listeners = new Set<(message: ChatMessage) => void>();
  const files = createChatFiles(database);
  /** The ids of messages with waiting writes, and of their threads. */
  const waiting = new Set<string>();
  const statements = new Map<string, ReturnType<DatabaseSync["prepare"]>>();

  function prepared(sql: string) {
    const statement = statements.get(sql) ?? database.prepare(sql);
    statements.set(sql, statement);
    return statement;
  }

  function rows(sql: string, values: Record<string, SQLInputValue> = {}): Record<string, SQLOutputValue>[] {
    return prepared(sql).all(values);
  }

  function run(sql: string, values: Record<string, SQLInputValue> = {}): number {
    return Number(prepared(sql).run(values).changes);
  }

  function change<T>(ids: string[], work: () => T): Promise<T> {
    for (const id of ids) waiting.add(id);
    return group.write(() => {
      for (const id of ids) waiting.delete(id);
      return work();
    });
  }

  /** Commits the waiting writes first if one of them changes this message. Other reads don't split a group. */
  function reading<T>(id: string, read: () => T): T {
    if (waiting.has(id)) group.flush();
    return read();
  }

  function messages(rest: string, values: Record<string, SQLInputValue>): StoredMessage[] {
    return rows(`SELECT ${columns} FROM messages message ${rest}`, values).map(storedMessage);
  }

  /** Writes in one transaction so that readers always see a matching reply count. */
  async function write(message: ChatMessage, isHandedOver: boolean, conflict: string): Promise<boolean> {
    const { id, thread, state, files } = message;
    const values = valuesOf(message, isHandedOver);
    const isWritten = await change(thread === null ? [id] : [id, thread], () => {
      const isNew = rows("SELECT 1 FROM messages WHERE id = :id", { id }).length === 0;
      const written = run(
        `INSERT INTO messages (id, revision, type, place, thread, only_for, is_agents, is_deleted, state, at, is_handed_over, body)
         VALUES (:id, ${nextRevision}, :type, :place, :thread, :onlyFor, :isAgents, :isDeleted, :state, :at, :isHandedOver, :body)
         ON CONFLICT (id) DO ${conflict}`,
        values,
      );
      if (written > 0 && thread !== null && (isNew || state !== "streaming")) {
        run(`UPDATE messages SET revision = ${nextRevision} WHERE id = :thread`, { thread });
      }
      // The uploads now belong to this message.
      if (written > 0) for (const { id } of files) run("DELETE FROM uploads WHERE id = :id", { id });
      return written > 0;
    });
    if (isWritten) for (const listener of listeners) listener(message);
    return isWritten;
  }

  return {
    people: () =>
      rows("SELECT id, name FROM people ORDER BY rowid").map(({ id, name }) => ({ id: `${id}`, name: `${name}` })),
    addPerson: ({ id, name }) =>
      run("INSERT INTO people (id, name) VALUES (:id, :name) ON CONFLICT DO NOTHING", { id, name }) > 0,
    get: (id) => reading(id, () => messages("WHERE message.id = :id", { id })[0]),
    insert: (message, isHandedOver) => write(message, isHandedOver, "NOTHING"),
    async put(message) {
      const fresh = `revision = ${nextRevision}, is_deleted = excluded.is_deleted, state = excluded.state, body = excluded.body`;
      await write(message, true, `UPDATE SET ${fresh}`);
    },
    spotOf: (id) =>
      reading(id, () => rows("SELECT place, thread FROM messages WHERE id = :id", { id })[0]) as ReturnType<
        ChatStore["spotOf"]
      >,
    async markHandedOver(id) {
      await change([id], () => run("UPDATE messages SET is_handed_over = 1 WHERE id = :id", { id }));
    },
    isHandedOver: (id) =>
      reading(id, () => rows("SELECT 1 FROM messages WHERE id = :id AND is_handed_over = 1", { id }).length > 0),
    notHandedOver() {
      group.flush();
      return messages("WHERE message.is_handed_over = 0 ORDER BY message.sequence", {});
    },
    page: (viewer, place, before, limit) =>
      messages(outsideThreads, { viewer, dm: `dm:${viewer}`, place, before, limit }).reverse(),
    placed(viewer, place, before, limit) {
      const found = rows(`SELECT message.sequence, message.body FROM messages message ${outsideThreads}`, {
        ...{ viewer, dm: `dm:${viewer}`, place, before, limit },
      });
      return found.map(placedMessage).reverse();
    },
    thread(viewer, id, limit, before = Number.MAX_SAFE_INTEGER) {
      const values = { viewer, dm: `dm:${viewer}`, id };
      const root = reading(id, () => messages(`WHERE ${visible} AND message.id = :id`, values));
      const newest = messages(
        `WHERE ${visible} AND message.thread = :id AND message.sequence < :before
         ORDER BY message.sequence DESC LIMIT :limit`,
        { ...values, limit, before },
      );
      return [...root, ...newest.reverse()];
    },
    countReplies(id, before = Number.MAX_SAFE_INTEGER) {
      const isReply = `thread = :id AND sequence < :before AND type = 'message' AND state <> 'streaming'
        AND is_deleted = 0 AND only_for IS NULL`;
      const count = `SELECT count(*) AS count FROM messages WHERE ${isReply}`;
      return Number(reading(id, () => rows(count, { id, before })[0]?.count));
    },
    isAgentsThread(id) {
      const isAgents = "SELECT 1 FROM messages WHERE (id = :id OR thread = :id) AND is_agents = 1 LIMIT 1";
      return reading(id, () => rows(isAgents, { id }).length > 0);
    },
    revision: () => Number(rows("SELECT coalesce(max(revision), 0) AS revision FROM messages")[0]?.revision),
    changes: (viewer, since, limit) =>
      messages(`WHERE message.revision > :since AND ${visible} ORDER BY message.revision LIMIT :limit`, {
        viewer,
        dm: `dm:${viewer}`,
        since,
        limit,
      }),
    waitingCards: (viewer, limit) =>
      messages(
        `WHERE message.state = 'waiting' AND message.type = 'card' AND message.is_deleted = 0 AND ${visible}
         ORDER BY message.sequence DESC LIMIT :limit`,
        { viewer, dm: `dm:${viewer}`, limit },
      ).reverse(),
    listsVersion: () =>
      Number(rows("SELECT (SELECT count(*) FROM people) + (SELECT count(*) FROM channels) AS count")[0]?.count),
    channels: createChatChannels(database),
    search: createChatSearch(database, visible),
    files: {
      ...files,
      beginUpload(upload) {
        group.flush();
        return files.beginUpload(upload);
      },
      uploaded(id, person) {
        group.flush();
        return files.uploaded(id, person);
      },
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      group.flush();
      database.close();
    },
  };
}

const busyTimeoutMs = 5_000;

function open(path: string): DatabaseSync {
  try {
    if (path !== ":memory:") mkdirSync(dirname(path), { recursive: true });
    const database = new DatabaseSync(path, { timeout: busyTimeoutMs });
    useWriteAheadLog(database);
    const found = Number(database.prepare("PRAGMA user_version").get()?.user_version);
    if (found > schemaVersion) throw new Error(`it was written by a newer Remora (version ${found})`);
    database.exec(schema);
    return database;
  } catch (thrown) {
    const todo = isDiskFull(thrown) ? "Free some space" : "To start with an empty chat, move the file away";
    throw new RemoraError({
      code: "local.chat-unreadable",
      place: path,
      message: `can't open the local chat: ${messageOf(thrown)}. ${todo}`,
      cause: thrown,
    });
  }
}

function valuesOf(message: ChatMessage, isHandedOver: boolean): Record<string, SQLInputValue> {
  const { id, type, place, thread, state, at } = message;
  return {
    ...{ id, type, place, thread, state, at, onlyFor: message.onlyFor ?? null, body: JSON.stringify(message) },
    isAgents: message.isAddressed || (message.author.isBot && message.type !== "receipt") ? 1 : 0,
    isDeleted: message.isDeleted ? 1 : 0,
    isHandedOver: isHandedOver ? 1 : 0,
  };
}

function placedMessage(row: Record<string, SQLOutputValue>): PlacedMessage {
  return { ...(JSON.parse(`${row.body}`) as ChatMessage), sequence: Number(row.sequence) };
}

function storedMessage(row: Record<string, SQLOutputValue>): StoredMessage {
  return {
    ...placedMessage(row),
    revision: Number(row.revision),
    replies: Number(row.replies),
    lastReplyAt: row.last_reply_at === null ? null : Number(row.last_reply_at),
    waitingCards: Number(row.waiting_cards),
  };
}
