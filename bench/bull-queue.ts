/**
 * The cost of the BullMQ queue over BullMQ alone: the same tool from `run` to its result through our queue, and from `add` to
 * `completed` through BullMQ, alternating in one run on one redis-server. Our queue runs with the ledger on SQLite and on
 * Redis. BullMQ alone is measured through the worker in its own process, and through QueueEvents, as other processes use it.
 *
 * Prints one JSON line, times in milliseconds. `node bench/bull-queue.ts [rounds]`
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Queue, QueueEvents, Worker } from "bullmq";
import { createAuditLog } from "../src/audit/audit-log.ts";
import { defaultBackoff } from "../src/lib/backoff.ts";
import { createEvents } from "../src/lib/event-bus.ts";
import { silentLog } from "../src/lib/log.ts";
import type { Toolbox, ToolJob, ToolQueue } from "../src/ports/tool.ts";
import { createRedisBus } from "../src/storage/redis/bus.ts";
import { createRedisConnection } from "../src/storage/redis/connection.ts";
import { createRedisLedger } from "../src/storage/redis/ledger.ts";
import { createSqliteLedger } from "../src/storage/sqlite/ledger.ts";
import { optionsOf } from "../src/tool-queue/bullmq/jobs.ts";
import { createBullQueue } from "../src/tool-queue/bullmq/queue.ts";
import { startRedisServer } from "../test/doubles/redis-server.ts";
import { median, percentile } from "./statistics.ts";

const rounds = Number(process.argv[2] ?? 1_500);
const together = 1_000;
const warmUp = 200;
const concurrency = 16;

const folder = await mkdtemp(join(tmpdir(), "remora-bench-"));
const server = await startRedisServer();
const connection = createRedisConnection(server.url, silentLog);
const signal = new AbortController().signal;
const toolbox: Toolbox = {
  specs: () => [],
  run: async () => ({ isOk: true, text: "fine", files: [], isRetryable: false }),
};
const ledgers = {
  sqlite: createSqliteLedger({ path: join(folder, "ledger.db") }),
  redis: await createRedisLedger({ connection }),
};
const buses = Object.values(ledgers).map(() => createRedisBus({ connection, log: silentLog }));
const audit = createAuditLog({
  ...{ events: createEvents(), retentionDays: 1, mask: (text: string) => text, log: silentLog },
  folder: join(folder, "corpus"),
  headsFolder: join(folder, "heads"),
});
const [onSqlite, onRedis] = Object.values(ledgers).map((ledger, index) =>
  createBullQueue({
    ephemeral: { put() {} },
    ledger,
    toolbox,
    connect: connection.forBullMq,
    bus: buses[index] as (typeof buses)[number],
    prefix: `{bench-${index}}:`,
    runs: true,
    events: createEvents(),
    audit,
    backoff: defaultBackoff,
    concurrency,
    outputsFolder: () => tmpdir(),
    outputLimit: 30_000,
    redact: (text) => text,
    log: silentLog,
  }),
) as [ToolQueue, ToolQueue];

/** BullMQ alone, used as in its documentation, with the same job options. */
function openBullMq(prefix: string) {
  const waiting = new Map<string, () => void>();
  const ended = (id: string | undefined) => {
    const resolve = waiting.get(id ?? "");
    waiting.delete(id ?? "");
    resolve?.();
  };
  const queue = new Queue("bare", { connection: connection.forBullMq("queue"), prefix });
  const work = async ({ data }: { data: ToolJob }) => (await toolbox.run(data.call, data.scope, signal)).text;
  const worker = new Worker("bare", work, { connection: connection.forBullMq("worker"), prefix, concurrency });
  return {
    queue,
    worker,
    ended,
    async run(job: ToolJob) {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.set(job.id, resolve);
      await queue.add(job.call.name, job, optionsOf(job));
      await promise;
    },
  };
}

const near = openBullMq("{bench-near}");
near.worker.on("completed", (job) => near.ended(job.id));
const far = openBullMq("{bench-far}");
const farEvents = new QueueEvents("bare", { connection: connection.forBullMq("worker"), prefix: "{bench-far}" });
farEvents.on("completed", ({ jobId }) => far.ended(jobId));
await Promise.all([near.worker, far.worker, farEvents].map((part) => part.waitUntilReady()));

function jobOf(id: string): ToolJob {
  const requester = { id: "ann", name: "Ann", isBot: false, roles: [] };
  const scope = { turnId: id, conversationId: "c", scope: "dm:ann" as const, requester, workingFolder: folder };
  return { id, call: { id, name: "tool", input: { text: "hello" } }, scope, isIdempotent: false, timeoutMs: 120_000 };
}

type Way = "near" | "far" | "onSqlite" | "onRedis";

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

const ways: Record<Way, (job: ToolJob) => Promise<unknown>> = {
  near: (job: ToolJob) => near.run(job),
  far: (job: ToolJob) => far.run(job),
  onSqlite: (job: ToolJob) => onSqlite.run(job, signal),
  onRedis: (job: ToolJob) => onRedis.run(job, signal),
};
const names: Way[] = ["near", "far", "onSqlite", "onRedis"];
const times: Record<Way, number[]> = { near: [], far: [], onSqlite: [], onRedis: [] };
for (let round = -warmUp; round < rounds; round += 1) {
  for (const name of names) {
    const ms = await timed(() => ways[name](jobOf(`${name}-${round}`)));
    if (round >= 0) times[name].push(ms);
  }
}
const perSecond = {} as Record<Way, number>;
for (const name of names) {
  const jobs = Array.from({ length: together }, (_, number) => jobOf(`together-${name}-${number}`));
  perSecond[name] = Math.round(
    (together / (await timed(() => Promise.all(jobs.map((job) => ways[name](job)))))) * 1_000,
  );
}

const ratio = (of: number, to: number) => Number((of / to).toFixed(2));
const summary = (name: Way) => ({
  medianMs: median(times[name]),
  p99Ms: percentile(times[name], 0.99),
  jobsPerSecond: perSecond[name],
});
const compared = (name: Way) => ({
  ...summary(name),
  ratioMedian: ratio(median(times[name]), median(times.far)),
  ratioP99: ratio(percentile(times[name], 0.99), percentile(times.far, 0.99)),
  ratioMedianToOwnProcess: ratio(median(times[name]), median(times.near)),
});
console.log(
  JSON.stringify({
    name: "bull-queue",
    rounds,
    bullMqOverEvents: summary("far"),
    bullMqInOwnProcess: summary("near"),
    ledgerOnSqlite: compared("onSqlite"),
    ledgerOnRedis: compared("onRedis"),
    targetRatioMedian: 1.3,
  }),
);

await Promise.all([onSqlite, onRedis].map((queue) => queue.close()));
await Promise.all([near.worker, far.worker, farEvents, near.queue, far.queue].map((part) => part.close()));
await Promise.all([...buses, ...Object.values(ledgers)].map((part) => part.close()));
await connection.close();
await server.dispose();
await rm(folder, { recursive: true });
