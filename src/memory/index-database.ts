/** The SQLite file of the search index, which can always be rebuilt from the Markdown. */
import type { DatabaseSync } from "node:sqlite";
import { type OpenIndexDatabase, openIndexDatabase } from "../lib/index-database.ts";

const applicationId = 0x524d5258;
/** Increase this whenever the schema or the way terms are derived changes. */
const indexVersion = 3;

// `scope` is a column of the full-text table so that FTS5 never returns a passage of another scope. Passage ids are
// never reused, so every id above the highest embedded one is new.
const schema = `
  CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, scope TEXT NOT NULL, kind TEXT NOT NULL,
                      signature TEXT NOT NULL);
  CREATE INDEX files_by_scope ON files (scope);
  CREATE TABLE scopes (id INTEGER PRIMARY KEY, scope TEXT NOT NULL UNIQUE);
  CREATE TABLE passages (id INTEGER PRIMARY KEY AUTOINCREMENT, file INTEGER NOT NULL, ordinal INTEGER NOT NULL,
                         hash TEXT NOT NULL, vector_key TEXT NOT NULL, heading TEXT NOT NULL, at TEXT NOT NULL,
                         text TEXT NOT NULL, origins TEXT NOT NULL);
  CREATE INDEX passages_by_file ON passages (file, ordinal);
  CREATE INDEX passages_by_vector ON passages (vector_key);
  CREATE VIRTUAL TABLE terms USING fts5 (heading, trail, body, day, scope, content = '', contentless_delete = 1,
                                         tokenize = "porter unicode61 remove_diacritics 0 categories 'L* M* N* Co'");
  INSERT INTO terms (terms, rank) VALUES ('secure-delete', 1);
`;

export type OpenIndex = OpenIndexDatabase<ReturnType<typeof prepareAll>>;

export function openIndex(indexFile: string, onProblem: (message: string) => void): OpenIndex {
  const format = { name: "the search index", applicationId, version: indexVersion, schema };
  return openIndexDatabase(indexFile, { ...format, prepare: prepareAll, onProblem });
}

function prepareAll(database: DatabaseSync) {
  return {
    filesOfScope: database.prepare("SELECT id, path, signature FROM files WHERE scope = ? AND kind <> 'document'"),
    documentIds: database.prepare("SELECT id FROM files WHERE kind = 'document'"),
    documents: database.prepare("SELECT id, path, signature FROM files WHERE kind = 'document'"),
    fileId: database.prepare("SELECT id FROM files WHERE path = ?"),
    putFile: database.prepare(
      `INSERT INTO files (path, scope, kind, signature) VALUES (?, ?, ?, ?)
       ON CONFLICT (path) DO UPDATE SET scope = excluded.scope, kind = excluded.kind, signature = excluded.signature`,
    ),
    removeFile: database.prepare("DELETE FROM files WHERE id = ?"),
    allScopes: database.prepare("SELECT DISTINCT scope FROM files"),
    scopeId: database.prepare("SELECT id FROM scopes WHERE scope = ?"),
    addScope: database.prepare("INSERT OR IGNORE INTO scopes (scope) VALUES (?)"),
    passagesOfFile: database.prepare("SELECT id, ordinal, hash FROM passages WHERE file = ? ORDER BY ordinal"),
    addPassage: database.prepare(
      "INSERT INTO passages (file, ordinal, hash, vector_key, heading, at, text, origins) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    ),
    movePassage: database.prepare("UPDATE passages SET ordinal = ? WHERE id = ?"),
    removePassage: database.prepare("DELETE FROM passages WHERE id = ? RETURNING vector_key"),
    addTerms: database.prepare("INSERT INTO terms (rowid, heading, trail, body, day, scope) VALUES (?, ?, ?, ?, ?, ?)"),
    removeTerms: database.prepare("DELETE FROM terms WHERE rowid = ?"),
    candidates: database.prepare(
      `SELECT passages.id, file, ordinal, at, rank
       FROM (SELECT rowid, bm25 (terms, 1.0, 0.4, 1.0, 0.5, 0.0) AS rank FROM terms WHERE terms MATCH ? ORDER BY rank LIMIT ?) AS found
       JOIN passages ON passages.id = found.rowid`,
    ),
    neighbours: database.prepare(
      `SELECT passages.id, passages.file, passages.ordinal, at FROM json_each (?) AS wanted
       CROSS JOIN passages ON passages.file = wanted.value ->> 0
         AND passages.ordinal BETWEEN wanted.value ->> 1 AND wanted.value ->> 2`,
    ),
    passages: database.prepare(
      `SELECT passages.id, files.path, scope, kind, heading, at, text, origins FROM json_each (?) AS wanted
       JOIN passages ON passages.id = wanted.value JOIN files ON files.id = passages.file`,
    ),
    textsOf: database.prepare(
      "SELECT text FROM passages WHERE file = (SELECT id FROM files WHERE path = ?) AND heading = ? ORDER BY ordinal",
    ),
    countPassages: database.prepare("SELECT count(*) AS count FROM passages"),
    // A long entry is several passages, with the heading and the time of the entry.
    countEntries: database.prepare(
      `WITH scoped AS (SELECT id, kind FROM files WHERE scope IN (SELECT value FROM json_each (?)))
       SELECT (SELECT count(*) FROM scoped WHERE kind = 'knowledge') +
              (SELECT count(*) FROM (SELECT DISTINCT file, heading, at FROM passages
                                     WHERE file IN (SELECT id FROM scoped WHERE kind = 'episode'))) AS count`,
    ),
    vectorKeysOfScope: database.prepare(
      `SELECT passages.id, vector_key FROM files CROSS JOIN passages ON passages.file = files.id WHERE scope = ?`,
    ),
    vectorKeysOfPassages: database.prepare(
      "SELECT id, vector_key FROM passages WHERE id IN (SELECT value FROM json_each (?))",
    ),
    scopesOfVectorKeys: database.prepare(
      `SELECT DISTINCT scope FROM json_each (?) AS wanted JOIN passages ON vector_key = wanted.value
       JOIN files ON files.id = passages.file`,
    ),
    hasVectorKey: database.prepare("SELECT 1 FROM passages WHERE vector_key = ? LIMIT 1"),
    passagesBelow: database.prepare(
      `SELECT passages.id, vector_key, scope, heading, text FROM passages JOIN files ON files.id = passages.file
       WHERE passages.id < ? AND passages.id > ? ORDER BY passages.id DESC LIMIT ?`,
    ),
    allVectorKeys: database.prepare("SELECT vector_key FROM passages"),
    dataVersion: database.prepare("PRAGMA data_version"),
  };
}
