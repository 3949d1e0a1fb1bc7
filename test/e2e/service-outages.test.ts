/**
 * The real process while Slack refuses its token and Discord answers with errors. Every message is answered once and in
 * order, and cards appear once, also if the process is killed during the outage. What nobody would see where it was asked
 * goes to the person by direct message. Setting the clock changes nothing of this.
 */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDiscordDouble, type DiscordDouble } from "../doubles/discord/double.ts";
import { createHome, type RemoraHome, type RemoraProcess, startRemora } from "../doubles/remora-process.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";
import type { Said } from "../doubles/slack/people.ts";

const patienceMs = 60_000;

let home: RemoraHome;
let slack: SlackDouble;
let discord: DiscordDouble;
let remora: RemoraProcess;

const clockFile = () => join(home.data, "..", "clock");

function start(): Promise<RemoraProcess> {
  return startRemora(home, {
    ...{ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl },
    ...{ DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl },
    ...{
      NODE_OPTIONS: `--import ${join(import.meta.dirname, "../faults/set-clock.ts")}`,
      REMORA_WRONG_CLOCK: clockFile(),
    },
  });
}

beforeAll(async () => {
  [slack, discord, home] = await Promise.all([createSlackDouble(), createDiscordDouble(), createHome()]);
  remora = await start();
});
afterAll(async () => {
  await remora.kill();
  await Promise.all([slack.stop(), discord.stop(), home.remove()]);
});

/** How often a turn's end could not be delivered. */
function failures(): number {
  return remora.stdout().concat(remora.stderr()).split("could not deliver").length - 1;
}

function untilFailures(wanted: number): Promise<void> {
  return expect.poll(failures, { timeout: patienceMs }).toBeGreaterThanOrEqual(wanted);
}

async function metrics(): Promise<string> {
  const response = await fetch(`${remora.url}/metrics`, { headers: { authorization: `Bearer ${remora.token}` } });
  return await response.text();
}

async function turns(search: Record<string, string>) {
  const headers = { authorization: `Bearer ${remora.token}` };
  const found = await fetch(`${remora.url}/dashboard/data/turns?${new URLSearchParams(search)}`, { headers });
  return ((await found.json()) as { turns: { state: string; failure: string | null; startedAt: number }[] }).turns;
}

test("Slack refuses the token, the process is killed, and Slack takes the token again", async () => {
  const dm = slack.workspace.direct(slack.ann);
  const say = async (text: string, thread?: Said) => {
    const said = slack.people.say({ as: slack.ann, in: dm, text, ...(thread === undefined ? {} : { thread }) });
    await said.acknowledged();
    return said;
  };
  const answers = () => slack.see({ in: dm }).filter(({ isAgents }) => isAgents);
  const token = slack.tokens.get(slack.botToken);
  if (token === undefined) throw new Error("the double has no bot token");
  await say("help");
  // Now the turn is over, and the process knows Ann's name.
  await expect.poll(metrics, { timeout: patienceMs }).toMatch(/turns_total\{outcome="done"\} 1/);

  token.state = "revoked";
  const first = await say("run echo one");
  await untilFailures(2);
  // This waits for the first one.
  await say("run echo two with network example.com", first);
  await remora.kill();
  expect(answers()).toHaveLength(1);

  // The start does not wait for Slack, because Discord works.
  remora = await start();
  discord.ben.say("run echo elsewhere", { in: "dm" });
  await discord.until(
    () =>
      discord.ben
        .dm()
        .messages()
        .some(({ content }) => /\belsewhere\b.*1 action/s.test(content)),
    patienceMs,
  );
  expect(answers()).toHaveLength(1);
  token.state = "active";
  const card = await slack.until(
    () => answers().find(({ buttons }) => buttons.some(({ label }) => label === "Approve")),
    patienceMs,
  );
  await slack.interactions.click({ as: slack.ann, on: { channel: dm, ts: card.ts }, button: "Approve" }).acknowledged();
  const isSettled = () => answers().find(({ ts }) => ts === card.ts)?.buttons.length === 0;
  await slack.until(() => isSettled() && answers().at(-1)?.readable.includes("done"), patienceMs);
  const texts = answers().map(({ readable }) => readable);
  expect(texts[1]).toContain("one");
  expect(answers().findIndex(({ ts }) => ts === card.ts)).toBeGreaterThan(1);
  expect(texts.filter((text) => /\bone\b/.test(text))).toHaveLength(1);
  expect(texts.filter((text) => text.includes("Something went wrong"))).toEqual([]);
}, 300_000);

test("Discord refuses every request for a while, and then takes them again", async () => {
  const own = () =>
    discord.channel
      .threads()
      .flatMap((thread) => thread.messages())
      .filter(({ author, type }) => author.id === discord.bot.id && type !== 21);
  const outage = discord.fail(
    { times: Number.POSITIVE_INFINITY },
    { type: "answer", status: 401, body: { code: 0, message: "401: Unauthorized" } },
  );
  discord.ann.say(`${discord.bot.mention} run echo one`, { in: discord.channel });
  // The author's roles can't be read either, so the message waits, and is asked for again.
  await discord.until(() => outage.hits.length > 2, patienceMs);
  expect(own()).toEqual([]);
  outage.remove();
  await discord.until(() => own().some(({ content }) => /\bone\b/.test(content)), patienceMs);
  discord.ann.say(`${discord.bot.mention} help`, { in: discord.channel });
  await discord.until(() => own().some(({ content }) => content.includes("demo model")), patienceMs);
  expect(own().filter(({ content }) => /\bone\b/.test(content))).toHaveLength(1);
  expect(own().filter(({ content }) => content.includes("Something went wrong"))).toEqual([]);
}, 300_000);

test("places that are gone for good while answers wait: people get direct messages, or log and dashboard say so", async () => {
  const waitsBefore = failures();
  const channels = ["archived", "left", "deleted"].map((name) =>
    slack.workspace.addChannel({ name, members: [slack.ben] }),
  );
  const [archived, left, deleted] = channels;
  if (archived === undefined || left === undefined || deleted === undefined)
    throw new Error("three channels were made");
  const [channel, other] = [discord.guild.addChannel("deleted"), discord.guild.addChannel("deleted-too")];
  const closed = discord.addPerson("closed");
  const back = slack.fail("*", { type: "cut" });
  const outage = discord.fail({ method: "POST", times: Number.POSITIVE_INFINITY }, { type: "answer", status: 503 });
  for (const each of channels) slack.people.say({ as: slack.ben, in: each, text: `@Remora run echo ${each.name}` });
  discord.ben.say(`${discord.bot.mention} run echo deleted`, { in: channel });
  closed.say(`${discord.bot.mention} run echo unseen`, { in: other });
  await untilFailures(waitsBefore + 5);

  archived.isArchived = true;
  left.members.delete(slack.workspace.app.id);
  slack.state.channels.delete(deleted.id);
  channel.delete();
  other.delete();
  closed.acceptDms(false);
  back();
  outage.remove();

  const moved = /I can't write in .*So I answer here\..*\b(archived|left|deleted)\b/s;
  const inSlack = () =>
    slack.see({ in: slack.workspace.direct(slack.ben) }).flatMap(({ readable }) => moved.exec(readable)?.[1] ?? []);
  const inDiscord = () =>
    discord.ben
      .dm()
      .messages()
      .flatMap(({ content }) => moved.exec(content)?.[1] ?? []);
  await expect.poll(() => inSlack().sort(), { timeout: patienceMs }).toEqual(["archived", "deleted", "left"]);
  await expect.poll(inDiscord, { timeout: patienceMs }).toEqual(["deleted"]);
  await expect
    .poll(() => turns({ person: closed.id }), { timeout: patienceMs })
    .toMatchObject([{ state: "failed", failure: expect.stringContaining("nobody would see") }]);
  expect(remora.stderr()).toContain("nobody can see the end of a turn");
  await expect.poll(() => turns({ state: "running" }), { timeout: patienceMs }).toEqual([]);
  expect([inSlack().length, inDiscord().length]).toEqual([3, 1]);
}, 300_000);

test("the clock is set back by five hours and forward again while a card waits: everything is answered once", async () => {
  const setClock = async (hours: number) => {
    await writeFile(clockFile(), String(hours));
    process.kill(remora.pid, "SIGUSR2");
    await expect.poll(() => existsSync(clockFile())).toBe(false);
  };
  const dm = slack.workspace.direct(slack.ben);
  const inSlack = () => slack.see({ in: dm }).filter(({ isAgents }) => isAgents);
  const inDiscord = () =>
    discord.ben
      .dm()
      .messages()
      .filter(({ author }) => author.id === discord.bot.id);
  const askBoth = async (word: string) => {
    discord.ben.say(`run echo ${word}`, { in: "dm" });
    await slack.people.say({ as: slack.ben, in: dm, text: `run echo ${word}` }).acknowledged();
    const isAnswer = new RegExp(`\\b${word}\\b.*1 action`, "s");
    const counts = () => [
      inSlack().filter(({ readable }) => isAnswer.test(readable)).length,
      inDiscord().filter(({ content }) => isAnswer.test(content)).length,
    ];
    await expect.poll(counts, { timeout: patienceMs }).toEqual([1, 1]);
  };
  const answersWith = (word: string) => {
    const isAnswer = new RegExp(`\\b${word}\\b.*1 action`, "s");
    const all = [...inSlack().map(({ readable }) => readable), ...inDiscord().map(({ content }) => content)];
    return all.filter((text) => isAnswer.test(text)).length;
  };
  await slack.people.say({ as: slack.ben, in: dm, text: "run echo carded with network example.com" }).acknowledged();
  const isCard = ({ buttons }: { buttons: { label: string }[] }) => buttons.some(({ label }) => label === "Approve");
  const card = await slack.until(() => inSlack().find(isCard), patienceMs);

  await setClock(-5);
  await askBoth("earlier");
  const [newest] = await turns({ person: discord.ben.id });
  expect(newest?.startedAt).toBeLessThan(Date.now() - 4 * 3_600_000);
  await slack.interactions.click({ as: slack.ben, on: { channel: dm, ts: card.ts }, button: "Approve" }).acknowledged();
  // Set forward before the call starts, the clock would end its approval.
  await expect.poll(() => answersWith("carded"), { timeout: patienceMs }).toBe(1);
  await setClock(2);
  await askBoth("later");
  await setClock(0);
  await askBoth("now");
  await expect
    .poll(() => ["carded", "earlier", "later", "now"].map(answersWith), { timeout: patienceMs })
    .toEqual([1, 2, 2, 2]);
}, 300_000);

test("SIGTERM closes both connections and ends the process with exit code 0", async () => {
  expect(await remora.stop()).toBe(0);
  await slack.until(() => slack.sockets.count() === 0);
  await discord.until(() => discord.gateway.connected().length === 0);
});
