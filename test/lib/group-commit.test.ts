import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createGroupCommit } from "../../src/lib/group-commit.ts";
import { useWriteAheadLog } from "../../src/lib/sqlite.ts";

let folder: string;
let database: DatabaseSync;
let other: DatabaseSync;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "remora-group-"));
  const open = () => new DatabaseSync(join(folder, "a.db"), { timeout: 0 });
  [database, other] = [open(), open()];
  useWriteAheadLog(database);
  database.exec("CREATE TABLE done (name TEXT)");
});
afterEach(() => {
  database.close();
  other.close();
  rmSync(folder, { recursive: true });
});

test("after a failed group, only one write waits for another process's lock", async () => {
  const group = createGroupCommit(database);
  const insert = (name: string) => database.prepare("INSERT INTO done VALUES (?)").run(name);
  let runs = 0;
  const writes = [group.write(() => insert("first")), group.write(() => database.exec("no SQL"))];
  const read = group.read(() => {
    runs += 1;
    // The first run is not reached. This is what another process does between the steps.
    other.exec("BEGIN IMMEDIATE");
    return database.prepare("SELECT name FROM done").all();
  });
  for (const name of ["second", "third", "fourth"]) writes.push(group.write(() => insert(name)));
  const last = group.read(() => "read");
  const began = vi.spyOn(database, "exec");
  const results = await Promise.allSettled(writes);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", ...Array(4).fill("rejected")]);
  for (const result of results.slice(2)) expect(result).toMatchObject({ reason: { errcode: 5 } });
  expect(await read).toEqual([{ name: "first" }]);
  expect(await last).toBe("read");
  expect(runs).toBe(1);
  // The group's, those of the two writes before the read, and one of three after it.
  expect(began.mock.calls.filter(([sql]) => sql === "BEGIN IMMEDIATE")).toHaveLength(4);
});
