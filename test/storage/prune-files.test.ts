import { access, mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { pruneFiles } from "../../src/storage/prune-files.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "remora-prune-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const limit = 1_700_000_000_000;
const old = new Date(limit - 1);
const young = new Date(limit);

async function fill(...entries: [path: string, at: Date][]): Promise<void> {
  for (const [path] of entries) {
    await mkdir(join(root, path, ".."), { recursive: true });
    await writeFile(join(root, path), "");
  }
  for (const [path, at] of entries) await utimes(join(root, path), at, at);
}
const age = (path: string, at: Date) => utimes(join(root, path), at, at);
const left = async () => (await readdir(root, { recursive: true })).toSorted();

test("old files go at any depth, and the others stay", async () => {
  await fill(["a", old], ["b", young], ["scope/c", old], ["scope/deep/d", young], ["scope/deep/e", old]);
  await pruneFiles(root, limit);
  expect(await left()).toEqual(["b", "scope", "scope/deep", "scope/deep/d"]);
});

test("a folder goes with its last file when it is as old, and stays when it was made just now", async () => {
  await fill(["old/a", old]);
  await mkdir(join(root, "new"));
  await age("old", old);
  await pruneFiles(root, limit);
  expect(await left()).toEqual(["new"]);
});

test("a link is removed and nothing behind it", async () => {
  const elsewhere = await mkdtemp(join(tmpdir(), "remora-elsewhere-"));
  await writeFile(join(elsewhere, "kept"), "");
  await utimes(join(elsewhere, "kept"), old, old);
  await symlink(elsewhere, join(root, "link"));
  await pruneFiles(root, Date.now() + 60_000);
  expect(await left()).toEqual([]);
  await access(join(elsewhere, "kept"));
  await rm(elsewhere, { recursive: true });
});

test("a folder that is not there is empty; several at once do no harm", async () => {
  await pruneFiles(join(root, "missing"), limit);
  await fill(["a", old], ["b/c", old]);
  await Promise.all([pruneFiles(root, limit), pruneFiles(root, limit), pruneFiles(root, limit)]);
  expect(await left()).toEqual(["b"]);
});
