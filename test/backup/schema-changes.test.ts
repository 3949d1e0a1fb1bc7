/** What an upgrade says about the format of the data. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { describeSchemaChanges, schemaVersionsFile } from "../../src/backup/schema-changes.ts";
import { createChatStore } from "../../src/platforms/local/chat-store.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";

test("says which databases the new version changes", () => {
  expect(describeSchemaChanges('{"a.db":1}', '{"a.db":1}')).toBe("Data: the format of your data stays the same.");
  expect(describeSchemaChanges('{"a.db":1,"b.db":2}', '{"a.db":3,"b.db":2,"c.db":1}')).toBe(
    "Data: this version changes a.db (format 1 → 3) and c.db (new, format 1). Older versions can't read it afterwards; --back restores the backup.",
  );
});

test("the list of databases says what today's code creates", async () => {
  const home = await mkdtemp(join(tmpdir(), "remora-schemas-"));
  onTestFinished(() => rm(home, { recursive: true }));
  createChatStore(join(home, "local.db")).close();
  await createSqliteLedger({ path: join(home, "ledger.db") }).close();
  const listed = JSON.parse(await readFile(resolve(import.meta.dirname, "../..", schemaVersionsFile), "utf8"));
  for (const [file, version] of Object.entries(listed)) {
    const database = new DatabaseSync(join(home, file), { readOnly: true });
    expect(database.prepare("PRAGMA user_version").get(), file).toEqual({ user_version: version });
    database.close();
  }
});
