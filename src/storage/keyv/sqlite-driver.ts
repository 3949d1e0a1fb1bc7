/** Keyv's access to SQLite: keeps prepared statements, and lets the writes of one turn of the event loop share a commit. */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import type { SqliteDriver } from "@keyv/sqlite";
import { createGroupCommit } from "../../lib/group-commit.ts";
import { useWriteAheadLog } from "../../lib/sqlite.ts";

const busyTimeoutMs = 5_000;

export const sqliteDriver: SqliteDriver = {
  name: "custom",
  async connect({ filename }) {
    const database = new DatabaseSync(filename, { timeout: busyTimeoutMs });
    useWriteAheadLog(database);
    const group = createGroupCommit(database);
    const statements = new Map<string, StatementSync>();

    function run(sql: string, values: unknown[]): unknown[] {
      const statement = statements.get(sql) ?? database.prepare(sql);
      statements.set(sql, statement);
      return statement.all(...(values as SQLInputValue[]));
    }

    /** Keyv would delete the key of an expired row, even if it was set again since. `clearExpired` deletes the row. */
    const isCurrent = (row: unknown) =>
      ((row as { expires?: number | null }).expires ?? Number.POSITIVE_INFINITY) > Date.now();

    return {
      query(sql, ...values) {
        const work = () => run(sql, values);
        const isRead = /^\s*(?:SELECT|PRAGMA)/i.test(sql);
        return isRead ? group.read(() => work().filter(isCurrent)) : group.write(work);
      },
      async close() {
        group.flush();
        database.close();
      },
    };
  },
};
