/**
 * The main job through Slack, with the real agent and the real Bolt: mention, stream, card, crash, click and result. What
 * dies is a process; the others run within the test's, because a start there costs a fifth.
 */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createModelServer } from "../../bench/model-server.ts";
import { startStoryModel } from "../../scripts/screenshots/story-model.ts";
import { createFailingModel } from "../doubles/failing-model.ts";
import { startRemora as startHere } from "../doubles/remora-in-process.ts";
import {
  createHome,
  type RemoraHome,
  type RemoraProcess,
  type RunningRemora,
  startRemora,
} from "../doubles/remora-process.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";
import type { Said } from "../doubles/slack/people.ts";
import type { SeenMessage } from "../doubles/slack/see.ts";
import { isWhole } from "../faults/share.ts";
import { type SessionStep, sessionScenes, sessionSettings, tellSessions } from "./sessions-story.ts";

const killPointsModule = resolve(import.meta.dirname, "../faults/kill-points.ts");

/** A text that has come to its end. */
function isAnswer({ metadata, streaming }: SeenMessage): boolean {
  const key = (metadata?.event_payload as { key?: string } | undefined)?.key ?? "";
  return key.startsWith("text:") && streaming !== "in_progress";
}

describe.each(["socket", "http"] as const)("Slack by %s", (transport) => {
  let home: RemoraHome;
  let remora: RunningRemora | undefined;
  let slack: SlackDouble;
  let config: string;
  /** Commands that list it see at once what a test puts there, unless they have looked for it by name. */
  let signals: string;

  function environment(env: Record<string, string>): Record<string, string> {
    const how =
      transport === "socket" ? { SLACK_APP_TOKEN: slack.appToken } : { SLACK_SIGNING_SECRET: slack.signingSecret };
    return { SLACK_BOT_TOKEN: slack.botToken, SLACK_API_URL: slack.apiUrl, ...how, REMORA_CONFIG: config, ...env };
  }

  function use<R extends RunningRemora>(started: R): R {
    remora = started;
    if (transport === "http") slack.http.target = `${started.url}/slack/events`;
    return started;
  }

  async function stop(): Promise<void> {
    await remora?.stop();
    remora = undefined;
  }

  async function start(env: Record<string, string> = {}): Promise<void> {
    await stop();
    use(await startHere(home, environment(env)));
  }

  async function startProcess(env: Record<string, string> = {}): Promise<RemoraProcess> {
    await stop();
    return use(await startRemora(home, environment(env)));
  }

  // Sequential, because tests kill and restart the agent on one workspace.
  beforeAll(async () => {
    slack = await createSlackDouble();
    home = await createHome();
    signals = join(home.data, "../signals");
    config = join(home.data, "../remora.yaml");
    await mkdir(signals);
    await writeFile(config, JSON.stringify({ sandbox: { readable: [signals] } }));
    await start();
  });
  afterAll(async () => {
    await stop();
    await slack.stop();
    await home.remove();
  });

  function mention(text: string, channel = slack.general): Said {
    return slack.people.say({ as: slack.ann, in: channel, text: `@Remora ${text}` });
  }

  function agentsIn({ channel, ts }: { channel: Said["channel"]; ts: string }): SeenMessage[] {
    return slack.see({ in: channel, thread: ts }).filter((message) => message.isAgents);
  }

  const cardIn = (said: Said) =>
    slack.until(() => agentsIn(said).find(({ buttons }) => buttons.some(({ label }) => label === "Approve")), 60_000);

  /** The card below the answer that lists the turn's changes. */
  const reportIn = (said: Said, words: string) =>
    slack.until(
      () =>
        agentsIn(said).find(
          ({ buttons, readable }) => buttons.some(({ label }) => label === "Undo") && readable.includes(words),
        ),
      60_000,
    );

  /** The finished answer, below the card if any. */
  const answerIn = (said: Said, words: string) =>
    slack.until(() => agentsIn(said).find((each) => isAnswer(each) && each.readable.includes(words)), 60_000);

  function press(card: SeenMessage, button: string, as = slack.ann, channel = slack.general) {
    return slack.interactions.click({ as, on: { channel, ts: card.ts }, button }).acknowledged();
  }

  async function filesHere(channel = slack.general): Promise<string[]> {
    return await readdir(join(home.workspace, "files", `channel:${channel.id}`)).catch(() => []);
  }

  const sessionOf = ({ channel, ts }: Said) =>
    expect.poll(() => slack.sessions.states(channel, ts).join(" "), { timeout: 60_000 });

  /** What does not depend on how events arrive. */
  const onlyOnce = test.runIf(transport === "socket");
  const wholeOnly = test.runIf(transport === "socket" && isWhole);

  test("a mention and a DM are answered in their threads", async () => {
    const said = mention("help");
    const answer = await answerIn(said, "demo model, no AI");
    expect(answer).toMatchObject({ threadTs: said.ts, metadata: { event_type: "remora_post" } });
    expect(agentsIn(said)).toHaveLength(1);
    const direct = slack.people.say({ as: slack.ben, in: slack.workspace.direct(slack.ben), text: "help" });
    await answerIn(direct, "demo model, no AI");
    expect(slack.timeline(slack.ben)).toMatchObject([{ ts: direct.ts, root: "help", answers: [expect.any(String)] }]);
    await said.acknowledged();
    await sessionOf(said).toBe("processing* active");
    expect(slack.sessions.of(slack.general, said.ts)).toMatchObject({ title: "help", initiator: slack.ann.id });
  });

  onlyOnce(
    "a DM goes on in its thread: cards, what is said while nothing runs, and commands beside it; two messages at once are two",
    async () => {
      const dm = slack.workspace.direct(slack.ben);
      const write = (text: string, thread?: Said) =>
        slack.people.say({ as: slack.ben, in: dm, text, ...(thread === undefined ? {} : { thread }) });
      const rowOf = ({ ts }: Said) => slack.timeline(slack.ben).find((row) => row.ts === ts);
      const answered = (said: Said, words: string, count: number) =>
        slack.until(() => rowOf(said)?.answers.filter((text) => text.includes(words)).length === count, 60_000);
      const command = async (text: string, words: string) => {
        await slack.interactions.command({ as: slack.ben, in: dm, command: "/remora", text }).acknowledged();
        const told = () => slack.see({ in: dm, as: slack.ben }).filter(({ isEphemeral }) => isEphemeral);
        await expect.poll(() => told().at(-1)?.readable, { timeout: 20_000 }).toContain(words);
      };
      const first = write("run echo in-the-first && touch first.txt with network example.com");
      const second = write("run echo in-the-second");
      await answered(second, "in-the-second", 1);
      await press(await cardIn(first), "Approve", slack.ben, dm);
      await answerIn(first, "in-the-first");
      const reply = write("run echo and-again", first);
      await answered(first, "and-again", 1);
      await stop();
      write("run echo while-away", second);
      const third = write("run echo new-while-away");
      await start();
      await answered(second, "while-away", 1);
      await answered(third, "new-while-away", 1);
      expect(rowOf(first)?.replies).toEqual([reply.message.text]);
      expect(slack.see({ in: dm }).filter((each) => each.isAgents && each.threadTs === undefined)).toEqual([]);
      expect(slack.see({ in: dm }).flatMap(({ reactions }) => reactions)).toEqual([]);

      write("run echo once-more", second);
      await answered(second, "once-more", 1);
      const stateOf = () => slack.sessions.of(dm, second.ts)?.status;
      // What still runs goes on in its session, but not what is left to do after the answer.
      await expect.poll(stateOf, { timeout: 20_000 }).toBe("active");
      await command("status", "in the newest thread here: ");
      await command("context", "earlier requests with their answers");
      await command("new", "a reply in the newest thread does, too");
      await command("context", "this conversation: 0");
      await expect.poll(stateOf, { timeout: 20_000 }).toBe("closed");
      write("run echo after-new", second);
      await answered(second, "after-new", 1);
      await expect
        .poll(() => slack.sessions.states(dm, second.ts).slice(-3), { timeout: 20_000 })
        .toEqual(["closed", "processing*", "active"]);

      const waiting = write("run echo never with network example.com");
      const asked = await cardIn(waiting);
      const lastOf = (count: number) =>
        expect.poll(() => slack.sessions.states(dm, waiting.ts).slice(-count), { timeout: 20_000 });
      await lastOf(1).toEqual(["suspended"]);
      write("run echo meanwhile", waiting);
      await answered(waiting, "meanwhile", 1);
      await lastOf(2).toEqual(["processing*", "suspended"]);
      const word = write("stop");
      // Perhaps with the other one, whose answer is there, but which has not ended yet.
      await answered(word, "Stopped", 1);
      await slack.until(() => agentsIn(waiting).find(({ ts }) => ts === asked.ts)?.buttons.length === 0);
      await lastOf(1).toEqual(["active"]);
    },
  );

  onlyOnce(
    "a card in a DM from before its threads were conversations is answered there, and a reply below it knows what it is about",
    async () => {
      const before = join(home.data, "../single.yaml");
      await writeFile(before, JSON.stringify({ slack: { directMessages: "single" } }));
      await start({ REMORA_CONFIG: before });
      const dm = slack.workspace.direct(slack.ben);
      slack.people.say({ as: slack.ben, in: dm, text: "run echo in-the-long-dm with network example.com" });
      const topLevel = (words: string) => (each: SeenMessage) =>
        each.isAgents && each.threadTs === undefined && each.readable.includes(words);
      const card = await slack.until(() =>
        slack.see({ in: dm }).find((each) => topLevel("in-the-long-dm")(each) && each.buttons.length > 0),
      );
      await start();
      await press(card, "Approve", slack.ben, dm);
      const answer = await slack.until(() =>
        slack.see({ in: dm }).find((each) => topLevel("in-the-long-dm")(each) && isAnswer(each) && each.ts > card.ts),
      );
      const reply = slack.people.say({ as: slack.ben, in: dm, thread: answer.ts, text: "run echo below-it" });
      await slack.until(() => slack.timeline(slack.ben).find(({ ts }) => ts === answer.ts)?.answers.length === 1);
      await reply.acknowledged();
    },
  );

  test("a command runs after Approve, the card shows the outcome, and the result appears below it", async () => {
    const said = mention("run touch made.txt && echo finished with network example.com");
    const card = await cardIn(said);
    expect(card.readable).toContain("touch made.txt && echo finished");
    await press(card, "Approve");
    await answerIn(said, "finished");
    const settled = await slack.until(() =>
      agentsIn(said).find((message) => message.ts === card.ts && message.buttons.length === 0),
    );
    expect(settled.readable).toContain("Ann approved");
    await reportIn(said, "made.txt");
    expect(await filesHere()).toContain("made.txt");
    await sessionOf(said).toBe("processing* suspended processing* active");
  });

  onlyOnce(
    "a command runs without asking, the card below the answer says what it changed, and Undo reverts it",
    async () => {
      const said = mention("run touch hello.txt && echo finished");
      await answerIn(said, "finished");
      const report = await reportIn(said, "hello.txt");
      expect(report.buttons.map(({ label }) => label)).toEqual(["Undo"]);
      expect(await filesHere()).toContain("hello.txt");
      await press(report, "Undo");
      await slack.until(() => agentsIn(said).find(({ ts, buttons }) => ts === report.ts && buttons.length === 0));
      expect(await filesHere()).not.toContain("hello.txt");
    },
  );

  test("a denied command does not run, and a stranger's click changes nothing and gets a private reply", async () => {
    const said = mention("run touch denied.txt with network example.com");
    const card = await cardIn(said);
    await press(card, "Approve", slack.ben);
    const refusal = await slack.until(() =>
      slack.see({ in: slack.general, thread: said.ts, as: slack.ben }).find((message) => message.isEphemeral),
    );
    expect(refusal.readable).toContain("can answer this");
    await press(card, "Deny");
    await answerIn(said, "enied");
    expect(await filesHere()).not.toContain("denied.txt");
    await sessionOf(said).toBe("processing* suspended processing* active");
  });

  test("/remora works, stop stops, and Allow covers the same rule in the thread", async () => {
    slack.interactions.command({ as: slack.ann, in: slack.general, command: "/remora", text: "help" });
    const help = await slack.until(() =>
      slack
        .see({ in: slack.general, as: slack.ann })
        .find(({ isEphemeral, readable }) => isEphemeral && readable.includes("/remora status")),
    );
    expect(help.readable).toContain("/remora stop");
    // The other channel has files from the network, so its turns offer no grant.
    const clean = slack.workspace.addChannel({ name: "clean", members: [slack.ann] });
    const said = mention("run : npm install && touch one.txt", clean);
    const asked = await cardIn(said);
    expect(asked.readable).toMatch(/^Ann asks: Run : npm install && touch one\.txt\nRisk: Downloads packages/);
    const on = { channel: clean, ts: asked.ts };
    slack.interactions.click({ as: slack.ann, on, option: "Allow here for 30 min…" });
    const form = await slack.until(() => slack.views.stack(slack.ann)[0], 60_000);
    slack.interactions.submit({ as: slack.ann, view: form });
    await answerIn(said, "is done");
    slack.people.say({ as: slack.ann, in: clean, thread: said, text: "run : npm install && touch two.txt" });
    await expect.poll(() => filesHere(clean), { timeout: 60_000 }).toEqual(["one.txt", "two.txt"]);
    // The line says what it allows; once it is ended, the same rule asks again.
    const line = () => agentsIn(said).find(({ ts }) => ts === asked.ts);
    await slack.until(() => line()?.buttons.some(({ label }) => label === "End this permission"), 60_000);
    expect(line()?.readable).toMatch(
      /^✅ Ann approved : npm install && touch one\.txt · \d\d:\d\d UTC\nUntil .*, Remora won't ask again here when a call for Ann only downloads packages/,
    );
    slack.interactions.click({ as: slack.ann, on, button: "End this permission" });
    await slack.until(() => line()?.buttons.length === 0, 60_000);
    slack.people.say({ as: slack.ann, in: clean, thread: said, text: "run : npm install && touch four.txt" });
    await slack.until(
      () => agentsIn(said).some(({ buttons }) => buttons.some(({ label }) => label === "Approve")),
      60_000,
    );
    const waiting = mention("run touch three.txt with network example.com", clean);
    const open = await cardIn(waiting);
    slack.people.say({ as: slack.ann, in: clean, thread: waiting, text: "stop" });
    await slack.until(() => agentsIn(waiting).find((message) => message.ts === open.ts)?.buttons.length === 0, 60_000);
    expect(await filesHere(clean)).not.toContain("three.txt");
    await sessionOf(waiting).toMatch(/^processing\* suspended .*active$/);
  });

  async function feedbackLines(channel = slack.general): Promise<string[]> {
    const folder = join(home.workspace, "brain", "basalganglia", `channel:${channel.id}`);
    const names = await readdir(folder).catch(() => []);
    const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
    return texts.flatMap((text) => text.split("\n").filter((line) => line.includes(" answer: ")));
  }

  const privately = (who: typeof slack.ann, words: string, place: { in: typeof slack.general; thread?: string }) =>
    slack.until(
      () => slack.see({ ...place, as: who }).find((each) => each.isEphemeral && each.readable.includes(words)),
      60_000,
    );

  onlyOnce("the line below an answer opens its record, for people who can read the channel", async () => {
    const said = mention("run touch seen.txt && echo finished with network example.com");
    await press(await cardIn(said), "Approve");
    const answer = await answerIn(said, "approved by Ann · ");
    expect(answer.readable).toMatch(/1 action · approved by Ann · .* s/);
    await press(answer, "Details", slack.ben);
    const record = await privately(slack.ben, "What I did for Ann", { in: slack.general, thread: said.ts });
    expect(record.readable).toContain("touch seen.txt");
    expect(record.readable).toMatch(/Ann approved at \d\d:\d\d UTC/);
    slack.interactions.command({ as: slack.ben, in: slack.general, command: "/remora", text: "why" });
    await privately(slack.ben, "What I did for Ann", { in: slack.general });

    const closed = slack.workspace.addChannel({ name: "closed", members: [slack.ann, slack.ben], isPrivate: true });
    const secret = mention("run echo finished with network example.com", closed);
    await press(await cardIn(secret), "Approve", slack.ann, closed);
    const hidden = await answerIn(secret, "approved by Ann · ");
    slack.people.leave(slack.ben, closed);
    await press(hidden, "Details", slack.ben, closed);
    await privately(slack.ben, "You can't read that conversation", { in: closed, thread: secret.ts });
  });

  onlyOnce("ratings are kept with the turn: the latest counts, with the person's words", async () => {
    const said = mention("help");
    const answer = await answerIn(said, "👍");
    await press(answer, "👍", slack.ben);
    await expect.poll(() => feedbackLines(), { timeout: 60_000 }).toHaveLength(1);
    expect((await feedbackLines())[0]).toContain("answer: good by Ben");
    await press(answer, "👎", slack.ben);
    const view = await slack.until(() => slack.views.stack(slack.ben)[0], 60_000);
    await slack.interactions.submit({ as: slack.ben, view, values: { text: "too long" } }).acknowledged();
    await expect.poll(async () => (await feedbackLines())[0], { timeout: 60_000 }).toContain("said: too long");
    expect(await feedbackLines()).toHaveLength(1);
    expect((await feedbackLines())[0]).toContain("answer: bad by Ben");
    slack.interactions.command({ as: slack.ben, in: slack.general, command: "/remora", text: "feedback none" });
    await expect.poll(() => feedbackLines(), { timeout: 60_000 }).toHaveLength(0);
  });

  // test/platforms/slack/crash-points.test.ts dies at both points in every run, within one process.
  wholeOnly("an answer cut off by kill -9 becomes one complete message after the restart", async () => {
    const model = await createModelServer({ words: 60, wordMs: 40 });
    const env = { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url };
    const dying = await startProcess(env);
    const said = mention("tell me a long story");
    await slack.until(() => agentsIn(said)[0]?.readable.includes("word9"), 60_000);
    await dying.kill();
    expect(agentsIn(said)).toMatchObject([{ streaming: "in_progress" }]);
    await start(env);
    const answer = await answerIn(said, "word59");
    await stop();
    await model.close();
    expect(agentsIn(said)).toHaveLength(1);
    expect(answer.readable.match(/word\d+/g)).toEqual(Array.from({ length: 60 }, (_, index) => `word${index}`));
  });

  onlyOnce(
    "work and its place in line are visible at once and across a kill, a card from before it still counts once, and missed messages are answered once",
    async () => {
      const stateOf = ({ channel, ts }: Said) => slack.sessions.of(channel, ts)?.status;
      const waitingLine = (said: Said) =>
        agentsIn(said).find(({ readable }) => readable.includes("Waiting for Ann's request here to finish"));
      const [flag, command] = [
        join(signals, "go"),
        `until ls ${signals} | grep -q go; do sleep 0.1; done && echo finished`,
      ];
      const dying = await startProcess();
      const answered = mention("help");
      await answerIn(answered, "demo model");
      await answered.acknowledged();
      const asking = mention("run echo ran >> once.txt with network example.com");
      const card = await cardIn(asking);
      await asking.acknowledged();

      const said = mention(`run ${command}`);
      await slack.until(() => stateOf(said) === "processing");
      // Nothing is written yet. `bench/first-sign.ts` measures how soon people see it.
      expect(agentsIn(said)).toEqual([]);
      const plan = () => agentsIn(said).find(({ blocks }) => blocks.some(({ type }) => type === "task_card"));
      await slack.until(() => plan()?.blocks.some(({ title }) => / · (?:[5-9]|1\d) s$/.test(String(title))), 60_000);
      expect(plan()?.blocks).toContainEqual(
        expect.objectContaining({
          type: "task_card",
          title: expect.stringMatching(/^Running until ls /),
          status: "in_progress",
        }),
      );
      slack.people.say({ as: slack.ben, in: slack.general, thread: said, text: "help" });
      await slack.until(() => waitingLine(said), 60_000);
      await dying.kill();
      slack.redelivery.isEnabled = false;
      const missed = mention("what time is it?");
      const inThread = slack.people.say({
        as: slack.ben,
        in: slack.general,
        thread: answered,
        text: "and again: help",
      });
      await start();
      await press(card, "Approve");
      await answerIn(asking, "is done");
      await sessionOf(asking).toBe("processing* suspended processing* active");
      await reportIn(asking, "once.txt");
      const file = join(home.workspace, "files", `channel:${slack.general.id}`, "once.txt");
      expect(await readFile(file, "utf8")).toBe("ran\n");
      const before = agentsIn(asking).length;
      const forged = { actionId: "remora_approve", value: card.buttons[0]?.value ?? "" };
      await slack.interactions
        .click({ as: slack.ann, on: { channel: slack.general, ts: card.ts }, forged })
        .acknowledged();
      await privately(slack.ann, "Nothing left", { in: slack.general, thread: asking.ts });
      expect(await readFile(file, "utf8")).toBe("ran\n");
      expect(agentsIn(asking)).toHaveLength(before);

      await slack.until(() => agentsIn(missed).some((message) => message.streaming !== "in_progress"), 60_000);
      await slack.until(() => agentsIn(answered).length === 2, 60_000);
      expect(agentsIn(missed)).toHaveLength(1);
      for (const delivery of [...missed.deliveries, ...inThread.deliveries])
        await slack.repeat(delivery).acknowledged();
      const last = mention("help");
      await answerIn(last, "demo model");
      expect(agentsIn(missed)).toHaveLength(1);
      expect(agentsIn(answered)).toHaveLength(2);
      slack.redelivery.isEnabled = true;

      await slack.until(() => agentsIn(said).find(({ readable }) => /Running until ls/.test(readable)), 60_000);
      await writeFile(flag, "");
      const isOver = () =>
        agentsIn(said).length === 2 &&
        agentsIn(said).at(-1)?.readable.includes("demo model") === true &&
        agentsIn(said).every((each) => isAnswer(each) && !/Waiting|Running|Thinking|Reading/.test(each.readable));
      await slack.until(() => isOver() && stateOf(said) === "active", 60_000);
      expect(agentsIn(said).map(({ readable }) => readable)).toEqual([
        expect.stringMatching(/finished/),
        expect.stringMatching(/demo model/),
      ]);
      expect(agentsIn(said).flatMap(({ blocks }) => blocks.map(({ type }) => type))).not.toContain("task_card");
    },
  );

  onlyOnce("Retry starts a failed request again, once, for the person who asked", async () => {
    const model = await createFailingModel(5);
    const models = { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url };
    // discord.test.ts kills the process between the click and the turn; that is the same on both.
    await start(models);
    const said = mention("tell me a story");
    const failure = await slack.until(() => agentsIn(said).find(({ buttons }) => buttons.length > 0), 60_000);
    expect(failure.readable).toContain("⚠️");
    // Right after a restart, Slack may still send a click to the connection of the one before.
    await expect
      .poll(() => press(failure, "Retry", slack.ben).then(() => "taken", String), { timeout: 60_000 })
      .toBe("taken");
    await privately(slack.ben, "Only Ann can start this again", { in: slack.general, thread: said.ts });
    model.isBroken = false;
    await press(failure, "Retry");
    await answerIn(said, "word4");
    await press(failure, "Retry");
    await privately(slack.ann, "already started this again", { in: slack.general, thread: said.ts });
    expect(agentsIn(said)).toHaveLength(2);
    await stop();
    await model.close();
  });

  wholeOnly("a kill between the final text and its record leaves one answer with one line", async () => {
    const dying = await startProcess({ REMORA_KILL_AT: "after-reply", REMORA_PORT_WRAPPERS: killPointsModule });
    const said = mention("run echo finished");
    await dying.exited;
    await start();
    const answer = await answerIn(said, "finished");
    await slack.until(() => agentsIn(said).length === 1, 60_000);
    await answerIn(mention("help"), "demo model");
    expect(agentsIn(said)).toHaveLength(1);
    const [whole] = agentsIn(said);
    expect(whole?.ts).toBe(answer.ts);
    expect(whole?.readable.match(/1 action · /g)).toHaveLength(1);
  });

  onlyOnce(
    "the list of sessions says of a DM and of a channel what each thread waits for, and nothing works on overnight",
    async () => {
      const model = await startStoryModel(sessionScenes(100));
      const story = join(home.data, "../sessions.yaml");
      await writeFile(story, JSON.stringify(sessionSettings({ slack })));
      await start({ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url, REMORA_CONFIG: story });
      const { dm, channel } = await tellSessions({ slack, workspace: home.workspace, isPictured: false });
      await stop();
      await model.close();
      const days = "How many working days until 18 December? Tell everybody";
      const [page, deployment] = [
        "What does HTTP 451 mean?",
        "Please watch the deployment and tell me when it is done",
      ];
      expect(listed(dm)).toEqual([
        [`${days}: processing*`],
        [`${page}: active`, `${days}: suspended`],
        [`${days}: active`, `${page}: active`],
        [`${deployment}: processing*`, `${days}: active`, `${page}: active`],
        [`${deployment}: active`, `${days}: active`, `${page}: active`],
        [`${deployment}: closed`, `${days}: active`, `${page}: active`],
        ["Good morning!: active", `${days}: active`, `${deployment}: closed`, `${page}: active`],
      ]);
      const version = "please announce what is new in 1.4.2";
      expect(listed(channel)).toEqual([
        [`${version}: processing*`],
        [`${version}: suspended`],
        [`${version}: active`],
        ["when is the next release?: active", `${version}: active`],
      ]);
      const told = slack.sessions.list().filter(({ title }) => title === days || title === version);
      // Nothing that Slack ends by itself after an hour.
      const states = "processing* suspended processing* active processing* active";
      expect(told).toHaveLength(2);
      for (const { history } of told) {
        expect(history.map(({ status, isStoppable }) => status + (isStoppable ? "*" : "")).join(" ")).toBe(states);
      }
    },
  );
});

function listed(steps: SessionStep[]): string[][] {
  return steps.map(({ rows }) => rows.map(({ title, status, hasStop }) => `${title}: ${status}${hasStop ? "*" : ""}`));
}
