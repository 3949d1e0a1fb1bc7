/**
 * A thread that answers requests in their order. It starts with the first request, keeps the process alive only while
 * someone waits for an answer, and restarts after it has died.
 */
import { getCompileCacheDir } from "node:module";
import { Worker } from "node:worker_threads";

/** What the thread posts: an answer, a failure, or a problem that belongs to no request. */
export type ThreadReply<Answer> =
  | { id: number; answer: Answer }
  | { id: number; error: string }
  | { id: undefined; problem: string };

export interface ThreadOptions {
  name: string;
  /** The module that the thread runs. It receives `{ id, request }` messages and posts `ThreadReply`s. */
  module: URL;
  workerData: object;
  maxMegabytes: number;
  onProblem(problem: string): void;
}

export interface WorkerThread<Request, Answer> {
  /** Rejects if the thread fails or is closed. */
  ask(request: Request): Promise<Answer>;
  /** Sends a last request if the thread is running. */
  close(last: Request): Promise<void>;
}

interface Pending<Answer> {
  resolve(answer: Answer): void;
  reject(reason: Error): void;
}

/** V8's young generation is kept small to save memory. */
const maxYoungGenerationSizeMb = 4;

export function createWorkerThread<Request, Answer>(options: ThreadOptions): WorkerThread<Request, Answer> {
  const { name, module, workerData, maxMegabytes, onProblem } = options;
  const pending = new Map<number, Pending<Answer>>();
  let worker: Worker | undefined;
  let lastId = 0;
  let isClosed = false;

  function start(): Worker {
    const started = new Worker(new URL("./worker-thread-entry.mjs", import.meta.url), {
      workerData: { ...workerData, module: module.href, cacheFolder: getCompileCacheDir() },
      resourceLimits: { maxYoungGenerationSizeMb, maxOldGenerationSizeMb: maxMegabytes },
      execArgv: [],
      name,
    });
    started.unref();
    started.on("message", (reply: ThreadReply<Answer>) => settle(started, reply));
    const fail = (reason: Error) => {
      if (worker === started) worker = undefined;
      for (const [id, { reject }] of pending) {
        pending.delete(id);
        reject(reason);
      }
    };
    started.on("error", fail);
    started.on("exit", () => fail(new Error("the thread has ended")));
    return started;
  }

  function settle(from: Worker, reply: ThreadReply<Answer>): void {
    if (reply.id === undefined) {
      onProblem(reply.problem);
      return;
    }
    const waiting = pending.get(reply.id);
    pending.delete(reply.id);
    if (pending.size === 0) from.unref();
    if ("error" in reply) waiting?.reject(new Error(reply.error));
    else waiting?.resolve(reply.answer);
  }

  function ask(request: Request): Promise<Answer> {
    if (isClosed) return Promise.reject(new Error("it is closed"));
    return new Promise((resolve, reject) => {
      worker ??= start();
      const id = ++lastId;
      pending.set(id, { resolve, reject });
      worker.ref();
      worker.postMessage({ id, request });
    });
  }

  return {
    ask,
    async close(last) {
      if (isClosed) return;
      const open = worker;
      if (open !== undefined) await ask(last).catch(() => {});
      isClosed = true;
      await open?.terminate();
    },
  };
}
