/**
 * Search by meaning, in the index's thread: finds the passages in the given scopes whose vectors are nearest to the
 * question's. Reads only these scopes' vectors. Compares the signs of all vectors, then the full vectors of the
 * nearest. Also lists the passages without a vector, and stores new vectors.
 */
import { randomUUID } from "node:crypto";
import { embeddedText } from "./embedded-text.ts";
import type { EmbeddedThing } from "./embedding-health.ts";
import type { SearchIndex } from "./search-index.ts";
import type { StoredVector, VectorStore } from "./vector-store.ts";
import { cosine, nearestBySigns, quantize, signsOf, signWords } from "./vectors.ts";

export interface MeantPassage {
  id: number;
  /** The cosine, from -1 to 1. */
  similarity: number;
}

/** `below` and `above` limit the passage ids. If absent, they set no limit. */
export interface UnembeddedQuery {
  below?: number;
  above: number;
  /** Keys of texts that can't be embedded. */
  skipped: readonly string[];
  limit: number;
}

export interface Unembedded {
  texts: { key: string; text: string }[];
  /** The id to continue below, or undefined at the end. */
  below?: number;
  /** The highest checked id. */
  top: number;
  /** Another process embeds now. */
  isBusy: boolean;
  /** Changes when the index has been rebuilt, because ids then start over. */
  rebuilds: number;
}

export interface EmbeddingCounts {
  passages: number;
  /** Number of passages with a vector of this model. */
  embedded: number;
  /** The last failure, unless something has worked since. */
  problem: string | undefined;
}

export interface Meaning {
  nearest(question: Float32Array, scopes: readonly string[], limit: number): MeantPassage[];
  unembedded(query: UnembeddedQuery, now: number): Unembedded;
  /** Stores the vectors of texts that memory still contains. Returns the problem if it can't. */
  store(vectors: readonly StoredVector[]): string | undefined;
  /** Ends a pass. If every passage has been checked, removes the vectors of earlier models. */
  finish(isComplete: boolean): void;
  /** Removes the vectors of these keys if no passage uses them any more. */
  removed(keys: readonly string[]): void;
  /** Removes all vectors that no passage uses, leaving no trace of them in the file. */
  collect(): void;
  setProblem(what: EmbeddedThing, problem: string | undefined): void;
  counts(): EmbeddingCounts;
  close(): void;
  /** Closes a damaged store. */
  abandon(): void;
}

interface ScopeTable {
  stamp: string;
  rebuilds: number;
  ids: Float64Array;
  signs: Int32Array;
}

/** How many vectors, nearest by signs, are compared in full. */
const maxNearSigns = 400;
const maxCachedBytes = 32 * 1024 * 1024;
const maxLookedAt = 1_000;
/** Longer than an embedding request may take. */
const leaseMs = 180_000;

/** `rebuilds`: how often the store has been recreated. */
export function createMeaning(index: SearchIndex, store: VectorStore, rebuilds = 0): Meaning {
  const owner = randomUUID();
  const tables = new Map<string, ScopeTable>();
  const stored = new Map<string, number>();

  function tableOf(scope: string): ScopeTable {
    const stamp = `${index.revision(scope)} ${store.version()} ${stored.get(scope) ?? 0}`;
    const known = tables.get(scope);
    const ofIndex = index.rebuilds();
    // After a rebuild, ids start over, so the old table is useless.
    const before = known?.rebuilds === ofIndex ? known : undefined;
    const table = known?.stamp === stamp ? known : { stamp, rebuilds: ofIndex, ...readTable(scope, before) };
    tables.delete(scope);
    tables.set(scope, table);
    let bytes = [...tables.values()].reduce((sum, { ids, signs }) => sum + ids.byteLength + signs.byteLength, 0);
    for (const [name, { ids, signs }] of tables) {
      if (bytes <= maxCachedBytes || name === scope) break;
      tables.delete(name);
      bytes -= ids.byteLength + signs.byteLength;
    }
    return table;
  }

  /** Reads only the signs of new passages, because every turn of a conversation adds one. */
  function readTable(scope: string, before: ScopeTable | undefined): Pick<ScopeTable, "ids" | "signs"> {
    const rows = index.query((statements) => statements.vectorKeysOfScope.all(scope)).map(keyRow);
    const rowBefore = new Map(Array.from(before?.ids ?? [], (id, row) => [id, row]));
    const signs = store.signs(rows.filter(({ id }) => !rowBefore.has(id)).map(({ key }) => key));
    const found = rows.filter(({ id, key }) => rowBefore.has(id) || signs.has(key));
    const words = signWords(store.dimensions() ?? 0);
    const table = { ids: new Float64Array(found.length), signs: new Int32Array(found.length * words) };
    for (const [row, { id, key }] of found.entries()) {
      const old = rowBefore.get(id);
      const copied = old === undefined ? signs.get(key) : before?.signs.subarray(old * words, (old + 1) * words);
      table.ids[row] = id;
      table.signs.set(copied ?? [], row * words);
    }
    return table;
  }

  /** Updates the index of these passages' scopes first so that removed text is not sent to the service. */
  function current(rows: readonly PassageRow[]): PassageRow[] {
    index.update([...new Set(rows.map(({ scope }) => scope))]);
    return index.query((statements) => rows.filter(({ key }) => statements.hasVectorKey.get(key) !== undefined));
  }

  function removed(keys: readonly string[]): void {
    const isUnused = (key: string) => index.query(({ hasVectorKey }) => hasVectorKey.get(key) === undefined);
    store.remove([...new Set(keys)].filter(isUnused));
  }

  return {
    nearest(question, scopes, limit) {
      if (question.length !== store.dimensions()) return [];
      const asked = signsOf(question);
      const near = [...new Set(scopes)].flatMap((scope) => {
        const { ids, signs } = tableOf(scope);
        return nearestBySigns(signs, asked, maxNearSigns).map((row) => ids[row] ?? 0);
      });
      const rows = index.query((statements) => statements.vectorKeysOfPassages.all(JSON.stringify(near))).map(keyRow);
      const codes = store.codes(rows.map(({ key }) => key));
      const exact = quantize(question);
      return rows
        .flatMap(({ id, key }) => {
          const code = codes.get(key);
          const similarity = code === undefined ? 0 : cosine(exact, code);
          return similarity > 0 ? [{ id, similarity }] : [];
        })
        .sort((one, other) => other.similarity - one.similarity || one.id - other.id)
        .slice(0, limit);
    },
    unembedded({ below = Number.MAX_SAFE_INTEGER, above, skipped, limit }, now) {
      const rows = index.query((statements) => statements.passagesBelow.all(below, above, maxLookedAt)).map(passageRow);
      const lacking = store.missing(rows.map(({ key }) => key));
      for (const key of skipped) lacking.delete(key);
      const wanted = new Map<string, PassageRow>();
      let last: PassageRow | undefined;
      for (const row of rows) {
        if (wanted.size >= limit) break;
        last = row;
        if (lacking.has(row.key) && row.text !== "") wanted.set(row.key, row);
      }
      const position = { top: rows[0]?.id ?? above, rebuilds: index.rebuilds() + rebuilds };
      if (wanted.size > 0 && !store.lease(owner, now, now + leaseMs)) return { ...position, texts: [], isBusy: true };
      const texts = current([...wanted.values()]).map(({ key, text }) => ({ key, text }));
      const isEnd = rows.length < maxLookedAt && last?.id === rows.at(-1)?.id;
      const next = isEnd || last === undefined ? {} : { below: last.id };
      return { ...position, ...next, texts, isBusy: false };
    },
    store(vectors) {
      const keys = JSON.stringify(vectors.map(({ key }) => key));
      const scopesOf = () => index.query(({ scopesOfVectorKeys }) => scopesOfVectorKeys.all(keys).map(scopeOf));
      index.update(scopesOf());
      const wanted = index.query(({ hasVectorKey }) =>
        vectors.filter(({ key }) => hasVectorKey.get(key) !== undefined),
      );
      if (!store.put(wanted)) {
        return `its vectors have ${wanted[0]?.vector.length} numbers, and those stored before have ${store.dimensions()}; if the service has another model now, give it another name in memory.embeddings.model`;
      }
      for (const scope of scopesOf()) stored.set(scope, (stored.get(scope) ?? 0) + 1);
      return undefined;
    },
    finish(isComplete) {
      if (isComplete) store.removeOtherModels();
      store.release(owner);
    },
    removed,
    collect() {
      removed(store.keys());
      store.purge();
    },
    setProblem: (what, problem) => store.setFact(`problem with ${what}`, problem),
    counts() {
      const keys = index.query(({ allVectorKeys }) => allVectorKeys.all().map(({ vector_key: key }) => String(key)));
      const missing = store.missing([...new Set(keys)]);
      const problemOf = (what: EmbeddedThing) => store.fact(`problem with ${what}`);
      const embedded = keys.filter((key) => !missing.has(key)).length;
      return { passages: keys.length, embedded, problem: problemOf("passages") ?? problemOf("questions") };
    },
    close() {
      store.release(owner);
      store.close();
    },
    abandon: () => store.close(),
  };
}

interface PassageRow {
  id: number;
  key: string;
  scope: string;
  text: string;
}

type Row = Record<string, unknown>;

function keyRow(row: Row): { id: number; key: string } {
  return { id: Number(row.id), key: String(row.vector_key) };
}

function passageRow(row: Row): PassageRow {
  return {
    ...keyRow(row),
    scope: scopeOf(row),
    text: embeddedText({ heading: String(row.heading), text: String(row.text) }),
  };
}

function scopeOf(row: Row): string {
  return String(row.scope);
}
