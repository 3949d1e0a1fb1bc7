/**
 * The ledger in one SQLite file, for any number of processes on one machine. Every change runs in a `BEGIN IMMEDIATE`
 * transaction so that exactly one of several callers moves an entry out of a state. A resolved promise means that the
 * change is committed.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { RemoraError } from "../../lib/errors.ts";
import { createGroupCommit } from "../../lib/group-commit.ts";
import type { Ledger, LedgerEntry, LedgerKind, LedgerKinds, ListOptions } from "../../ports/ledger.ts";
import type { DamagedRecords } from "../damaged-records.ts";
import { dueFields, isDueKind } from "../due-fields.ts";
import { parseRecord } from "../parse-record.ts";
import { asStorageError, openDatabase, placeOf } from "./database.ts";

export interface SqliteLedgerOptions {
  path: string;
  /** Gets the records that lists leave out. */
  damaged?: Pick<DamagedRecords, "note">;
}

/** AUTOINCREMENT never reuses the sequence of a pruned entry. */
const migrations = [
  `CREATE TABLE entry (
     sequence INTEGER PRIMARY KEY AUTOINCREMENT,
     kind TEXT NOT NULL,
     id TEXT NOT NULL,
     state TEXT NOT NULL,
     "group" TEXT NOT NULL,
     body TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     updated_at INTEGER NOT NULL,
     UNIQUE (kind, id)
   ) STRICT;
   CREATE INDEX entry_by_state ON entry (kind, state);
   CREATE INDEX entry_by_group ON entry (kind, "group");`,
  `CREATE INDEX entry_due_schedule ON entry (CASE WHEN json_valid(body) THEN json_extract(body, '$.nextAt') END)
     WHERE kind = 'schedule' AND state IN ('active');
   CREATE INDEX entry_due_grant ON entry (CASE WHEN json_valid(body) THEN json_extract(body, '$.expiresAt') END)
     WHERE kind = 'grant' AND state IN ('active');
   CREATE INDEX entry_due_approval ON entry (CASE WHEN json_valid(body) THEN json_extract(body, '$.expiresAt') END)
     WHERE kind = 'approval' AND state IN ('open','approved');
   CREATE INDEX entry_due_card ON entry (CASE WHEN json_valid(body) THEN json_extract(body, '$.nextCheckAt') END)
     WHERE kind = 'card' AND state IN ('made');
   CREATE INDEX entry_due_turn ON entry (CASE WHEN json_valid(body) THEN json_extract(body, '$.wokenAt') END)
     WHERE kind = 'turn' AND state IN ('parked');`,
];

/** The ASCII codes of "RmLg". */
const applicationId = 0x526d4c67;

interface Row {
  sequence: number;
  kind: string;
  id: string;
  state: string;
  group: string;
  body: string;
  created_at: number;
  updated_at: number;
}

/** Opens the file immediately. Throws a RemoraError if it can't be used (damaged, newer, foreign, not writable). */
export function createSqliteLedger({ path, damaged }: SqliteLedgerOptions): Ledger {
  const options = { path, name: "ledger", applicationId, migrations };
  const place = placeOf(options);
  const database = openDatabase(options);
  const statements = prepare(database);
  const group = createGroupCommit(database);
  const reading = <T>(work: () => T) => guarded(() => group.read(work));
  const writing = <T>(work: () => T) => guarded(() => group.write(work));

  async function guarded<T>(run: () => Promise<T>): Promise<T> {
    if (!database.isOpen) throw new RemoraError({ code: "storage.closed", place, message: "is already closed." });
    try {
      return await run();
    } catch (thrown) {
      throw asStorageError(thrown, place);
    }
  }

  function rowToEntry<K extends LedgerKind>(row: Row): LedgerEntry<K> {
    const { id, group, sequence } = row;
    // These casts are safe, because only this file writes rows.
    const state = row.state as LedgerKinds[K]["state"];
    const body = parseBody(row, place) as LedgerKinds[K]["body"];
    return { id, state, body, group, sequence, createdAt: row.created_at, updatedAt: row.updated_at };
  }

  function readable<K extends LedgerKind>(row: Row): LedgerEntry<K>[] {
    try {
      return [rowToEntry<K>(row)];
    } catch (thrown) {
      damaged?.note(row.kind, row.id, thrown);
      return [];
    }
  }

  function changed<K extends LedgerKind>(
    kind: K,
    id: string,
    from: string[],
    to: string,
    change: (body: LedgerKinds[K]["body"]) => LedgerKinds[K]["body"] | undefined,
  ): LedgerEntry<K> | undefined {
    const row = rowOf(statements.get.get(kind, id));
    if (row === undefined || !from.includes(row.state)) return undefined;
    const changedBody = change(rowToEntry<K>(row).body);
    if (changedBody === undefined) return undefined;
    const written = { ...row, state: to, body: JSON.stringify(changedBody), updated_at: Date.now() };
    statements.write.run(to, written.body, written.updated_at, row.sequence);
    return rowToEntry<K>(written);
  }

  return {
    async create(kind, id, { state, body, group: ofGroup }) {
      // The caller may change the body later.
      const text = JSON.stringify(body);
      return await writing(() => {
        const now = Date.now();
        return statements.create.run(kind, id, state, ofGroup, text, now, now).changes === 1;
      });
    },
    get: <K extends LedgerKind>(kind: K, id: string) =>
      reading(() => {
        const row = rowOf(statements.get.get(kind, id));
        return row === undefined ? undefined : rowToEntry<K>(row);
      }),
    transition: <K extends LedgerKind>(
      kind: K,
      id: string,
      from: LedgerKinds[K]["state"][],
      to: LedgerKinds[K]["state"],
      change?: (body: LedgerKinds[K]["body"]) => LedgerKinds[K]["body"] | undefined,
    ) =>
      writing(() => {
        if (change !== undefined) return changed(kind, id, from, to, change);
        const row = rowOf(statements.move(from.length).get(to, Date.now(), kind, id, ...from));
        return row === undefined ? undefined : rowToEntry<K>(row);
      }),
    list: <K extends LedgerKind>(kind: K, wanted: ListOptions<K>) =>
      reading(() => {
        const { statement, values } = statements.list(kind, wanted);
        return (statement.all(...values) as unknown as Row[]).flatMap((row) => readable<K>(row));
      }),
    prune: (kind, states, before) =>
      writing(() => {
        const end = firstSequenceAt(statements, before);
        return Number(statements.prune.run(kind, JSON.stringify(states), end, before).changes);
      }),
    async close() {
      if (!database.isOpen) return;
      group.flush();
      database.close();
    },
  };
}

type Statements = ReturnType<typeof prepare>;

function prepare(database: DatabaseSync) {
  const prepared = new Map<string, StatementSync>();

  function cached(sql: string): StatementSync {
    const statement = prepared.get(sql) ?? database.prepare(sql);
    prepared.set(sql, statement);
    return statement;
  }

  return {
    create: database.prepare(
      `INSERT INTO entry (kind, id, state, "group", body, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (kind, id) DO NOTHING`,
    ),
    get: database.prepare("SELECT * FROM entry WHERE kind = ? AND id = ?"),
    move: (states: number) =>
      cached(
        `UPDATE entry SET state = ?, updated_at = ? WHERE kind = ? AND id = ? AND state IN ${marks(states)} RETURNING *`,
      ),
    write: database.prepare("UPDATE entry SET state = ?, body = ?, updated_at = ? WHERE sequence = ?"),
    newest: database.prepare("SELECT max(sequence) AS sequence FROM entry"),
    from: database.prepare(
      "SELECT sequence, created_at AS createdAt FROM entry WHERE sequence >= ? ORDER BY sequence LIMIT 1",
    ),
    prune: database.prepare(
      `DELETE FROM entry
       WHERE kind = ? AND state IN (SELECT value FROM json_each(?)) AND sequence < ? AND updated_at < ?`,
    ),
    list<K extends LedgerKind>(kind: K, { states, group, order, before, limit, dueBefore }: ListOptions<K>) {
      const values: SQLInputValue[] = [kind];
      // Without statistics, SQLite would prefer the index of states, and read all entries of a state.
      const index = dueBefore !== undefined && isDueKind(kind) ? ` INDEXED BY entry_due_${kind}` : "";
      let condition = `FROM entry${index} WHERE kind = ?`;
      if (group !== undefined) {
        condition += ' AND "group" = ?';
        values.push(group);
      }
      if (states !== undefined) {
        // With a group, the `+` keeps SQLite from using the state index, because a group always has fewer entries than
        // a state.
        condition += ` AND ${group === undefined ? "" : "+"}state IN ${marks(states.length)}`;
        values.push(...states);
      }
      if (before !== undefined) {
        condition += " AND sequence < ?";
        values.push(before);
      }
      if (dueBefore !== undefined) {
        condition += dueCondition(kind);
        values.push(dueBefore);
      }
      const sorting = `ORDER BY sequence ${order === "newest" ? "DESC" : "ASC"}`;
      if (limit === undefined) return { statement: cached(`SELECT * ${condition} ${sorting}`), values };
      // SQLite may have to sort. It sorts the numbers in an index, instead of reading all entries to return a few.
      const chosen = `SELECT sequence ${condition} ${sorting} LIMIT ?`;
      const sql = `SELECT * FROM entry WHERE sequence IN (${chosen}) ${sorting}`;
      return { statement: cached(sql), values: [...values, limit] };
    },
  };
}

/**
 * The first sequence number of the entries created at `time` or later. Searched by halves, so that a clean-up reads only
 * old entries. A clock that was set back can only delay a clean-up.
 */
function firstSequenceAt({ newest, from }: Pick<Statements, "newest" | "from">, time: number): number {
  let low = 0;
  let high = Number(newest.get()?.sequence ?? 0) + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const entry = from.get(middle);
    if (entry === undefined || Number(entry.createdAt) >= time) high = middle;
    else low = Number(entry.sequence) + 1;
  }
  return low;
}

/** Repeats the index of the kind word for word, as SQLite requires. What can't be read is never due. */
function dueCondition(kind: LedgerKind): string {
  if (!isDueKind(kind)) return " AND NULL < ?";
  const { states, field } = dueFields[kind];
  const at = `CASE WHEN json_valid(body) THEN json_extract(body, '$.${field}') END`;
  return ` AND kind = '${kind}' AND state IN (${states.map((state) => `'${state}'`)}) AND ${at} < ?`;
}

function marks(count: number): string {
  return `(${Array.from({ length: count }, () => "?").join(", ")})`;
}

function rowOf(row: object | undefined): Row | undefined {
  return row as Row | undefined;
}

function parseBody(row: Row, place: string): unknown {
  try {
    return parseRecord(row.body);
  } catch (cause) {
    throw new RemoraError({
      code: "storage.corrupt",
      place,
      message: `has an entry that can't be read (${row.kind} ${row.id}). Stop Remora and restore a backup of the file, or delete that row.`,
      cause,
    });
  }
}
