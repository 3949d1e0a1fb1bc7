/** Files of the working folder, as every skill reads and writes them. Attacks on it are in test/skills-shipped/filesystem.test.ts. */
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { formatBytes } from "../../src/lib/text/format-bytes.ts";
import {
  atPlace,
  existingFile,
  explainFileProblem,
  fileProblem,
  openForReading,
} from "../../src/lib/working-folder.ts";
import { replaceFile } from "../../src/plugin-sdk/replace-file.ts";

let root: string;
let workingFolder: string;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "remora-folder-")));
  workingFolder = join(root, "work");
  await mkdir(workingFolder);
});
afterEach(() => rm(root, { recursive: true, force: true }));

const read = (path: string) =>
  atPlace({ workingFolder, path }, async (place) => {
    await using handle = await openForReading(place, "file");
    return await handle.readFile("utf8");
  });
const write = (path: string, content: string | Uint8Array) =>
  atPlace({ workingFolder, path, makesFolders: true }, (place) => replaceFile(place, content, 0o644));

test("bytes and text are written, with the folders on the way, and nothing else is left", async () => {
  await write("charts/sales.png", new Uint8Array([137, 80, 78, 71]));
  await write("charts/sales.csv", "a,b\n");
  expect(await readFile(join(workingFolder, "charts/sales.png"))).toEqual(Buffer.from([137, 80, 78, 71]));
  expect(await read("charts/sales.csv")).toBe("a,b\n");
  expect((await readdir(join(workingFolder, "charts"))).sort()).toEqual(["sales.csv", "sales.png"]);
});

test("more than fits is refused, as bytes and as text, and what was there stays", async () => {
  await write("a", "before");
  await expect(write("a", new Uint8Array(9 * 1024 * 1024))).rejects.toThrow(
    /\[a\] would be 9\.0 MiB; the limit is 8\.0 MiB/,
  );
  await expect(write("a", "ä".repeat(5 * 1024 * 1024))).rejects.toThrow(/10\.0 MiB/);
  expect(await read("a")).toBe("before");
});

test("a path or link that leads out is refused, whatever is done there", async () => {
  await writeFile(join(root, "secret"), "canary");
  await symlink(root, join(workingFolder, "out"));
  await symlink(join(root, "secret"), join(workingFolder, "link"));
  for (const path of ["../secret", "out/secret", "link", join(root, "secret")]) {
    await expect(read(path)).rejects.toThrow("outside of the working folder");
  }
  for (const path of ["../secret", "out/secret"]) await expect(write(path, "x")).rejects.toThrow("outside");
  await expect(atPlace({ workingFolder, path: "link" }, existingFile)).rejects.toThrow("is a link");
  expect(await readFile(join(root, "secret"), "utf8")).toBe("canary");
});

test("what the system says becomes words that tell what to do; a bug stays one", () => {
  const system = (code: string) => Object.assign(new Error("no"), { code });
  expect(explainFileProblem(system("ENOENT"), "a.csv")).toMatch(/"a\.csv" does not exist.*list_folder/);
  expect(explainFileProblem(system("ENOSPC"), "a.csv")).toContain("disk is full");
  expect(explainFileProblem(system("EMFILE"), "x".repeat(1_000))).toMatch(/^"x{300}…" can't be used: no$/);
  expect(explainFileProblem(fileProblem("a", "is odd"), "b")).toBe("[a] is odd");
  expect(explainFileProblem(new TypeError("bug"), "a")).toBeUndefined();
});

test("sizes are shown in the unit that suits", () => {
  expect([0, 1023, 1024, 1536 * 1024].map(formatBytes)).toEqual(["0 B", "1023 B", "1.0 KiB", "1.5 MiB"]);
});
