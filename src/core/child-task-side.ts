/** The other side of child-task.ts: what a module that runs in a process of its own does with the one request it gets. */
import { Worker } from "node:worker_threads";
import { messageOf } from "./errors.ts";

export interface ChildMessage {
  request: unknown;
  timeoutMs: number;
}

export type ChildReply = { answer: unknown } | { error: string };

/** How long after its time is up a process that nobody has killed ends itself. */
const graceMs = 2_000;

/** Answers the first request with what `work` makes of it, or with the message of what it throws; then the process ends. */
export function answerOnce(work: (request: unknown) => unknown): void {
  process.once("message", (message) => {
    const { request, timeoutMs } = message as ChildMessage;
    endAfter(timeoutMs + graceMs);
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
 * When Remora itself was killed, nobody is left to end this process, and code that never gives way sees no event: a thread
 * beside it does.
 */
function endAfter(ms: number): void {
  const code = "setTimeout(() => process.kill(process.pid, 'SIGKILL'), require('node:worker_threads').workerData)";
  new Worker(code, { eval: true, workerData: ms, env: {} }).unref();
}
