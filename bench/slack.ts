/**
 * Remora against a bare Slack bot, each in its own process on a double of Slack, alternating in the same run:
 *
 *   requestMs     from the mention to the complete request at the model
 *   replyMs       from the model's last word to the finished reply in Slack
 *   connectedMs   from the start of the process to its connection
 *   residentMb    resident memory at the end
 *   fiftyMs       fifty mentions in fifty channels at once, until the last answer
 *   cut           after a broken connection: until it is restored, and until missed messages are answered
 *
 * Slack's rate limits are off, because both would wait for the same ones. Prints one JSON line. `node bench/slack.ts [mentions]`;
 * default 150.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { resolve } from "node:path";
import { performance } from "node:perf_hooks";
import { createHome, startRemora } from "../test/doubles/remora-process.ts";
import { createSlackDouble, type SlackDouble } from "../test/doubles/slack/double.ts";
import type { Said } from "../test/doubles/slack/people.ts";
import type { Channel } from "../test/doubles/slack/state.ts";
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

async function createSlack(): Promise<SlackDouble> {
  const slack = await createSlackDouble();
  slack.limits.isEnforced = false;
  return slack;
}

function environmentOf(slack: SlackDouble): Record<string, string> {
  return {
    ANTHROPIC_API_KEY: "bench-key",
    ANTHROPIC_BASE_URL: model.url,
    REMORA_CONFIG: resolve(import.meta.dirname, "remora.yaml"),
    SLACK_BOT_TOKEN: slack.botToken,
    SLACK_APP_TOKEN: slack.appToken,
    SLACK_API_URL: slack.apiUrl,
  };
}

function startBareBot(slack: SlackDouble): ChildProcess {
  return spawn(process.execPath, [resolve(import.meta.dirname, "bare-slack.ts")], {
    env: { ...process.env, ...environmentOf(slack) },
    stdio: ["ignore", "ignore", "inherit"],
  });
}

function mention(slack: SlackDouble, text: string, channel: Channel = slack.general): Said {
  return slack.people.say({ as: slack.ann, in: channel, text: `@Remora ${text}` });
}

/** Reads the stored messages, because viewing them as a person would cost more than what is measured. */
function isAnswered({ state }: SlackDouble, { ts }: Said): boolean {
  return state.messages.some(
    (message) => message.threadTs === ts && message.stream?.state !== "in_progress" && message.text.includes(lastWord),
  );
}

async function measure(slack: SlackDouble, text: string): Promise<Sample> {
  // Background work of the last answer must not count here.
  await new Promise((done) => setTimeout(done, restMs));
  slack.state.messages.length = 0;
  const saidAt = performance.now();
  const said = mention(slack, text);
  await slack.until(() => isAnswered(slack, said), 30_000);
  const finishedAt = performance.now();
  return { requestMs: model.requestAt() - saidAt, replyMs: finishedAt - model.lastTokenAt() };
}

async function connected(slack: SlackDouble, startedAt: number): Promise<number> {
  await slack.until(() => slack.sockets.count() === 1, 60_000);
  return Math.round(performance.now() - startedAt);
}

const [bareSlack, slack] = [await createSlack(), await createSlack()];
const bareStartedAt = performance.now();
const bare = startBareBot(bareSlack);
const bareConnectedMs = await connected(bareSlack, bareStartedAt);
const home = await createHome();
const startedAt = performance.now();
const [connectedMs, remora] = await Promise.all([connected(slack, startedAt), startRemora(home, environmentOf(slack))]);

const [ours, theirs]: [Sample[], Sample[]] = [[], []];
for (let turn = 0; turn < warmUp + mentions; turn++) {
  const [their, our] = [await measure(bareSlack, `hello ${turn}`), await measure(slack, `hello ${turn}`)];
  if (turn < warmUp) continue;
  theirs.push(their);
  ours.push(our);
}

async function measureFifty(slack: SlackDouble): Promise<number> {
  const channels = Array.from({ length: 50 }, (_, index) =>
    slack.workspace.addChannel({ name: `room-${index}`, members: [slack.ann] }),
  );
  slack.state.messages.length = 0;
  const saidAt = performance.now();
  const said = channels.map((channel) => mention(slack, "all of you", channel));
  await slack.until(() => said.every((each) => isAnswered(slack, each)), 60_000);
  return Math.round(performance.now() - saidAt);
}

async function measureCut(): Promise<{ backMs: number; answeredMs: number }> {
  const before = slack.sockets.opened();
  const cutAt = performance.now();
  slack.sockets.cut();
  const said = mention(slack, "meanwhile");
  await slack.until(() => slack.sockets.opened() > before, 60_000);
  const backMs = Math.round(performance.now() - cutAt);
  await slack.until(() => isAnswered(slack, said), 60_000);
  return { backMs, answeredMs: Math.round(performance.now() - cutAt) };
}

const compare = (key: keyof Sample) =>
  compared(
    ours.map((sample) => sample[key]),
    theirs.map((sample) => sample[key]),
  );
// Before the fifty channels: Slack allows about fifty history calls a minute, and each known place takes one.
const cut = await measureCut();
const line = {
  bench: "slack",
  mentions,
  requestMs: compare("requestMs"),
  replyMs: compare("replyMs"),
  connectedMs: { ours: connectedMs, bare: bareConnectedMs },
  fiftyMs: compared([await measureFifty(slack)], [await measureFifty(bareSlack)]),
  cut,
  residentMb: { ours: await residentMb(remora.pid), bare: await residentMb(bare.pid ?? 0) },
};
process.stdout.write(`${JSON.stringify(line)}\n`);
bare.kill("SIGKILL");
await remora.kill();
await home.remove();
await Promise.all([slack.stop(), bareSlack.stop(), model.close()]);
