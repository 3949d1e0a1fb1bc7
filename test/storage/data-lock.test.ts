import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lockData } from "../../src/storage/sqlite/data-lock.ts";

const source = resolve(import.meta.dirname, "../../src/storage/sqlite/data-lock.ts");
let folder: string;

beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), "remora-lock-")), "data");
});
afterEach(() => rm(resolve(folder, ".."), { recursive: true, force: true }));

/** Another process that holds the folder until it is killed. */
async function holder() {
  const script = `const { lockData } = await import(${JSON.stringify(source)}); globalThis.lock = lockData(${JSON.stringify(folder)}); console.log("held"); setInterval(() => {}, 1e6);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = new Promise((done) => child.once("exit", done));
  await new Promise((done, fail) => {
    child.stdout.once("data", done);
    child.once("exit", () => fail(new Error("the holder ended before it held the folder")));
  });
  return {
    pid: child.pid,
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

describe("a data folder", () => {
  test("is refused while another process runs on it, saying which and what to do; free once that one is killed", async () => {
    const other = await holder();
    try {
      expect(() => lockData(folder)).toThrow(`another Remora (process ${other.pid}) is already using it`);
      expect(() => lockData(folder)).toThrow(/Stop that one, or .* REMORA_DATA and REMORA_WORKSPACE/);
    } finally {
      await other.kill();
    }
    const lock = lockData(folder);
    expect(await readFile(join(folder, "process.pid"), "utf8")).toBe(`${process.pid}\n`);
    lock.release();
  });

  test("is held once within a process too, until it is released; releasing twice is nothing", () => {
    const lock = lockData(folder);
    expect(() => lockData(folder)).toThrow("is already using it");
    lock.release();
    lock.release();
    lockData(folder).release();
  });

  test("that can't be written is named as such, not as in use", () => {
    expect(() => lockData("/dev/null/data")).toThrow(/^\[data \/dev\/null\/data\] can't be opened or written/);
  });
});
