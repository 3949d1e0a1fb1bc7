/** Folders of the configuration that commands can't work in are reported, with what to do. */
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { problemOfGivenFolder } from "../../../src/sandbox/draft/given-folders.ts";

const isRoot = process.geteuid?.() === 0;

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "remora-given-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test("a folder of one's own is fine", async () => {
  expect(await problemOfGivenFolder(makeFolder())).toBeUndefined();
});

test("a folder that is not there, and a file", async () => {
  const folder = makeFolder();
  expect(await problemOfGivenFolder(join(folder, "gone"))).toContain("does not exist: create it");
  writeFileSync(join(folder, "file"), "");
  expect(await problemOfGivenFolder(join(folder, "file"))).toContain("is a file");
});

test("a folder that Remora's commands could read and not change", async () => {
  const folder = makeFolder();
  if (isRoot) chownSync(folder, 12_345, 12_345);
  else chmodSync(folder, 0o500);
  expect(await problemOfGivenFolder(folder)).toContain(isRoot ? "belongs to user 12345" : "may not write");
});

test.runIf(isRoot)("a folder with something mounted inside it", async () => {
  expect(await problemOfGivenFolder("/dev")).toMatch(/^\/dev\/\S+ is mounted inside \/dev/);
});
