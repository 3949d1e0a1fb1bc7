/**
 * What people say in channels, with the real agent on Slack, Discord and the page at once: it is found later, with links,
 * by those who can see it. Documents in workspace/knowledge are found and cited.
 */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { notKeptText } from "../../src/ports/ephemeral.ts";
import { type CallingModel, startCallingModel } from "../doubles/calling-model.ts";
import { type ChatClient, createChatClient } from "../doubles/chat-client.ts";
import { createDiscordDouble, type DiscordDouble } from "../doubles/discord/double.ts";
import type { Person as DiscordPerson } from "../doubles/discord/people.ts";
import { startRemora } from "../doubles/remora-in-process.ts";
import {
  createHome,
  type RemoraHome,
  type RunningRemora,
  startRemora as startProcess,
} from "../doubles/remora-process.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";
import type { Channel, Person as SlackPerson } from "../doubles/slack/state.ts";
import { pdf } from "../plugin-sdk/documents/files.ts";

let home: RemoraHome;
let model: CallingModel;
let slack: SlackDouble;
let discord: DiscordDouble;
let remora: RunningRemora;

beforeAll(async () => {
  [home, model, slack, discord] = await Promise.all([
    createHome(),
    startCallingModel(inOwnWords),
    createSlackDouble(),
    createDiscordDouble({ limits: { global: "none" } }),
  ]);
  sayBeforehand();
  await mkdir(join(home.workspace, "knowledge"), { recursive: true });
  const handbook = "# Handbook\n\n## Holidays\n\nEverybody has 30 days of holidays, and the platypus day is free.\n";
  await writeFile(join(home.workspace, "knowledge/handbook.md"), handbook);
  await writeFile(
    join(home.workspace, "knowledge/lease.pdf"),
    pdf([["The lease"], ["The xylophone clause"], ["The end"]]),
  );
});
afterAll(async () => {
  await remora.stop();
  await Promise.all([model.close(), slack.stop(), discord.stop(), home.remove()]);
});

async function begin<R extends RunningRemora>(start: (home: RemoraHome, env: Record<string, string>) => Promise<R>) {
  const started = await start(home, {
    ...{ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl },
    ...{ DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl },
    ...{ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url },
  });
  remora = started;
  return started;
}

/** Said before the agent came, so only the services' own search finds it. The words of the answers are others. */
const marker = "zq7-gecko-zq7";
let oldPlans: Channel;

function sayBeforehand(): void {
  oldPlans = slack.workspace.addChannel({ name: "old-plans", members: [slack.ben], hasApp: false });
  const board = slack.workspace.addChannel({
    name: "board",
    members: [slack.ann, slack.ben],
    isPrivate: true,
    hasApp: false,
  });
  slack.people.say({ as: slack.ben, in: oldPlans, text: `the gecko launch is in room ${marker}` });
  slack.people.say({ as: slack.ben, in: board, text: `the gecko launch costs ${marker} million` });
  const plans = discord.guild.addChannel("old-plans");
  const hidden = discord.guild.addChannel("board", { isPrivate: true });
  for (const who of [discord.bot, discord.ben]) hidden.permit(who, { allow: ["ViewChannel", "ReadMessageHistory"] });
  discord.ben.say(`the gecko launch is in room ${marker}`, { in: plans });
  discord.ben.say(`the gecko launch costs ${marker} million`, { in: hidden });
}

/** Cites what was found, and quotes nothing of it. */
async function inOwnWords(sent: string): Promise<string | undefined> {
  const { messages } = JSON.parse(sent) as { messages: unknown[] };
  const turn = messages.slice(messages.findLastIndex((each) => JSON.stringify(each).includes("in your own words")));
  const [, ...after] = turn.map((each) => JSON.stringify(each));
  const found = after.find((each) => each.includes("tool_result"));
  if (found === undefined || !JSON.stringify(turn[0]).includes("in your own words")) return undefined;
  const lines = found.match(/in #[\w-]+, https:[^ ]+ : /g) ?? [];
  return `Finished. ${["I found:", ...lines].join(" ")}`;
}

/** The files of the agent, and what stands in them, that hold the words. */
async function filesWith(words: string): Promise<string[]> {
  const folder = dirname(home.data);
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((each) => each.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name));
  const holding = await Promise.all(paths.map(async (path) => (await readFile(path)).includes(words)));
  return paths.filter((_, index) => holding[index]);
}

const patience = { timeout: 60_000, interval: 500 };
const search = (input: object) => `call chat_search ${JSON.stringify(input)}`;

async function askOnSlack(text: string, as: SlackPerson, place: Channel = slack.general): Promise<string> {
  const said = slack.people.say({ as, in: place, text: `@Remora ${text}` });
  const answer = await slack.until(
    () =>
      slack
        .see({ in: place, thread: said.ts })
        .find(
          ({ isAgents, readable, streaming }) =>
            isAgents && readable.includes("Finished") && streaming !== "in_progress",
        ),
    60_000,
  );
  return answer.readable;
}

async function askOnDiscord(text: string, as: DiscordPerson): Promise<string> {
  const said = as.say(`${discord.bot.mention} ${text}`, { in: discord.channel });
  const answer = await discord.until(() => {
    const thread = discord.channel.threads().find(({ id }) => id === said.id);
    return thread?.messages().find(({ author, content }) => author.id === discord.bot.id && /Finished/.test(content));
  }, 60_000);
  return answer.content;
}

describe("on Slack", () => {
  // The first test, because a process runs only to be killed.
  test("what people said without the agent is found later, after a kill too, with author, channel and permalink", async () => {
    const dying = await begin(startProcess);
    const said = slack.people.say({
      as: slack.ben,
      in: slack.general,
      text: "The staging password rotates every axolotl Monday",
    });
    const reply = slack.people.say({ as: slack.ann, in: slack.general, thread: said, text: "so axolotl Monday it is" });
    await Promise.all([said.acknowledged(), reply.acknowledged()]);
    const link = `https://${slack.state.team.domain}.slack.com/archives/${slack.general.id}/p${said.ts.replace(".", "")}`;
    for (const isRestarted of [false, true]) {
      if (isRestarted) {
        await dying.kill();
        await begin(startRemora);
      }
      const answer = await askOnSlack(search({ query: "axolotl", author: "Ben" }), slack.ann);
      expect(answer).toContain(`Ben (${slack.ben.id}) in #general, ${link}`);
      expect(answer).not.toContain("so axolotl Monday it is");
    }
    expect(await askOnSlack(search({ query: "axolotl Monday" }), slack.ann)).toContain(`thread_ts=${said.ts}`);
  });

  test("a private channel's messages, and those of DMs, are found only by people in it", async () => {
    const secret = slack.workspace.addChannel({ name: "secret", members: [slack.ben], isPrivate: true });
    await slack.people.say({ as: slack.ben, in: secret, text: "the wombat merger closes in May" }).acknowledged();
    const group = slack.workspace.direct(slack.ann, slack.ben);
    await slack.people.say({ as: slack.ben, in: group, text: "the wombat party is a surprise" }).acknowledged();
    const dm = slack.workspace.direct(slack.ben);
    await slack.people.say({ as: slack.ben, in: dm, text: "my wombat diary" }).acknowledged();
    expect(await askOnSlack(search({ query: "wombat merger party diary" }), slack.ann)).toContain(
      "No message that this person can see",
    );
    const found = await askOnSlack(search({ query: "wombat" }), slack.ben, secret);
    expect(found).toContain("merger closes in May");
    expect(found).not.toMatch(/surprise|my wombat diary/);
    slack.people.leave(slack.ben, secret);
    expect(await askOnSlack(search({ query: "wombat", author: "Ben" }), slack.ben)).toContain(
      "No message that this person can see",
    );
  });

  test("in a direct message, the model is told which channel the person looks at, for that message alone", async () => {
    const dm = slack.workspace.direct(slack.ben);
    const requestWith = (words: string) =>
      slack.until(() => model.requests.find((request) => request.includes(words)), 60_000);
    slack.people.lookAt(slack.ben, slack.general);
    slack.people.say({ as: slack.ben, in: dm, text: "summarise this channel, please" });
    const told = `they are looking at: #general (${slack.general.id}).`;
    expect(await requestWith("summarise this channel, please")).toContain(told);
    slack.people.lookAt(slack.ben);
    slack.people.say({ as: slack.ben, in: dm, text: "and what is the time" });
    expect(await requestWith("and what is the time")).not.toContain("they are looking at");
  });

  test("an edited message is found by its new words, a deleted one not at all", async () => {
    const said = slack.people.say({ as: slack.ben, in: slack.general, text: "the okapi launch is on Tuesday" });
    await said.acknowledged();
    await slack.people.edit(said, "the okapi launch is on Friday").acknowledged();
    const answer = await askOnSlack(search({ query: "okapi" }), slack.ann);
    expect(answer).toContain("on Friday");
    expect(answer).not.toContain("on Tuesday");
    slack.people.remove(said);
    const asked = () => askOnSlack(search({ query: "okapi launch", author: "Ben" }), slack.ann);
    await expect.poll(asked, patience).toContain("No message that this person can see");
  });
});

describe("on Discord", () => {
  test("what people said without the agent is found later with jump links, also in threads", async () => {
    const said = discord.ben.say("the quokka cluster runs out of disk on Sundays", { in: discord.channel });
    const thread = discord.ben.startThread(discord.channel, "disks");
    const inThread = discord.ben.say("the quokka disks are ordered", { in: thread });
    const answer = await askOnDiscord(search({ query: "quokka" }), discord.ann);
    const link = `https://discord.com/channels/${discord.guild.id}`;
    expect(answer).toContain(
      `Ben (${discord.ben.id}) in #${discord.channel.name}, ${link}/${discord.channel.id}/${said.id}`,
    );
    expect(answer).toContain(`${link}/${thread.id}/${inThread.id}`);
  });

  test("a hidden channel, a private thread and a deleted message are not found", async () => {
    const secret = discord.guild.addChannel("secret");
    secret.permit(discord.guild.everyone, { deny: ["ViewChannel"] });
    secret.permit(discord.bot, { allow: ["ViewChannel", "ReadMessageHistory"] });
    secret.permit(discord.ben, { allow: ["ViewChannel", "ReadMessageHistory"] });
    discord.ben.say("the numbat salary table", { in: secret });
    const thread = discord.ben.startThread(discord.channel, "hush", { isPrivate: true });
    thread.addToThread(discord.bot.id);
    discord.ben.say("the numbat surprise", { in: thread });
    const gone = discord.ben.say("the numbat mistake", { in: discord.channel });
    discord.ben.delete(gone);
    expect(await askOnDiscord(search({ query: "numbat" }), discord.ann)).toContain(
      "No message that this person can see",
    );
    // Ben may read it, but not everybody who reads this answer.
    const found = await askOnDiscord(search({ query: "numbat" }), discord.ben);
    expect(found).toContain("2 channels were not searched");
    expect(found).not.toContain("salary table");
  });
});

test("documents of the operator are found on both services, and cited by file and section or page", async () => {
  const recall = (query: string) => `call recall ${JSON.stringify({ query })}`;
  // Read in the background after the start. Asking for it until it is there would fill memory with the questions.
  const inMemory = async (word: string) => {
    const headers = { authorization: `Bearer ${remora.token}` };
    return await (
      await fetch(`${remora.url}/dashboard/data/memory/search?scope=shared&query=${word}`, { headers })
    ).text();
  };
  await expect.poll(() => inMemory("platypus"), patience).toContain("knowledge/handbook.md");
  await expect.poll(() => inMemory("xylophone"), patience).toContain("knowledge/lease.pdf");
  for (const [query, place] of [
    ["platypus holidays", "knowledge/handbook.md § Holidays"],
    ["xylophone clause", "knowledge/lease.pdf § page 2"],
  ] as const) {
    expect(await askOnSlack(recall(query), slack.ann)).toContain(place);
    expect(await askOnDiscord(recall(query), discord.ann)).toContain(place);
  }
});

test("what was said before the agent came is found with a link, by those who may read it, and is stored nowhere", async () => {
  const ask = `in your own words: ${search({ query: "gecko launch" })}`;
  const before = model.requests.length;
  const onSlack = await askOnSlack(ask, slack.ann);
  expect(onSlack).toContain(`in #old-plans, https://${slack.state.team.domain}.slack.com/archives/${oldPlans.id}/p`);
  expect(onSlack).not.toContain("board");
  const onDiscord = await askOnDiscord(ask, discord.ann);
  expect(onDiscord).toContain(`in #old-plans, https://discord.com/channels/${discord.guild.id}/`);
  expect(onDiscord).not.toContain("board");
  // The model has read the words.
  expect(model.requests.slice(before).filter((sent) => sent.includes(marker)).length).toBeGreaterThanOrEqual(2);
  expect(model.requests.slice(before).join()).not.toContain(`${marker} million`);
  await expect.poll(async () => (await filesWith(notKeptText)).join(), patience).toMatch(/\.debug.*/);
  expect(await filesWith(marker)).toEqual([]);
  // Nor are the tokens of people's messages.
  const said = [...model.requests, remora.stdout(), remora.stderr()].join("\n");
  for (const token of slack.state.actionTokens.keys()) {
    expect(said).not.toContain(token);
    expect(await filesWith(token)).toEqual([]);
  }
});

describe("on the page", () => {
  let [ann, ben]: ChatClient[] = [];
  beforeAll(async () => {
    [ann, ben] = await Promise.all(["ann", "ben"].map((name) => createChatClient(remora.url, remora.token, name)));
    return () => {
      ann?.close();
      ben?.close();
    };
  });

  test("messages are found with links that open them, until their author is forgotten", async () => {
    if (ann === undefined || ben === undefined) throw new Error("nobody is there");
    const said = await ben.say("the capybara bus leaves at nine", { channel: "random" });
    const asked = `@remora ${search({ query: "capybara" })}`;
    const { text } = await ann.answerTo(await ann.say(asked, { channel: "general" }));
    expect(text).toContain(`Ben (ben) in #random, #/random/${said.id} : the capybara bus leaves at nine`);
    expect((await ben.command("export", "", { dm: true })).text).toContain("the capybara bus leaves at nine");
    await ben.command("forget", "me yes", { dm: true });
    const again = await ann.answerTo(await ann.say(asked, { channel: "general" }));
    expect(again.text).not.toContain("leaves at nine");
  });
});
