/**
 * What a day's turns cost in Redis: the server's memory with their whole records, and an hour later as stubs.
 *
 *   memory   MB with all records, and as stubs; bytes per turn; MB of the journal file
 *   ready    seconds until a new process is ready, and its processor time until then, the best of three starts: with an
 *            empty Redis, and with all stubs
 *   sweeps   what an idle process with 20 turns that wait for approval asks of Redis per second: without ended turns, and
 *            with all of them. The ratio must be about 1
 *
 * Each turn has a message, an answer of 1,000 characters, and every second one a tool call with a result of 4,000.
 * Prints one JSON line. `node bench/redis-memory.ts [turns]`; default 50,000.
 */
import { randomBytes } from "node:crypto";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { silentLog } from "../src/lib/log.ts";
import type { InboundMessage } from "../src/ports/message.ts";
import type { ToolResult } from "../src/ports/tool.ts";
import type { StepRecord, TurnRecord } from "../src/ports/turn.ts";
import { createRedisConnection } from "../src/storage/redis/connection.ts";
import { createJournalFiles } from "../src/storage/redis/journal-files.ts";
import { createRedisLeases } from "../src/storage/redis/leases.ts";
import { createRedisLedger } from "../src/storage/redis/ledger.ts";
import { createStubs } from "../src/storage/redis/stubs.ts";
import { startRedisServer } from "../test/doubles/redis-server.ts";
import { createHome, type RemoraProcess, startRemora } from "../test/doubles/remora-process.ts";
import { startEffectServer } from "../test/e2e/chaos/effect-server.ts";
import { writeEffectsSkill } from "../test/e2e/chaos/effects-skill.ts";
import { createPerson } from "../test/e2e/chaos/person.ts";
import { startScriptedModel } from "../test/e2e/chaos/scripted-model.ts";

const turns = Number(process.argv[2] ?? 50_000);
const openTurns = 20;
const together = 200;
const watchedMs = 15_000;
const starts = 3;
const prefix = "{remora}:";

const [server, home, model, effects] = await Promise.all([
  startRedisServer({ persistence: "none" }),
  createHome(),
  startScriptedModel(),
  startEffectServer(),
]);
await writeEffectsSkill(home.workspace);
const configFile = join(home.workspace, "..", "remora.yaml");
await writeFile(
  configFile,
  JSON.stringify({ skills: { inProcess: ["effects"], settings: { effects: { url: effects.url } } } }),
);
const env = {
  REDIS_URL: server.url,
  REMORA_CONFIG: configFile,
  ANTHROPIC_API_KEY: "bench-key",
  ANTHROPIC_BASE_URL: model.url,
};
const connection = createRedisConnection(server.url, silentLog);
const leases = createRedisLeases({ connection, prefix, lockMs: 60_000 });
const journals = createJournalFiles(join(home.workspace, "journals"));
const ledger = await createRedisLedger({ connection, prefix, journals });
const stubEnded = createStubs({ connection, prefix, journals, leases, log: silentLog });

/** Ordinary words, because random ones would not be as compressible as what people write. */
const words = (characters: number) =>
  "The build of the website failed at the second step. ".repeat(99).slice(0, characters);

async function addTurn(number: number): Promise<void> {
  const [id, author] = [`0mw${randomBytes(8).toString("hex")}`, { id: `U${number % 2_000}`, name: "Ann Miller" }];
  const conversationId = `slack:T0123ABCD:C${number % 500}:1763${number}.0001`;
  const scope = `channel:C${number % 500}` as const;
  const message: InboundMessage = {
    ...{ id: `1763${number}.0001`, platform: "slack", conversationId, scope, text: words(180), attachments: [] },
    author: { ...author, isBot: false, roles: [] },
    ...{ isAddressed: true, isDirect: false, at: Date.now(), channelId: `C${number % 500}`, spaceId: "T0123ABCD" },
  };
  const call = { id: "toolu_01", name: "shell_exec", input: { command: "npm test -- --changed" } };
  const raw = { id: call.id, name: call.name, inputJson: JSON.stringify(call.input) };
  const outcome = { status: "ok" as const, text: words(4_000), attempts: 1, durationMs: 900, files: [] };
  const result: ToolResult = { callId: call.id, name: call.name, ...outcome };
  const usage = { inputTokens: 9_000, outputTokens: 300, cacheReadTokens: 8_000, cacheWriteTokens: 500 };
  const step: StepRecord = {
    ...{ text: words(1_000), calls: [], stop: "end", model: "anthropic/claude", requestedModel: "anthropic/claude" },
    ...{ usage, cost: 0.01, at: Date.now() },
  };
  const hasCall = number % 2 === 1;
  const asked: StepRecord = {
    ...step,
    text: "",
    stop: "tool-calls",
    calls: [{ raw, call, startedAt: Date.now(), result }],
  };
  const turn: TurnRecord = {
    ...{
      id,
      conversationId,
      scope,
      messages: [message],
      workingFolder: `/srv/workspace/files/channel-C${number % 500}`,
    },
    target: { platform: "slack", conversationId, turnId: id, messageId: message.id },
    ...{ steps: hasCall ? [asked, step] : [step], startedAt: Date.now(), endedAt: Date.now(), isDelivered: true },
  };
  await ledger.create("message", `slack:${message.id}`, { state: "queued", body: message, group: conversationId });
  await ledger.create("turn", id, { state: "running", body: { ...turn, steps: [] }, group: conversationId });
  if (hasCall) {
    const body = { turnId: id, callId: call.id, name: call.name, attempts: 1, startedAt: Date.now() };
    await ledger.create("call", `${id}-${call.id}`, { state: "started", body, group: id });
    await ledger.transition(
      "call",
      `${id}-${call.id}`,
      ["started"],
      "done",
      () => ({ ...body, result }) as typeof body,
    );
  }
  await ledger.create("post", `${id}:text:0`, { state: "posted", body: { messageId: message.id }, group: id });
  await ledger.create("answer", `slack:C1:${message.id}9`, {
    state: "posted",
    body: { turnId: id },
    group: conversationId,
  });
  await ledger.transition("turn", id, ["running"], "done", () => turn);
  await ledger.transition("message", `slack:${message.id}`, ["queued"], "answered");
}

async function figure(section: string, name: string): Promise<number> {
  return Number(new RegExp(`^${name}:(\\d+)`, "m").exec(await server.client.info(section))?.[1]);
}

async function usedMemory(): Promise<number> {
  // The outcomes of steps are kept for as long as a sender may repeat one, which is no cost of a turn.
  for (const key of await server.client.keys(`${prefix}ledger:done:*`)) await server.client.unlink(key);
  return await figure("memory", "used_memory");
}

async function timeToReady(): Promise<{ seconds: number; cpuSeconds: number }> {
  const taken: number[] = [];
  const used: number[] = [];
  for (let start = 0; start < starts; start += 1) {
    const began = performance.now();
    const remora = await startRemora(home, env);
    taken.push((performance.now() - began) / 1_000);
    // User and system time, in ticks of 10 ms, come 12th and 13th after the program's name.
    const status = (await readFile(`/proc/${remora.pid}/stat`, "utf8")).split(") ")[1]?.split(" ") ?? [];
    used.push((Number(status[11]) + Number(status[12])) / 100);
    await remora.stop();
  }
  return { seconds: Number(Math.min(...taken).toFixed(2)), cpuSeconds: Math.min(...used) };
}

/** Of the process, while it is idle. This bench's own questions are two commands. */
async function askedPerSecond(): Promise<{ commands: number; kilobytes: number }> {
  const look = async () => ({
    commands: await figure("stats", "total_commands_processed"),
    bytes: await figure("stats", "total_net_output_bytes"),
  });
  await wait(watchedMs / 3);
  const before = await look();
  await wait(watchedMs);
  const after = await look();
  const seconds = watchedMs / 1_000;
  return {
    commands: Math.round((after.commands - before.commands) / seconds),
    kilobytes: Number(((after.bytes - before.bytes) / 1_024 / seconds).toFixed(1)),
  };
}

async function parkTurns(remora: RemoraProcess): Promise<void> {
  const person = createPerson(async () => remora);
  for (let number = 0; number < openTurns; number += 1) await person.say(`parked-turn-${number}`, "call effect_ask x");
  while ((await ledger.list("approval", { states: ["open"] })).length < openTurns) await wait(100);
}

const rounded = (bytes: number) => Number((bytes / 1_048_576).toFixed(1));

const readyEmpty = await timeToReady();
let remora = await startRemora(home, env);
await parkTurns(remora);
const sweepsWithout = await askedPerSecond();
await remora.stop();

const empty = await usedMemory();
for (let number = 0; number < turns; number += together)
  await Promise.all(Array.from({ length: Math.min(together, turns - number) }, (_, index) => addTurn(number + index)));
const whole = (await usedMemory()) - empty;
const began = performance.now();
const stubs = await stubEnded(Date.now() + 3_700_000);
const stubbingSeconds = Math.round((performance.now() - began) / 1_000);
const stubbed = (await usedMemory()) - empty;

const readyFull = await timeToReady();
remora = await startRemora(home, env);
const sweepsWith = await askedPerSecond();
await remora.stop();
const files = await readdir(join(home.workspace, "journals"));
const sizes = await Promise.all(files.map((name) => stat(join(home.workspace, "journals", name))));

const line = {
  bench: "redis-memory",
  turns,
  memory: {
    ...{ wholeMb: rounded(whole), stubsMb: rounded(stubbed), ratio: Number((stubbed / whole).toFixed(2)) },
    ...{ wholeBytesPerTurn: Math.round(whole / turns), stubBytesPerTurn: Math.round(stubbed / turns) },
    journalMb: rounded(sizes.reduce((sum, { size }) => sum + size, 0)),
  },
  stubbing: { entries: stubs, seconds: stubbingSeconds },
  ready: { empty: readyEmpty, full: readyFull },
  sweeps: { without: sweepsWithout, with: sweepsWith },
};
process.stdout.write(`${JSON.stringify(line)}\n`);
await Promise.all([journals.close(), leases.close(), ledger.close()]);
await connection.close();
await Promise.all([server.dispose(), home.remove(), model.close(), effects.close()]);
