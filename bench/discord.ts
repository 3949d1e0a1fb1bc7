/**
 * Remora against a bare Discord bot, each in its own process on a double of Discord, alternating in the same run:
 *
 *   requestMs     from the mention to the complete request at the model
 *   replyMs       from the model's last word to the finished reply in Discord
 *   connectedMs   from the start of the process to its session
 *   residentMb    resident memory at the end
 *   fiftyMs       fifty mentions in fifty channels at once, until the last answer
 *   cut           after a broken connection: until it is restored, and until missed messages are answered
 *   restart       after a kill: from the next start until missed messages are answered
 *
 * Discord's rate limits are off, because both would wait for the same ones. Prints one JSON line. `node bench/discord.ts [mentions]`;
 * default 150.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { resolve } from "node:path";
import { performance } from "node:perf_hooks";
import { createDiscordDouble, type DiscordDouble } from "../test/doubles/discord/double.ts";
import type { ChannelHandle } from "../test/doubles/discord/places.ts";
import type { SeenMessage } from "../test/doubles/discord/view.ts";
import { createHome, type RemoraProcess, startRemora } from "../test/doubles/remora-process.ts";
import { createModelServer } from "./model-server.ts";
import { residentMb } from "./process-usage.ts";
import { compared } from "./statistics.ts";

interface Sample {
  requestMs: number;
  replyMs: number;
}

const mentions = Number(process.argv[2] ?? 150);
const warmUp = 15;
const restMs = 40;
const lastWord = "word29";

const model = await createModelServer({ words: 30, wordMs: 0 });

const limited = ["default", "global", "typing", "threads.create", "messages.create", "messages.edit", "messages.list"];

function createDiscord(): Promise<DiscordDouble> {
  return createDiscordDouble({ limits: Object.fromEntries(limited.map((route) => [route, "none"])) });
}

function environmentOf(discord: DiscordDouble): Record<string, string> {
  return {
    ANTHROPIC_API_KEY: "bench-key",
    ANTHROPIC_BASE_URL: model.url,
    REMORA_CONFIG: resolve(import.meta.dirname, "remora.yaml"),
    DISCORD_TOKEN: discord.token,
    DISCORD_API_URL: discord.apiUrl,
  };
}

function startBareBot(discord: DiscordDouble): ChildProcess {
  return spawn(process.execPath, [resolve(import.meta.dirname, "bare-discord.ts")], {
    env: { ...process.env, ...environmentOf(discord) },
    stdio: ["ignore", "ignore", "inherit"],
  });
}

function mention(discord: DiscordDouble, text: string, channel: ChannelHandle): SeenMessage {
  return discord.ann.say(`${discord.bot.mention} ${text}`, { in: channel });
}

/** Reads the sent bodies, because viewing them as a person would cost more than what is measured. */
function isAnswered(discord: DiscordDouble, { id }: SeenMessage): boolean {
  const path = `/channels/${id}/messages`;
  return discord.requests.some(({ path: sent, body, status }) => {
    if (status === undefined || !sent.startsWith(path)) return false;
    const content = (body as { content?: string } | undefined)?.content;
    return content?.includes(lastWord) === true;
  });
}

/** One channel per mention, so no channel's history is measured. */
async function measure(discord: DiscordDouble, turn: number): Promise<Sample> {
  const channel = discord.guild.addChannel(`room-${turn}`);
  // Background work of the last answer must not count here.
  await new Promise((done) => setTimeout(done, restMs));
  discord.requests.length = 0;
  const saidAt = performance.now();
  const said = mention(discord, `hello ${turn}`, channel);
  await discord.until(() => isAnswered(discord, said), 30_000);
  const finishedAt = performance.now();
  return { requestMs: model.requestAt() - saidAt, replyMs: finishedAt - model.lastTokenAt() };
}

async function connected(discord: DiscordDouble, startedAt: number): Promise<number> {
  await discord.until(() => discord.gateway.connected().length === 1, 60_000);
  return Math.round(performance.now() - startedAt);
}

const [bareDiscord, discord] = [await createDiscord(), await createDiscord()];
const bareStartedAt = performance.now();
const bare = startBareBot(bareDiscord);
const bareConnectedMs = await connected(bareDiscord, bareStartedAt);
const home = await createHome();
const startedAt = performance.now();
const [connectedMs, started] = await Promise.all([
  connected(discord, startedAt),
  startRemora(home, environmentOf(discord)),
]);
let remora: RemoraProcess = started;

const [ours, theirs]: [Sample[], Sample[]] = [[], []];
for (let turn = 0; turn < warmUp + mentions; turn++) {
  const [their, our] = [await measure(bareDiscord, turn), await measure(discord, turn)];
  if (turn < warmUp) continue;
  theirs.push(their);
  ours.push(our);
}

async function measureFifty(discord: DiscordDouble): Promise<number> {
  const channels = Array.from({ length: 50 }, (_, index) => discord.guild.addChannel(`crowd-${index}`));
  discord.requests.length = 0;
  const saidAt = performance.now();
  const said = channels.map((channel) => mention(discord, "all of you", channel));
  await discord.until(() => said.every((each) => isAnswered(discord, each)), 60_000);
  return Math.round(performance.now() - saidAt);
}

async function measureCut(): Promise<{ backMs: number; answeredMs: number }> {
  const before = discord.gateway.attempts.length;
  const cutAt = performance.now();
  discord.gateway.cut();
  const said = mention(discord, "meanwhile", discord.channel);
  await discord.until(() => discord.gateway.attempts.length > before, 60_000);
  const backMs = Math.round(performance.now() - cutAt);
  await discord.until(() => isAnswered(discord, said), 60_000);
  return { backMs, answeredMs: Math.round(performance.now() - cutAt) };
}

async function measureRestart(): Promise<{ connectedMs: number; answeredMs: number }> {
  await remora.kill();
  const said = mention(discord, "while you were away", discord.channel);
  const restartedAt = performance.now();
  const back = connected(discord, restartedAt);
  const starting = startRemora(home, environmentOf(discord));
  await discord.until(() => isAnswered(discord, said), 60_000);
  const answeredMs = Math.round(performance.now() - restartedAt);
  remora = await starting;
  return { connectedMs: await back, answeredMs };
}

const compare = (key: keyof Sample) =>
  compared(
    ours.map((sample) => sample[key]),
    theirs.map((sample) => sample[key]),
  );
const line = {
  bench: "discord",
  mentions,
  requestMs: compare("requestMs"),
  replyMs: compare("replyMs"),
  connectedMs: { ours: connectedMs, bare: bareConnectedMs },
  fiftyMs: compared([await measureFifty(discord)], [await measureFifty(bareDiscord)]),
  cut: await measureCut(),
  residentMb: { ours: await residentMb(remora.pid), bare: await residentMb(bare.pid ?? 0) },
  restart: await measureRestart(),
};
process.stdout.write(`${JSON.stringify(line)}\n`);
bare.kill("SIGKILL");
await remora.kill();
await home.remove();
await Promise.all([discord.stop(), bareDiscord.stop(), model.close()]);
