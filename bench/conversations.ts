/**
 * Many concurrent conversations, in a separate process over the page's API, with a model that answers at once:
 *
 *   fifty      50 mentions, one per conversation: milliseconds until the last answer, of Remora and of a bare bot
 *   single     1,000 conversations with one message each, so one turn per message, like the bare bot: turns per second, from
 *              the first message to the last answer
 *   many       1,000 conversations with three messages each, sent without waiting for answers. Messages that arrive during a
 *              turn are merged into the next one, so a turn accepts and answers almost three messages: compare its messages per
 *              second with the bare bot, not its turns
 *
 * `processorMs` is the processor time of all threads, per turn; unlike the other figures, it hardly depends on what else runs.
 * Every message must be answered, and the model must see each conversation's messages in order; otherwise the exit code is 1.
 * Prints one JSON line. `node bench/conversations.ts [conversations]`
 */
import { performance } from "node:perf_hooks";
import { createHome, startRemora } from "../test/doubles/remora-process.ts";
import { startBareClient } from "./bare-client.ts";
import { createLoadGenerator } from "./load-generator.ts";
import { createModelServer } from "./model-server.ts";
import { createOrderCheck } from "./order-check.ts";
import { processorMs } from "./process-usage.ts";

const conversations = Number(process.argv[2] ?? 1_000);
const messages = 3;

const order = createOrderCheck();
const model = await createModelServer({ words: 30, wordMs: 0, onRequest: order.see });
const home = await createHome();
const remora = await startRemora(home, { ANTHROPIC_API_KEY: "bench-key", ANTHROPIC_BASE_URL: model.url });
const load = await createLoadGenerator(remora, order);

/** One-time work of a new process. */
await load.talk("warm", 20, 1);

const bare = await startBareClient(model.url);
const sayToBare = (count: number) => Promise.all(Array.from({ length: count }, () => bare.say("hello")));
await sayToBare(20);

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return Math.round(performance.now() - began);
}

const fifty = {
  bare: await timed(() => sayToBare(50)),
  ours: await timed(() => load.talk("few", 50, 1)),
};
const bareMs = await timed(() => sayToBare(conversations));
bare.kill();

const problems: string[] = [];

async function round(name: string, messages: number) {
  const [turnsBefore, processorBefore, startedAt] = [load.turns(), await processorMs(remora.pid), performance.now()];
  const { acceptedMs } = await load.talk(name, conversations, messages);
  const tookMs = performance.now() - startedAt;
  const turns = load.turns() - turnsBefore;
  problems.push(...order.problems(name, conversations, messages));
  return {
    messages: conversations * messages,
    turns,
    acceptedMs: Math.round(acceptedMs),
    answeredMs: Math.round(tookMs),
    turnsPerSecond: Math.round((turns / tookMs) * 1_000),
    messagesPerSecond: Math.round(((conversations * messages) / tookMs) * 1_000),
    processorMs: Number((((await processorMs(remora.pid)) - processorBefore) / turns).toFixed(2)),
  };
}

const line = {
  bench: "conversations",
  fiftyMs: { ...fifty, ratio: Number((fifty.ours / fifty.bare).toFixed(2)) },
  conversations,
  single: await round("single", 1),
  many: await round("many", messages),
  bareTurnsPerSecond: Math.round((conversations / bareMs) * 1_000),
  targetTurnsPerSecond: 300,
  isInOrder: problems.length === 0,
};
process.stdout.write(`${JSON.stringify(line)}\n`);
for (const problem of problems.slice(0, 10)) process.stderr.write(`${problem}\n`);
if (problems.length > 0) process.exitCode = 1;
load.close();
await remora.kill();
await home.remove();
await model.close();
