/**
 * Stores the chat's files in pieces so that no whole file is ever in memory. An upload arrives before its message.
 * Until a message uses it, it belongs to its uploader, and it expires after a day.
 */
import type { DatabaseSync, SQLInputValue, SQLOutputValue } from "node:sqlite";
import type { ChatFile } from "./chat-message.ts";
import { maxWaitingUploads, uploadLifetimeMs } from "./limits.ts";

export interface ChatFiles {
  /** Creates or replaces the file. */
  save(file: ChatFile, content: Uint8Array): void;
  get(id: string): ChatFile | undefined;
  /** The content in pieces. Throws if the file is removed while it is read. */
  read(id: string): Iterable<Uint8Array>;
  remove(ids: readonly string[]): void;
  /** Replaces an earlier upload of the same person. Returns undefined if the id belongs to another file. */
  beginUpload(upload: Pick<ChatFile, "id" | "name" | "mimeType"> & { person: string }): Upload | undefined;
  /** A complete upload of this person that no message uses yet. */
  uploaded(id: string, person: string): ChatFile | undefined;
}

export interface Upload {
  add(piece: Uint8Array): void;
  finish(): ChatFile;
  discard(): void;
}

export const filesSchema = `
  CREATE TABLE IF NOT EXISTS files (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, mime_type TEXT NOT NULL, bytes INTEGER NOT NULL, content BLOB NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS file_pieces (
    file TEXT NOT NULL, number INTEGER NOT NULL, content BLOB NOT NULL, PRIMARY KEY (file, number)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS uploads (
    id TEXT PRIMARY KEY, person TEXT NOT NULL, at INTEGER NOT NULL, is_complete INTEGER NOT NULL
  ) STRICT;`;

/** Large enough that a file has few rows, small enough to be written without a noticeable pause. */
const pieceBytes = 256 * 1024;

export function createChatFiles(database: DatabaseSync, now: () => number = Date.now): ChatFiles {
  const statements = new Map<string, ReturnType<DatabaseSync["prepare"]>>();

  function prepared(sql: string) {
    const statement = statements.get(sql) ?? database.prepare(sql);
    statements.set(sql, statement);
    return statement;
  }

  function run(sql: string, values: Record<string, SQLInputValue>): void {
    prepared(sql).run(values);
  }

  function row(sql: string, values: Record<string, SQLInputValue>): Record<string, SQLOutputValue> | undefined {
    return prepared(sql).get(values);
  }

  function remove(ids: readonly string[]): void {
    for (const id of ids) {
      run("DELETE FROM uploads WHERE id = :id", { id });
      run("DELETE FROM files WHERE id = :id", { id });
      run("DELETE FROM file_pieces WHERE file = :id", { id });
    }
  }

  function create({ id, name, mimeType, bytes }: ChatFile): void {
    // Only versions without pieces stored the content in this column.
    const content = new Uint8Array();
    run("INSERT INTO files VALUES (:id, :name, :mimeType, :bytes, :content)", { id, name, mimeType, bytes, content });
  }

  function addPiece(file: string, number: number, content: Uint8Array): void {
    run("INSERT INTO file_pieces VALUES (:file, :number, :content)", { file, number, content });
  }

  function removeOldUploads(): void {
    const waiting = prepared("SELECT id, at FROM uploads ORDER BY at DESC").all();
    const old = waiting.filter(({ at }, index) => index >= maxWaitingUploads || Number(at) < now() - uploadLifetimeMs);
    remove(old.map(({ id }) => `${id}`));
  }

  function get(id: string): ChatFile | undefined {
    const found = row("SELECT name, mime_type, bytes FROM files WHERE id = :id", { id });
    if (found === undefined) return undefined;
    return { id, name: `${found.name}`, mimeType: `${found.mime_type}`, bytes: Number(found.bytes) };
  }

  function createUpload(id: string): Upload {
    let [pieces, bytes] = [0, 0];
    let waiting: Uint8Array[] = [];
    let waitingBytes = 0;
    const flush = () => {
      if (waitingBytes > 0) addPiece(id, pieces++, Buffer.concat(waiting));
      [waiting, waitingBytes] = [[], 0];
    };
    return {
      add(piece) {
        waiting.push(piece);
        waitingBytes += piece.byteLength;
        bytes += piece.byteLength;
        if (waitingBytes >= pieceBytes) flush();
      },
      finish() {
        flush();
        run("UPDATE files SET bytes = :bytes WHERE id = :id", { id, bytes });
        run("UPDATE uploads SET is_complete = 1 WHERE id = :id", { id });
        const file = get(id);
        if (file === undefined) throw new TypeError(`upload ${id} was removed while it was written`);
        return file;
      },
      discard: () => remove([id]),
    };
  }

  return {
    save(file, content) {
      remove([file.id]);
      create(file);
      for (let at = 0; at < content.byteLength; at += pieceBytes)
        addPiece(file.id, at / pieceBytes, content.subarray(at, at + pieceBytes));
    },
    get,
    *read(id) {
      const found = row("SELECT bytes, content FROM files WHERE id = :id", { id });
      let left = Number(found?.bytes ?? 0);
      if (found?.content instanceof Uint8Array && found.content.length > 0) {
        yield found.content;
        return;
      }
      for (let number = 0; left > 0; number++) {
        const piece = row("SELECT content FROM file_pieces WHERE file = :id AND number = :number", { id, number });
        if (!(piece?.content instanceof Uint8Array)) throw new Error(`the file ${id} was removed while it was read`);
        left -= piece.content.byteLength;
        yield piece.content;
      }
    },
    remove,
    beginUpload({ id, name, mimeType, person }) {
      removeOldUploads();
      const owner = row("SELECT person FROM uploads WHERE id = :id", { id })?.person;
      if (owner === undefined ? get(id) !== undefined : owner !== person) return undefined;
      remove([id]);
      run("INSERT INTO uploads VALUES (:id, :person, :at, 0)", { id, person, at: now() });
      create({ id, name, mimeType, bytes: 0 });
      return createUpload(id);
    },
    uploaded(id, person) {
      const found = row("SELECT 1 FROM uploads WHERE id = :id AND person = :person AND is_complete = 1", {
        id,
        person,
      });
      return found === undefined ? undefined : get(id);
    },
  };
}
