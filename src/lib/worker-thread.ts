/**
 * Threads that answer requests in their order. One thread can serve several modules: each costs twenty megabytes. It
 * starts with the first request, keeps the process alive only while someone waits for an answer, ends when nobody has asked
 * for a while, and restarts with the next request, also after it has died.
 */
import { getCompileCacheDir } from "node:module";
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";

/** What the thread posts: an answer, a failure, or a problem that belongs to no request. */
export type ThreadReply<Answer> =
  | { id: number; answer: Answer }
  | { id: number; error: string }
  | { id: undefined; problem: string };

export interface ThreadOptions {
  thread: Thread;
  /** Exports `serve(port, options)`. The port receives `{ id, request }` messages and posts `ThreadReply`s. */
  module: URL;
  options: object;
  onProblem(problem: string): void;
}

export interface Thread {
  /** Starts the thread if it does not run. `onEnd` is called if it ends before `release(onEnd)`. */
  serve(module: URL, options: object, onEnd: (reason: Error) => void): MessagePort;
  /** The thread does not end while somebody waits for an answer. */
  ref(): void;
  unref(): void;
  release(onEnd: (reason: Error) => void): void;
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

/** Longer than people pause in a conversation: to start again takes the first search some 50 ms. */
const defaultMaxIdleMs = 60_000;

export function createThread(options: { name: string; maxMegabytes: number; maxIdleMs?: number }): Thread {
  const { name, maxMegabytes, maxIdleMs = defaultMaxIdleMs } = options;
  const users = new Set<(reason: Error) => void>();
  let worker: Worker | undefined;
  let references = 0;
  let idle: NodeJS.Timeout | undefined;

  function start(): Worker {
    const started = new Worker(new URL("./worker-thread-entry.mjs", import.meta.url), {
      workerData: { cacheFolder: getCompileCacheDir() },
      resourceLimits: { maxYoungGenerationSizeMb, maxOldGenerationSizeMb: maxMegabytes },
      execArgv: [],
      name,
    });
    started.unref();
    started.on("error", (thrown) => end(started, thrown));
    started.on("exit", () => end(started, new Error("the thread has ended")));
    return started;
  }

  function end(ended: Worker, reason: Error): void {
    if (worker !== ended) return;
    worker = undefined;
    const all = [...users];
    users.clear();
    for (const onEnd of all) onEnd(reason);
  }

  function endIdle(): void {
    if (worker === undefined) return;
    void worker.terminate();
    end(worker, new Error("nobody needed the thread"));
  }

  return {
    ref() {
      references += 1;
      clearTimeout(idle);
    },
    unref() {
      references -= 1;
      if (references === 0) idle = setTimeout(endIdle, maxIdleMs).unref();
    },
    serve(module, options, onEnd) {
      worker ??= start();
      users.add(onEnd);
      const { port1, port2 } = new MessageChannel();
      worker.postMessage({ module: module.href, port: port2, options }, [port2]);
      return port1;
    },
    release: (onEnd) => void users.delete(onEnd),
  };
}

export function createWorkerThread<Request, Answer>(settings: ThreadOptions): WorkerThread<Request, Answer> {
  const { thread, module, options, onProblem } = settings;
  const pending = new Map<number, Pending<Answer>>();
  let port: MessagePort | undefined;
  let lastId = 0;
  let isClosed = false;

  function onEnd(reason: Error): void {
    port = undefined;
    if (pending.size === 0) return;
    for (const { reject } of pending.values()) reject(reason);
    pending.clear();
    thread.unref();
  }

  function open(): MessagePort {
    const opened = thread.serve(module, options, onEnd);
    opened.on("message", (reply: ThreadReply<Answer>) => settle(opened, reply));
    return opened;
  }

  function settle(from: MessagePort, reply: ThreadReply<Answer>): void {
    if (reply.id === undefined) {
      onProblem(reply.problem);
      return;
    }
    const waiting = pending.get(reply.id);
    if (waiting === undefined) return;
    pending.delete(reply.id);
    if (pending.size === 0) {
      from.unref();
      thread.unref();
    }
    if ("error" in reply) waiting.reject(new Error(reply.error));
    else waiting.resolve(reply.answer);
  }

  function ask(request: Request): Promise<Answer> {
    if (isClosed) return Promise.reject(new Error("it is closed"));
    return new Promise((resolve, reject) => {
      port ??= open();
      if (pending.size === 0) thread.ref();
      const id = ++lastId;
      pending.set(id, { resolve, reject });
      port.ref();
      port.postMessage({ id, request });
    });
  }

  return {
    ask,
    async close(last) {
      if (isClosed) return;
      if (port !== undefined) await ask(last).catch(() => {});
      isClosed = true;
      port?.close();
      // Nobody answers what was asked meanwhile.
      onEnd(new Error("it is closed"));
      thread.release(onEnd);
    },
  };
}
