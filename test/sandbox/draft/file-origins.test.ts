/** Marks of files, in a real folder and ledger. */
import { mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SeenFolder } from "../../../src/ports/file-origins.ts";
import type { Ledger } from "../../../src/ports/ledger.ts";
import { type Origin, originOf } from "../../../src/ports/origin.ts";
import { createFileOrigins } from "../../../src/sandbox/draft/file-origins.ts";
import { createSqliteLedger } from "../../../src/storage/sqlite/ledger.ts";

let ledger: Ledger;
let folder: SeenFolder;
const page = originOf("web", "example.com/page");
const report = originOf("attachment", "report.pdf");

beforeEach(async () => {
  const root = await realpath(await mkdtemp(join(tmpdir(), "file-origins-")));
  folder = { root, seen: root };
  ledger = createSqliteLedger({ path: ":memory:" });
});
afterEach(async () => {
  await ledger.close();
  await rm(folder.root, { recursive: true, force: true });
});

async function put(path: string, text: string, ...origins: Origin[]): Promise<void> {
  await mkdir(join(folder.root, path, ".."), { recursive: true });
  await writeFile(join(folder.root, path), text);
  await createFileOrigins(ledger).mark(folder, [path], origins);
}

async function read(path?: string): Promise<string[]> {
  const origins = await createFileOrigins(ledger).read(folder, path);
  return origins.map(({ name, via }) => `${name} via ${via}`).sort();
}

test("a marked file is known by its path and content, and everything in the folder by what is unchanged", async () => {
  await put("a.md", "from the page", page);
  await put("deep/b.md", "from the report", report);
  await put("own.md", "mine");
  expect(await read("a.md")).toEqual(["example.com/page via file a.md"]);
  expect(await read(join(folder.root, "a.md"))).toEqual(["example.com/page via file a.md"]);
  expect(await read("own.md")).toEqual([]);
  expect(await read("not-there.md")).toEqual([]);
  const all = ["example.com/page via file a.md", "report.pdf via file deep/b.md"];
  expect(await read()).toEqual(all);
  expect(await read(".")).toEqual(all);
  await writeFile(join(folder.root, "a.md"), "a person's words");
  expect(await read("a.md")).toEqual([]);
  expect(await read()).toEqual(["report.pdf via file deep/b.md"]);
});

test("copies, renamed files and links lead to the mark when they are read by name", async () => {
  await put("a.md", "from the page", page);
  await writeFile(join(folder.root, "copy.md"), "from the page");
  await symlink("a.md", join(folder.root, "link.md"));
  expect(await read("copy.md")).toEqual(["example.com/page via file a.md"]);
  expect(await read("link.md")).toEqual(["example.com/page via file a.md"]);
  await rename(join(folder.root, "a.md"), join(folder.root, "b.md"));
  expect(await read("b.md")).toEqual(["example.com/page via file a.md"]);
});

test("a file that is written again without anything from outside loses its mark, as far as its content differs", async () => {
  await put("a.md", "from the page", page);
  await put("a.md", "mine");
  expect(await read()).toEqual([]);
  await put("a.md", "from both", page, report);
  expect(await read("a.md")).toEqual(["example.com/page via file a.md", "report.pdf via file a.md"]);
});

test("an earlier content that comes back, as by Undo, has the mark that it had", async () => {
  await put("a.md", "from the page", page);
  await put("a.md", "mine");
  await put("a.md", "from the report", report);
  expect(await read("a.md")).toEqual(["report.pdf via file a.md"]);
  await writeFile(join(folder.root, "a.md"), "from the page");
  expect(await read("a.md")).toEqual(["example.com/page via file a.md"]);
  expect(await read()).toEqual(["example.com/page via file a.md"]);
});

test("of a call that writes very many files, the folder is marked with all that is in it", async () => {
  const paths = Array.from({ length: 60 }, (_, index) => `node_modules/${index}.js`);
  await mkdir(join(folder.root, "node_modules"));
  for (const path of paths) await writeFile(join(folder.root, path), path);
  await createFileOrigins(ledger).mark(folder, paths, [page]);
  const row = (await ledger.list("file-origins", {})).at(0);
  expect(row?.body.marks).toHaveLength(1);
  expect(await read("node_modules/7.js")).toEqual(["example.com/page via file node_modules"]);
  await put("own.md", "mine");
  expect(await read("own.md")).toEqual([]);
  await rm(join(folder.root, "node_modules"), { recursive: true });
  expect(await read()).toEqual([]);
});

test("too many marks: those that hold no longer go first, then the folder is marked as a whole", async () => {
  for (let index = 0; index < 12; index += 1) {
    const paths = Array.from({ length: 40 }, (_, file) => `d${index}/${file}`);
    await mkdir(join(folder.root, `d${index}`));
    for (const path of paths) await writeFile(join(folder.root, path), path);
    await createFileOrigins(ledger).mark(folder, paths, [index === 0 ? report : page]);
    if (index < 2) await rm(join(folder.root, `d${index}`), { recursive: true });
  }
  expect(await read("d11/3")).toEqual(["example.com/page via file d11/3"]);
  expect(await read()).toHaveLength(12);
  for (let index = 12; index < 14; index += 1) {
    const paths = Array.from({ length: 40 }, (_, file) => `d${index}/${file}`);
    await mkdir(join(folder.root, `d${index}`));
    for (const path of paths) await writeFile(join(folder.root, path), path);
    await createFileOrigins(ledger).mark(folder, paths, [page]);
  }
  await put("own.md", "mine");
  expect(await read("own.md")).toEqual(["example.com/page via file ."]);
});

test("a folder's mark is for everything in it, also for what comes later, until the folder is gone", async () => {
  const origins = createFileOrigins(ledger);
  await origins.markFolder(folder.root, "inbox/m1", [report]);
  expect(await read()).toEqual([]);
  await mkdir(join(folder.root, "inbox/m1"), { recursive: true });
  await writeFile(join(folder.root, "inbox/m1/report.pdf"), "their words");
  await writeFile(join(folder.root, "inbox/own.md"), "mine");
  expect(await read("inbox/m1/report.pdf")).toEqual(["report.pdf via file inbox/m1"]);
  expect(await read("inbox/own.md")).toEqual([]);
  expect(await read()).toEqual(["report.pdf via file inbox/m1"]);
  await rm(join(folder.root, "inbox/m1"), { recursive: true });
  expect(await read()).toEqual([]);
});

test("too many marked folders become one mark of their top-level folder, and other files stay as they are", async () => {
  await put("a.md", "from the page", page);
  await put("own.md", "mine");
  const origins = createFileOrigins(ledger);
  for (let message = 0; message < 410; message++) {
    await mkdir(join(folder.root, `inbox/m${message}`), { recursive: true });
    await origins.markFolder(folder.root, `inbox/m${message}`, [report]);
  }
  expect(await read("inbox/m0/x")).toEqual([]);
  await writeFile(join(folder.root, "inbox/m0/x"), "their words");
  expect(await read("inbox/m0/x")).toEqual(["report.pdf via file inbox"]);
  expect(await read("own.md")).toEqual([]);
  expect(await read("a.md")).toEqual(["example.com/page via file a.md"]);
});
