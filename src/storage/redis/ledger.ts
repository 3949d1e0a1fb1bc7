/**
 * The ledger in Redis, for any number of processes on any number of machines. Every step is one Lua script
 * (ledger-scripts.ts) so that exactly one of several callers moves an entry out of a state.
 *
 * A change of the body is optimistic: it is applied to the last known body, and repeated if another caller has written
 * since. The answer "nothing to change" is always based on a fresh read. A resolved promise means that Redis has
 * executed the step. Redis's own setting (`appendonly`) decides what survives its restart.
 */
import { randomBytes } from "node:crypto";
import { RemoraError } from "../../lib/errors.ts";
import type { Ledger, LedgerEntry, LedgerKind, LedgerKinds, ListOptions } from "../../ports/ledger.ts";
import type { DamagedRecords } from "../damaged-records.ts";
import { isDueKind } from "../due-fields.ts";
import type { RedisConnection } from "./connection.ts";
import { createEntryCache } from "./entry-cache.ts";
import type { JournalFiles } from "./journal-files.ts";
import { type EntryRow, entryOf, type Fields, fieldsOf, isDamage, rowsOf } from "./ledger-entries.ts";
import {
  changeEntryScript,
  createEntryScript,
  getEntryScript,
  listDueScript,
  listEntriesScript,
  moveEntryScript,
  openLedgerScript,
  pruneEntriesScript,
} from "./ledger-scripts.ts";
import { checkPrefix, defaultPrefix, type RedisScript, runScript, type ScriptAnswer } from "./script.ts";
import { closedError } from "./wait.ts";

export interface RedisLedgerOptions {
  connection: RedisConnection;
  prefix?: string;
  waitMs?: number;
  /** Where the bodies of stubs are. Without it, the ledger can't read stubs. */
  journals?: Pick<JournalFiles, "read">;
  /** Gets the records that lists leave out. */
  damaged?: Pick<DamagedRecords, "note">;
}

/** Maximum number of entries per response. More would block Redis for too long. */
const pageSize = 200;
/** Each repetition means that another caller succeeded, so only extreme contention on one entry reaches this limit. */
const maxRaces = 1_000;

/** Rejects with a RemoraError if Redis is unreachable, or if a newer version of Remora wrote the ledger. */
export async function createRedisLedger(options: RedisLedgerOptions): Promise<Ledger> {
  const { connection } = options;
  const prefix = `${checkPrefix(options.prefix ?? defaultPrefix)}ledger:`;
  const place = `ledger ${connection.address.name}`;
  const bound = options.waitMs ?? connection.waitMs;
  /** Longer than any sender keeps repeating a step. */
  const tokenLifetimeMs = bound + 10_000;
  const self = randomBytes(9).toString("base64url");
  let steps = 0;
  let isClosed = false;

  const seen = createEntryCache<Fields>();

  const entryKey = (kind: LedgerKind, id: string) => `${prefix}entry:${kind}:${id}`;
  const newToken = () => {
    steps += 1;
    return `${self}:${steps}`;
  };

  /** Sends a script. `values` is called for each attempt, with the attempt's number, starting at 0. */
  function step(
    script: RedisScript,
    kind: LedgerKind,
    key: string,
    values: (sending: number) => (string | number)[],
    waitMs = bound,
  ): Promise<ScriptAnswer> {
    if (isClosed) return Promise.reject(closedError(place));
    let sending = 0;
    return connection.run({ place: "ledger", waitMs }, (client) =>
      runScript(client, script, [key], [prefix, kind, ...values(sending++)]),
    );
  }

  function see(key: string, fields: Fields | undefined): Fields | undefined {
    if (fields === undefined) seen.drop(key);
    else seen.set(key, fields, fields[1].length);
    return fields;
  }

  /** Reads the body of a stub. The fields stay those of Redis, except that they have a body and no journal. */
  async function withBody(kind: LedgerKind, id: string, fields: Fields): Promise<Fields> {
    const [state, , group, sequence, version, created, updated, journal] = fields;
    if (journal === "") return fields;
    if (options.journals === undefined) throw new TypeError(`${kind} ${id} is in a journal, and there is no folder`);
    const body = JSON.stringify(await options.journals.read(journal, kind, id));
    return [state, body, group, sequence, version, created, updated, ""];
  }

  /** Leaves out what can't be read. */
  async function entriesOf<K extends LedgerKind>(kind: K, rows: EntryRow[]): Promise<LedgerEntry<K>[]> {
    const entries: LedgerEntry<K>[] = [];
    for (const { id, fields } of rows) {
      if (fields === undefined) continue;
      try {
        // One after the other, because each stub opens a file.
        entries.push(entryOf(kind, id, await withBody(kind, id, fields), place));
      } catch (thrown) {
        if (!isDamage(thrown)) throw thrown;
        options.damaged?.note(kind, id, thrown);
      }
    }
    return entries;
  }

  async function listDue<K extends LedgerKind>(
    kind: K,
    { states, dueBefore = 0 }: ListOptions<K>,
  ): Promise<LedgerEntry<K>[]> {
    const entries: LedgerEntry<K>[] = [];
    for (let skipped = 0; ; skipped += pageSize) {
      const values = [dueBefore, pageSize, skipped];
      const page = rowsOf(await step(listDueScript, kind, `${prefix}version`, () => values));
      entries.push(...(await entriesOf(kind, page)));
      if (page.length < pageSize) return entries.filter(({ state }) => states?.includes(state) ?? true);
    }
  }

  async function get(kind: LedgerKind, id: string, waitMs = bound): Promise<Fields | undefined> {
    const key = entryKey(kind, id);
    const found = fieldsOf(await step(getEntryScript, kind, key, () => [], waitMs));
    return see(key, found && (await withBody(kind, id, found)));
  }

  async function changed<K extends LedgerKind>(
    kind: K,
    id: string,
    from: string[],
    to: string,
    change: (body: LedgerKinds[K]["body"]) => LedgerKinds[K]["body"] | undefined,
  ): Promise<LedgerEntry<K> | undefined> {
    const until = performance.now() + bound;
    const token = newToken();
    const key = entryKey(kind, id);
    let found = seen.get(key);
    let isNew = found === undefined;
    if (isNew) found = await get(kind, id);
    for (let race = 0; race < maxRaces; race += 1) {
      const changedBody =
        found === undefined || !from.includes(found[0]) ? undefined : change(entryOf<K>(kind, id, found, place).body);
      if (found === undefined || changedBody === undefined) {
        if (isNew) return undefined;
        found = await get(kind, id, until - performance.now());
        isNew = true;
        continue;
      }
      const body = JSON.stringify(changedBody);
      const [, , group, sequence, version, created] = found;
      const values = [id, to, token, tokenLifetimeMs, version, sequence, body];
      const left = until - performance.now();
      if (left <= 0) break;
      const answer = await step(changeEntryScript, kind, key, () => values, left);
      if (typeof answer === "string") {
        const fields: Fields = [to, body, group, sequence, `${Number(version) + 1}`, created, answer, ""];
        see(key, fields);
        return entryOf<K>(kind, id, fields, place);
      }
      const now = fieldsOf(answer);
      found = see(key, now && (await withBody(kind, id, now)));
      isNew = true;
    }
    throw contended(place, kind, id);
  }

  await step(openLedgerScript, "call", `${prefix}version`, () => []);

  return {
    async create(kind, id, { state, body, group }) {
      const key = entryKey(kind, id);
      const text = JSON.stringify(body);
      const token = newToken();
      const answer = await step(createEntryScript, kind, key, () => [id, state, group, text, token]);
      if (!Array.isArray(answer)) return false;
      const [sequence, created] = answer.map(String);
      see(key, [state, text, group, sequence ?? "", "1", created ?? "", created ?? "", ""]);
      return true;
    },
    async get(kind, id) {
      const found = await get(kind, id);
      return found && entryOf(kind, id, found, place);
    },
    async transition<K extends LedgerKind>(
      kind: K,
      id: string,
      from: LedgerKinds[K]["state"][],
      to: LedgerKinds[K]["state"],
      change?: (body: LedgerKinds[K]["body"]) => LedgerKinds[K]["body"] | undefined,
    ) {
      if (change !== undefined) return await changed(kind, id, from, to, change);
      const token = newToken();
      const key = entryKey(kind, id);
      const answer = await step(moveEntryScript, kind, key, (sending) => [
        ...[id, to, token, tokenLifetimeMs, sending === 0 ? 0 : 1],
        ...from,
      ]);
      if (answer === "stub") return await changed(kind, id, from, to, (body) => body);
      const found = fieldsOf(answer);
      return found && entryOf<K>(kind, id, see(key, found) ?? found, place);
    },
    async list<K extends LedgerKind>(kind: K, asked: ListOptions<K>) {
      if (asked.dueBefore !== undefined) return isDueKind(kind) ? await listDue(kind, asked) : [];
      const { states, group, order = "oldest", before, limit } = asked;
      const entries: LedgerEntry<K>[] = [];
      const wanted = limit ?? Number.POSITIVE_INFINITY;
      for (let after = order === "newest" ? `${before ?? ""}` : ""; entries.length < wanted; ) {
        const count = Math.min(pageSize, wanted - entries.length);
        const values = [order, after, count, group === undefined ? 0 : 1, group ?? "", states === undefined ? 1 : 0];
        const page = rowsOf(
          await step(listEntriesScript, kind, `${prefix}version`, () => [...values, ...new Set(states)]),
        );
        const listed = page.filter(({ sequence }) => before === undefined || Number(sequence) < before);
        entries.push(...(await entriesOf(kind, listed)));
        const last = page.at(-1);
        if (listed.length < count || last === undefined) break;
        after = last.sequence;
      }
      return entries;
    },
    async prune(kind, states, before) {
      let removed = 0;
      for (const state of new Set(states)) {
        let after = "";
        do {
          const values = [state, before, after, pageSize, newToken(), tokenLifetimeMs];
          const answer = await step(pruneEntriesScript, kind, `${prefix}version`, () => values);
          const [count, last] = Array.isArray(answer) ? answer : [];
          removed += Number(count ?? 0);
          after = String(last ?? "");
        } while (after !== "");
      }
      return removed;
    },
    async close() {
      isClosed = true;
    },
  };
}

function contended(place: string, kind: string, id: string): RemoraError {
  return new RemoraError({
    code: "storage.contended",
    place,
    message: `could not change ${kind} ${id}: other processes kept changing it. Try again.`,
    isRetryable: true,
  });
}
