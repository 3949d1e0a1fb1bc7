/** Commands that exceed a limit end with a clear result and leave nothing running. */
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { createLayerMeter } from "../../../src/sandbox/view/layer-usage.ts";
import { createWorkbench, pidNamespace, processesIn } from "./workbench.ts";

const mebibyte = 1024 ** 2;
const hasPython = existsSync("/usr/bin/python3");

/** Runs a command and checks that only process 1 of the view is left. */
async function runToLimit(command: string, limits: Parameters<typeof createWorkbench>[0]) {
  const { open } = createWorkbench(limits);
  const view = await open();
  const namespace = pidNamespace(view.pid);
  const running = view.start({ text: command });
  const [output, end] = await Promise.all([text(running.output), running.ended]);
  expect(processesIn(namespace)).toEqual([view.pid]);
  return { ...end, output, view };
}

test("a fork bomb", async () => {
  const { limit, message, signal } = await runToLimit("f() { f | f & }; f; sleep 1000", {
    limits: { maxProcesses: 80 },
  });
  expect({ limit, signal }).toEqual({ limit: "processes", signal: "SIGKILL" });
  expect(message).toBe("The command was killed: it ran more than 80 processes and threads.");
});

test.skipIf(!hasPython)("memory without end, in one process and in many", async () => {
  const limits = { maxMemoryBytes: 96 * mebibyte };
  const one = await runToLimit(
    `python3 -c "a = []
while True: a.append(bytearray(1 << 20))"`,
    { limits },
  );
  // The process may reach its own mapping limit before the watchdog checks.
  expect(one.limit === "memory" || /MemoryError/.test(one.output)).toBe(true);
  const hold = "python3 -c 'a = b\"x\" * (30 << 20); import time; time.sleep(1000)' &";
  const many = await runToLimit(`${hold.repeat(6)} wait`, { limits });
  expect(many.limit).toBe("memory");
  expect(many.message).toMatch(/more than 96\.0 MiB of memory/);
});

test.skipIf(!hasPython)("memory that processes share counts once", async () => {
  const script = `python3 -c "
import os, time
a = b'x' * (60 << 20)
children = [os.fork() for _ in range(1)]
if 0 not in children:
  more = [os.fork() for _ in range(1)]
time.sleep(1)
"`;
  const { limit, exitCode } = await runToLimit(script, { limits: { maxMemoryBytes: 130 * mebibyte } });
  expect({ limit, exitCode }).toEqual({ limit: undefined, exitCode: 0 });
});

test("processor time, also of many short processes", async () => {
  const { limit } = await runToLimit("while :; do for i in 1 2 3 4 5 6 7 8 9; do :; done; done", {
    limits: { maxProcessorSeconds: 1 },
  });
  expect(limit).toBe("processor-time");
});

test("one file that is too large, full or empty", async () => {
  const limits = { maxFileBytes: 8 * mebibyte };
  const full = await runToLimit("exec head -c 10G /dev/zero > big", { limits });
  expect(full).toMatchObject({ limit: "disk-space", signal: "SIGXFSZ" });
  const sparse = await runToLimit("truncate -s 10G big; stat -c %s big", { limits });
  expect(sparse.output).toContain("File size limit exceeded");
  expect(Number(sparse.output.trim().split("\n").at(-1))).toBeLessThanOrEqual(8 * mebibyte);
});

test("many files that together are too large, and deleted ones that are still open", async () => {
  const limits = { maxFileBytes: 16 * mebibyte, maxLayerBytes: 64 * mebibyte };
  const { limit, message } = await runToLimit("i=0; while :; do i=$((i+1)); head -c 8M /dev/zero > f$i; done", {
    limits,
  });
  expect(limit).toBe("disk-space");
  expect(message).toMatch(/wrote more than 64\.0 MiB/);
  const deleted = "for i in 1 2 3 4 5 6 7 8 9; do exec {fd}> f; rm f; head -c 15M /dev/zero >&$fd; done; sleep 1000";
  expect((await runToLimit(deleted, { limits })).limit).toBe("disk-space");
});

test("a million files", async () => {
  const { limit, message, view } = await runToLimit("i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); : > f$i; done", {
    limits: { maxLayerFiles: 500 },
  });
  expect(limit).toBe("files");
  expect(message).toBe("The command was killed: it created more than 500 files.");
  expect(readdirSync(view.upper ?? "").length).toBeLessThan(200_000);
});

test("more than the layer's limit, even if the command ends before the watchdog's check", async () => {
  const { limit } = await runToLimit("fallocate -l 60M a; fallocate -l 60M b", {
    limits: { maxLayerBytes: 100 * mebibyte },
  });
  expect(limit).toBe("disk-space");
});

test("a full /tmp fails the write only", async () => {
  const { output, exitCode } = await runToLimit("head -c 20M /dev/zero > /tmp/a; echo; echo went on", {
    limits: { maxTmpBytes: 4 * mebibyte },
  });
  expect(output).toMatch(/No space left on device\n\nwent on/);
  expect(exitCode).toBe(0);
});

test("output without end, until its reader turns away", async () => {
  const { open } = createWorkbench();
  const view = await open();
  const namespace = pidNamespace(view.pid);
  const running = view.start({ text: "yes" });
  let bytes = 0;
  for await (const chunk of running.output) {
    bytes += (chunk as Buffer).length;
    if (bytes > mebibyte) break;
  }
  expect(await running.ended).toMatchObject({ signal: "SIGPIPE" });
  expect(processesIn(namespace)).toEqual([view.pid]);
});

test("a command that sleeps for ever, and is killed", async () => {
  const { open } = createWorkbench();
  const view = await open();
  const running = view.start({ text: "trap '' TERM INT; echo started > started; while :; do sleep 1000; done" });
  running.output.resume();
  await expect.poll(() => readdirSync(view.merged)).toEqual(["started"]);
  running.kill();
  expect(await running.ended).toEqual({ signal: "SIGKILL", message: "The command was stopped." });
  running.kill();
  expect(readdirSync(view.merged)).toEqual(["started"]);
});

test("the event loop turns while many open files are looked at, and too many are not looked at", async () => {
  const folder = mkdtempSync(join(tmpdir(), "remora-open-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "open"), "text");
  const turnsWhile = async (openFiles: number) => {
    // Always over the limit, so that everything is counted.
    const limits = { maxLayerBytes: -1e15, maxLayerFiles: 10 };
    const all = Array.from({ length: openFiles }, () => folder);
    const meter = await createLayerMeter({ folder, isEmpty: true, limits, minFreeBytes: 0, openFiles: () => all });
    let [turns, isDone] = [0, false];
    const check = meter.check(new AbortController().signal).finally(() => {
      isDone = true;
    });
    for (; !isDone; turns++) await setImmediate();
    expect(await check).toBe("bytes");
    return turns;
  };
  expect(await turnsWhile(19_000)).toBeGreaterThan(12);
  const start = performance.now();
  await turnsWhile(2_000_000);
  expect(performance.now() - start).toBeLessThan(60_000);
});
