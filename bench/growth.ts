/**
 * Growth of memory: many turns in new conversations over the page's API, in a separate process, with a model that answers
 * at once. The first half warms caches up; the slope is that of the second half.
 *
 *   residentMb   resident memory after each round, when the process is idle again
 *   slopeMb      MB per 1,000 turns, by the least squares of the second half
 *
 * Prints one JSON line. `node bench/growth.ts [turns]`; default 5,000.
 */
import { setTimeout } from "node:timers/promises";
import { createHome, startRemora } from "../test/doubles/remora-process.ts";
import { createLoadGenerator } from "./load-generator.ts";
import { createModelServer } from "./model-server.ts";
import { createOrderCheck } from "./order-check.ts";
import { processorMs, residentMb } from "./process-usage.ts";

const turns = Number(process.argv[2] ?? 5_000);
const rounds = 20;
/** Background work of the last answers (memory, index, snapshots) ends within this. */
const restMs = 500;

const order = createOrderCheck();
const model = await createModelServer({ words: 30, wordMs: 0, onRequest: order.see });
const home = await createHome();
const remora = await startRemora(home, { ANTHROPIC_API_KEY: "bench-key", ANTHROPIC_BASE_URL: model.url });
const load = await createLoadGenerator(remora, order);

const samples: { turns: number; mb: number }[] = [];
const usedBefore = await processorMs(remora.pid);
for (let round = 0; round < rounds; round++) {
  await load.talk(`round${String.fromCharCode(97 + round)}`, Math.ceil(turns / rounds), 1);
  await setTimeout(restMs);
  samples.push({ turns: load.turns(), mb: await residentMb(remora.pid) });
}
const usedMs = (await processorMs(remora.pid)) - usedBefore;

const line = {
  bench: "growth",
  turns: load.turns(),
  residentMb: samples.map(({ mb }) => mb),
  slopeMb: Number((slope(samples.slice(rounds / 2)) * 1_000).toFixed(1)),
  processorMsPerTurn: Number((usedMs / load.turns()).toFixed(2)),
};
process.stdout.write(`${JSON.stringify(line)}\n`);
load.close();
await remora.kill();
await home.remove();
await model.close();

function slope(points: readonly { turns: number; mb: number }[]): number {
  const mean = (key: "turns" | "mb") => points.reduce((sum, point) => sum + point[key], 0) / points.length;
  const [x, y] = [mean("turns"), mean("mb")];
  const covariance = points.reduce((sum, point) => sum + (point.turns - x) * (point.mb - y), 0);
  return covariance / points.reduce((sum, point) => sum + (point.turns - x) ** 2, 0);
}
