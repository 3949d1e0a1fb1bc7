/**
 * Remora against a bare bot, each in its own process, alternating in the same run:
 *
 *   requestMs   from sending the message to the complete request at the model
 *   replyMs     from the model's last word to the finished reply at the client
 *   readyMs     from the start of the process until it is ready
 *   residentMb  resident memory, idle after the start and after many turns
 *
 * Prints one JSON line. `node bench/pipeline.ts [turns]`; default 1,000.
 */
import { performance } from "node:perf_hooks";
import { createChatClient } from "../test/doubles/chat-client.ts";
import { createHome, startRemora } from "../test/doubles/remora-process.ts";
import { startBareClient } from "./bare-client.ts";
import { createModelServer, type ModelServer } from "./model-server.ts";
import { residentMb } from "./process-usage.ts";
import { compared } from "./statistics.ts";

interface Sample {
  requestMs: number;
  replyMs: number;
}

/** Resolves when the client has the finished answer. */
type Say = (text: string) => Promise<void>;

const turns = Number(process.argv[2] ?? 1_000);
const comparedTurns = Math.min(turns, 300);
const warmUp = 20;
const restMs = 60;

async function measure(say: Say, model: ModelServer, text: string): Promise<Sample> {
  // Background work of the last answer (memory, index) must not count here: people do not reply within milliseconds.
  await new Promise((resolve) => setTimeout(resolve, restMs));
  const saidAt = performance.now();
  await say(text);
  const finishedAt = performance.now();
  return { requestMs: model.requestAt() - saidAt, replyMs: finishedAt - model.lastTokenAt() };
}

const model = await createModelServer({ words: 30, wordMs: 0 });
const bare = await startBareClient(model.url);
const home = await createHome();
const startedAt = performance.now();
const remora = await startRemora(home, { ANTHROPIC_API_KEY: "bench-key", ANTHROPIC_BASE_URL: model.url });
const readyMs = Math.round(performance.now() - startedAt);
const client = await createChatClient(remora.url, remora.token);
const idleMb = await residentMb(remora.pid);

const sayTo =
  (count: () => number): Say =>
  async (text) => {
    // One thread per message, like mentions in a channel.
    const said = await client.say(`@remora ${text} ${count()}`);
    await client.answerTo(said);
    client.seen.clear();
  };
let asked = 0;
const say = sayTo(() => asked++);

const [ours, theirs]: [Sample[], Sample[]] = [[], []];
for (let turn = 0; turn < warmUp + comparedTurns; turn++) {
  const sample = [await measure(bare.say, model, "hello"), await measure(say, model, "hello")] as const;
  if (turn < warmUp) continue;
  theirs.push(sample[0]);
  ours.push(sample[1]);
}
const residents = [await residentMb(remora.pid)];
while (asked < turns) {
  await say("hello again");
  if (asked % 100 === 0) residents.push(await residentMb(remora.pid));
}

const compare = (key: keyof Sample) =>
  compared(
    ours.map((sample) => sample[key]),
    theirs.map((sample) => sample[key]),
  );
const line = {
  bench: "pipeline",
  turns: asked,
  requestMs: compare("requestMs"),
  replyMs: compare("replyMs"),
  readyMs,
  residentMb: { idle: idleMb, during: residents, after: await residentMb(remora.pid) },
};
process.stdout.write(`${JSON.stringify(line)}\n`);
client.close();
bare.kill();
await remora.kill();
await home.remove();
await model.close();
