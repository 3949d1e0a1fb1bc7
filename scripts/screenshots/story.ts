/**
 * Twenty minutes of a team of three on Slack, played by the real process: Ann asks, Ben and Cara may approve, and Cara
 * owns the bot. `readable` in each moment is word for word what people read.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createHome, type RemoraHome, type RemoraProcess, startRemora } from "../../test/doubles/remora-process.ts";
import { createSlackDouble, type SlackDouble } from "../../test/doubles/slack/double.ts";
import type { SeenMessage } from "../../test/doubles/slack/see.ts";
import type { Channel, Person } from "../../test/doubles/slack/state.ts";
import { type Scene, startStoryModel } from "./story-model.ts";

export interface ReadMessage {
  author: string;
  blocks: readonly unknown[];
  readable: string;
}

export interface Moment {
  caption: string;
  messages: ReadMessage[];
}

export interface Story {
  moments: Moment[];
  names: Map<string, string>;
  remora: RemoraProcess;
  /** Leaves a schedule and an open card. */
  prepareDashboard(): Promise<void>;
  close(): Promise<void>;
}

const call = (tool: string, input: object) => ({ tool, input });

const scenes: Scene[] = [
  {
    when: "does the checkout test pass",
    thinkMs: 1_500,
    steps: [
      { calls: [call("read_file", { path: "package.json" }), call("read_file", { path: "test/checkout.test.js" })] },
      { calls: [call("shell_exec", { command: "node --test test/" })] },
    ],
    answer:
      "Yes. `test/checkout.test.js` passes: 2 tests, 0 failures. The slow one is *pays with a card* (about seven seconds).",
  },
  {
    when: "add the date helper",
    steps: [{ calls: [call("shell_exec", { command: "npm install date-fns", network: ["registry.example.com"] })] }],
    answer:
      "I could not install `date-fns`: the command ended with an error, because the registry did not answer. Nothing changed.",
  },
  {
    when: "bump the version",
    steps: [
      {
        calls: [
          call("edit_file", { path: "package.json", old_text: '"version": "1.4.1"', new_text: '"version": "1.4.2"' }),
        ],
      },
    ],
    answer: "I prepared version 1.4.2 in `package.json`. It is saved once somebody approves the change below.",
  },
  {
    when: "every weekday",
    steps: [
      {
        calls: [
          call("schedule_add", {
            text: "Post the three oldest open pull requests",
            when: "every weekday at 9",
            kind: "do",
          }),
        ],
      },
    ],
    answer: "From Monday on, I post the three oldest open pull requests here, every weekday at 9.",
  },
  {
    when: "tell #announcements",
    steps: [
      { calls: [call("chat_post", { channel: "announcements", text: "Release 1.4.2 is out. Thanks, everybody!" })] },
    ],
    answer: "Done: the release is announced in #announcements.",
    answerIfDenied: "I did not announce it, because Cara denied it. Ask me again when you two agree.",
  },
];

interface StartedWorld {
  slack: SlackDouble;
  home: RemoraHome;
  remora: RemoraProcess;
  close(): Promise<void>;
}

/** The real process beside Slack's double and a model that knows the scenes. */
export async function startWorld(
  scenes: readonly Scene[],
  settingsOf: (slack: SlackDouble, home: RemoraHome) => object | Promise<object>,
): Promise<StartedWorld> {
  const [slack, home, model] = await Promise.all([createSlackDouble(), createHome(), startStoryModel(scenes)]);
  slack.limits.isEnforced = false;
  const config = join(dirname(home.data), "remora.yaml");
  await writeFile(config, JSON.stringify(await settingsOf(slack, home)));
  const remora = await startRemora(home, {
    REMORA_CONFIG: config,
    ...{ ANTHROPIC_API_KEY: "story-key", ANTHROPIC_BASE_URL: model.url },
    ...{ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl },
  });
  return {
    ...{ slack, home, remora },
    async close() {
      await remora.kill();
      await Promise.all([slack.stop(), model.close()]);
      await home.remove();
    },
  };
}

export async function tellStory(): Promise<Story> {
  const world = await startWorld(scenes, async (slack, home) => {
    const site = join(dirname(home.data), "website");
    await createSite(site);
    return settings({ slack, site, ben: slack.ben, cara: slack.workspace.addPerson({ name: "Cara" }) });
  });
  const { slack, remora, close } = world;
  const { ann, ben, general } = slack;
  const cara = slack.workspace.person("Cara");
  const announcements = slack.workspace.addChannel({ name: "announcements", members: [ann, ben, cara] });
  const names = new Map([ann, ben, cara].map((person) => [person.id, person.displayName]));
  names.set(slack.state.app.botUserId, "Remora");
  names.set(announcements.id, "announcements").set(general.id, "general");
  const moments: Moment[] = [];
  await play({ slack, moments, names, ben, cara });
  return {
    ...{ moments, names, remora, close },
    prepareDashboard: () => prepare({ slack, moments, names, ben, cara }),
  };
}

export function readMessage(
  { userId, isAgents, blocks, readable, text }: SeenMessage,
  names: ReadonlyMap<string, string>,
): ReadMessage {
  return {
    author: isAgents ? "Remora" : (names.get(userId) ?? userId),
    blocks: blocks.length > 0 ? [...blocks] : [{ type: "section", text: { type: "mrkdwn", text } }],
    readable,
  };
}

async function createSite(site: string): Promise<void> {
  await mkdir(join(site, "test"), { recursive: true });
  await writeFile(join(site, "package.json"), '{\n  "name": "website",\n  "version": "1.4.1"\n}\n');
  const tests =
    'import { test } from "node:test";\ntest("adds up", () => {});\ntest("pays with a card", () => new Promise((done) => setTimeout(done, 6_500)));\n';
  await writeFile(join(site, "test/checkout.test.js"), tests);
}

function settings({ slack, site, ben, cara }: { slack: SlackDouble; site: string; ben: Person; cara: Person }) {
  return {
    safety: { approvers: [`user:slack:${ben.id}`, `user:slack:${cara.id}`], owners: [`slack:${cara.id}`] },
    folders: { [`slack:${slack.ann.teamId}:${slack.general.id}`]: site },
    models: { prices: {} },
  };
}

interface Stage {
  slack: SlackDouble;
  moments: Moment[];
  names: ReadonlyMap<string, string>;
  ben: Person;
  cara: Person;
}

async function play({ slack, moments, names, ben, cara }: Stage): Promise<void> {
  const { ann, general } = slack;
  const seen = (channel: Channel, as: Person, thread?: string) =>
    slack.see({ in: channel, as, ...(thread === undefined ? {} : { thread }) });
  const keep = (caption: string, messages: SeenMessage[]) =>
    moments.push({ caption, messages: messages.map((message) => readMessage(message, names)) });
  const ask = (text: string) => slack.people.say({ as: ann, in: general, text: `@Remora ${text}` });
  const inThread = (ts: string, as: Person = ann) => seen(general, as, ts);
  const find = (ts: string, fits: (message: SeenMessage) => boolean, as: Person = ann) =>
    slack.until(() => inThread(ts, as).find((message) => message.isAgents && fits(message)), 90_000);
  const hasButton = (label: string) => (message: SeenMessage) =>
    message.buttons.some((button) => button.label === label);
  /** With the line that ends it. */
  const answers = (words: string) => (message: SeenMessage) =>
    message.readable.includes(words) && hasButton("Details")(message);
  const click = (as: Person, message: SeenMessage, button: string, channel: Channel = general) =>
    slack.interactions.click({ as, on: { channel, ts: message.ts }, button }).acknowledged();

  const tests = ask("does the checkout test pass?");
  await slack.until(() => slack.sessions.of(general, tests.ts)?.status === "processing", 30_000);
  await find(tests.ts, answers("Yes."));
  keep("Ann asks, and watches the work", inThread(tests.ts));
  await click(ann, await find(tests.ts, hasButton("Details")), "Details");
  const details = await slack
    .until(() => inThread(tests.ts).find((message) => message.isEphemeral), 30_000)
    .catch(() => undefined);
  if (details !== undefined) keep("What Details shows to Ann", [details]);

  const install = ask("please add the date helper");
  const card = await find(install.ts, hasButton("Approve"));
  keep("A command needs the network: Ben and Cara are asked", inThread(install.ts));
  const direct = slack.workspace.direct(cara);
  await slack.until(() => seen(direct, cara).some(hasButton("Approve")), 30_000);
  keep("Cara is not in the channel, so the card comes to her by direct message", seen(direct, cara));
  await click(ben, card, "Approve");
  await find(install.ts, answers("I could not install"));
  keep("Ben approves; the card shrinks to a line", inThread(install.ts));
  await slack.until(() => !seen(direct, cara).some(hasButton("Approve")), 30_000);
  keep("Cara's copy shrinks, too", seen(direct, cara));

  const bump = ask("bump the version");
  const changes = await find(bump.ts, hasButton("Approve"));
  keep("A change to a shared folder waits below the answer", inThread(bump.ts));
  await click(ben, changes, "Approve");
  await find(bump.ts, hasButton("Undo"));
  keep("Ben approves the change", inThread(bump.ts));

  const announce = ask("tell #announcements that 1.4.2 is out");
  const post = await find(announce.ts, hasButton("Approve"));
  keep("A message to another channel", inThread(announce.ts));
  await click(cara, post, "Deny");
  await find(announce.ts, answers("I did not announce it"));
  keep("Cara denies", inThread(announce.ts));
}

async function prepare({ slack, ben }: Stage): Promise<void> {
  const { ann, general } = slack;
  const ask = (text: string) => slack.people.say({ as: ann, in: general, text: `@Remora ${text}` });
  const inThread = (ts: string) => slack.see({ in: general, as: ann, thread: ts });
  const cardIn = (ts: string) =>
    slack.until(() => inThread(ts).find(({ buttons }) => buttons.some(({ label }) => label === "Approve")), 15_000);
  const approve = await cardIn(ask("every weekday at 9, post the three oldest open pull requests").ts).catch(
    () => undefined,
  );
  if (approve !== undefined)
    await slack.interactions
      .click({ as: ben, on: { channel: general, ts: approve.ts }, button: "Approve" })
      .acknowledged();
  await cardIn(ask("tell #announcements that 1.4.3 is out").ts);
}
