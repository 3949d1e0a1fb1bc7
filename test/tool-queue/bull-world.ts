/** What the tests of the queue on BullMQ share: jobs, quick timing, and processes of their own (bull-process.ts). */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AbortCause } from "../../src/lib/abort.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import { createRedactor } from "../../src/lib/redact.ts";
import type { EventMap, EventName, Events, RemoraEvent } from "../../src/ports/events.ts";
import type { CallState, Ledger } from "../../src/ports/ledger.ts";
import type { ToolAttempt, Toolbox, ToolJob, ToolQueue, ToolResult } from "../../src/ports/tool.ts";
import { createRedisBus } from "../../src/storage/redis/bus.ts";
import { createRedisConnection } from "../../src/storage/redis/connection.ts";
import { createRedisLedger } from "../../src/storage/redis/ledger.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { type BullTiming, createBullQueue } from "../../src/tool-queue/bullmq/queue.ts";
import { createRecordedAudit } from "../doubles/audit.ts";
import type { RedisServer } from "../doubles/redis-server.ts";
import { type RedisProxy, startRedisProxy } from "../storage/redis-proxy.ts";
import type { Order, Report } from "./bull-process.ts";

/** Quick enough for tests; what must hold holds at any pace. */
export const quickTiming: BullTiming = {
  lockMs: 100,
  stalledMs: 50,
  graceMs: 50,
  lookAgainMs: 50,
  sweepMs: 100,
  maxStopMs: 1_000,
  maxSuspendMs: 500,
  maxCloseMs: 500,
};

export const never = new AbortController().signal;

export const ok = (text = "fine"): ToolAttempt => ({ isOk: true, text, files: [], isRetryable: false });
export const failed = (text: string): ToolAttempt => ({ isOk: false, text, files: [], isRetryable: true });

export function jobOf(callId: string, more: Partial<ToolJob> = {}, call: Partial<ToolJob["call"]> = {}): ToolJob {
  return {
    id: `turn-${callId}`,
    call: { id: callId, name: "tool", input: {}, ...call },
    scope: {
      turnId: "turn",
      conversationId: "local:dm:ann",
      scope: "dm:ann",
      requester: { id: "ann", name: "Ann", isBot: false, roles: [] },
      workingFolder: "/nowhere",
    },
    isIdempotent: false,
    timeoutMs: 60_000,
    ...more,
  };
}

/** A queue in this process, with what is below it. */
export interface OpenedQueue {
  queue: ToolQueue;
  ledger: Ledger;
  stateOf(callId: string): Promise<CallState | undefined>;
  /** What it has told. */
  events: RemoraEvent[];
  listen: Events["listen"];
  /** Of the queue and of everything below it. */
  close(): Promise<void>;
}

export type ProcessTiming = Partial<BullTiming>;

export interface OpenSettings {
  url: string;
  prefix: string;
  runs: boolean;
  /** Of SQLite; else the ledger is on Redis. */
  ledgerFile?: string | undefined;
  timing?: ProcessTiming;
}

export interface OpenOptions extends OpenSettings {
  run?: Toolbox["run"];
  /** Stands between the queue and its ledger. */
  within?: (ledger: Ledger) => Ledger;
  secrets?: string[];
  /** Another one than the queue's: a bus that nobody else hears. */
  busPrefix?: string;
}

export async function openQueue(options: OpenOptions): Promise<OpenedQueue> {
  const { url, prefix, runs, ledgerFile, timing, run, within, secrets, busPrefix } = options;
  const connection = createRedisConnection(url, silentLog);
  const ledger =
    ledgerFile === undefined
      ? await createRedisLedger({ connection, prefix })
      : createSqliteLedger({ path: ledgerFile });
  const bus = createRedisBus({ connection, log: silentLog, prefix: busPrefix ?? prefix });
  const told = createEvents();
  const events: RemoraEvent[] = [];
  told.listen((event) => events.push(event));
  const refuse: Toolbox["run"] = async ({ name }) => {
    throw new Error(`${name} is not run here`);
  };
  const queue = createBullQueue({
    ephemeral: { put() {} },
    ...{ bus, prefix, runs },
    audit: createRecordedAudit(),
    ledger: within?.(ledger) ?? ledger,
    connect: connection.forBullMq,
    toolbox: { specs: () => [], run: run ?? refuse },
    events: told,
    backoff: [50, 50, 50],
    concurrency: 4,
    outputLimit: 30_000,
    outputsFolder: () => tmpdir(),
    redact: createRedactor(secrets ?? []),
    log: silentLog,
    timing: { ...quickTiming, ...timing },
  });
  return {
    ...{ queue, ledger, events },
    stateOf: async (callId) => (await ledger.get("call", `turn-${callId}`))?.state,
    listen: told.listen,
    async close() {
      await queue.close();
      await bus.close();
      await ledger.close();
      await connection.close();
    },
  };
}

/** What one test has to itself on a redis-server: a line to it that can be cut, a folder, a prefix. */
export interface BullWorld {
  proxy: RedisProxy;
  folder: string;
  prefix: string;
  /** Over the line. Its ledger is on SQLite, so that it is there whatever happens to Redis; a later one shares it. */
  open(run: Toolbox["run"], more?: Partial<OpenOptions>): Promise<OpenedQueue>;
  /** What BullMQ calls it in Redis. */
  bullKey(name: string): string;
  /** Closes what was opened. */
  dispose(): Promise<void>;
}

export async function createWorld(server: RedisServer): Promise<BullWorld> {
  const proxy = await startRedisProxy(server);
  const folder = await mkdtemp(join(tmpdir(), "remora-bull-"));
  const prefix = `{${randomUUID()}}:`;
  const opened: OpenedQueue[] = [];
  return {
    ...{ proxy, folder, prefix },
    async open(run, more) {
      const ledgerFile = join(folder, "ledger.db");
      const one = await openQueue({ url: proxy.url, prefix, runs: true, ledgerFile, run, ...more });
      opened.push(one);
      return one;
    },
    bullKey: (name) => `${prefix}bull:tools:${name}`,
    async dispose() {
      proxy.open();
      await Promise.all(opened.map((one) => one.close()));
      await proxy.close();
      await rm(folder, { recursive: true });
    },
  };
}

export function eventsOf<N extends EventName>(events: readonly RemoraEvent[], name: N): EventMap[N][] {
  return events.flatMap((event) => (event.name === name ? [event.fields as EventMap[N]] : []));
}

export interface QueueProcess {
  pid: number;
  /** What it has told. */
  events: RemoraEvent[];
  run(job: ToolJob): Promise<ToolResult>;
  abort(jobId: string, cause: AbortCause): void;
  /** Closes its queue, and resolves with the exit code once it has ended by itself. */
  close(): Promise<number | null>;
  signal(name: "SIGSTOP" | "SIGCONT"): void;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Closes its queue if it lives, and keeps the process for the next `startQueueProcess`. */
  release(): Promise<void>;
}

/** A start costs more than most tests do with it. */
const idle: ChildProcess[] = [];

export function endIdleProcesses(): void {
  for (const child of idle.splice(0)) child.kill("SIGKILL");
}

/** Resolves once its queue is open; whether Redis is there is another matter. */
export async function startQueueProcess(settings: OpenSettings): Promise<QueueProcess> {
  const child =
    idle.pop() ??
    spawn(process.execPath, [join(import.meta.dirname, "bull-process.ts")], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const events: RemoraEvent[] = [];
  const results = new Map<string, (result: ToolResult) => void>();
  const [ready, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  void exited.then((code) => ready.reject(new Error(`the process ended with ${code} before it was ready`)));
  const hear = (report: Report) => {
    if (report.type === "ready") ready.resolve();
    if (report.type === "event") events.push(report.event);
    if (report.type === "closed") closed.resolve();
    if (report.type === "result") results.get(report.result.callId)?.(report.result);
  };
  child.on("message", hear);
  tell(child, { type: "open", settings });
  await ready.promise;
  return {
    pid: child.pid ?? 0,
    events,
    run(job) {
      const { promise, resolve } = Promise.withResolvers<ToolResult>();
      results.set(job.call.id, resolve);
      tell(child, { type: "run", job });
      return promise;
    },
    abort: (jobId, cause) => tell(child, { type: "abort", jobId, cause }),
    close() {
      tell(child, { type: "close", isLast: true });
      return exited;
    },
    signal: (name) => void child.kill(name),
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
    async release() {
      if (!child.connected) return;
      tell(child, { type: "close", isLast: false });
      await closed.promise;
      child.off("message", hear);
      idle.push(child);
    },
  };
}

function tell(child: ChildProcess, order: Order): void {
  child.send(order);
}
