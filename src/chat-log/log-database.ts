/** The chat log's SQLite file: the messages and their full-text index. */
import type { DatabaseSync } from "node:sqlite";
import { type OpenIndexDatabase, openIndexDatabase } from "../lib/index-database.ts";

const applicationId = 0x524d4348;
const version = 1;

// `place` and `person` are columns of the full-text table so that FTS5 never returns a message of another channel.
const schema = `
  CREATE TABLE places (id INTEGER PRIMARY KEY, platform TEXT NOT NULL, channel TEXT NOT NULL, UNIQUE (platform, channel));
  CREATE TABLE people (id INTEGER PRIMARY KEY, platform TEXT NOT NULL, person TEXT NOT NULL, name TEXT NOT NULL,
                       UNIQUE (platform, person));
  CREATE TABLE messages (id INTEGER PRIMARY KEY, platform TEXT NOT NULL, message TEXT NOT NULL, place INTEGER NOT NULL,
                         person INTEGER NOT NULL, at INTEGER NOT NULL, text TEXT NOT NULL, link TEXT NOT NULL,
                         UNIQUE (platform, message));
  CREATE INDEX messages_by_at ON messages (at);
  CREATE INDEX messages_by_place ON messages (place, at);
  CREATE INDEX messages_by_person ON messages (person, at);
  CREATE TABLE removed (platform TEXT NOT NULL, message TEXT NOT NULL, at INTEGER NOT NULL,
                        PRIMARY KEY (platform, message)) WITHOUT ROWID;
  CREATE VIRTUAL TABLE terms USING fts5 (body, place, person, content = '', contentless_delete = 1,
                                         tokenize = "porter unicode61 remove_diacritics 0 categories 'L* M* N* Co'");
  INSERT INTO terms (terms, rank) VALUES ('secure-delete', 1);
`;

export type LogDatabase = OpenIndexDatabase<ReturnType<typeof prepareAll>>;

export function openLogDatabase(file: string, onProblem: (message: string) => void): LogDatabase {
  const format = { name: "the chat log", applicationId, version, schema, prepare: prepareAll };
  return openIndexDatabase(file, { ...format, onProblem });
}

const columns = `messages.id AS row, messages.platform, messages.message, channel, people.person, people.name, messages.at,
  messages.text, messages.link`;
const joins = "JOIN places ON places.id = messages.place JOIN people ON people.id = messages.person";

function prepareAll(database: DatabaseSync) {
  return {
    addPlace: database.prepare("INSERT OR IGNORE INTO places (platform, channel) VALUES (?, ?)"),
    placeId: database.prepare("SELECT id FROM places WHERE platform = ? AND channel = ?"),
    placesOf: database.prepare("SELECT id, channel FROM places WHERE platform = ?"),
    addPerson: database.prepare("INSERT OR IGNORE INTO people (platform, person, name) VALUES (?, ?, ?)"),
    personId: database.prepare("SELECT id, name FROM people WHERE platform = ? AND person = ?"),
    peopleOf: database.prepare("SELECT id, person, name FROM people WHERE platform = ?"),
    rename: database.prepare("UPDATE people SET name = ? WHERE platform = ? AND person = ?"),
    removePerson: database.prepare("DELETE FROM people WHERE id = ?"),
    addMessage: database.prepare(
      `INSERT INTO messages (platform, message, place, person, at, text, link)
       SELECT :platform, :message, :place, :person, :at, :text, :link
       WHERE NOT EXISTS (SELECT 1 FROM removed WHERE platform = :platform AND message = :message)
       ON CONFLICT (platform, message) DO NOTHING`,
    ),
    messageRow: database.prepare("SELECT id, place, person FROM messages WHERE platform = ? AND message = ?"),
    setText: database.prepare("UPDATE messages SET text = ? WHERE id = ?"),
    removeMessage: database.prepare("DELETE FROM messages WHERE id = ?"),
    addRemoved: database.prepare("INSERT OR IGNORE INTO removed (platform, message, at) VALUES (?, ?, ?)"),
    pruneRemoved: database.prepare("DELETE FROM removed WHERE at < ?"),
    addTerms: database.prepare("INSERT INTO terms (rowid, body, place, person) VALUES (?, ?, ?, ?)"),
    removeTerms: database.prepare("DELETE FROM terms WHERE rowid = ?"),
    ofPerson: database.prepare("SELECT id FROM messages WHERE person = ? LIMIT ?"),
    ofPlace: database.prepare("SELECT id FROM messages WHERE place = ? LIMIT ?"),
    olderThan: database.prepare("SELECT id FROM messages WHERE at < ? ORDER BY at LIMIT ?"),
    oldest: database.prepare("SELECT id FROM messages ORDER BY at LIMIT ?"),
    count: database.prepare("SELECT count(*) AS count FROM messages"),
    // Rank before joining, because joining all matches of a frequent word would be slow.
    find: database.prepare(
      `SELECT ${columns} FROM (SELECT rowid, bm25 (terms, 1.0, 0.0, 0.0) AS score FROM terms WHERE terms MATCH :match
                               ORDER BY score LIMIT :limit) AS found
       CROSS JOIN messages ON messages.id = found.rowid ${joins} ORDER BY score, messages.at DESC`,
    ),
    findWithin: database.prepare(
      `SELECT ${columns} FROM terms CROSS JOIN messages ON messages.id = terms.rowid ${joins}
       WHERE terms MATCH :match AND messages.at >= :after AND messages.at < :before
       ORDER BY bm25 (terms, 1.0, 0.0, 0.0), messages.at DESC LIMIT :limit`,
    ),
    newestIn: database.prepare(
      `SELECT ${columns} FROM messages ${joins} WHERE messages.place = :place AND messages.at >= :after AND messages.at < :before
       ORDER BY messages.at DESC LIMIT :limit`,
    ),
    newestOf: database.prepare(
      `SELECT ${columns} FROM messages ${joins} WHERE messages.person = :person AND messages.at >= :after AND messages.at < :before
         AND messages.place IN (SELECT value FROM json_each (:places)) ORDER BY messages.at DESC LIMIT :limit`,
    ),
    allOfPerson: database.prepare(
      `SELECT ${columns} FROM messages ${joins} WHERE people.platform = ? AND people.person = ? ORDER BY messages.at`,
    ),
  };
}
