/** The other side of isolated-process.ts: what a module that runs in a process of its own does with the one request it gets. */
import { Worker } from "node:worker_threads";
import { messageOf } from "../lib/errors.ts";

export interface ChildMessage {
  request: unknown;
  timeoutMs: number;
  megabytes: number;
}

/** What a process that has grown too large says of itself before it ends. */
export const tooLarge = "the process has grown too large";

export type ChildReply = { answer: unknown } | { error: string };

/** How long after its time is up a process that nobody has killed ends itself. */
const graceMs = 2_000;

/** Answers the first request with what `work` makes of it, or with the message of what it throws; then the process ends. */
export function answerOnce(work: (request: unknown) => unknown): void {
  process.once("message", (message) => {
    const { request, timeoutMs, megabytes } = message as ChildMessage;
    watch({ ms: timeoutMs + graceMs, bytes: megabytes * 1024 * 1024 });
    void (async () => {
      const reply = await replyOf(work, request);
      process.send?.(reply, () => process.exit());
    })();
  });
}

async function replyOf(work: (request: unknown) => unknown, request: unknown): Promise<ChildReply> {
  try {
    return { answer: await work(request) };
  } catch (thrown) {
    return { error: messageOf(thrown) };
  }
}

/**
 * When Remora itself was killed, nobody is left to end this process; and nothing but its own size shows what libraries take
 * besides the heap. Code that never gives way sees neither, so that a thread beside it does.
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
