/** A model declines to answer, in the real process: what people read, who is asked next, and what goes out afterwards. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ChatClient, createChatClient } from "../doubles/chat-client.ts";
import { createDiscordDouble, type DiscordDouble } from "../doubles/discord/double.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { startRemora } from "../doubles/remora-in-process.ts";
import { createHome, type RemoraHome, type RunningRemora } from "../doubles/remora-process.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";

const patience = { timeout: 60_000 };
const question = "how do I break the flimsy lock of the shed";
const sentence =
  "claude-sonnet-5-5 declined to answer this (its safety filter: cyber security); ask in other words, or start over with /remora new";

let home: RemoraHome;
let remora: RunningRemora;
let ann: ChatClient;
let [claude, gpt]: ModelDouble[] = [];
let slack: SlackDouble;
let discord: DiscordDouble;
const double = (which: ModelDouble | undefined): ModelDouble => which ?? expect.fail("not started");

beforeAll(async () => {
  [home, claude, gpt, slack, discord] = await Promise.all([
    createHome(),
    startModelDouble(),
    startModelDouble(),
    createSlackDouble(),
    createDiscordDouble(),
  ]);
  claude.mock.onMessage(/./, { content: "Claude answers." });
  gpt.mock.onMessage(/./, { content: "The other one answers." });
});
afterAll(async () => {
  await stop();
  await Promise.all([claude?.stop(), gpt?.stop(), slack.stop(), discord.stop()]);
  await home.remove();
});

async function start(env: Record<string, string>): Promise<void> {
  const config = join(home.workspace, "remora.yaml");
  await writeFile(config, "health: { modelCall: false }\n");
  remora = await startRemora(home, {
    ...{ REMORA_CONFIG: config, ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: double(claude).url },
    ...{ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl },
    ...{ DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl },
    ...env,
  });
  ann = await createChatClient(remora.url, remora.token);
}

async function stop(): Promise<void> {
  ann.close();
  await remora.stop();
}

const ask = async (text: string, place: object = { dm: true }) => await ann.answerTo(await ann.say(text, place));
const newest = (which: ModelDouble | undefined) => JSON.stringify(double(which).requests.at(-1)?.body);

test(
  "one model alone: a sentence, no half answer, and the next message goes out without the question",
  patience,
  async () => {
    await start({});
    double(claude).failNext({ type: "decline", said: "First you take a thin ", category: "cyber", explanation: "x" });
    const refused = await ask(question);
    expect(refused.text).toBe(`⚠️ ${sentence}.`);
    expect(refused).toMatchObject({ state: "failed" });
    expect(JSON.stringify(refused)).not.toContain("feedback");
    expect(JSON.stringify(refused)).not.toContain('"retry"');
    const answered = await ask("then tell me about sheds");
    expect(answered.text).toBe("Claude answers.");
    expect(JSON.stringify(answered)).toContain("feedback");
    expect(newest(claude)).not.toContain("flimsy");
    expect(newest(claude)).not.toContain("thin ");
    expect(newest(claude)).toContain("a model declined to answer it");
    // Another conversation of the same person searches the same memory.
    await ask("@Remora the flimsy lock of which shed?", { channel: "general" });
    expect(newest(claude)).not.toContain("break the flimsy");
    // The turn that has just ended is still being written.
    for (const file of await readdir(join(home.workspace, "brain/hippocampus"), {
      recursive: true,
      withFileTypes: true,
    }))
      if (file.isFile() && !file.name.endsWith(".part"))
        expect(await readFile(join(file.parentPath, file.name), "utf8")).not.toContain("break the flimsy");
    expect(await (await ann.request("GET", "/readyz")).text()).not.toContain("declined");
    expect((await ann.command("status", "", { dm: true })).text).not.toContain("declined");
  },
);

test("in a Slack thread, what was refused does not come back as an earlier message", patience, async () => {
  const say = (text: string, more: object = {}) =>
    slack.people.say({ as: slack.ann, in: slack.general, text, ...more });
  const answered = (thread: { ts: string }, words: string) =>
    slack.until(
      () =>
        slack
          .see({ in: slack.general, thread: thread.ts })
          .some(({ isAgents, readable }) => isAgents && readable.includes(words)),
      60_000,
    );
  double(claude).failNext({ type: "decline", said: "First you take a thin ", category: "cyber", explanation: "x" });
  const root = say(`@Remora ${question}?`);
  await answered(root, "declined to answer this");
  const shown = slack.see({ in: slack.general, thread: root.ts }).filter(({ isAgents }) => isAgents);
  expect(shown.map(({ readable }) => readable).join("\n")).not.toContain("thin");
  say("Somebody else talks here.", { as: slack.ben, thread: root });
  say("@Remora what about sheds?", { thread: root });
  await answered(root, "Claude answers.");
  expect(newest(claude)).toContain("Somebody else talks here.");
  expect(newest(claude)).not.toContain("flimsy");
  expect(newest(claude)).not.toContain("ask in other words");
});

const asked = (text: string) => () => double(claude).requests.some(({ body }) => JSON.stringify(body).includes(text));
const leftOut = "What was asked here is left out";

/** The next request is declined, so none of earlier messages may be left. */
async function declineNext(): Promise<void> {
  const status = async () => (await ann.command("status", "", { dm: true })).text;
  await expect.poll(status, patience).toContain("everywhere: 0 running, 0 waiting for approval, 0 queued");
  double(claude).failNext({ type: "decline", category: "cyber", explanation: "x" });
}

test("a Slack link to what was refused does not send it again", patience, async () => {
  const say = (text: string, as = slack.ann) => slack.people.say({ as, in: slack.general, text });
  await declineNext();
  const refused = say(`@Remora ${question}?`);
  await slack.until(
    () =>
      slack
        .see({ in: slack.general, thread: refused.ts })
        .some(({ isAgents, readable }) => isAgents && readable.includes("declined to answer this")),
    60_000,
  );
  const link = `https://${slack.state.team.domain}.slack.com/archives/${slack.general.id}/p${refused.ts.replace(".", "")}`;
  say(`@Remora what about this one: ${link} ?`, slack.ben);
  await slack.until(asked("what about this one"), 60_000);
  expect(newest(claude)).toContain(leftOut);
  expect(newest(claude)).not.toContain("flimsy");
});

test("a Discord reply to what was refused does not send it again", patience, async () => {
  await declineNext();
  const refused = await discord.ann.say(`${discord.bot.mention} ${question}`, { in: discord.channel });
  const thread = () => discord.channel.threads().find(({ id }) => id === refused.id);
  const isDeclined = () =>
    thread()
      ?.messages()
      .some(({ content }) => content.includes("declined to answer this"));
  await discord.until(isDeclined, 60_000);
  await discord.ben.say(`${discord.bot.mention} what of that in Discord?`, { in: discord.channel, replyTo: refused });
  await slack.until(asked("what of that in Discord"), 60_000);
  expect(newest(claude)).toContain(leftOut);
  expect(newest(claude)).not.toContain("flimsy");
});

test(
  "on Slack and Discord, a service that refuses the key is one plain sentence, with Details and Retry below",
  patience,
  async () => {
    const sentence =
      "⚠️ The model could not answer: its service does not let me in. Whoever runs me has to fix that; Details says why.";
    const refuse = () =>
      double(claude).failNext({
        type: "answer",
        status: 401,
        body: '{"error":{"type":"authentication_error","message":"invalid x-api-key"}}',
      });
    refuse();
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora is the shop open?" });
    const failed = await slack.until(
      () =>
        slack.see({ in: slack.general, thread: said.ts }).find(({ readable }) => readable.includes("could not answer")),
      60_000,
    );
    expect(failed.readable).toContain(sentence);
    expect(failed.buttons.map(({ label }) => label)).toEqual(["Details", "Retry"]);
    await slack.interactions
      .click({ as: slack.ann, on: { channel: slack.general, ts: failed.ts }, button: "Retry" })
      .acknowledged();
    await slack.until(
      () =>
        slack.see({ in: slack.general, thread: said.ts }).some(({ readable }) => readable.includes("Claude answers.")),
      60_000,
    );
    refuse();
    const asked = await discord.ann.say(`${discord.bot.mention} is the shop open?`, { in: discord.channel });
    const shown = await discord.until(
      () =>
        discord.channel
          .threads()
          .find(({ id }) => id === asked.id)
          ?.messages()
          .find(({ content }) => content.includes("could not answer")),
      60_000,
    );
    expect(shown.content).toBe(sentence);
    expect(shown.buttons.map(({ label }) => label)).toEqual(["Details", "Retry"]);
    // The key counts as refused until a call is answered.
    expect((await ask("is it taken again?")).text).toBe("Claude answers.");
  },
);

test("two models: the other one answers, says why, and goes on with the conversation", patience, async () => {
  await stop();
  await start({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: `${double(gpt).url}/v1` });
  double(claude).failNext({ type: "decline", said: "First you take a thin ", category: "bio", explanation: "x" });
  const place = { channel: "general" };
  const first = await ann.say(`@Remora ${question}`, place);
  expect((await ann.answerTo(first)).text).toBe(
    "The other one answers.\n\n*(answered by openai/gpt-6-luna, because anthropic/claude-sonnet-5-5 declined to answer this)*",
  );
  const before = double(claude).requests.length;
  const next = await ann.say("@Remora and then?", { ...place, thread: first.id });
  expect((await ann.answerTo(next)).text).toBe(
    "The other one answers.\n\n*(answered by openai/gpt-6-luna, because anthropic/claude-sonnet-5-5 declined to answer something earlier in this conversation)*",
  );
  expect(double(claude).requests).toHaveLength(before);
  expect(newest(gpt)).toContain("flimsy");
  expect((await ask("a new conversation")).text).toBe("Claude answers.");
});
