/** Reports from programs that replace the launcher: its two processes may report in any order, or not at all. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { launcherProgram } from "../../../src/sandbox/view/launcher.ts";
import { startViewProcess } from "../../../src/sandbox/view/view-process.ts";
import { isRunning, patience } from "./workbench.ts";

const zeros = "\\0".repeat(7);
const empty = "\\0".repeat(16);
const ready = `printf '\\3${zeros}${empty}' >&3`;
const wait = "cat <&3 > /dev/null";

function launcherOf(...lines: string[]): string {
  const place = mkdtempSync(join(tmpdir(), "remora-process-"));
  onTestFinished(() => rmSync(place, { recursive: true, force: true }));
  const file = join(place, "launcher");
  writeFileSync(file, ["#!/bin/sh", ...lines, ""].join("\n"));
  chmodSync(file, 0o755);
  return file;
}

/** Reports the shell's own id; three bytes hold any id. */
const ownId = `printf "\\\\2\\\\0\\\\0\\\\0\\\\0\\\\0\\\\0\\\\0\\\\$(printf %o $(($$ % 256)))\\\\$(printf %o $(($$ / 256 % 256)))\\\\$(printf %o $(($$ / 65536)))\\\\0\\\\0\\\\0\\\\0\\\\0${"\\\\0".repeat(8)}" >&3`;

test.each([
  ["the id first", [ownId, ready, wait]],
  ["the id last", [ready, ownId, wait]],
])("a view is ready when both have reported: %s", async (_order, lines) => {
  const view = await startViewProcess(launcherOf(...lines), launcherProgram("x64"), patience());
  expect(isRunning(view.pid)).toBe(true);
  await view.end();
  expect(isRunning(view.pid)).toBe(false);
});

test("a launcher that ends at once, or can't be started, is a failure with a step", async () => {
  const start = (file: string) => startViewProcess(file, launcherProgram("x64"), patience());
  await expect(start(launcherOf("exit 0"))).rejects.toMatchObject({ code: "sandbox.missing", step: "start" });
  await expect(start("/does/not/exist")).rejects.toMatchObject({ step: "start the launcher" });
});

test("a launcher that reports nothing is ended when the caller gives up", async () => {
  const controller = new AbortController();
  const starting = startViewProcess(launcherOf(wait), launcherProgram("x64"), controller.signal);
  controller.abort(new Error("not wanted any more"));
  await expect(starting).rejects.toThrow("not wanted any more");
});
