/**
 * The cost of the embedded queue: the same tool called through it and through the toolbox alone, alternating in one run.
 * Also the ledger's writes per second. Prints one JSON line, times in milliseconds.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuditLog } from "../src/audit/audit-log.ts";
import { defaultBackoff } from "../src/lib/backoff.ts";
import { createEvents } from "../src/lib/event-bus.ts";
import { silentLog } from "../src/lib/log.ts";
import type { Toolbox, ToolJob } from "../src/ports/tool.ts";
import { createSqliteLedger } from "../src/storage/sqlite/ledger.ts";
import { createEmbeddedQueue } from "../src/tool-queue/embedded/queue.ts";

const rounds = 2_000;
const folder = await mkdtemp(join(tmpdir(), "remora-bench-"));
const ledger = createSqliteLedger({ path: join(folder, "ledger.db") });
const toolbox: Toolbox = {
  specs: () => [],
  run: async () => ({ isOk: true, text: "fine", files: [], isRetryable: false }),
};
const events = createEvents();
const audit = createAuditLog({
  ...{ events, retentionDays: 1, mask: (text: string) => text, log: silentLog },
  folder: join(folder, "corpus"),
  headsFolder: join(folder, "heads"),
});
const queue = createEmbeddedQueue({
  ephemeral: { put() {} },
  ledger,
  toolbox,
  events,
  audit,
  backoff: defaultBackoff,
  concurrency: 16,
  outputsFolder: () => tmpdir(),
  outputLimit: 30_000,
  redact: (text) => text,
  log: silentLog,
});
const signal = new AbortController().signal;

function jobOf(id: string): ToolJob {
  const requester = { id: "ann", name: "Ann", isBot: false, roles: [] };
  const scope = { turnId: id, conversationId: "c", scope: "dm:ann" as const, requester, workingFolder: folder };
  return { id, call: { id, name: "tool", input: { text: "hello" } }, scope, isIdempotent: false, timeoutMs: 120_000 };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function at(share: number, times: number[]): number {
  const sorted = times.toSorted((one, other) => one - other);
  return round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0);
}

const round = (value: number) => Number(value.toFixed(4));

for (let warm = 0; warm < 200; warm += 1) await queue.run(jobOf(`warm-${warm}`), signal);
const queued: number[] = [];
const direct: number[] = [];
for (let number = 0; number < rounds; number += 1) {
  const job = jobOf(`job-${number}`);
  queued.push(await timed(() => queue.run(job, signal)));
  direct.push(await timed(() => toolbox.run(job.call, job.scope, signal)));
}
const together = await timed(() =>
  Promise.all(Array.from({ length: rounds }, (_, number) => queue.run(jobOf(`together-${number}`), signal))),
);
const writes = await timed(async () => {
  for (let number = 0; number < rounds; number += 1) {
    await ledger.create("post", `post-${number}`, { state: "posted", body: { messageId: "1" }, group: "g" });
    await ledger.transition("post", `post-${number}`, ["posted"], "posted", (body) => body);
  }
});
await queue.close();
await audit.close();
await ledger.close();
await rm(folder, { recursive: true });
console.log(
  JSON.stringify({
    name: "queue",
    rounds,
    queuedMedianMs: at(0.5, queued),
    queuedP99Ms: at(0.99, queued),
    directMedianMs: at(0.5, direct),
    targetMedianMs: 2,
    jobsPerSecond: Math.round((rounds / together) * 1_000),
    ledgerWritesPerSecond: Math.round(((2 * rounds) / writes) * 1_000),
  }),
);
