/**
 * A stop while Slack and Discord can't be reached, answer nothing, or ask to wait for an hour. The agent ends soon after its grace
 * period, and the next one answers everything once. Only requests that hang could hold a process, so that one gets a SIGTERM.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createDiscordDouble, type DiscordDouble } from "../doubles/discord/double.ts";
import type { Fault } from "../doubles/discord/faults.ts";
import { startRemora } from "../doubles/remora-in-process.ts";
import {
  createHome,
  type RemoraHome,
  type RunningRemora,
  startRemora as startProcess,
} from "../doubles/remora-process.ts";
import type { Failure } from "../doubles/slack/api-call.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";

const patienceMs = 60_000;
/** A request alone is tried for longer. */
const maxStopMs = 25_000;
const graceMs = 500;

let home: RemoraHome;
let slack: SlackDouble;
let discord: DiscordDouble;
let remora: RunningRemora | undefined;
let next: RunningRemora | undefined;

async function settings(): Promise<Record<string, string>> {
  const configFile = join(home.workspace, "..", "remora.yaml");
  await writeFile(configFile, JSON.stringify({ shutdown: { graceMs } }));
  return {
    ...{ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl },
    ...{ DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl, REMORA_CONFIG: configFile },
  };
}

beforeEach(async () => {
  [slack, discord, home] = await Promise.all([createSlackDouble(), createDiscordDouble(), createHome()]);
  remora = undefined;
  next = undefined;
});
afterEach(async () => {
  await Promise.all([remora?.stop(), next?.stop()]);
  await Promise.all([slack.stop(), discord.stop(), home.remove()]);
});

const withSlack = () => slack.workspace.direct(slack.ann);
/** Resolves when Slack's message is stored. */
const say = (text: string) => {
  discord.ann.say(text, { in: "dm" });
  return slack.people.say({ as: slack.ann, in: withSlack(), text }).acknowledged();
};
const answers = () => ({
  slack: slack
    .see({ in: withSlack() })
    .filter(({ isAgents }) => isAgents)
    .map(({ readable }) => readable),
  discord: discord.ann
    .dm()
    .messages()
    .filter(({ author }) => author.id === discord.bot.id)
    .map(({ content }) => content),
});
/** Of finished answers, which count their actions. */
const endsOf = (texts: string[]) => texts.flatMap((text) => /\b(one|two)\b.*\b1 action\b/s.exec(text)?.[1] ?? []);
const answered = () => Object.values(answers()).map(endsOf);

test.each<[string, typeof startRemora, Failure, Fault]>([
  ["can't be reached", startRemora, { type: "cut" }, { type: "cut", when: "before", isReset: true }],
  ["answer nothing", startProcess, { type: "delay", ms: 600_000 }, { type: "hang" }],
  [
    "ask to wait for an hour",
    startRemora,
    { type: "rate-limit", retryAfterSeconds: 3_600 },
    { type: "rate-limit", retryAfterSeconds: 3_600 },
  ],
])(
  "both services %s",
  async (_what, start, failure, fault) => {
    remora = await start(home, await settings());
    await say("run echo one");
    await expect.poll(answered, { timeout: patienceMs }).toEqual([["one"], ["one"]]);
    const back = slack.fail("*", failure);
    const outage = discord.fail({ times: Number.POSITIVE_INFINITY }, fault);
    await say("run echo two");
    const isPosting = () => outage.hits.some(({ route }) => route === "messages.create");
    await expect.poll(isPosting, { timeout: patienceMs }).toBe(true);

    const late = new Promise((resolve) => setTimeout(resolve, maxStopMs, "still running").unref());
    expect(await Promise.race([remora.stop(), late])).toBe(0);

    back();
    outage.remove();
    next = await startRemora(home, await settings());
    await expect.poll(answered, { timeout: patienceMs }).toEqual([
      ["one", "two"],
      ["one", "two"],
    ]);
  },
  180_000,
);
