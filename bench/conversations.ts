/**
 * Many conversations at once, in one process of its own over the page's API, with a model that answers at once:
 *
 *   fifty      50 mentions, a conversation each: milliseconds until the last one is answered
 *   thousand   1,000 conversations, three messages each, said one after the other without waiting for an answer; what
 *              comes while a turn runs is merged into the next one. Turns a second, from the first word to the last answer
 *
 * Every message must be answered, and in each conversation the model must see what was said in the order it was said;
 * else it ends with 1. Prints one JSON line. `node bench/conversations.ts [conversations]`
 */
import { performance } from "node:perf_hooks";
import { createHome, startRemora } from "../test/doubles/remora-process.ts";
import { createCrowd } from "./crowd.ts";
import { createModelServer } from "./model-server.ts";
import { createOrderCheck } from "./order-check.ts";

const conversations = Number(process.argv[2] ?? 1_000);
const messages = 3;

const order = createOrderCheck();
const model = await createModelServer({ words: 30, wordMs: 0, onRequest: order.see });
const home = await createHome();
const remora = await startRemora(home, { ANTHROPIC_API_KEY: "bench-key", ANTHROPIC_BASE_URL: model.url });
const crowd = await createCrowd(remora, order);

/** What any process does only once. */
await crowd.talk("warm", 20, 1);

const began = performance.now();
await crowd.talk("few", 50, 1);
const fiftyMs = Math.round(performance.now() - began);

const turnsBefore = crowd.turns();
const startedAt = performance.now();
const { acceptedMs } = await crowd.talk("many", conversations, messages);
const tookMs = performance.now() - startedAt;
const turns = crowd.turns() - turnsBefore;
const problems = order.problems("many", conversations, messages);

const line = {
  bench: "conversations",
  fifty: { answeredMs: fiftyMs, targetMs: 1_000 },
  many: {
    conversations,
    messages: conversations * messages,
    turns,
    acceptedMs: Math.round(acceptedMs),
    answeredMs: Math.round(tookMs),
    turnsPerSecond: Math.round((turns / tookMs) * 1_000),
    messagesPerSecond: Math.round(((conversations * messages) / tookMs) * 1_000),
    targetTurnsPerSecond: 200,
  },
  isInOrder: problems.length === 0,
};
process.stdout.write(`${JSON.stringify(line)}\n`);
for (const problem of problems.slice(0, 10)) process.stderr.write(`${problem}\n`);
if (problems.length > 0) process.exitCode = 1;
crowd.close();
await remora.kill();
await home.remove();
await model.close();
