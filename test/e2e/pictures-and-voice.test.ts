/**
 * The model sees what it drew, and hears what people say, on the page, Discord and Slack: one process for all three, with the
 * real plugins, a model that records its requests, and a transcription server.
 */
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CallingModel, startCallingModel } from "../doubles/calling-model.ts";
import { type ChatClient, createChatClient } from "../doubles/chat-client.ts";
import { createDiscordDouble, type DiscordDouble } from "../doubles/discord/double.ts";
import type { SeenMessage as DiscordMessage } from "../doubles/discord/view.ts";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";
import type { Said } from "../doubles/slack/people.ts";
import type { SeenMessage as SlackMessage } from "../doubles/slack/see.ts";
import { speech, startTranscriptionServer, type TranscriptionServer } from "../doubles/transcription-server.ts";

const patienceMs = 60_000;
let home: RemoraHome;
let model: CallingModel;
let whisper: TranscriptionServer;
let discord: DiscordDouble;
let slack: SlackDouble;
let remora: RunningRemora;
let ann: ChatClient;

beforeAll(async () => {
  [home, model, whisper, discord, slack] = await Promise.all([
    createHome(),
    startCallingModel(),
    startTranscriptionServer(),
    createDiscordDouble({ limits: { global: "none" } }),
    createSlackDouble(),
  ]);
  const { url: baseUrl, model: name, key: apiKey } = whisper;
  await start({ transcription: { baseUrl, model: name, apiKey } });
});
afterAll(async () => {
  ann.close();
  await remora.stop();
  await Promise.all([model.close(), whisper.close(), discord.stop(), slack.stop(), home.remove()]);
});

async function start(config: object): Promise<void> {
  const path = join(dirname(home.data), "remora.yaml");
  await writeFile(path, JSON.stringify({ slack: { streaming: "edits" }, ...config }));
  remora = await startRemora(home, {
    ...{ DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl },
    ...{ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl },
    ...{ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url, REMORA_CONFIG: path },
  });
  ann = await createChatClient(remora.url, remora.token);
}

const call = (tool: string, input: object) => `call ${tool} ${JSON.stringify(input)}`;
const drawChart = [
  call("write_file", { path: "sales.csv", content: "month,sales\nMay,3\nJune,5\n" }),
  call("data_chart", { files: ["sales.csv"], type: "bar", title: "Sales" }),
].join(" then ");
const remind = call("schedule_add", { text: "Water the plants", when: "in 3 hours", kind: "remind" });

interface Block {
  type: string;
  content?: unknown;
  source?: { media_type: string; data: string };
}

/** The pictures in the results of the newest request. */
function picturesSeen(): Block[] {
  const { messages } = JSON.parse(model.requests.at(-1) ?? "{}") as { messages: { content: Block[] | string }[] };
  const blocks = messages.flatMap(({ content }) => (typeof content === "string" ? [] : content));
  return blocks
    .filter(({ type }) => type === "tool_result")
    .flatMap(({ content }) => (Array.isArray(content) ? (content as Block[]) : []))
    .filter(({ type }) => type === "image");
}

async function expectChartSeen(): Promise<void> {
  const [picture, ...more] = picturesSeen();
  expect(more).toEqual([]);
  const { width = 0, height = 0 } = await sharp(Buffer.from(picture?.source?.data ?? "", "base64")).metadata();
  expect(Math.max(width, height)).toBeGreaterThan(600);
  expect(Math.max(width, height)).toBeLessThanOrEqual(1_568);
}

function agentsInDiscord(said: DiscordMessage): DiscordMessage[] {
  const thread = discord.channel.threads().find(({ id }) => id === said.id);
  return (thread?.messages() ?? []).filter(({ author, type }) => author.id === discord.bot.id && type !== 21);
}

const discordAnswer = (said: DiscordMessage, words = "Finished") =>
  discord.until(() => agentsInDiscord(said).find(({ content }) => content.includes(words)), patienceMs);

/** In Ann's DM, the first answer after the message. */
function dmAnswer(said: DiscordMessage, isWanted = ({ content }: DiscordMessage) => content.includes("Finished")) {
  const after = () =>
    (discord.ann.dm()?.messages() ?? []).filter(({ id, author }) => BigInt(id) > BigInt(said.id) && author.isBot);
  return discord.until(() => after().find(isWanted), patienceMs);
}

function agentsInSlack(said: Said): SlackMessage[] {
  return slack.see({ in: said.channel }).filter(({ isAgents, ts }) => isAgents && ts > said.ts);
}

const slackAnswer = (said: Said, words = "Finished") =>
  slack.until(() => agentsInSlack(said).find(({ readable }) => readable.includes(words)), patienceMs);

describe("the model sees the chart that it drew, and people get the file", () => {
  test("on the page", async () => {
    const said = await ann.say(`@remora ${drawChart}`);
    await ann.waitFor(
      ({ thread, text, state }) => thread === said.id && /Finished/.test(text) && state !== "streaming",
    );
    await expectChartSeen();
  });

  test("on Discord", async () => {
    const said = discord.ann.say(`${discord.bot.mention} ${drawChart}`, { in: discord.channel });
    await discordAnswer(said);
    await expectChartSeen();
    await discord.until(() => agentsInDiscord(said).some(({ files }) => files.some(({ name }) => /\.png$/.test(name))));
  });

  test("on Slack, and the next turn reads that the picture is no longer shown", async () => {
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: `@Remora ${drawChart}` });
    await slackAnswer(said);
    await expectChartSeen();
    const next = slack.people.say({ as: slack.ann, in: slack.general, thread: said, text: "@Remora and now?" });
    await slackAnswer(next);
    expect(picturesSeen()).toEqual([]);
    expect(model.requests.at(-1)).toContain("Its picture is no longer shown");
  });
});

test("read_file shows a picture that a shell command made", async () => {
  const png = (
    await sharp({ create: { width: 40, height: 20, channels: 3, background: "red" } })
      .png()
      .toBuffer()
  ).toString("base64");
  const make = call("shell_exec", { command: `echo ${png} | base64 -d > made.png` });
  const said = await ann.say(`@remora ${make} then ${call("read_file", { path: "made.png" })}`);
  await ann.waitFor(({ thread, text, state }) => thread === said.id && /Finished/.test(text) && state !== "streaming");
  expect(picturesSeen()).toHaveLength(1);
  expect(model.requests.at(-1)).toMatch(/made\.png is a PNG picture/);
});

describe("a voice note is heard as the author's own words", () => {
  test("on Discord: in a DM, with its length, and a call that it asks for needs no question", async () => {
    const said = discord.ann.say("", { in: "dm", voice: { content: speech(`Please ${remind}`), seconds: 42.3 } });
    const asks = ({ buttons }: Pick<DiscordMessage, "buttons">) => buttons.some(({ label }) => label === "Approve");
    const answer = await dmAnswer(said, (message) => message.content.includes("Finished") || asks(message));
    expect(asks(answer)).toBe(false);
    expect(model.requests.at(-1)).toContain("[voice note, 0:42, transcribed]\\nPlease call schedule_add");
    expect(whisper.heard.at(-1)).toMatchObject({ file: { name: "voice-message.ogg" } });
  });

  test("on Discord: as a reply to the agent in a channel, but not without one", async () => {
    const first = discord.ann.say(`${discord.bot.mention} hello`, { in: discord.channel });
    const answer = await discordAnswer(first);
    const before = whisper.heard.length;
    discord.ann.say("", { in: discord.channel, voice: { content: speech("nobody is meant"), seconds: 1 } });
    discord.ann.say("", { in: first.id, replyTo: answer, voice: { content: speech("and tomorrow?"), seconds: 3 } });
    await discord.until(() => model.requests.some((request) => request.includes("and tomorrow?")), patienceMs);
    await discord.until(() => agentsInDiscord(first).length === 2, patienceMs);
    expect(whisper.heard).toHaveLength(before + 1);
  });

  test("on Slack: a clip in a DM, and the next turn still knows what was said", async () => {
    const dm = slack.workspace.direct(slack.ann);
    const clip = {
      name: "audio_message.webm",
      content: speech("the code word is heron", "webm"),
      mimetype: "audio/webm",
    };
    const said = slack.people.say({ as: slack.ann, in: dm, text: "", files: [{ ...clip, clipMs: 61_500 }] });
    await slackAnswer(said);
    expect(model.requests.at(-1)).toContain("[voice note, 1:02, transcribed]\\nthe code word is heron");
    const next = slack.people.say({ as: slack.ann, in: dm, thread: said, text: "what did I say?" });
    await slackAnswer(next);
    expect(model.requests.at(-1)).toContain("the code word is heron");
  });

  test("“stop” is not a command when it is spoken", async () => {
    const said = discord.ann.say("", { in: "dm", voice: { content: speech("stop"), seconds: 1 } });
    await dmAnswer(said, ({ content }) => content.includes("There was nothing to call"));
    expect(model.requests.at(-1)).toContain("[voice note, 0:01, transcribed]\\nstop");
  });

  test("a failure of the service is a sentence for the model, and the turn continues", async () => {
    whisper.failNext(400);
    const said = discord.ann.say("", { in: "dm", voice: { content: speech("hello"), seconds: 1 } });
    await dmAnswer(said);
    expect(model.requests.at(-1)).toContain("can't read the recording. Send it as MP3, M4A, WAV, OGG or WebM");
  });
});

describe("any other audio file is read as an attachment", () => {
  test("on Slack: a clip of somebody else, shared again, makes outward calls ask", async () => {
    const dm = slack.workspace.direct(slack.ben);
    const clip = {
      name: "audio_message.m4a",
      content: speech("the train leaves at ten", "wav"),
      mimetype: "audio/mp4",
    };
    const anns = slack.people.say({ as: slack.ann, in: slack.general, text: "", files: [{ ...clip, clipMs: 2_000 }] });
    const [file] = anns.message.fileIds.map((id) => slack.state.files.get(id));
    if (file === undefined) throw new Error("no clip");
    const said = slack.people.say({ as: slack.ben, in: dm, text: remind, shared: [file] });
    const card = await slack.until(() => agentsInSlack(said).find(({ buttons }) => buttons.length > 0), patienceMs);
    expect(card.readable).toContain("attachment audio_message.m4a");
    expect(model.requests.at(-1)).toContain("[audio file, transcribed]\\nthe train leaves at ten");
    expect(model.requests.at(-1)).not.toContain("[voice note");
  });
});

test("without the setting, the model and the person read what to set", async () => {
  ann.close();
  await remora.stop();
  await start({});
  const heard = whisper.heard.length;
  const sentence = "An operator must set `transcription` in the configuration.";
  const said = discord.ann.say("", { in: "dm", voice: { content: speech("hello"), seconds: 1 } });
  await dmAnswer(said, ({ content }) => content.includes(sentence));
  expect(model.requests.at(-1)).toContain(sentence);
  const dm = slack.workspace.direct(slack.ben);
  const clip = { name: "audio_message.webm", content: speech("hello", "webm"), mimetype: "audio/webm", clipMs: 1_000 };
  const onSlack = slack.people.say({ as: slack.ben, in: dm, text: "", files: [clip] });
  await slackAnswer(onSlack, sentence);
  expect(whisper.heard).toHaveLength(heard);
});
