/**
 * How soon people see that their mention was taken, while the model is silent, with the real process on the doubles:
 *
 *   slackMs, discordMs   from the mention to the session of the thread, or to typing: median, and 95th percentile
 *   ratio                of the medians to the request that reaches the model, which is what the turn itself needs
 *
 * Prints one JSON line. `node bench/first-sign.ts [mentions]`; default 40.
 */
import { resolve } from "node:path";
import { performance } from "node:perf_hooks";
import { createDiscordDouble } from "../test/doubles/discord/double.ts";
import { createHome, startRemora } from "../test/doubles/remora-process.ts";
import { createSlackDouble } from "../test/doubles/slack/double.ts";
import { createModelServer } from "./model-server.ts";
import { median, percentile } from "./statistics.ts";

const mentions = Number(process.argv[2] ?? 40);
const warmUp = 5;
/** Longer than a first sign takes, so that the model has said nothing before. */
const thinkMs = 600;
const maxWaitMs = 30_000;

const model = await createModelServer({ words: 1, wordMs: 0, thinkMs });
const [slack, discord, home] = await Promise.all([
  createSlackDouble(),
  createDiscordDouble({ limits: { global: "none" } }),
  createHome(),
]);
slack.limits.isEnforced = false;
const remora = await startRemora(home, {
  ...{ ANTHROPIC_API_KEY: "bench-key", ANTHROPIC_BASE_URL: model.url },
  REMORA_CONFIG: resolve(import.meta.dirname, "remora.yaml"),
  ...{ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl },
  ...{ DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl },
});

interface Sample {
  signMs: number;
  requestMs: number;
}

async function onSlack(index: number): Promise<Sample> {
  const began = performance.now();
  const { ts } = slack.people.say({ as: slack.ann, in: slack.general, text: `@Remora hello ${index}` });
  await slack.until(() => slack.sessions.of(slack.general, ts)?.status === "processing", maxWaitMs);
  const signMs = performance.now() - began;
  await slack.until(
    () => slack.state.messages.some(({ threadTs, text }) => threadTs === ts && text.includes("word0")),
    maxWaitMs,
  );
  return { signMs, requestMs: model.requestAt() - began };
}

/** Typing is shown for some seconds, and then a mention in the same channel needs none. So each one is in another channel. */
async function onDiscord(index: number): Promise<Sample> {
  const channel = discord.guild.addChannel(`bench-${index}`);
  const began = performance.now();
  const said = discord.ann.say(`${discord.bot.mention} hello ${index}`, { in: channel });
  await discord.until(() => channel.typing().length > 0, maxWaitMs);
  const signMs = performance.now() - began;
  const thread = () => channel.threads().find(({ id }) => id === said.id);
  await discord.until(
    () =>
      thread()
        ?.messages()
        .some(({ content }) => content.includes("word0")),
    maxWaitMs,
  );
  return { signMs, requestMs: model.requestAt() - began };
}

async function samplesOf(measure: (index: number) => Promise<Sample>) {
  const samples: Sample[] = [];
  for (let index = 0; index < warmUp + mentions; index++) {
    const sample = await measure(index);
    if (index >= warmUp) samples.push(sample);
  }
  const signs = samples.map(({ signMs }) => signMs);
  const [sign, request] = [median(signs), median(samples.map(({ requestMs }) => requestMs))];
  return {
    median: Math.round(sign),
    p95: Math.round(percentile(signs, 0.95)),
    ratio: Number((sign / request).toFixed(2)),
  };
}

const line = {
  bench: "first-sign",
  mentions,
  slackMs: await samplesOf(onSlack),
  discordMs: await samplesOf(onDiscord),
};
process.stdout.write(`${JSON.stringify(line)}\n`);
await remora.kill();
await Promise.all([slack.stop(), discord.stop(), model.close(), home.remove()]);
