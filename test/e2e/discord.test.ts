/** Discord with the real process: a mention, a card, a click, a process that is killed, and what was said while nothing ran. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createDiscordDouble, type DiscordDouble } from "../doubles/discord/double.ts";
import type { ChannelHandle } from "../doubles/discord/places.ts";
import type { SeenMessage } from "../doubles/discord/view.ts";
import { createHome, type RemoraHome, type RemoraProcess, startRemora } from "../doubles/remora-process.ts";

let discord: DiscordDouble;
let home: RemoraHome;
let remora: RemoraProcess;

beforeEach(async () => {
  [discord, home] = await Promise.all([createDiscordDouble({ limits: { global: "none" } }), createHome()]);
  remora = await start();
});
afterEach(async () => {
  await remora.kill();
  await Promise.all([discord.stop(), home.remove()]);
});

function start(): Promise<RemoraProcess> {
  return startRemora(home, { DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl });
}

function own(where: ChannelHandle | undefined): SeenMessage[] {
  return (where?.messages() ?? []).filter(({ author, type }) => author.id === discord.bot.id && type !== 21);
}

function threadOf(said: SeenMessage): ChannelHandle | undefined {
  return discord.channel.threads().find(({ id }) => id === said.id);
}

function mention(text: string): SeenMessage {
  return discord.ann.say(`${discord.bot.mention} ${text}`, { in: discord.channel });
}

function cardIn(where: () => ChannelHandle | undefined): Promise<SeenMessage> {
  return discord.until(() => own(where()).find(({ buttons }) => buttons.length > 0), 20_000);
}

function answerIn(where: () => ChannelHandle | undefined, wanted: RegExp): Promise<SeenMessage> {
  return discord.until(() => own(where()).find(({ content }) => wanted.test(content)), 20_000);
}

async function clicked(card: SeenMessage, label: string, who = discord.ann): Promise<string> {
  const click = who.click(card, label);
  await discord.until(() => click.state() === "answered", 20_000);
  return click.reply()?.content ?? "";
}

function fileOf(scope: string, name: string): Promise<string> {
  return readFile(join(home.workspace, "files", scope, name), "utf8").catch(() => "");
}

test("a mention is answered in its thread, and a command runs after a click, by the person who asked", async () => {
  const hello = mention("help");
  await answerIn(() => threadOf(hello), /demo model/);
  const said = mention("run echo ran >> once.txt && echo finished");
  const card = await cardIn(() => threadOf(said));
  expect(card.embeds[0]?.description).toContain("echo ran >> once.txt");
  expect(await clicked(card, "Approve", discord.ben)).toContain("not yours to answer");
  expect(await fileOf(`channel:${discord.channel.id}`, "once.txt")).toBe("");
  expect(await clicked(card, "Approve")).toContain("Approved");
  await answerIn(() => threadOf(said), /finished/);
  expect(await fileOf(`channel:${discord.channel.id}`, "once.txt")).toBe("ran\n");
  const settled = discord.message(card);
  expect(settled?.buttons).toEqual([]);
  expect(settled?.embeds[0]?.description).toContain("Approved by Ann");
}, 60_000);

test("killed while a card is open: after the next start the click counts, once, and what was said meanwhile is answered once", async () => {
  discord.ben.say("help", { in: "dm" });
  await answerIn(() => discord.ben.dm(), /demo model/);
  const said = mention("run echo ran >> once.txt");
  const card = await cardIn(() => threadOf(said));
  await remora.kill();
  const missed = mention("what did I miss?");
  discord.ben.say("are you there?", { in: "dm" });
  const late = discord.ann.click(card, "Approve");
  remora = await start();
  expect(late.state()).not.toBe("answered");
  expect(await clicked(card, "Approve")).toContain("Approved");
  await answerIn(() => threadOf(said), /is done|ran|finished/i);
  expect(await fileOf(`channel:${discord.channel.id}`, "once.txt")).toBe("ran\n");
  await discord.until(() => own(threadOf(missed)).length > 0 && own(discord.ben.dm()).length > 1, 20_000);
  // Whatever would come twice comes before what is asked for last.
  const last = mention("help");
  await answerIn(() => threadOf(last), /demo model/);
  expect(own(threadOf(missed))).toHaveLength(1);
  expect(own(discord.ben.dm())).toHaveLength(2);
  expect(discord.message(card)?.buttons).toEqual([]);
}, 90_000);

test("a denial in a DM, the commands, and an end that leaves nothing behind", async () => {
  discord.ann.say("run touch denied.txt", { in: "dm" });
  const card = await cardIn(() => discord.ann.dm());
  expect(await clicked(card, "Deny")).toContain("Denied");
  await answerIn(() => discord.ann.dm(), /denied/i);
  await discord.until(() => discord.commands().length === 1, 20_000);
  const status = discord.ann.slash("remora status", { in: discord.channel });
  await discord.until(() => status.state() === "answered", 20_000);
  expect(status.reply()).toMatchObject({ isEphemeral: true, content: expect.stringContaining("everywhere") });
  const asked = discord.ann.slash("remora ask", { in: discord.channel, options: { text: "help" } });
  const question = await discord.until(() => asked.reply());
  await answerIn(() => threadOf(question), /demo model/);
  expect(await remora.stop()).toBe(0);
}, 60_000);

test("a cut line in the middle is not noticed by anybody", async () => {
  const first = mention("help");
  await answerIn(() => threadOf(first), /demo model/);
  discord.gateway.cut();
  const second = mention("help");
  await answerIn(() => threadOf(second), /demo model/);
  expect(own(threadOf(second))).toHaveLength(1);
}, 60_000);
