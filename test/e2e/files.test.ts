/**
 * Files on their way from the page, Slack and Discord into the working folder of the real agent, where commands of the same
 * turn read them: large ones, deleted ones, some above the limit, and during a kill.
 */
import { createHash } from "node:crypto";
import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { messageFolder } from "../../src/files/safe-names.ts";
import { type CallingModel, startCallingModel } from "../doubles/calling-model.ts";
import { type ChatClient, createChatClient, type Place, type SeenMessage } from "../doubles/chat-client.ts";
import { createDiscordDouble, type DiscordDouble } from "../doubles/discord/double.ts";
import { startRemora } from "../doubles/remora-in-process.ts";
import {
  createHome,
  type RemoraHome,
  type RunningRemora,
  startRemora as startProcess,
} from "../doubles/remora-process.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";
import type { Said } from "../doubles/slack/people.ts";

interface SentFile {
  name: string;
  content: Buffer;
  type: string;
}

let home: RemoraHome;
let model: CallingModel;
let slack: SlackDouble;
let discord: DiscordDouble;
let remora: RunningRemora;
let ann: ChatClient;
let files: SentFile[];

beforeAll(async () => {
  [home, model, slack, discord, files] = await Promise.all([
    createHome(),
    startCallingModel(),
    createSlackDouble(),
    createDiscordDouble(),
    createFiles(),
  ]);
  const folders = { "local:channel:random": givenFolder() };
  await mkdir(givenFolder(), { recursive: true });
  await writeFile(configPath(), stringify({ files: { maxMegabytes: 3, inboxMegabytes: 30 }, folders }));
  await begin(startRemora);
});
afterAll(async () => {
  ann.close();
  await remora.stop();
  await Promise.all([model.close(), slack.stop(), discord.stop(), home.remove()]);
});

const configPath = () => join(dirname(home.data), "remora.yaml");
const givenFolder = () => join(dirname(home.data), "website");
const command = (text: string) => `call shell_exec ${JSON.stringify({ command: text })}`;
const hashAll = command("sha256sum inbox/*/*");
const hashOf = (content: Buffer) => createHash("sha256").update(content).digest("hex");
const sent = ({ content, ...file }: SentFile) => ({ ...file, content, mimetype: file.type, contentType: file.type });

async function begin<R extends RunningRemora>(start: (home: RemoraHome, env: Record<string, string>) => Promise<R>) {
  const started = await start(home, {
    ...{ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url, REMORA_CONFIG: configPath() },
    ...{ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl },
    ...{ DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl },
  });
  ann = await createChatClient(started.url, started.token);
  remora = started;
  return started;
}

async function createFiles(): Promise<SentFile[]> {
  const noise = { type: "gaussian", mean: 128, sigma: 60 } as const;
  const picture = sharp({ create: { width: 900, height: 800, channels: 3, background: "black", noise } }).png();
  const rows = Array.from({ length: 16_200 }, (_, row) => `${row},value ${row % 97},${row * 3}`);
  return [
    { name: "chart.png", content: await picture.toBuffer(), type: "image/png" },
    { name: "figures.csv", content: Buffer.from(`id,label,total\n${rows.join("\n")}\n`), type: "text/csv" },
    { name: "report.pdf", content: createPdf("The xylophone report"), type: "application/pdf" },
  ];
}

/** One page with one line. */
function createPdf(line: string): Buffer {
  const stream = `BT /F1 24 Tf 72 700 Td (${line}) Tj ET`;
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
    `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
  ];
  let text = "%PDF-1.4\n";
  const starts = objects.map((object, index) => {
    const start = text.length;
    text += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(start).padStart(10, "0")} 00000 n \n`;
  });
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${starts.join("")}`;
  return Buffer.from(`${text}${table}trailer << /Size 6 /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF\n`);
}

async function upload(file: SentFile): Promise<{ status: number; id: string; error?: string }> {
  const id = crypto.randomUUID();
  const query = new URLSearchParams({ person: "ann", name: file.name });
  const response = await fetch(`${remora.url}/local/api/uploads/${id}?${query}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${remora.token}`, "content-type": file.type },
    body: new Uint8Array(file.content),
  });
  return { status: response.status, id, ...((await response.json()) as { error?: string }) };
}

async function sayOnPage(
  text: string,
  attached: SentFile[],
  place: Place = { channel: "general" },
): Promise<SeenMessage> {
  const uploads = await Promise.all(attached.map(upload));
  const attachments = uploads.map(({ id }) => ({ upload: id }));
  const body = { person: "ann", text: `@remora ${text}`, attachments, ...place };
  const response = await ann.request("POST", "/local/api/messages", body);
  return ((await response.json()) as { message: SeenMessage }).message;
}

async function onPage(text: string, attached: SentFile[], place?: Place): Promise<string> {
  return (await ann.answerTo(await sayOnPage(text, attached, place))).text;
}

function sayInSlack(text: string, attached: SentFile[]): Said {
  return slack.people.say({
    ...{ as: slack.ann, in: slack.general, text: `@Remora ${text}` },
    files: attached.map(sent),
  });
}

async function answerInSlack(said: Said): Promise<string> {
  const answer = await slack.until(
    () => slackAnswers(said).find(({ readable }) => readable.includes("Finished")),
    80_000,
  );
  return answer.readable;
}

const slackAnswers = ({ ts }: Said) =>
  slack
    .see({ in: slack.general, thread: ts })
    .filter(({ isAgents, streaming }) => isAgents && streaming !== "in_progress");

function sayInDiscord(text: string, attached: SentFile[]) {
  const options = { in: discord.channel, files: attached.map(sent) };
  return discord.ann.say(`${discord.bot.mention} ${text}`, options);
}

const discordAnswers = ({ id }: { id: string }) =>
  (
    discord.channel
      .threads()
      .find((thread) => thread.id === id)
      ?.messages() ?? []
  ).filter(({ author, content }) => author.id === discord.bot.id && content.includes("Finished"));

async function answerInDiscord(said: { id: string }): Promise<string> {
  return (await discord.until(() => discordAnswers(said)[0], 80_000)).content;
}

/** The newest prompt with these words, as JSON. */
const promptWith = (words: string) => model.requests.findLast((request) => request.includes(words)) ?? "";

/** What the model was told about the three files. */
function expectToldAbout(prompt: string): void {
  expect(prompt).toMatch(/\/chart\.png\\" shown=\\"as an image\\"/);
  expect(prompt).toMatch(/"type":"image","source":\{"type":"base64"/);
  expect(prompt).toMatch(/\/figures\.csv\\" shown=\\"as a summary\\"[^<]*label/);
  expect(prompt).toMatch(/\/report\.pdf\\"[^<]*xylophone report/);
}

test("on the page, a picture of 2 MB, a CSV of 320 KB and a PDF are there for commands of the same turn", async () => {
  expect(files.map(({ content }) => content.length)).toEqual([
    expect.toSatisfy((bytes: number) => bytes > 1_500_000),
    expect.toSatisfy((bytes: number) => bytes > 320_000),
    expect.toSatisfy((bytes: number) => bytes > 400),
  ]);
  const text = await onPage(`page files: ${hashAll}`, files);
  for (const { name, content } of files) expect(text).toMatch(new RegExp(`${hashOf(content)}  inbox/\\d+/${name}`));
  expectToldAbout(promptWith("page files"));
});

test("the same on Slack", async () => {
  const text = await answerInSlack(sayInSlack(`slack files: ${hashAll}`, files));
  for (const { name, content } of files) expect(text).toMatch(new RegExp(`${hashOf(content)}  inbox/\\d+/${name}`));
  expectToldAbout(promptWith("slack files"));
});

test("the same on Discord", async () => {
  const text = await answerInDiscord(sayInDiscord(`discord files: ${hashAll}`, files));
  for (const { name, content } of files) expect(text).toMatch(new RegExp(`${hashOf(content)}  inbox/\\d+/${name}`));
  expectToldAbout(promptWith("discord files"));
});

test("in a configured folder with a draft that nobody has decided on, commands see both", async () => {
  const place = { channel: "random" };
  const first = await sayOnPage(command("echo made > made.txt"), [], place);
  await ann.changesFor(first);
  const csv = files.slice(1, 2);
  const text = await onPage(`${command("cat made.txt; sha256sum inbox/*/*")}`, csv, { ...place, thread: first.id });
  expect(text).toContain("made");
  expect(text).toContain(hashOf(csv[0]?.content ?? Buffer.alloc(0)));
  expect(await readdir(givenFolder())).toEqual(["inbox"]);
  // A draft that has removed the inbox would hide it.
  const again = await onPage(command("rm -r inbox"), [], { ...place, thread: first.id });
  expect(again).toContain("Finished");
  const [txt] = [{ name: "late.txt", content: Buffer.from("late"), type: "text/plain" }];
  const later = await onPage(command("cat inbox-2/*/late.txt; ls"), [txt], { ...place, thread: first.id });
  expect(later).toContain("late");
  expect(later).not.toMatch(/^inbox$/m);
});

test("a command that reads a file passes its origin on, also in a later conversation", async () => {
  const remind = `call schedule_add ${JSON.stringify({ text: "Go", when: "in 3 hours", kind: "remind" })}`;
  const first = await sayOnPage(
    "hello",
    [{ name: "plan.txt", content: Buffer.from("Leave at ten."), type: "text/plain" }],
    {
      dm: true,
    },
  );
  await ann.answerTo(first);
  await ann.command("new", "", { dm: true });
  const later = await sayOnPage(`${command("cat inbox/*/plan.txt")} then ${remind}`, [], { dm: true });
  const card = await ann.cardFor(later);
  expect(JSON.stringify(card.card)).toContain("attachment plan.txt (by way of");
  await ann.click(card, "deny");
});

test("a file above the limit is refused by the page, and named with the limit on Slack and Discord", async () => {
  const large = { name: "film.mp4", content: Buffer.alloc(4 * 1024 * 1024, 1), type: "video/mp4" };
  expect(await upload(large)).toMatchObject({ status: 413, error: expect.stringContaining("at most 3.0 MiB") });
  const sentence = "The file has 4.0 MiB, and I read files of at most 3.0 MiB (setting files.maxMegabytes).";
  await answerInSlack(sayInSlack("slack film", [large]));
  expect(promptWith("slack film")).toContain(sentence);
  await answerInDiscord(sayInDiscord("discord film", [large]));
  expect(promptWith("discord film")).toContain(sentence);
});

test("a file that was deleted before its turn is a sentence for the model, and the turn goes on", async () => {
  const said = sayInSlack("slack deleted", files.slice(1, 2));
  slack.people.removeFiles(said);
  await answerInSlack(said);
  expect(promptWith("slack deleted")).toContain("The file was deleted, or I can't see it any more. Send it again.");
});

test("a broken download is tried again", async () => {
  slack.failNext("download", { type: "part", bytes: 100_000, end: "cut" });
  discord.failNextFile({ type: "part", bytes: 100_000, end: "cut" });
  const [csv] = files.slice(1, 2);
  const said = [sayInSlack(hashAll, files.slice(1, 2)), sayInDiscord(hashAll, files.slice(1, 2))] as const;
  expect(await answerInSlack(said[0])).toContain(hashOf(csv?.content ?? Buffer.alloc(0)));
  expect(await answerInDiscord(said[1])).toContain(hashOf(csv?.content ?? Buffer.alloc(0)));
});

test("after a kill in the middle of downloads, the files are complete, nothing is half, and each answer comes once", async () => {
  ann.close();
  await remora.stop();
  const dying = await begin(startProcess);
  slack.failNext("download", { type: "part", bytes: 100_000, end: "stall" });
  discord.failNextFile({ type: "part", bytes: 100_000, end: "stall" });
  const [csv] = files.slice(1, 2);
  const inSlack = sayInSlack(hashAll, files.slice(1, 2));
  const inDiscord = sayInDiscord(hashAll, files.slice(1, 2));
  // A file is opened before it is asked for. Killed in between, the next process would meet the fault.
  await expect.poll(halfFiles).toEqual([100_000, 100_000]);
  await dying.kill();
  ann.close();
  await begin(startRemora);
  const hash = hashOf(csv?.content ?? Buffer.alloc(0));
  const slackFolder = messageFolder({ platform: "slack", id: `${inSlack.channel.id}:${inSlack.ts}` });
  expect(await answerInSlack(inSlack)).toContain(`${hash}  inbox/${slackFolder}/`);
  const discordFolder = messageFolder({ platform: "discord", id: inDiscord.id });
  expect(await answerInDiscord(inDiscord)).toContain(`${hash}  inbox/${discordFolder}/figures.csv`);
  expect(await halfFiles()).toEqual([]);
  expect(slackAnswers(inSlack).filter(({ readable }) => readable.includes("Finished"))).toHaveLength(1);
  expect(discordAnswers(inDiscord)).toHaveLength(1);
});

/** The sizes of the files that are on their way. */
async function halfFiles(): Promise<number[]> {
  const folder = join(home.workspace, "files");
  const paths = (await readdir(folder, { recursive: true })).filter((path) => path.includes(".fetching-"));
  return await Promise.all(paths.map(async (path) => (await stat(join(folder, path))).size));
}
