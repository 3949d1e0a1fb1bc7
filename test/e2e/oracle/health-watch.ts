/**
 * Checks from its own thread that the bot answers `/healthz` within five seconds. It also asks a server in that thread: if that
 * one is late too, the bot is not to blame.
 */
import { Worker } from "node:worker_threads";

export interface HealthWatch {
  /** Resolves with what was seen since the start. */
  stop(): Promise<HealthSeen>;
}

export interface HealthSeen {
  asked: number;
  slowestMs: number;
  /** Slow or missing answers while the control server was quick. */
  late: string[];
}

const program = `
const { parentPort, workerData } = require("node:worker_threads");
const { createServer } = require("node:http");
const control = createServer((_request, response) => response.end("ok")).listen(0, "127.0.0.1");
const seen = { asked: 0, slowestMs: 0, late: [] };
let isStopped = false;
parentPort.once("message", () => { isStopped = true; });
const ask = async (url) => {
  const began = performance.now();
  const answer = await fetch(url, { signal: AbortSignal.timeout(60_000) }).then((response) => response.text() && response.status, String);
  return { answer, ms: performance.now() - began };
};
control.on("listening", async () => {
  const own = "http://127.0.0.1:" + control.address().port;
  while (!isStopped) {
    const [bot, machine] = await Promise.all([ask(workerData.url + "/healthz"), ask(own)]);
    seen.asked += 1;
    seen.slowestMs = Math.max(seen.slowestMs, Math.round(bot.ms));
    const isLate = bot.ms > 5_000 || bot.answer !== 200;
    if (isLate && machine.ms < bot.ms / 4) seen.late.push(bot.answer + " after " + Math.round(bot.ms) + " ms (the machine: " + Math.round(machine.ms) + " ms)");
    await new Promise((done) => setTimeout(done, 500));
  }
  control.closeAllConnections();
  control.close();
  parentPort.postMessage(seen);
});
`;

export function watchHealth(url: string): HealthWatch {
  const worker = new Worker(program, { eval: true, workerData: { url } });
  return {
    async stop() {
      const seen = new Promise<HealthSeen>((resolve, reject) => {
        worker.once("message", resolve);
        worker.once("error", reject);
      });
      worker.postMessage("stop");
      return await seen.finally(() => worker.terminate());
    },
  };
}
