/** Work in a process of its own: it answers, or it is ended; and what it may do is little. */
import { execFile, spawn } from "node:child_process";
import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type IsolatedTask, runIsolatedProcess } from "../../src/plugin-sdk/isolated-process.ts";

const never = new AbortController().signal;
let folder: string;
let module: URL;
const source = (name: string) => pathToFileURL(join(import.meta.dirname, "../../src/plugin-sdk", name)).href;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "remora-child-"));
  const code = `
    import { answerOnce } from ${JSON.stringify(source("isolated-entry.ts"))};
    import { existsSync, mkdirSync, readFileSync, readSync, writeFileSync, writeSync } from "node:fs";
    import { spawnSync } from "node:child_process";
    import { DatabaseSync } from "node:sqlite";
    const hold = [];
    const endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";
    const works = {
      echo: (value) => value,
      throws: () => { throw new Error("no such thing"); },
      dies: () => process.exit(3),
      spins: () => { for (;;); },
      fills: () => { for (;;) hold.push(Buffer.alloc(10_000_000, 1)); },
      grows: () => { for (;;) hold.push(new Array(100_000).fill({})); },
      sql: () => new DatabaseSync(":memory:").prepare(endless).get(),
      read: (path) => readFileSync(path, "utf8"),
      write: (path) => writeFileSync(path, "x"),
      spawn: () => spawnSync("true").error?.message ?? "it ran",
      env: () => Object.keys(process.env),
      descriptor: () => { const buffer = Buffer.alloc(100); return buffer.toString("utf8", 0, readSync(4, buffer)); },
      compiled: () => existsSync(process.env.NODE_COMPILE_CACHE),
      compile: () => mkdirSync(process.env.NODE_COMPILE_CACHE, { recursive: true }),
      waits: () => new Promise((done) => setTimeout(done, 100_000)),
      begins: (work) => { writeSync(4, String(process.pid)); return works[work](); },
    };
    answerOnce(({ work, value }) => works[work](value));
  `;
  await writeFile(join(folder, "works.mjs"), code);
  module = pathToFileURL(join(folder, "works.mjs"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const run = (work: string, value?: unknown, changes: Partial<IsolatedTask> = {}, signal = never) =>
  runIsolatedProcess({ module, request: { work, value }, timeoutMs: 10_000, megabytes: 200, ...changes }, signal);

test("an answer comes back as it was given, bytes, big numbers and all", async () => {
  const value = { bytes: new Uint8Array([1, 2]), big: 2n ** 60n, text: "ü", map: new Map([[1, null]]) };
  expect(await run("echo", value)).toEqual({ type: "answer", answer: value });
});

test("an error is told apart from an end without an answer", async () => {
  expect(await run("throws")).toEqual({ type: "failed", why: "error", message: "no such thing" });
  expect(await run("dies")).toEqual({ type: "failed", why: "error", message: "its process ended without an answer" });
  const missing = await run("echo", 1, { module: new URL("./missing.mjs", module) });
  expect(missing).toMatchObject({
    type: "failed",
    why: "error",
    message: expect.stringContaining("Cannot find module"),
  });
});

describe("what never ends by itself", () => {
  test.each(["spins", "sql"])("is ended when its time is up: %s", async (work) => {
    expect(await run(work, undefined, { timeoutMs: 700 })).toEqual({
      ...{ type: "failed", why: "time", message: "it took longer than 0.7 s" },
    });
  });

  test("is ended when nobody wants it any more", async () => {
    const controller = new AbortController();
    const running = run("sql", undefined, {}, controller.signal);
    controller.abort(new Error("stopped"));
    await expect(running).rejects.toThrow("stopped");
    await expect(run("echo", 1, {}, controller.signal)).rejects.toThrow("stopped");
  });

  test("is ended when it needs too much memory, and nothing else is", async () => {
    const outcome = { type: "failed", why: "memory", message: "it needed too much memory" };
    expect(await run("grows")).toEqual(outcome);
    expect(await run("fills")).toEqual(outcome);
  });

  test.each([
    ["sql", 1_000],
    ["waits", 60_000],
  ])("ends by itself when the process that started it is gone: %s", async (work, timeoutMs) => {
    const begun = join(folder, `begun-${work}`);
    // A process of its own starts the work and is killed before it can end it. On a slow machine, a time can be up before.
    const starter = `
      import { openSync } from "node:fs";
      import { runIsolatedProcess } from ${JSON.stringify(source("isolated-process.ts"))};
      const task = { module: new URL(${JSON.stringify(module.href)}), timeoutMs: ${timeoutMs}, megabytes: 500 };
      const descriptors = [openSync(${JSON.stringify(begun)}, "w")];
      for (;;) await runIsolatedProcess({ ...task, descriptors, request: { work: "begins", value: ${JSON.stringify(work)} } }, new AbortController().signal);
    `;
    await writeFile(join(folder, "starter.mjs"), starter);
    const parent = spawn(process.execPath, [join(folder, "starter.mjs")], { stdio: ["ignore", "ignore", "inherit"] });
    const pid = await vi.waitFor(
      async () => {
        const text = await readFile(begun, "utf8");
        expect(text).not.toBe("");
        return Number(text);
      },
      { interval: 5 },
    );
    parent.kill("SIGKILL");
    await vi.waitFor(() => expect(isAlive(pid)).toBe(false), { timeout: 10_000 });
  });
});

test("a host that allows less processor time does not prevent a start", async () => {
  const asker = `
    import { runIsolatedProcess } from ${JSON.stringify(source("isolated-process.ts"))};
    const task = { module: new URL(${JSON.stringify(module.href)}), timeoutMs: 60_000, megabytes: 500 };
    const outcome = await runIsolatedProcess({ ...task, request: { work: "echo", value: 1 } }, new AbortController().signal);
    console.log(JSON.stringify(outcome));
  `;
  await writeFile(join(folder, "asker.mjs"), asker);
  const limited = ["-c", 'ulimit -t 60 && exec "$0" "$@"', process.execPath, join(folder, "asker.mjs")];
  const { stdout } = await promisify(execFile)("/bin/sh", limited);
  expect(JSON.parse(stdout)).toEqual({ type: "answer", answer: 1 });
});

describe("it may", () => {
  test("read what it was given as an open file", async () => {
    const path = join(folder, "given.txt");
    await writeFile(path, "given");
    await using handle = await open(path);
    expect(await run("descriptor", undefined, { descriptors: [handle.fd] })).toEqual({
      type: "answer",
      answer: "given",
    });
  });

  test("neither read nor write other files, start programs, nor see the environment", async () => {
    vi.stubEnv("REMORA_TEST_SECRET", "canary");
    const refused = { type: "failed", why: "error", message: expect.stringContaining("restricted") };
    expect(await run("read", "/etc/hostname")).toMatchObject(refused);
    expect(await run("read", join(import.meta.dirname, "../../config/remora.yaml"))).toMatchObject(refused);
    expect(await run("write", join(folder, "made.txt"))).toMatchObject(refused);
    // Compiled code that it could write would run in other processes.
    expect(await run("compiled")).toEqual({ type: "answer", answer: false });
    expect(await run("compile")).toMatchObject(refused);
    expect(await run("spawn")).not.toMatchObject({ answer: "it ran" });
    const { answer } = (await run("env")) as { answer: string[] };
    vi.unstubAllEnvs();
    expect(answer).not.toContain("REMORA_TEST_SECRET");
    expect(answer).not.toContain("PATH");
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
