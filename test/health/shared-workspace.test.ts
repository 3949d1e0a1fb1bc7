/** Processes on one ledger, with one workspace or several. */
import { cp, mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { isNetworkFileSystem } from "../../src/health/disk.ts";
import { checkSharing, createSharedWorkspace } from "../../src/health/shared-workspace.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";

let root: string;
let ledger: Ledger;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "remora-shared-"));
  ledger = createSqliteLedger({ path: ":memory:" });
  await mkdir(join(root, "one"));
});
afterEach(async () => {
  vi.useRealTimers();
  await ledger.close();
  await rm(root, { recursive: true, force: true });
});

const processAt = (folder: string) => createSharedWorkspace({ workspace: join(root, folder), ledger });
const doctorAt = (folder: string) => checkSharing({ workspace: join(root, folder), ledger });

test("processes with one folder are fine, whatever its path, and one alone has nothing to say", async () => {
  await symlink(join(root, "one"), join(root, "same"));
  const [first, second] = [processAt("one"), processAt("same")];
  expect(await first.check()).toEqual([]);
  const fine = [{ name: "shared workspace", state: "ok", what: "the same for 2 processes" }];
  expect(await second.check()).toEqual(fine);
  expect(await first.check()).toEqual(fine);
  expect(await doctorAt("same")).toMatchObject([{ state: "ok" }]);
  await second.close();
  expect(await first.check()).toEqual([]);
  expect(await readdir(join(root, "one", ".processes"))).toHaveLength(1);
});

test("with two folders, each process and doctor say whose is another one and what to do", async () => {
  const [first, second] = [processAt("one"), processAt("two")];
  await first.check();
  const other = (folder: string) => ({
    state: "warning",
    what: expect.stringMatching(
      new RegExp(`is not the workspace of process ${process.pid} on \\S+ \\(.*/${folder}\\)`),
    ),
    todo: expect.stringContaining("REMORA_WORKSPACE"),
  });
  expect(await second.check()).toMatchObject([other("one")]);
  expect(await first.check()).toMatchObject([other("two")]);
  expect(await doctorAt("one")).toMatchObject([other("two")]);
});

test("a copy of the folder that is brought up to date later is noticed", async () => {
  const [first, second] = [processAt("one"), processAt("copy")];
  await first.check();
  await cp(join(root, "one"), join(root, "copy"), { recursive: true });
  await first.check();
  expect(await second.check()).toMatchObject([{ state: "warning", what: expect.stringContaining("too late") }]);
});

test("a killed process is forgotten after some minutes, with its file", async () => {
  const [killed, first] = [processAt("one"), processAt("one")];
  await killed.check();
  const [file = ""] = await readdir(join(root, "one", ".processes"));
  const now = Date.now() + 200_000;
  vi.useFakeTimers({ toFake: ["Date"], now });
  await utimes(join(root, "one", ".processes", file), now / 1_000 - 400, now / 1_000 - 400);
  expect(await first.check()).toEqual([]);
  expect(await readdir(join(root, "one", ".processes"))).not.toContain(file);
});

test("a folder in which files can't be replaced is a problem", async () => {
  await writeFile(join(root, "one", ".processes"), "a file is in the way");
  expect(await processAt("one").check()).toMatchObject([
    { state: "warning", what: expect.stringContaining("replaced") },
  ]);
});

test("network file systems are known by their numbers", () => {
  expect([0x6969, 0xff534d42].map(isNetworkFileSystem)).toEqual([true, true]);
  expect([0xef53, 0x01021994, 0x9123683e].map(isNetworkFileSystem)).toEqual([false, false, false]);
});
