/** The child side of isolated-process.ts: runs a module in its own process. */
import { unlinkSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { Worker } from "node:worker_threads";
import { messageOf } from "../lib/errors.ts";

export interface ChildMessage {
  request: unknown;
  timeoutMs: number;
  megabytes: number;
}

export const tooLarge = "the process has grown too large";

export type ChildReply = { answer: unknown } | { error: string };

/** If Remora has not killed the process this long after its time limit, the process ends itself. */
const graceMs = 2_000;

/**
 * Answers the first request with the result of `work`, or with the message of its error. Then ends the process. Must be called
 * once everything is imported.
 */
export function answerOnce(work: (request: unknown) => unknown): void {
  leaveCompileCache();
  process.once("message", (message) => {
    const { request, timeoutMs, megabytes } = message as ChildMessage;
    watch({ ms: timeoutMs + graceMs, bytes: megabytes * 1024 * 1024 });
    void (async () => {
      const reply = await replyOf(work, request);
      process.send?.(reply, () => process.exit());
    })();
  });
}

/** From here on, nothing can be written. */
function leaveCompileCache(): void {
  const link = process.env.NODE_COMPILE_CACHE;
  if (link === undefined || process.permission === undefined) return;
  flushCompileCache();
  unlinkSync(link);
  // Node's types lack it, and so do early versions of Node 24, where the process could make a folder in the link's place.
  (process.permission as { drop?: (scope: string) => void }).drop?.("fs.write");
}

async function replyOf(work: (request: unknown) => unknown, request: unknown): Promise<ChildReply> {
  try {
    return { answer: await work(request) };
  } catch (thrown) {
    return { error: messageOf(thrown) };
  }
}

/**
 * Ends this process if its memory exceeds the limit, or after its time limit in case Remora has died. Measures the
 * whole process, because native libraries allocate outside the heap. Runs in a thread, because busy code would block
 * it.
 */
function watch(limits: { ms: number; bytes: number }): void {
  new Worker(watcher, { eval: true, workerData: { ...limits, tooLarge }, env: {} }).unref();
}

const watcher = `
  const { ms, bytes, tooLarge } = require("node:worker_threads").workerData;
  const end = () => process.kill(process.pid, "SIGKILL");
  setTimeout(end, ms);
  setInterval(() => {
    if (process.memoryUsage.rss() < bytes) return;
    require("node:fs").writeSync(2, tooLarge);
    end();
  }, 50);
`;
