/**
 * Discord with the real agent: mentions, cards, clicks, a kill, and messages from downtime. What dies or gets a signal is a
 * process; the others run within the test's, because a start there costs a fifth.
 */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createDiscordDouble, type DiscordDouble } from "../doubles/discord/double.ts";
import type { InteractionHandle } from "../doubles/discord/people-interactions.ts";
import type { ChannelHandle } from "../doubles/discord/places.ts";
import type { SeenMessage } from "../doubles/discord/view.ts";
import { createFailingModel } from "../doubles/failing-model.ts";
import { startRemora as startHere } from "../doubles/remora-in-process.ts";
import {
  createHome,
  type RemoraHome,
  type RemoraProcess,
  type RunningRemora,
  startRemora,
} from "../doubles/remora-process.ts";
import { rendered } from "../platforms/discord/rendering.ts";

const killPoints = resolve(import.meta.dirname, "../faults/kill-points.ts");

let discord: DiscordDouble;
let home: RemoraHome;
let remora: RunningRemora | undefined;

async function openWorld(): Promise<void> {
  [discord, home] = await Promise.all([createDiscordDouble(), createHome()]);
}

async function closeWorld(): Promise<void> {
  await stop();
  await Promise.all([discord.stop(), home.remove()]);
}

function environment(env: Record<string, string>): Record<string, string> {
  return { DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl, ...env };
}

async function stop(): Promise<void> {
  await remora?.stop();
  remora = undefined;
}

async function start(env: Record<string, string> = {}): Promise<void> {
  await stop();
  remora = await startHere(home, environment(env));
}

async function startProcess(env: Record<string, string> = {}): Promise<RemoraProcess> {
  await stop();
  const started = await startRemora(home, environment(env));
  remora = started;
  return started;
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
  return discord.until(
    () => own(where()).find(({ buttons }) => buttons.some(({ label }) => label === "Approve")),
    60_000,
  );
}

/** The card below the answer that lists the turn's changes. */
function reportIn(where: () => ChannelHandle | undefined, words: string): Promise<SeenMessage> {
  const isReport = (message: SeenMessage) =>
    message.buttons.some(({ label }) => label === "Undo") && rendered(message).text.includes(words);
  return discord.until(() => own(where()).find(isReport), 60_000);
}

function answerIn(where: () => ChannelHandle | undefined, wanted: RegExp): Promise<SeenMessage> {
  return discord.until(() => own(where()).find(({ content }) => wanted.test(content)), 60_000);
}

async function receiptOf(interaction: InteractionHandle): Promise<string> {
  await discord.until(() => interaction.state() === "answered", 60_000);
  return interaction.reply()?.content ?? "";
}

/** Opens More… and presses a button of it. */
async function chosen(card: SeenMessage, label: string, who = discord.ann): Promise<InteractionHandle> {
  const menu = who.click(card, "More…");
  await discord.until(() => menu.reply()?.buttons.length, 60_000);
  return who.click(menu.reply() as SeenMessage, label);
}

function clicked(card: SeenMessage, label: string, who = discord.ann): Promise<string> {
  return receiptOf(who.click(card, label));
}

function fileOf(scope: string, name: string): Promise<string> {
  return readFile(join(home.workspace, "files", scope, name), "utf8").catch(() => "");
}

async function feedbackLines(): Promise<string[]> {
  const folder = join(home.workspace, "brain", "basalganglia", `channel:${discord.channel.id}`);
  const names = await readdir(folder).catch(() => []);
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return texts.flatMap((text) => text.split("\n").filter((line) => line.includes(" answer: ")));
}

async function command(who: typeof discord.ann, command: string, text?: string): Promise<string> {
  return await receiptOf(
    who.slash(command, { in: discord.channel, ...(text === undefined ? {} : { options: { text } }) }),
  );
}

describe("one agent", () => {
  beforeAll(async () => {
    await openWorld();
    await start();
  });
  afterAll(closeWorld);

  // First, because files from the network would end the offer of a grant.
  test("an edited call runs as edited, and a grant skips the question until it is revoked", async () => {
    const said = mention("run : npm install && echo one >> list.txt");
    const thread = () => threadOf(said);
    const card = await cardIn(thread);
    const edit = await chosen(card, "Edit…");
    await discord.until(() => edit.modal(), 60_000);
    const edited = discord.ann.submit(edit, { "json-0": '{ "command": "echo edited >> list.txt" }' });
    expect(await receiptOf(edited)).toContain("Edited and approved");
    await answerIn(thread, /is done/);
    discord.ann.say("run : npm install && echo two >> list.txt", { in: said.id });
    const allowed = await cardIn(thread);
    const why = await receiptOf(await chosen(allowed, "Why this asks", discord.ben));
    expect(why.replaceAll("\\", "")).toContain("Pattern “npm install” (shell/SKILL.md, line");
    const allow = await chosen(allowed, "Allow here for 30 min…");
    const rule = await discord.until(() => allow.modal(), 60_000);
    expect(rule.texts.join("").replaceAll("\\", "")).toContain(
      "For 30 minutes, Remora won't ask again here when a call",
    );
    expect(await receiptOf(discord.ann.submit(allow))).toContain("for 30 minutes");
    await discord.until(() => own(thread()).filter(({ content }) => /is done/.test(content)).length === 2, 60_000);
    discord.ann.say("run : npm install && echo three >> list.txt", { in: said.id });
    await discord.until(() => own(thread()).filter(({ content }) => /is done/.test(content)).length === 3, 60_000);
    const list = () => fileOf(`channel:${discord.channel.id}`, "list.txt");
    await expect.poll(list, { timeout: 60_000 }).toBe("edited\ntwo\nthree\n");
    await discord.until(() => discord.commands().length === 1, 60_000);
    const grants = await receiptOf(discord.ann.slash("remora grants", { in: said.id }));
    const [, id = ""] = /`(\w+)`/.exec(grants) ?? [];
    await receiptOf(discord.ann.slash("remora grants", { in: said.id, options: { text: `revoke ${id}` } }));
    discord.ann.say("run : npm install && echo four >> list.txt", { in: said.id });
    const asked = await cardIn(thread);
    discord.ann.say("stop", { in: said.id });
    await discord.until(() => discord.message(asked)?.buttons.length === 0, 60_000);
  });

  test("a mention is answered in its thread, and a command runs after a click by the person who asked", async () => {
    const hello = mention("help");
    await answerIn(() => threadOf(hello), /demo model/);
    const said = mention("run echo ran >> once.txt && echo finished with network example.com");
    const card = await cardIn(() => threadOf(said));
    expect(rendered(card).text).toMatch(/^Run echo ran >> once\.txt/);
    expect(rendered(card).text).toContain('command: "echo ran >> once.txt');
    expect(await clicked(card, "Approve", discord.ben)).toContain("can answer this");
    expect(await fileOf(`channel:${discord.channel.id}`, "once.txt")).toBe("");
    expect(await clicked(card, "Approve")).toContain("Approved");
    await answerIn(() => threadOf(said), /finished/);
    await reportIn(() => threadOf(said), "once.txt");
    expect(await fileOf(`channel:${discord.channel.id}`, "once.txt")).toBe("ran\n");
    const settled = discord.message(card);
    expect(settled?.buttons).toEqual([]);
    expect(rendered(settled as SeenMessage).text).toMatch(/^✅ Ann approved echo ran >> once\.txt .* · <t:\d+:t>$/);
  });

  test("a command runs without asking, the card below the answer says what it changed, and Undo reverts it", async () => {
    const said = mention("run echo one >> kept.txt && echo finished");
    await answerIn(() => threadOf(said), /finished/);
    const report = await reportIn(() => threadOf(said), "kept.txt");
    expect(report.buttons.map(({ label }) => label)).toEqual(["Undo"]);
    expect(await fileOf(`channel:${discord.channel.id}`, "kept.txt")).toBe("one\n");
    await clicked(report, "Undo");
    await discord.until(() => discord.message(report)?.buttons.length === 0, 60_000);
    expect(await fileOf(`channel:${discord.channel.id}`, "kept.txt")).toBe("");
  });

  test("nobody notices a broken connection", async () => {
    const first = mention("help");
    await answerIn(() => threadOf(first), /demo model/);
    discord.gateway.cut();
    const second = mention("help");
    await answerIn(() => threadOf(second), /demo model/);
    expect(own(threadOf(second))).toHaveLength(1);
  });

  test("a DM denial and the commands work", async () => {
    discord.ann.say("run touch denied.txt with network example.com", { in: "dm" });
    const card = await cardIn(() => discord.ann.dm());
    expect(await clicked(card, "Deny")).toContain("Denied");
    await answerIn(() => discord.ann.dm(), /denied/i);
    await discord.until(() => discord.commands().length === 1, 60_000);
    const status = discord.ann.slash("remora status", { in: discord.channel });
    await discord.until(() => status.state() === "answered", 60_000);
    expect(status.reply()).toMatchObject({ isEphemeral: true, content: expect.stringContaining("everywhere") });
    const asked = discord.ann.slash("remora ask", { in: discord.channel, options: { text: "help" } });
    const question = await discord.until(() => asked.reply());
    await answerIn(() => threadOf(question), /demo model/);
  });
});

describe("processes that start, end and start again", () => {
  beforeEach(openWorld);
  afterEach(closeWorld);

  test("work and its place in line are visible at once and across a kill, a card from before it still counts once, and missed messages are answered once", async () => {
    // A command that lists a readable folder sees at once what is put there, unless it has looked for it by name.
    const [signals, config] = [join(home.data, "../signals"), join(home.data, "../remora.yaml")];
    await mkdir(signals);
    await writeFile(config, JSON.stringify({ sandbox: { readable: [signals] } }));
    const dying = await startProcess({ REMORA_CONFIG: config });
    discord.ben.say("help", { in: "dm" });
    await answerIn(() => discord.ben.dm(), /demo model/);
    const said = mention(`run until ls ${signals} | grep -q go; do sleep 0.1; done && echo finished`);
    const thread = () => threadOf(said);
    await discord.until(() => discord.channel.typing().length > 0);
    // Nothing is written yet. `bench/first-sign.ts` measures how soon people see it.
    expect(own(thread())).toEqual([]);
    const asking = mention("run echo ran >> once.txt with network example.com");
    const card = await cardIn(() => threadOf(asking));
    await discord.until(
      () => own(thread()).find(({ content }) => /-# ⏳ Running until ls .* · (?:[5-9]|\d\d) s$/.test(content)),
      60_000,
    );
    const where = thread();
    if (where === undefined) throw new Error("no thread");
    discord.ben.say("help", { in: where });
    await discord.until(
      () => own(thread()).find(({ content }) => /Waiting for Ann's request here/.test(content)),
      60_000,
    );
    await dying.kill();
    const missed = mention("what did I miss?");
    discord.ben.say("are you there?", { in: "dm" });
    const late = discord.ann.click(card, "Approve");
    await start({ REMORA_CONFIG: config });
    expect(late.state()).not.toBe("answered");
    expect(await clicked(card, "Approve")).toContain("Approved");
    await answerIn(() => threadOf(asking), /is done|ran|finished/i);
    await reportIn(() => threadOf(asking), "once.txt");
    expect(await fileOf(`channel:${discord.channel.id}`, "once.txt")).toBe("ran\n");
    await discord.until(() => own(threadOf(missed)).length > 0 && own(discord.ben.dm()).length > 1, 60_000);
    // Any duplicate would arrive before the last answer.
    const last = mention("help");
    await answerIn(() => threadOf(last), /demo model/);
    expect(own(threadOf(missed))).toHaveLength(1);
    expect(own(discord.ben.dm())).toHaveLength(2);
    expect(discord.message(card)?.buttons).toEqual([]);

    await discord.until(() => own(thread()).find(({ content }) => /⏳ Running until ls/.test(content)), 60_000);
    await writeFile(join(signals, "go"), "");
    const isOver = () =>
      own(thread()).length === 2 && own(thread()).every(({ content }) => content !== "" && !content.includes("⏳"));
    await discord.until(() => isOver(), 60_000);
    expect(own(thread()).map(({ content }) => content)).toEqual([
      expect.stringMatching(/finished/),
      expect.stringMatching(/demo model/),
    ]);
  });

  test("below an answer: its record, ratings by reactions with words, and Retry once after a failure", async () => {
    const model = await createFailingModel(5);
    const models = { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url };
    // The click becomes the second message in the ledger. The process dies before its turn starts.
    const dying = await startProcess({ ...models, REMORA_PORT_WRAPPERS: killPoints, REMORA_KILL_AT: "accepted:2" });
    const asked = mention("tell me a story");
    const failure = await discord.until(
      () => own(threadOf(asked)).find(({ buttons }) => buttons.some(({ label }) => label === "Retry")),
      60_000,
    );
    expect(failure.content).toContain("⚠️");
    expect(await clicked(failure, "Retry", discord.ben)).toContain("Only Ann can start this again");
    model.isBroken = false;
    discord.ann.click(failure, "Retry");
    await dying.exited;
    await start(models);
    await answerIn(() => threadOf(asked), /word4/);
    expect(await clicked(failure, "Retry")).toContain("already started this again");
    expect(own(threadOf(asked))).toHaveLength(2);
    await stop();
    await model.close();

    const failed = await answerIn(() => threadOf(asked), /word4/);
    discord.ben.react(failed, "👎🏽");
    await start();
    await expect.poll(feedbackLines, { timeout: 60_000 }).toHaveLength(1);
    expect((await feedbackLines())[0]).toContain("answer: bad by Ben");
    discord.ben.unreact(failed, "👎🏽");
    await expect.poll(feedbackLines, { timeout: 60_000 }).toHaveLength(0);
    const said = mention("run echo finished with network example.com");
    await clicked(await cardIn(() => threadOf(said)), "Approve");
    const answer = await answerIn(() => threadOf(said), /approved by Ann · /);
    expect(answer.content).toMatch(/\n-# ⓘ 1 action · approved by Ann · [^\n]* s(?:, waited [^\n]* for Ann)?$/);
    const record = await clicked(answer, "Details", discord.ben);
    expect(record).toContain("What I did for Ann");
    expect(record).toContain("echo finished");
    expect(await command(discord.ben, "remora why")).toContain("What I did for Ann");

    discord.ben.react(answer, "👎");
    await expect.poll(feedbackLines, { timeout: 60_000 }).toHaveLength(1);
    expect(await command(discord.ben, "remora feedback", "too short")).toContain("Thanks");
    expect((await feedbackLines())[0]).toMatch(/answer: bad by Ben .* said: too short/);
    discord.ben.react(answer, "👍");
    await expect.poll(async () => (await feedbackLines())[0], { timeout: 60_000 }).toContain("answer: good by Ben");
    discord.ben.unreact(answer, "👎");
    discord.ben.unreact(answer, "👍");
    await expect.poll(feedbackLines, { timeout: 60_000 }).toHaveLength(0);
  });

  test("with pairing, another person confirms the code shown in a DM", async () => {
    await mkdir(home.data, { recursive: true });
    const config = join(home.data, "remora.yaml");
    await writeFile(config, "discord:\n  access:\n    dms: pairing\n");
    await start({ REMORA_CONFIG: config });
    discord.ben.say("help", { in: "dm" });
    const { content } = await answerIn(() => discord.ben.dm(), /remora pair/);
    const text = /pair (\w+)/.exec(content)?.[1] ?? "";
    await discord.until(() => discord.commands().length === 1, 60_000);
    const pair = (who: typeof discord.ann, code: string) =>
      receiptOf(who.slash("remora pair", { in: discord.channel, options: { text: code } }));
    expect(await pair(discord.ben, text)).toContain("Somebody else");
    expect(await pair(discord.ann, "WRONGONE")).toContain("no such code");
    expect(await pair(discord.ann, text)).toContain("may write to me directly");
    discord.ben.say("help", { in: "dm" });
    await answerIn(() => discord.ben.dm(), /demo model/);
  });
});
