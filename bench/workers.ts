/**
 * Two worker processes against one, on their own Redis, with a slow model: turns per second from the first message to the last
 * answer, and the ratio. A limit on concurrent turns per process makes one process the bottleneck.
 * Prints one JSON line. `node bench/workers.ts [conversations]`; default 60.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { startRedisServer } from "../test/doubles/redis-server.ts";
import { createHome, type RemoraProcess, startRemora } from "../test/doubles/remora-process.ts";
import { createLoadGenerator } from "./load-generator.ts";
import { createModelServer } from "./model-server.ts";
import { createOrderCheck } from "./order-check.ts";

const conversations = Number(process.argv[2] ?? 60);
const concurrency = 5;
const words = 40;
const wordMs = 20;

const order = createOrderCheck();
const [home, redis, model] = await Promise.all([
  createHome(),
  startRedisServer(),
  createModelServer({ words, wordMs, onRequest: order.see }),
]);
const configFile = join(home.data, "..", "remora.yaml");
await writeFile(configFile, JSON.stringify({ turns: { concurrency }, shutdown: { graceMs: 0 } }));
const env = {
  REDIS_URL: redis.url,
  REMORA_CONFIG: configFile,
  ANTHROPIC_API_KEY: "bench-key",
  ANTHROPIC_BASE_URL: model.url,
};
const start = (role: string): Promise<RemoraProcess> => startRemora(home, env, ["--role", role]);

const front = await start("platforms");
const load = await createLoadGenerator(front, order);
const workers = [await start("worker")];

async function turnsPerSecond(round: string): Promise<number> {
  await load.talk(`warm${round}`, concurrency, 1);
  const began = performance.now();
  await load.talk(round, conversations, 1);
  return Number(((conversations / (performance.now() - began)) * 1_000).toFixed(1));
}

const one = await turnsPerSecond("one");
workers.push(await start("worker"));
const two = await turnsPerSecond("two");

const ratio = Number((two / one).toFixed(2));
process.stdout.write(
  `${JSON.stringify({ bench: "workers", conversations, modelMs: words * wordMs, concurrency, turnsPerSecond: { one, two }, ratio })}\n`,
);
load.close();
await Promise.all([front, ...workers].map((each) => each.kill()));
await Promise.all([redis.dispose(), model.close()]);
await home.remove();
