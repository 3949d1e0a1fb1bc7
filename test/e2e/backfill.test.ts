/** People talk in a thread, then mention the agent: the real agent reads what they said, on Slack, Discord and the page. */
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createModelServer, type ModelServer } from "../../bench/model-server.ts";
import { type ChatClient, createChatClient } from "../doubles/chat-client.ts";
import { createDiscordDouble, type DiscordDouble } from "../doubles/discord/double.ts";
import { startRemora } from "../doubles/remora-in-process.ts";
import {
  createHome,
  type RemoraHome,
  type RunningRemora,
  startRemora as startProcess,
} from "../doubles/remora-process.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";

let home: RemoraHome;
let remora: RunningRemora;
let model: ModelServer;
let slack: SlackDouble;
let discord: DiscordDouble;
const bodies: string[] = [];

beforeAll(async () => {
  [home, slack, discord, model] = await Promise.all([
    createHome(),
    createSlackDouble(),
    createDiscordDouble(),
    createModelServer({ words: 2, wordMs: 0, onRequest: (body) => bodies.push(body) }),
  ]);
  // Ben takes part in the conversations, but can't use the agent in Slack.
  const config = { slack: { access: { users: [slack.ann.id] } } };
  await writeFile(configPath(), JSON.stringify(config));
  await begin(startRemora);
});
afterAll(async () => {
  await remora.stop();
  await Promise.all([model.close(), slack.stop(), discord.stop(), home.remove()]);
});

const configPath = () => join(dirname(home.data), "remora.yaml");

async function begin<R extends RunningRemora>(start: (home: RemoraHome, env: Record<string, string>) => Promise<R>) {
  const started = await start(home, {
    ...{ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl },
    ...{ DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl },
    ...{ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url, REMORA_CONFIG: configPath() },
  });
  remora = started;
  return started;
}

interface Asked {
  /** What the newest message of the request says about earlier messages. */
  earlier: string;
  /** The whole request. */
  all: string;
}

/** The request that contains `words` in the newest person's message. */
async function requestWith(words: string): Promise<Asked> {
  const find = () => bodies.map(readRequest).find(({ newest }) => newest.includes(words));
  await expect.poll(find, { timeout: 60_000 }).toBeDefined();
  const { newest = "", all = "" } = find() ?? {};
  return { earlier: /<earlier[\s\S]*?<\/earlier>/.exec(newest)?.[0] ?? "", all };
}

function readRequest(all: string): { newest: string; all: string } {
  const { messages } = JSON.parse(all) as { messages: { role: string; content: unknown }[] };
  const text = JSON.stringify(messages.findLast(({ role }) => role === "user")?.content ?? "");
  return { newest: text.replaceAll("\\n", "\n").replaceAll('\\"', '"'), all };
}

describe("Slack", () => {
  const say = (text: string, more: object = {}) =>
    slack.people.say({ as: slack.ben, in: slack.general, text, ...more });
  const answered = (thread: { ts: string }, count: number) =>
    slack.until(
      () =>
        slack
          .see({ in: slack.general, thread: thread.ts })
          .filter(
            ({ isAgents, readable, streaming }) =>
              isAgents && streaming !== "in_progress" && readable.includes("word1"),
          ).length === count,
      60_000,
    );

  test("a mention in a thread brings what was said there, the next one only what was said since", async () => {
    const root = say("The demo is on Friday, or is it?");
    say("Cleo says Thursday.\nI doubt it.", { thread: root, files: [{ name: "dates.csv", content: "1" }] });
    say("@Remora when is the slack demo?", { as: slack.ann, thread: root });
    const first = await requestWith("when is the slack demo?");
    const id = (person: { id: string }) => `slack:${person.id}`;
    expect(first.earlier).toContain(`${id(slack.ben)} "Ben" (first message of the thread): The demo is on Friday`);
    expect(first.earlier).toContain('files: "dates.csv"');
    expect(first.earlier).toContain("Cleo says Thursday.\n    I doubt it.");
    expect(first.earlier).not.toContain("when is the slack demo?");
    await answered(root, 1);
    say("It is Monday now.", { thread: root });
    say("@Remora and the new slack date?", { as: slack.ann, thread: root });
    const second = await requestWith("and the new slack date?");
    expect(second.earlier).toContain("It is Monday now.");
    expect(second.earlier).not.toContain("Friday");
    expect(second.earlier).not.toContain("word1");
    // The history still has it.
    expect(second.all).toContain("Cleo says Thursday.");
    expect(second.all.match(/when is the slack demo\?/g)).toHaveLength(1);
    await answered(root, 2);
  });

  test("what was said while the process was down is there, and nothing twice", async () => {
    await remora.stop();
    const dying = await begin(startProcess);
    const root = say("slack root before the kill");
    say("@Remora first slack question", { as: slack.ann, thread: root });
    await requestWith("first slack question");
    await answered(root, 1);
    await dying.kill();
    say("said during the downtime", { thread: root });
    await begin(startRemora);
    say("@Remora second slack question", { as: slack.ann, thread: root });
    const { earlier } = await requestWith("second slack question");
    expect(earlier.match(/said during the downtime/g)).toHaveLength(1);
    expect(earlier).not.toContain("slack root before the kill");
  });

  test("a mention outside a thread brings the last messages of the channel, and a link its message", async () => {
    const channel = slack.workspace.addChannel({ name: "talk", members: [slack.ann, slack.ben] });
    const secret = slack.workspace.addChannel({ name: "secret", members: [slack.ben], isPrivate: true });
    const hidden = say("the password is banana", { in: secret });
    const old = say("an old slack decision", { in: channel });
    for (let index = 1; index <= 6; index++) say(`talk ${index}`, { in: channel });
    const link = ({ channel: { id }, ts }: typeof old) =>
      `https://team.slack.com/archives/${id}/p${ts.replace(".", "")}`;
    say(`@Remora what of ${link(old)} and ${link(hidden)} in talk?`, { as: slack.ann, in: channel });
    const { earlier, all } = await requestWith("in talk?");
    expect(earlier).toContain('"Ben" (linked in the message below): an old slack decision');
    expect(earlier.match(/talk \d/g)).toEqual(["talk 2", "talk 3", "talk 4", "talk 5", "talk 6"]);
    expect(all).not.toContain("banana");
  });

  test("an app that can read only 15 messages a minute answers at once, and the model is told", async () => {
    slack.limits.isDistributed = true;
    const root = say("a limited thread");
    say("a limited reply", { thread: root });
    for (const question of ["limited question one", "limited question two"]) {
      say(`@Remora ${question}`, { as: slack.ann, thread: root });
      await requestWith(question);
    }
    const other = say("another limited thread");
    say("seen by the process", { thread: other });
    say("@Remora limited question three", { as: slack.ann, thread: other });
    const { earlier, all } = await requestWith("limited question three");
    expect(earlier).toContain("another limited thread");
    expect(earlier).toContain("seen by the process");
    expect(all).toContain("only 15 messages a minute");
    slack.limits.isDistributed = false;
  });
});

describe("Discord", () => {
  test("a mention in a thread brings what was said there, the next one only what was said since", async () => {
    const { ann, ben, channel } = discord;
    const about = ben.say("Shall we ship on Friday?", { in: channel });
    const thread = ann.startThread(about, "shipping");
    ben.say("Monday is better.", { in: thread, files: [{ name: "plan.txt", content: "1" }] });
    ann.say(`${discord.bot.mention} when do we ship on discord?`, { in: thread });
    const first = await requestWith("when do we ship on discord?");
    expect(first.earlier).toContain(`discord:${ben.id} "Ben" (first message of the thread): Shall we ship on Friday?`);
    expect(first.earlier).toContain('files: "plan.txt"');
    expect(first.earlier).toContain("Monday is better.");
    await discord.until(() => thread.messages().some(({ content }) => content.includes("word1")), 60_000);
    ben.say(`${ann.mention} no, Tuesday!`, { in: thread });
    ann.say(`${discord.bot.mention} and the new discord date?`, { in: thread });
    const second = await requestWith("and the new discord date?");
    expect(second.earlier).toContain("no, Tuesday!");
    expect(second.earlier).not.toContain("Monday");
    expect(second.earlier).not.toContain("word1");
    expect(second.all).toContain("Monday is better.");
  });

  test("a mention outside a thread brings the last messages of the channel", async () => {
    const talk = discord.guild.addChannel("talk");
    for (let index = 1; index <= 6; index++) discord.ben.say(`talk ${index}`, { in: talk });
    discord.ann.say(`${discord.bot.mention} what do you say in discord?`, { in: talk });
    const { earlier } = await requestWith("what do you say in discord?");
    expect(earlier.match(/talk \d/g)).toEqual(["talk 2", "talk 3", "talk 4", "talk 5", "talk 6"]);
  });
});

describe("the page", () => {
  let ann: ChatClient;
  let ben: ChatClient;

  beforeAll(async () => {
    [ann, ben] = await Promise.all([
      createChatClient(remora.url, remora.token),
      createChatClient(remora.url, remora.token, "ben"),
    ]);
  });
  afterAll(() => {
    ann.close();
    ben.close();
  });

  test("a mention in a thread brings what was said there, with names", async () => {
    const root = await ben.say("The page thread begins.");
    await ben.say("And goes on.", { channel: "general", thread: root.id });
    await ann.say("@remora what about the page?", { channel: "general", thread: root.id });
    const { earlier } = await requestWith("what about the page?");
    expect(earlier).toContain('local:ben "Ben" (first message of the thread): The page thread begins.');
    expect(earlier).toContain("And goes on.");
  });

  test("`/remora forget me` of somebody who never asked removes their words from the history of others", async () => {
    const root = await ann.say("Where do we eat?");
    const place = { channel: "general", thread: root.id };
    await ben.say("My forgettable pizza place.", place);
    await ann.answerTo(await ann.say("@remora what did ben say?", place));
    expect((await requestWith("what did ben say?")).earlier).toContain("forgettable pizza");
    await ann.answerTo(await ann.say("@remora say it again", place));
    expect((await requestWith("say it again")).all).toContain("forgettable pizza");
    expect((await ben.command("forget", "me yes")).text).toContain("Removed");
    await ann.answerTo(await ann.say("@remora and once more", place));
    const { all } = await requestWith("and once more");
    expect(all).not.toContain("forgettable pizza");
    expect(all).toContain("what did ben say?");
  });

  test("after `/remora new`, what was said before is not read again", async () => {
    const root = await ben.say("A root to clear.");
    const place = { channel: "general", thread: root.id };
    await ann.answerTo(await ann.say("@remora first page question", place));
    // The first turn is in the history before the second one begins.
    await ann.answerTo(await ann.say("@remora second page question", place));
    await ann.command("new", "", place);
    await ann.say("@remora third page question", place);
    const { all } = await requestWith("third page question");
    expect(all).not.toContain("A root to clear.");
  });
});
