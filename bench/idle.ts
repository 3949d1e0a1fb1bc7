/**
 * Remora against a bare bot while nothing happens, on the page, Slack and Discord, all at once:
 *
 *   cpuPercent   processor time of all threads, as a share of one core
 *   residentMb   resident memory at the end
 *
 * Prints one JSON line. `node bench/idle.ts [seconds] [platform …]`: by default all three, for 180 seconds,
 * because V8 needs minutes to give memory back.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createDiscordDouble } from "../test/doubles/discord/double.ts";
import { createHome, startRemora } from "../test/doubles/remora-process.ts";
import { createSlackDouble } from "../test/doubles/slack/double.ts";
import { startBareBot } from "./bare-process.ts";
import { createModelServer } from "./model-server.ts";
import { processorMs, residentMb } from "./process-usage.ts";

const platforms = ["page", "slack", "discord"] as const;
type PlatformName = (typeof platforms)[number];

interface Pair {
  ours: number;
  bare: number;
}

/** Until the work after the start, such as compiling the gate's patterns, is done. */
const settleMs = 20_000;

const [seconds = "180", ...wanted] = process.argv.slice(2);
const model = await createModelServer({ words: 30, wordMs: 0 });

/** Each bot has a double of its own. */
async function openService(platform: PlatformName): Promise<{ env: Record<string, string>; stop(): Promise<unknown> }> {
  const env = { ANTHROPIC_API_KEY: "bench-key", ANTHROPIC_BASE_URL: model.url };
  if (platform === "slack") {
    const { botToken, appToken, apiUrl, stop } = await createSlackDouble();
    return { env: { ...env, SLACK_BOT_TOKEN: botToken, SLACK_APP_TOKEN: appToken, SLACK_API_URL: apiUrl }, stop };
  }
  if (platform === "discord") {
    const { token, apiUrl, stop } = await createDiscordDouble();
    return { env: { ...env, DISCORD_TOKEN: token, DISCORD_API_URL: apiUrl }, stop };
  }
  return { env, stop: async () => {} };
}

async function measure(platform: PlatformName): Promise<[PlatformName, { cpuPercent: Pair; residentMb: Pair }]> {
  const [service, bareService, home] = [await openService(platform), await openService(platform), await createHome()];
  const [remora, bare] = [await startRemora(home, service.env), await startBareBot(platform, bareService.env)];
  await sleep(settleMs);
  const usedBy = async () => ({ ours: await processorMs(remora.pid), bare: await processorMs(bare.pid) });
  const before = await usedBy();
  await sleep(Number(seconds) * 1_000);
  const after = await usedBy();
  const percent = (key: keyof Pair) => Number(((after[key] - before[key]) / Number(seconds) / 10).toFixed(2));
  const result = {
    cpuPercent: { ours: percent("ours"), bare: percent("bare") },
    residentMb: { ours: await residentMb(remora.pid), bare: await residentMb(bare.pid) },
  };
  bare.kill();
  await remora.stop();
  await Promise.all([home.remove(), service.stop(), bareService.stop()]);
  return [platform, result];
}

const chosen = platforms.filter((platform) => wanted.length === 0 || wanted.includes(platform));
const results = Object.fromEntries(await Promise.all(chosen.map(measure)));
process.stdout.write(`${JSON.stringify({ bench: "idle", seconds: Number(seconds), ...results })}\n`);
await model.close();
