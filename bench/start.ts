/**
 * From the start of the process until it is ready, against a bare bot, alternating in the same run: with an empty folder,
 * and with many ended turns in it.
 *
 *   readyMs   by the clock
 *   cpuMs     processor time of all threads until then; it hardly depends on what else runs on the machine
 *
 * Prints one JSON line. `node bench/start.ts [rounds] [turns]`; default 5 and 50,000.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createChatClient } from "../test/doubles/chat-client.ts";
import { createHome, type RemoraHome, startRemora } from "../test/doubles/remora-process.ts";
import { startBareBot } from "./bare-process.ts";
import { createModelServer } from "./model-server.ts";
import { processorMs } from "./process-usage.ts";
import { compared } from "./statistics.ts";
import { copyTurns } from "./turn-history.ts";

interface Sample {
  readyMs: number;
  cpuMs: number;
}

const [rounds, turns] = [Number(process.argv[2] ?? 5), Number(process.argv[3] ?? 50_000)];
/** The first start with many turns reads them into the search index, in the background. */
const indexMs = 60_000;

const model = await createModelServer({ words: 30, wordMs: 0 });
const environment = { ANTHROPIC_API_KEY: "bench-key", ANTHROPIC_BASE_URL: model.url };

async function measure(start: () => Promise<{ pid: number; kill(): unknown }>): Promise<Sample> {
  const startedAt = performance.now();
  const started = await start();
  const readyMs = Math.round(performance.now() - startedAt);
  const cpuMs = await processorMs(started.pid);
  await started.kill();
  return { readyMs, cpuMs };
}

/** A stop, so that the next start finds nothing to repair. */
async function startOurs(home: RemoraHome) {
  const remora = await startRemora(home, environment);
  return { pid: remora.pid, kill: remora.stop };
}

async function fill(home: RemoraHome): Promise<void> {
  const remora = await startRemora(home, environment);
  const client = await createChatClient(remora.url, remora.token);
  await client.answerTo(await client.say("@remora hello"));
  client.close();
  await remora.stop();
  await copyTurns(home, turns);
  const indexing = await startRemora(home, environment);
  await sleep(indexMs);
  await indexing.stop();
}

const [empty, full] = [await createHome(), await createHome()];
await fill(full);
const samples = { bare: [] as Sample[], empty: [] as Sample[], full: [] as Sample[] };
for (let round = 0; round < rounds + 1; round++) {
  const [bare, withNothing, withTurns] = [
    await measure(() => startBareBot("page", environment)),
    await measure(() => startOurs(empty)),
    await measure(() => startOurs(full)),
  ];
  // The first round fills caches.
  if (round === 0) continue;
  samples.bare.push(bare);
  samples.empty.push(withNothing);
  samples.full.push(withTurns);
}

const compare = (ours: Sample[], key: keyof Sample) =>
  compared(
    ours.map((sample) => sample[key]),
    samples.bare.map((sample) => sample[key]),
  );
const both = (ours: Sample[]) => ({ readyMs: compare(ours, "readyMs"), cpuMs: compare(ours, "cpuMs") });
process.stdout.write(
  `${JSON.stringify({ bench: "start", rounds, turns, empty: both(samples.empty), full: both(samples.full) })}\n`,
);
await Promise.all([empty.remove(), full.remove(), model.close()]);
