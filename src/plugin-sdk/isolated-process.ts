/**
 * Runs one task in a separate process, because untrusted input may keep it busy forever or exhaust memory. A thread is
 * not enough: running out of memory can end the whole process, and SQLite in a thread can't be stopped.
 *
 * The process may read Remora's code, the module's folder and packages. It can't write files or start processes, and
 * has none of Remora's environment variables. It answers one request; an abort, the time limit and too much memory kill it.
 * If Remora has died, the process ends: at once if its event loop turns (isolated-entry.ts), otherwise when its processor
 * time runs out.
 *
 * Stripping types and compiling are most of its start, so it shares Remora's compile cache. Who can write there can change
 * what Remora runs: the process reaches the folder by a link, which it removes before it looks at the request.
 */
import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, realpathSync, symlinkSync } from "node:fs";
import { rm } from "node:fs/promises";
import { getCompileCacheDir } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { ChildReply } from "./isolated-entry.ts";

export interface IsolatedTask {
  /** The module must call `answerOnce`. */
  module: URL;
  request: unknown;
  timeoutMs: number;
  /**
   * Limits all memory of the process, in MB. It uses about 80 MB before the work starts. Where the system has no /proc, what
   * native libraries take outside the heap is not limited.
   */
  megabytes: number;
  /** Descriptors of open files. The child process inherits them as descriptors 4, 5, and so on. */
  descriptors?: readonly number[];
  /**
   * Lets the module load native code, which Node's permission model does not restrict. JavaScript stays restricted. If
   * absent, native code is forbidden.
   */
  allowsAddons?: boolean;
}

/** The first of a task's descriptors, as the child process sees it. */
export const firstDescriptor = 4;

export type IsolatedOutcome =
  | { type: "answer"; answer: unknown }
  | { type: "failed"; why: "error" | "time" | "memory"; message: string };

const project = resolve(import.meta.dirname, "../..");
/** As a package that npm has installed, Remora has its packages beside it, and Node does not strip its types. */
const isPackage = import.meta.url.includes("/node_modules/");
const typeStripper = new URL("../lib/own-typescript.mjs", import.meta.url);
const maxErrorCharacters = 20_000;
const memoryCheckMs = 50;
/** Libraries and V8 use several threads. */
const maxBusyThreads = 2;
const graceMs = 500;

/** Rejects only if the signal aborts. */
export function runIsolatedProcess(task: IsolatedTask, signal: AbortSignal): Promise<IsolatedOutcome> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const cache = linkToCompileCache();
    const child = start(task, cache);
    let errors = "";
    const end = () => {
      clearTimeout(timer);
      clearInterval(memoryChecks);
      signal.removeEventListener("abort", stop);
      child.kill("SIGKILL");
      // The process may have ended before it did so.
      if (cache !== undefined) void rm(cache, { force: true }).catch(() => {});
    };
    const settle = (outcome: IsolatedOutcome) => {
      end();
      resolve(outcome);
    };
    const stop = () => {
      end();
      reject(signal.reason);
    };
    const late = () =>
      settle({ type: "failed", why: "time", message: `it took longer than ${task.timeoutMs / 1000} s` });
    const timer = setTimeout(late, task.timeoutMs);
    const memoryChecks = setInterval(() => {
      if (residentKilobytes(child.pid) > task.megabytes * 1024) settle(tooMuchMemory);
    }, memoryCheckMs);
    signal.addEventListener("abort", stop, { once: true });
    child.stderr?.on("data", (chunk) => {
      if (errors.length < maxErrorCharacters) errors += chunk;
    });
    child.once("message", (message) => settle(outcomeOf(message as ChildReply)));
    child.once("error", (thrown) => settle({ type: "failed", why: "error", message: thrown.message }));
    child.once("close", () => settle(failureOf(errors)));
    // Ignore errors: if the child has already ended, its close event reports that. A child that did not start can't send.
    child.once("spawn", () => child.send({ request: task.request }, () => {}));
  });
}

/** Undefined if there is no cache, or no place for a link to it. The process then only starts more slowly. */
function linkToCompileCache(): string | undefined {
  const folder = getCompileCacheDir();
  if (folder === undefined) return;
  const link = join(tmpdir(), `remora-compiled-${randomUUID()}`);
  try {
    symlinkSync(folder, link);
    return link;
  } catch {
    return;
  }
}

function start(task: IsolatedTask, cache: string | undefined): ChildProcess {
  const { module, megabytes, timeoutMs, descriptors = [], allowsAddons = false } = task;
  const file = fileURLToPath(module);
  const folders = [
    dirname(file),
    join(project, "src/plugin-sdk"),
    join(project, "src/lib"),
    join(project, "node_modules"),
    ...(isPackage ? [dirname(project)] : []),
  ].filter((folder) => existsSync(folder));
  // Package folders may be links, so allow their targets too.
  const readable = [...new Set([...folders, ...folders.map((folder) => realpathSync(folder))])].map(
    (folder) => `${folder}/*`,
  );
  const maxProcessorSeconds = Math.ceil(((timeoutMs + graceMs) * maxBusyThreads) / 1000);
  return fork(file, [], {
    execPath: "/bin/sh",
    execArgv: [
      // It can't be raised: if that fails, a stricter limit is in force.
      ...["-c", `ulimit -t ${maxProcessorSeconds} 2>/dev/null; exec "$0" "$@"`, process.execPath],
      `--max-old-space-size=${megabytes}`,
      "--permission",
      ...(isPackage ? ["--import", typeStripper.href] : []),
      ...(allowsAddons ? ["--allow-addons"] : []),
      ...[...readable, join(project, "package.json")].map((path) => `--allow-fs-read=${path}`),
      ...(cache === undefined ? [] : [`--allow-fs-read=${cache}`, `--allow-fs-write=${cache}`]),
    ],
    env: cache === undefined ? {} : { NODE_COMPILE_CACHE: cache },
    serialization: "advanced",
    stdio: ["ignore", "ignore", "pipe", "ipc", ...descriptors],
  });
}

function outcomeOf(reply: ChildReply): IsolatedOutcome {
  return "error" in reply
    ? { type: "failed", why: "error", message: reply.error }
    : { type: "answer", answer: reply.answer };
}

const tooMuchMemory: IsolatedOutcome = { type: "failed", why: "memory", message: "it needed too much memory" };

function failureOf(errors: string): IsolatedOutcome {
  if (/heap out of memory|Reached heap limit|Allocation failed/i.test(errors)) return tooMuchMemory;
  const line = errors.split("\n").find((candidate) => /^\w*Error\b/.test(candidate));
  return { type: "failed", why: "error", message: line ?? "its process ended without an answer" };
}

/** 0 if the process has ended, or the system does not tell. */
function residentKilobytes(pid: number | undefined): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
