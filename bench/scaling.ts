/**
 * How many processes many servers need: a `platforms` process and a worker on their own Redis, with doubles of Discord and of the
 * model. Measures processor time per event and per turn, requests to Discord per turn, and Redis memory per turn, and computes the
 * rest from `assumed`. Prints one JSON line and the table of docs/scaling.md. `node bench/scaling.ts [turns] [events]`; default
 * 150 and 5,000.
 */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { Redis } from "ioredis";
import { createDiscordDouble } from "../test/doubles/discord/double.ts";
import type { SeenMessage } from "../test/doubles/discord/view.ts";
import { startRedisServer } from "../test/doubles/redis-server.ts";
import { createHome, type RemoraProcess, startRemora } from "../test/doubles/remora-process.ts";
import { createModelServer } from "./model-server.ts";
import { residentMb } from "./process-usage.ts";

/** Change these to what is true for you. */
const assumed = {
  servers: 100,
  peoplePerServer: 10_000,
  messagesPerPersonPerDay: 5,
  /** Of all messages, those that ask the agent something. */
  askedShare: 0.01,
  /** Each costs about as much as the turn that is measured here, which has none. */
  toolCallsPerTurn: 2,
  turnSeconds: 20,
  /** Of a day's messages, those of its busiest hour. */
  busiestHourShare: 0.12,
  /** Of a core, so that a burst or a lost machine does not matter. */
  utilization: 0.5,
  turnsAtOncePerProcess: 100,
  discordRequestsPerSecond: 50,
  /** After that, an ended turn is only a stub in Redis. */
  fullRecordHours: 1,
};

const turns = Number(process.argv[2] ?? 150);
const events = Number(process.argv[3] ?? 5_000);
const warmUp = 20;
const wave = 25;
const lastWord = "word29";
const ticksPerSecond = 100;

const [home, redis, model, discord] = await Promise.all([
  createHome(),
  startRedisServer(),
  createModelServer({ words: 30, wordMs: 10, thinkMs: 200 }),
  createDiscordDouble({ limits: "none" }),
]);
const env = {
  REDIS_URL: redis.url,
  REMORA_CONFIG: resolve(import.meta.dirname, "remora.yaml"),
  ANTHROPIC_API_KEY: "bench-key",
  ANTHROPIC_BASE_URL: model.url,
  DISCORD_TOKEN: discord.token,
  DISCORD_API_URL: discord.apiUrl,
};
const front = await startRemora(home, env, ["--role", "platforms"]);
const worker = await startRemora(home, env, ["--role", "worker"]);
await discord.until(() => discord.gateway.connected().length === 1, 60_000);
const client = new Redis(redis.url);

/** Milliseconds of processor time since the start. */
async function cpuMs({ pid }: RemoraProcess): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1]?.split(" ") ?? [];
  return ((Number(fields[11]) + Number(fields[12])) / ticksPerSecond) * 1_000;
}

async function memoryBytes(): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await client.info("memory"))?.[1]);
}

/** Resolves when the process has done almost nothing for a second. */
async function whenIdle(process: RemoraProcess): Promise<void> {
  for (let before = await cpuMs(process); ; ) {
    await new Promise((done) => setTimeout(done, 1_000));
    const now = await cpuMs(process);
    if (now - before <= 60) return;
    before = now;
  }
}

async function talk(count: number, name: string): Promise<void> {
  for (let done = 0; done < count; done += wave) {
    const said = Array.from({ length: Math.min(wave, count - done) }, (_, index) => {
      const channel = discord.guild.addChannel(`${name}-${done + index}`);
      return discord.ann.say(`${discord.bot.mention} hello ${name} ${done + index}`, { in: channel });
    });
    await discord.until(() => said.every(isAnswered), 120_000);
  }
}

function isAnswered({ id }: SeenMessage): boolean {
  const path = `/channels/${id}/messages`;
  return discord.requests.some(({ path: sent, body }) => {
    const content = (body as { content?: string } | undefined)?.content;
    return sent.startsWith(path) && content?.includes(lastWord) === true;
  });
}

await talk(warmUp, "warm");
await Promise.all([front, worker].map(whenIdle));

const eventsBegan = await cpuMs(front);
for (let sent = 0; sent < events; sent++) {
  discord.ben.say(`what ben tells the others, number ${sent}`, { in: discord.channel });
  if (sent % 100 === 99) await new Promise((done) => setTimeout(done, 20));
}
await whenIdle(front);
const eventMs = ((await cpuMs(front)) - eventsBegan) / events;

discord.requests.length = 0;
const before = { front: await cpuMs(front), worker: await cpuMs(worker), memory: await memoryBytes() };
await talk(turns, "room");
await Promise.all([front, worker].map(whenIdle));
const measured = {
  eventMs: rounded(eventMs, 3),
  frontMsPerTurn: rounded(((await cpuMs(front)) - before.front) / turns, 1),
  workerMsPerTurn: rounded(((await cpuMs(worker)) - before.worker) / turns, 1),
  requestsPerTurn: rounded(discord.requests.length / turns, 1),
  redisBytesPerTurn: Math.round(((await memoryBytes()) - before.memory) / turns),
  residentMb: { platforms: await residentMb(front.pid), worker: await residentMb(worker.pid) },
};

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

function plan() {
  const people = assumed.servers * assumed.peoplePerServer;
  const messagesPerDay = people * assumed.messagesPerPersonPerDay;
  const perSecond = (messagesPerDay * assumed.busiestHourShare) / 3_600;
  const turnsPerSecond = perSecond * assumed.askedShare;
  const stepFactor = 1 + assumed.toolCallsPerTurn;
  const frontLoad = (perSecond * measured.eventMs + turnsPerSecond * measured.frontMsPerTurn) / 1_000;
  const workerLoad = (turnsPerSecond * stepFactor * measured.workerMsPerTurn) / 1_000;
  const turnsAtOnce = turnsPerSecond * assumed.turnSeconds;
  return {
    people,
    messagesPerDay,
    eventsPerSecond: rounded(perSecond, 0),
    turnsPerDay: messagesPerDay * assumed.askedShare,
    turnsPerSecond: rounded(turnsPerSecond, 1),
    turnsAtOnce: Math.ceil(turnsAtOnce),
    platformsProcesses: Math.ceil(frontLoad / assumed.utilization),
    workerProcesses: Math.max(
      Math.ceil(workerLoad / assumed.utilization),
      Math.ceil(turnsAtOnce / assumed.turnsAtOncePerProcess / assumed.utilization),
    ),
    discordRequestsPerSecond: rounded(turnsPerSecond * measured.requestsPerTurn, 0),
    redisMb: Math.ceil(
      (turnsPerSecond * 3_600 * assumed.fullRecordHours * stepFactor * measured.redisBytesPerTurn) / 1024 ** 2,
    ),
  };
}

const planned = plan();
const number = (value: number) => value.toLocaleString("en");
const rows = [
  ["Measured", ""],
  ["processor time of a message that nobody answers, `platforms`", `${measured.eventMs} ms`],
  ["messages that one core takes in", `${number(Math.round(1_000 / measured.eventMs))}/s`],
  ["processor time per turn, `platforms` / `worker`", `${measured.frontMsPerTurn} / ${measured.workerMsPerTurn} ms`],
  ["turns per second and core of a `worker`", number(rounded(1_000 / measured.workerMsPerTurn, 1))],
  ["requests to Discord per turn", number(measured.requestsPerTurn)],
  ["Redis memory per turn, before it becomes a stub", `${number(rounded(measured.redisBytesPerTurn / 1024, 1))} KB`],
  [
    "memory of a process, `platforms` / `worker`",
    `${measured.residentMb.platforms} / ${measured.residentMb.worker} MB`,
  ],
  [
    `**Needed for ${number(assumed.servers)} servers × ${number(assumed.peoplePerServer)} people**`,
    `${number(planned.messagesPerDay)} messages and ${number(planned.turnsPerDay)} turns a day`,
  ],
  ["busiest hour", `${number(planned.eventsPerSecond)} messages/s, ${planned.turnsPerSecond} turns/s`],
  ["turns at once", number(planned.turnsAtOnce)],
  ["`platforms` processes, one core each", number(planned.platformsProcesses)],
  ["`worker` processes, one core each", number(planned.workerProcesses)],
  [
    "requests to Discord",
    `${number(planned.discordRequestsPerSecond)}/s of ${assumed.discordRequestsPerSecond}/s for one token`,
  ],
  ["Redis memory of turns", `${number(planned.redisMb)} MB, plus stubs`],
];
process.stdout.write(`${JSON.stringify({ bench: "scaling", turns, events, assumed, measured, planned })}\n\n`);
const [head = [], ...rest] = rows;
const line = (cells: string[]) => `| ${cells.join(" | ")} |`;
process.stdout.write(`${[line(head), "|---|---|", ...rest.map(line)].join("\n")}\n`);
client.disconnect();
await Promise.all([front, worker].map((each) => each.kill()));
await Promise.all([redis.dispose(), model.close(), discord.stop()]);
await home.remove();
