/**
 * The real process on a small disk, with Slack and Discord: a key that the model refuses, a full disk, a revoked token and a
 * kill are each seen on /readyz, by doctor and in the chat.
 */
import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandHere } from "../cli/remora-here.ts";
import { createDiscordDouble, type DiscordDouble } from "../doubles/discord/double.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { startRemora as startHere } from "../doubles/remora-in-process.ts";
import {
  createHome,
  environmentOf,
  type RemoraHome,
  type RemoraProcess,
  type RunningRemora,
  startRemora,
} from "../doubles/remora-process.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";
import { isWhole } from "../faults/share.ts";

const run = promisify(execFile);
const diskMegabytes = 24;
const patienceMs = 120_000;

let home: RemoraHome;
let slack: SlackDouble;
let discord: DiscordDouble;
let model: ModelDouble;
let remora: RunningRemora;
/** The process that dies next. */
let dying: RemoraProcess;
let env: Record<string, string>;
const isRoot = process.getuid?.() === 0;

beforeAll(async () => {
  [slack, discord, model, home] = await Promise.all([
    createSlackDouble(),
    createDiscordDouble(),
    startModelDouble(),
    createHome(),
  ]);
  await mkdir(home.data, { recursive: true });
  if (isRoot) await run("mount", ["-t", "tmpfs", "-o", `size=${diskMegabytes}m`, "remora-test", home.data]);
  const config = join(home.workspace, "remora.yaml");
  const owners = JSON.stringify([`user:slack:${slack.ann.id}`, `user:discord:${discord.ann.id}`]);
  await writeFile(config, `health: { minFreeMegabytes: 1, everySeconds: 0.5 }\nsafety: { owners: ${owners} }\n`);
  env = {
    ...{ REMORA_CONFIG: config, ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url },
    ...{ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl },
    ...{ DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl },
  };
  model.mock.onMessage("hello", { content: "Hello there." });
  dying = await startRemora(home, env);
  remora = dying;
});
afterAll(async () => {
  await remora.stop();
  // The log of an agent in this process stays open.
  if (isRoot) await run("umount", ["--lazy", home.data]);
  await Promise.all([slack.stop(), discord.stop(), model.stop(), home.remove()]);
});

async function readyz(): Promise<{ status: number; text: string }> {
  const response = await fetch(`${remora.url}/readyz`);
  return { status: response.status, text: await response.text() };
}

async function untilReadyz(status: number, words: string): Promise<string> {
  let last = { status: 0, text: "" };
  await expect
    .poll(
      async () => {
        last = await readyz();
        return last.status === status && last.text.includes(words);
      },
      { timeout: patienceMs, message: `${status} with ${words}`, interval: 300 },
    )
    .toBe(true)
    .catch((thrown) => {
      throw new Error(`/readyz says ${last.status} ${last.text}`, { cause: thrown });
    });
  return last.text;
}

async function doctor(): Promise<string> {
  return (await commandHere(environmentOf(home, env), ["doctor"])).stdout;
}

const askSlack = (text: string) => slack.people.say({ as: slack.ann, in: slack.general, text: `@Remora ${text}` });
/** What the agent has written to Ann, who is an owner. */
const onSlack = () => slack.see({ in: slack.workspace.direct(slack.ann) }).map(({ readable }) => readable);
const onDiscord = () =>
  discord.ann
    .dm()
    .messages()
    .filter(({ author }) => author.isBot)
    .map(({ content }) => content);
async function untilTold(texts: () => string[], words: string): Promise<void> {
  await expect
    .poll(() => texts().filter((text) => text.includes(words)).length, { timeout: patienceMs, interval: 200 })
    .toBe(1);
}
async function statusOnDiscord(): Promise<string> {
  const asked = discord.ben.slash("remora status", { in: discord.channel });
  await discord.until(() => asked.state() === "answered", patienceMs);
  return asked.reply()?.content ?? "";
}
const slackTexts = () => slack.see({ in: slack.general, by: slack.ann } as never).map(({ readable }) => readable);

test("a model that answers, and tokens that work, are ready", async () => {
  const text = await untilReadyz(200, "ready");
  expect(text).toContain("slack: connected to");
  expect(text).toContain("discord: connected as");
});

test("a key that the model refuses is not ready, until the model answers again", async () => {
  model.refuseKey();
  const said = discord.ann.say("@Remora hello", { in: discord.channel });
  const text = await untilReadyz(503, "model anthropic/");
  // The turn's call and the next check say the same.
  expect(text).toContain("the key was refused; set a valid one in ANTHROPIC_API_KEY");
  await untilTold(onSlack, "⚠️ I can't answer, because no model does:\n- ");
  model.refuseKey(false);
  expect(said).toBeDefined();
  discord.ann.say("@Remora hello", { in: "dm" });
  await untilReadyz(200, "ready");
  await untilTold(onSlack, "✅ A model answers again.");
});

test.runIf(isRoot)(
  "a full disk is seen everywhere, and what was asked meanwhile is answered when there is room",
  async () => {
    const filler = join(home.data, "filler");
    await writeFile(filler, Buffer.alloc(diskMegabytes * 1024 * 1024)).catch(() => {});
    await untilReadyz(503, "disk data: the disk of the data folder is full. Free some space");
    model.mock.onMessage("is there room", { content: "There is room now." });
    discord.ann.say("@Remora is there room?", { in: "dm" });
    await untilTold(
      onDiscord,
      "My disk is full, so I can't work on this now. I'll answer as soon as there is room again.",
    );
    askSlack("is there room?");
    await slack.until(() =>
      slack.callsOf("chat.postEphemeral").some(({ args }) => /My disk is full.*I'll answer/.test(String(args.text))),
    );
    for (const texts of [onSlack, onDiscord])
      await untilTold(texts, "⚠️ I can't take new messages: the disk of the data folder is full. Free some space.");
    expect(await doctor()).toMatch(/broken\s+disk data\s+the disk of the data folder is full\. Free some space/);
    await rm(filler);
    await untilReadyz(200, "ready");
    for (const texts of [slackTexts, onDiscord]) await untilTold(texts, "There is room now.");
    for (const texts of [onSlack, onDiscord]) await untilTold(texts, "✅ There is room on the disk again");
  },
);

test("a revoked token is seen on /readyz, by doctor, and in the other chat", async () => {
  const bot = slack.tokens.get(slack.botToken);
  if (bot === undefined) throw new Error("no token");
  bot.state = "revoked";
  const text = await untilReadyz(503, "token_revoked: the token was revoked. Install the app again");
  expect(text).toContain("slack: ");
  expect(await doctor()).toMatch(/broken\s+slack\s+.*revoked/);
  expect(await statusOnDiscord()).toContain("the token was revoked. Install the app again");
  await untilTold(onDiscord, "⚠️ I can't work on Slack: token_revoked: the token was revoked.");
  bot.state = "active";
  await untilReadyz(200, "ready");
  await untilTold(onSlack, "✅ I'm back on Slack.");
});

test("a service whose API answers no requests, though events still arrive, is seen until it answers again", async () => {
  const back = slack.fail("*", { type: "http", status: 503 });
  const outage = discord.fail({ times: Number.POSITIVE_INFINITY }, { type: "cut", when: "before", isReset: true });
  const text = await untilReadyz(503, "discord: its API answers no requests, so answers wait");
  expect(
    await untilReadyz(503, "slack: its API answers no requests, so answers wait. Slack answered with HTTP 503"),
  ).not.toBe("");
  expect(text).not.toContain("ready");
  back();
  await untilTold(onSlack, "⚠️ I can't work on Discord: its API answers no requests, so answers wait");
  outage.remove();
  await untilReadyz(200, "ready");
  await untilTold(onSlack, "✅ I'm back on Discord.");
});

test("a reset token of Discord is seen on /readyz, by doctor, and on Slack", async () => {
  env.DISCORD_TOKEN = discord.resetToken();
  await untilReadyz(503, "Discord rejected the token. Open discord.com/developers");
  await untilTold(onSlack, "⚠️ I can't work on Discord: ");
});

test("after a kill, doctor says that nothing runs, and the next process that it was killed", async () => {
  await dying.kill();
  expect(await doctor()).toMatch(/broken\s+service\s+.*did not shut down/);
  // `npm run chaos` kills the next one as well, of which owners are not told once more.
  if (isWhole) {
    dying = await startRemora(home, env);
    remora = dying;
    await untilReadyz(200, "process: restarted at");
    for (const texts of [onSlack, onDiscord]) await untilTold(texts, "⚠️ I was killed, crashed or lost power");
    await dying.kill();
  }
  remora = await startHere(home, env);
  const text = await untilReadyz(200, "process: restarted at");
  expect(text).toContain("because the previous process did not shut down");
  discord.ben.slash("remora status", { in: "dm" });
  await discord.until(
    () => discord.ben.sees("dm").some(({ content }) => content.includes("- process: restarted at")),
    patienceMs,
  );
  for (const texts of [onSlack, onDiscord]) await untilTold(texts, "⚠️ I was killed, crashed or lost power");
});
