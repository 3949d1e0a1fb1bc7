/**
 * One person floods the page, where no limit of requests applies, with a model that thinks for half a second:
 *
 *   aloneMs   median time until a person is answered while nobody else asks
 *   floodMs   the same during the flood: the flooder writes in a new thread whenever fewer than 150 answers are open, more
 *             than turns run at once
 *   ratio     at most 2; otherwise the exit code is 1
 *
 * Prints one JSON line. `node bench/flood.ts [questions]`; default 20.
 */
import { performance } from "node:perf_hooks";
import { createChatClient } from "../test/doubles/chat-client.ts";
import { createHome, startRemora } from "../test/doubles/remora-process.ts";
import { createModelServer } from "./model-server.ts";
import { compared } from "./statistics.ts";

const questions = Number(process.argv[2] ?? 20);
const maxOpen = 150;
const maxRatio = 2;

const model = await createModelServer({ words: 30, wordMs: 0, thinkMs: 500 });
const home = await createHome();
const remora = await startRemora(home, { ANTHROPIC_API_KEY: "bench-key", ANTHROPIC_BASE_URL: model.url });
const ann = await createChatClient(remora.url, remora.token, "ann");
const ben = await createChatClient(remora.url, remora.token, "ben");

async function ask(): Promise<number> {
  const began = performance.now();
  await ben.answerTo(await ben.say("@remora how are you"));
  return performance.now() - began;
}

async function askAll(): Promise<number[]> {
  const took: number[] = [];
  for (let asked = 0; asked < questions; asked++) took.push(await ask());
  return took;
}

let isFlooding = true;
let written = 0;

async function flood(): Promise<void> {
  while (isFlooding) await ann.answerTo(await ann.say(`@remora and this ${written++}`));
}

await ask();
const alone = await askAll();
const flooding = Array.from({ length: maxOpen }, flood);
const amid = await askAll();
isFlooding = false;
await Promise.all(flooding);

const { ours: floodMs, bare: aloneMs, ratio } = compared(amid, alone);
process.stdout.write(`${JSON.stringify({ bench: "flood", questions, flood: written, aloneMs, floodMs, ratio })}\n`);
if (ratio > maxRatio) process.exitCode = 1;
for (const client of [ann, ben]) client.close();
await remora.kill();
await home.remove();
await model.close();
