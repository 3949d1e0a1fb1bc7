/**
 * The search index over memory's Markdown files: one SQLite file that can always be rebuilt. An update follows new,
 * changed (time or size) and removed files, and writes only the passages that differ. Every query contains its scopes,
 * so a passage of another scope is never even a candidate. Runs in its own thread (search-worker.ts), because SQLite
 * and large files block for too long.
 * The file is over 250 lines because its statements share one connection.
 */
import { lstatSync } from "node:fs";
import { basename, join } from "node:path";
import { messageOf } from "../lib/errors.ts";
import { isDamage, removeDatabase } from "../lib/index-database.ts";
import { inTransaction } from "../lib/sqlite.ts";
import { termsOf } from "../lib/text/words.ts";
import type { Origin } from "../ports/origin.ts";
import { holdsIn, type NoteSource } from "../ports/shown-context.ts";
import { dayTermsOf } from "./dates.ts";
import { vectorKeyOf } from "./embedded-text.ts";
import { type OpenIndex, openIndex } from "./index-database.ts";
import { type Passage, passagesOf } from "./markdown-sections.ts";
import {
  createFolderList,
  type FileInfo,
  feedbackPassages,
  hashOf,
  markdownFiles,
  readText,
  signatureOf,
} from "./memory-files.ts";
import { readOrigins } from "./origin-mark.ts";
import { memoryKinds, type PassageKind } from "./places.ts";
import { matchExpression, type SearchQuestion } from "./query.ts";

export interface PassageHit {
  id: number;
  file: number;
  ordinal: number;
  /** Milliseconds since 1970. NaN if the passage has no time. */
  at: number;
  /** FTS5's BM25 score, negated so that higher is better. */
  score: number;
}

export interface FoundPassage {
  id: number;
  path: string;
  scope: string;
  kind: PassageKind;
  heading: string;
  at: string;
  text: string;
  origins: Origin[];
}

export interface SearchIndex {
  /** Updates the index for the given scopes, or for all if none are given. Returns how many files it read. */
  update(scopes: readonly string[]): number;
  scopes(): string[];
  /** The signatures of indexed documents by path. */
  documents(): Map<string, string>;
  /** The ids of documents, as in `PassageHit.file`. */
  documentIds(): Set<number>;
  putDocument(path: string, signature: string, passages: readonly Passage[]): void;
  removeDocument(path: string): void;
  candidates(question: SearchQuestion, scopes: readonly string[], limit: number): PassageHit[];
  neighbours(candidates: readonly PassageHit[], reach: number): Omit<PassageHit, "score">[];
  passages(ids: readonly number[]): FoundPassage[];
  /** Whether a passage that begins with this text is there. */
  hasPassage(source: NoteSource): boolean;
  countPassages(): number;
  /** Counts episodes and notes. */
  countEntries(scopes: readonly string[]): number;
  query<T>(work: (statements: OpenIndex["statements"]) => T): T;
  /** Changes whenever the scope's passages may have changed. */
  revision(scope: string): string;
  rebuilds(): number;
  /** Overwrites deleted text so that the index file contains no trace of it. */
  purge(): void;
  close(): void;
}

export interface SearchIndexOptions {
  workspace: string;
  indexFile: string;
  onProblem(message: string): void;
  /** Receives the vector keys of removed passages. Other passages may share them. */
  onRemoved?(vectorKeys: readonly string[]): void;
}

export function createSearchIndex(options: SearchIndexOptions): SearchIndex {
  const { workspace, indexFile, onProblem, onRemoved } = options;
  let { database, statements } = openIndex(indexFile, onProblem);
  let removedKeys: string[] = [];
  let rebuilds = 0;
  const revisions = new Map<string, number>();
  const foldersByScope = createFolderList(workspace);

  /** SQLite finds damage only when it reads a damaged page. Rebuilds the index once, then repeats the work. */
  function guarded<T>(work: () => T, again = true): T {
    try {
      return work();
    } catch (thrown) {
      if (database.isTransaction) database.exec("ROLLBACK");
      if (!again || !isDamage(thrown)) throw thrown;
      onProblem(`the search index was damaged, so Remora rebuilds it (${messageOf(thrown)})`);
      database.close();
      removeDatabase(indexFile);
      ({ database, statements } = openIndex(indexFile, onProblem));
      rebuilds++;
      updateScopes(listScopes());
      return guarded(work, false);
    }
  }

  function scopeTerm(scope: string, isNew: boolean): string | undefined {
    if (isNew) statements.addScope.run(scope);
    const id = statements.scopeId.get(scope)?.id;
    return id === undefined ? undefined : `s${id}`;
  }

  function listScopes(): string[] {
    return [...foldersByScope().keys()];
  }

  function updateScopes(scopes: readonly string[]): number {
    const folders = foldersByScope();
    let read = 0;
    for (const scope of new Set(scopes)) {
      const readBefore = read;
      const known = new Map(statements.filesOfScope.all(scope).map((row) => [String(row.path), row]));
      for (const { kind, folder } of folders.get(scope) ?? []) {
        for (const path of markdownFiles(join(workspace, folder))) {
          const relativePath = `${folder}/${path}`;
          const info = lstatSync(join(workspace, relativePath), { throwIfNoEntry: false });
          if (info === undefined || !info.isFile()) continue;
          const row = known.get(relativePath);
          known.delete(relativePath);
          if (row?.signature === signatureOf(info)) continue;
          const passages = passagesIn(relativePath, kind, info);
          if (passages !== undefined) putFile(relativePath, scope, kind, signatureOf(info), passages);
          read++;
        }
      }
      for (const row of known.values()) removeFile(Number(row.id));
      if (read > readBefore || known.size > 0) revisions.set(scope, (revisions.get(scope) ?? 0) + 1);
    }
    const removed = removedKeys;
    removedKeys = [];
    if (removed.length > 0) onRemoved?.(removed);
    return read;
  }

  function passagesIn(path: string, kind: PassageKind, info: FileInfo): Passage[] | undefined {
    const text = readText(join(workspace, path), info, onProblem);
    if (text === undefined) return undefined;
    return kind === "feedback" ? feedbackPassages(path, text) : passagesOf(basename(path), text);
  }

  function putFile(
    path: string,
    scope: string,
    kind: PassageKind,
    signature: string,
    passages: readonly Passage[],
  ): void {
    inTransaction(database, () => {
      statements.putFile.run(path, scope, kind, signature);
      const file = Number(statements.fileId.get(path)?.id);
      const term = scopeTerm(scope, true) ?? "";
      const kept = new Map<string, { id: number; ordinal: number }[]>();
      for (const row of statements.passagesOfFile.all(file)) {
        const key = String(row.hash);
        kept.set(key, [...(kept.get(key) ?? []), { id: Number(row.id), ordinal: Number(row.ordinal) }]);
      }
      for (const [ordinal, passage] of passages.entries()) {
        const key = hashOf(passage);
        const same = kept.get(key)?.shift();
        if (same === undefined) addPassage(file, ordinal, key, passage, term);
        else if (same.ordinal !== ordinal) statements.movePassage.run(ordinal, same.id);
      }
      for (const left of kept.values()) for (const { id } of left) removePassage(id);
    });
  }

  function addPassage(file: number, ordinal: number, key: string, passage: Passage, scopeTerm: string): void {
    const { heading, at, text, trail } = passage;
    const origins = JSON.stringify(passage.origins);
    const vectorKey = vectorKeyOf(passage);
    const { lastInsertRowid } = statements.addPassage.run(file, ordinal, key, vectorKey, heading, at, text, origins);
    const [inHeading, inTrail, inBody] = [heading, trail, text].map((part) => termsOf(part).join(" "));
    statements.addTerms.run(
      lastInsertRowid,
      inHeading ?? "",
      inTrail ?? "",
      inBody ?? "",
      dayTermsOf(at).join(" "),
      scopeTerm,
    );
  }

  function removePassage(id: number): void {
    statements.removeTerms.run(id);
    const removed = statements.removePassage.get(id);
    if (removed !== undefined) removedKeys.push(String(removed.vector_key));
  }

  function removeFile(id: number): void {
    inTransaction(database, () => {
      for (const row of statements.passagesOfFile.all(id)) removePassage(Number(row.id));
      statements.removeFile.run(id);
    });
  }

  return {
    update: (scopes) => guarded(() => updateScopes(scopes)),
    scopes: () =>
      guarded(() => [...new Set([...listScopes(), ...statements.allScopes.all().map((row) => String(row.scope))])]),
    documents: () =>
      guarded(() => new Map(statements.documents.all().map((row) => [String(row.path), String(row.signature)]))),
    documentIds: () => guarded(() => new Set(statements.documentIds.all().map((row) => Number(row.id)))),
    putDocument: (path, signature, passages) => guarded(() => putFile(path, "shared", "document", signature, passages)),
    removeDocument: (path) =>
      guarded(() => {
        const row = statements.fileId.get(path);
        if (row !== undefined) removeFile(Number(row.id));
      }),
    candidates: (question, scopes, limit) =>
      guarded(() => {
        const match = matchExpression(
          question,
          [...new Set(scopes)].flatMap((scope) => scopeTerm(scope, false) ?? []),
        );
        if (match === undefined) return [];
        return statements.candidates.all(match, limit).map((row) => ({ ...placeOf(row), score: -Number(row.rank) }));
      }),
    neighbours: (candidates, reach) =>
      guarded(() => statements.neighbours.all(JSON.stringify(rangesOf(candidates, reach))).map(placeOf)),
    passages: (ids) => guarded(() => statements.passages.all(JSON.stringify(ids)).map(foundPassage)),
    hasPassage: (source) =>
      guarded(() => {
        const rows = statements.textsOf.all(source.path, source.heading);
        return holdsIn(
          source,
          rows.map(({ text }) => String(text)),
        );
      }),
    countPassages: () => guarded(() => Number(statements.countPassages.get()?.count ?? 0)),
    countEntries: (scopes) => guarded(() => Number(statements.countEntries.get(JSON.stringify(scopes))?.count ?? 0)),
    query: (work) => guarded(() => work(statements)),
    revision: (scope) =>
      `${rebuilds} ${revisions.get(scope) ?? 0} ${guarded(() => Number(statements.dataVersion.get()?.data_version))}`,
    rebuilds: () => rebuilds,
    purge: () =>
      guarded(() => {
        database.exec("INSERT INTO terms (terms) VALUES ('optimize'); PRAGMA wal_checkpoint (TRUNCATE); VACUUM;");
      }),
    close: () => database.close(),
  };
}

function rangesOf(candidates: readonly PassageHit[], reach: number): number[][] {
  const ranges: [file: number, first: number, last: number][] = [];
  const inOrder = candidates.toSorted((one, other) => one.file - other.file || one.ordinal - other.ordinal);
  for (const { file, ordinal } of inOrder) {
    const before = ranges.at(-1);
    if (before?.[0] === file && ordinal - reach <= before[2] + 1) before[2] = ordinal + reach;
    else ranges.push([file, ordinal - reach, ordinal + reach]);
  }
  return ranges;
}

type Row = Record<string, unknown>;

function placeOf(row: Row): Omit<PassageHit, "score"> {
  return { id: Number(row.id), file: Number(row.file), ordinal: Number(row.ordinal), at: Date.parse(String(row.at)) };
}

function foundPassage(row: Row): FoundPassage {
  const text = (key: string) => String(row[key]);
  const kind = [...memoryKinds, "document" as const].find((known) => known === row.kind) ?? "knowledge";
  return {
    id: Number(row.id),
    path: text("path"),
    scope: text("scope"),
    kind,
    heading: text("heading"),
    at: text("at"),
    text: text("text"),
    origins: readOrigins(text("origins")),
  };
}
