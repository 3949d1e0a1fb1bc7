/**
 * The real process on a small disk, with Slack and Discord: a key that the model refuses, a full disk, a revoked token and a
 * kill are each seen on /readyz, by doctor and in the chat.
 */
import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDiscordDouble, type DiscordDouble } from "../doubles/discord/double.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { createHome, type RemoraHome, type RemoraProcess, startRemora } from "../doubles/remora-process.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";

const run = promisify(execFile);
const project = resolve(import.meta.dirname, "../..");
const diskMegabytes = 24;
const patienceMs = 60_000;

let home: RemoraHome;
let slack: SlackDouble;
let discord: DiscordDouble;
let model: ModelDouble;
let remora: RemoraProcess;
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
  await writeFile(config, "health: { minFreeMegabytes: 1, everySeconds: 0.5 }\n");
  env = {
    ...{ REMORA_CONFIG: config, ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url },
    ...{ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl },
    ...{ DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl },
  };
  model.mock.onMessage("hello", { content: "Hello there." });
  remora = await startRemora(home, env);
});
afterAll(async () => {
  await remora.kill();
  if (isRoot) await run("umount", [home.data]);
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
      { timeout: patienceMs, message: `${status} with ${words}`, interval: 100 },
    )
    .toBe(true)
    .catch((thrown) => {
      throw new Error(`/readyz says ${last.status} ${last.text}`, { cause: thrown });
    });
  return last.text;
}

async function doctor(...args: string[]): Promise<string> {
  const command = [join(project, "src/remora.mjs"), "doctor", ...args];
  const options = {
    cwd: project,
    env: {
      ...{ PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", OLLAMA_HOST: "http://127.0.0.1:1" },
      ...{ REMORA_WORKSPACE: home.workspace, REMORA_DATA: home.data, ...env },
    },
  };
  const { stdout } = (await run(process.execPath, command, options).catch((failed: unknown) => failed)) as {
    stdout: string;
  };
  return stdout;
}

const askSlack = (text: string) => slack.people.say({ as: slack.ann, in: slack.general, text: `@Remora ${text}` });
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
  expect(text).toContain("the key was refused; set a valid one in ANTHROPIC_API_KEY");
  model.refuseKey(false);
  expect(said).toBeDefined();
  discord.ann.say("@Remora hello", { in: "dm" });
  await untilReadyz(200, "ready");
});

test.runIf(isRoot)("a full disk is seen on /readyz, by doctor and in both chats, and passes", async () => {
  const filler = join(home.data, "filler");
  await writeFile(filler, Buffer.alloc(diskMegabytes * 1024 * 1024)).catch(() => {});
  const text = await untilReadyz(503, "disk data");
  expect(text).toContain("disk data: the disk of the data folder is full. Free some space");
  const onDiscord = discord.ann.say("@Remora hello, full disk", { in: discord.channel });
  await discord.until(() =>
    discord.channel
      .messages()
      .find(({ replyTo, content }) => replyTo === onDiscord.id && /My disk is full/.test(content)),
  );
  askSlack("hello, full disk");
  await slack.until(() =>
    slack.callsOf("chat.postEphemeral").some(({ args }) => /My disk is full/.test(String(args.text))),
  );
  expect(await doctor()).toMatch(/broken\s+disk data\s+the disk of the data folder is full\. Free some space/);
  await rm(filler);
  await untilReadyz(200, "ready");
  askSlack("hello again");
  await slack.until(() => slackTexts().some((each) => each.includes("Hello there.")));
});

test("a revoked token is seen on /readyz, by doctor, and in the other chat", async () => {
  const bot = slack.tokens.get(slack.botToken);
  if (bot === undefined) throw new Error("no token");
  bot.state = "revoked";
  const text = await untilReadyz(503, "slack: ");
  expect(text).toContain("token_revoked: the token was revoked. Install the app again");
  expect(await doctor()).toMatch(/broken\s+slack\s+.*revoked/);
  const said = discord.ben.slash("remora status", { in: discord.channel });
  await discord.until(() => said.state() === "answered");
  bot.state = "active";
  await untilReadyz(200, "ready");
});

test("after a kill, doctor says that nothing runs, and the next process that it was killed", async () => {
  await remora.kill();
  expect(await doctor()).toMatch(/broken\s+service\s+.*ended without stopping/);
  remora = await startRemora(home, env);
  const text = await untilReadyz(200, "process: restarted at");
  expect(text).toContain("because the process before ended without stopping");
});
