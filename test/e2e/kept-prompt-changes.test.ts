/**
 * People edit and delete messages that the model has read: what later requests say of them, and how often the prompt breaks. With
 * the real agent on Slack, on Discord and on the page.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ChatClient, createChatClient } from "../doubles/chat-client.ts";
import { createDiscordDouble, type DiscordDouble } from "../doubles/discord/double.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { blocksOf, keptShare } from "../doubles/prompt-cache.ts";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";

const leastKept = 0.8;
const deleted = "(This message was deleted.)";

let home: RemoraHome;
let model: ModelDouble;
let slack: SlackDouble;
let discord: DiscordDouble;
let remora: RunningRemora;
let ann: ChatClient;
/** What the model was asked, and the number of its answer. */
const asked: { words: string; answer: number }[] = [];
let hold: { until: Promise<void>; isReached: boolean } | undefined;

async function start(): Promise<void> {
  remora = await startRemora(home, {
    ...{ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl },
    ...{ DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl },
    ...{ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url },
  });
  ann = await createChatClient(remora.url, remora.token);
}

async function restart(): Promise<void> {
  ann.close();
  await remora.stop();
  await start();
}

beforeAll(async () => {
  [home, model, slack, discord] = await Promise.all([
    createHome(),
    startModelDouble(),
    createSlackDouble(),
    createDiscordDouble(),
  ]);
  model.mock.on({ predicate: () => true }, async ({ messages }) => {
    const answer = asked.push({ words: JSON.stringify(messages.at(-1)), answer: asked.length + 1 });
    if (hold !== undefined) {
      hold.isReached = true;
      await hold.until;
    }
    return { content: `Answer ${answer}.` };
  });
  await start();
});
afterAll(async () => {
  ann.close();
  await remora.stop();
  await Promise.all([model.stop(), slack.stop(), discord.stop(), home.remove()]);
});

/** A thread whose first message, by somebody else, the agent has only read beside its requests. */
interface Talk {
  say(text: string): Promise<number>;
  write(text: string): Promise<number>;
  edit(index: number, text: string): Promise<unknown>;
  remove(index: number): Promise<unknown>;
  editFirst(text: string): Promise<unknown>;
  removeFirst(): Promise<unknown>;
}

/** Of a platform: what people do, and the texts of the agent's messages that are whole. */
interface Acts {
  write(text: string): Promise<number>;
  edit(index: number, text: string): Promise<unknown>;
  remove(index: number): Promise<unknown>;
  answers(): string[];
}

function talkOf({ answers, ...acts }: Acts): Talk {
  return {
    ...acts,
    async say(text) {
      const from = asked.length;
      const index = await acts.write(text);
      await slack.until(() => {
        const one = asked.slice(from).find(({ words }) => words.includes(text.slice(0, 40)));
        return (one !== undefined && answers().some((said) => said.trim() === `Answer ${one.answer}.`)) || undefined;
      }, 20_000);
      return index;
    },
    editFirst: (text) => acts.edit(0, text),
    removeFirst: () => acts.remove(0),
  };
}

/** The model works while `meanwhile` happens. */
async function whileModelWorks(write: () => Promise<number>, meanwhile: (said: number) => Promise<unknown>) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const held = { until: promise, isReached: false };
  hold = held;
  try {
    const said = await write();
    await slack.until(() => held.isReached || undefined, 20_000);
    await meanwhile(said);
  } finally {
    hold = undefined;
    resolve();
  }
}

async function onSlack(first: string): Promise<Talk> {
  const root = slack.people.say({ as: slack.ben, in: slack.general, text: first });
  await root.acknowledged();
  const said = [root];
  return talkOf({
    async write(text) {
      const one = slack.people.say({ as: slack.ann, in: slack.general, thread: root.ts, text: `@Remora ${text}` });
      await one.acknowledged();
      return said.push(one) - 1;
    },
    async edit(index, text) {
      const mention = index === 0 ? "" : "@Remora ";
      await slack.people.edit(said[index] ?? expect.fail(), `${mention}${text}`).acknowledged();
    },
    remove: (index) =>
      Promise.all(slack.people.remove(said[index] ?? expect.fail()).map((delivery) => delivery.acknowledged())),
    answers: () =>
      slack
        .see({ in: slack.general, thread: root.ts })
        .filter(({ isAgents, streaming }) => isAgents && streaming !== "in_progress")
        .map(({ readable }) => readable),
  });
}

async function onDiscord(first: string): Promise<Talk> {
  const root = discord.ben.say(first, { in: discord.channel });
  const thread = discord.ben.startThread(root, "a thread");
  const said = [root];
  return talkOf({
    async write(text) {
      return said.push(discord.ann.say(`${discord.bot.mention} ${text}`, { in: thread })) - 1;
    },
    async edit(index, text) {
      const person = index === 0 ? discord.ben : discord.ann;
      person.edit(said[index] ?? expect.fail(), index === 0 ? text : `${discord.bot.mention} ${text}`);
    },
    async remove(index) {
      (index === 0 ? discord.ben : discord.ann).delete(said[index] ?? expect.fail());
    },
    answers: () =>
      thread
        .messages()
        .filter(({ author }) => author.id === discord.bot.id)
        .map(({ content }) => content),
  });
}

async function onPage(first: string): Promise<Talk> {
  const ben = await createChatClient(remora.url, remora.token, "ben");
  const root = await ben.say(first, { channel: "general" });
  ben.close();
  const said = [root];
  const of = (index: number) => ({ person: index === 0 ? "ben" : "ann", id: (said[index] ?? expect.fail()).id });
  const send = async (method: string, index: number, more: object = {}) => {
    const { id, person } = of(index);
    const response = await ann.request(method, `/local/api/messages/${id}`, { person, ...more });
    expect(response.ok).toBe(true);
  };
  return talkOf({
    async write(text) {
      return said.push(await ann.say(`@remora ${text}`, { channel: "general", thread: root.id })) - 1;
    },
    edit: (index, text) => send("PATCH", index, { text: index === 0 ? text : `@remora ${text}` }),
    remove: (index) => send("DELETE", index),
    answers: () =>
      [...ann.seen.values()]
        .filter(({ author, thread, state }) => author.isBot && thread === root.id && state !== "streaming")
        .map(({ text }) => text),
  });
}

function promptOf(request: { body: Record<string, unknown> } | undefined): string {
  return blocksOf(JSON.stringify(request?.body ?? expect.fail()))
    .map(({ text }) => text)
    .join("\n");
}

const lastPrompt = () => promptOf(model.requests.at(-1));

/** How many of the requests since then do not begin with nearly all of the one before. */
function breaksSince(from: number): number {
  const sent = model.requests.slice(from).map(({ body }) => JSON.stringify(body));
  const shares = sent.slice(1).map((one, index) => keptShare(sent[index] ?? "", one));
  return shares.filter((share) => share < leastKept).length;
}

const long = (words: string) => `${words} ${"Remember that, and what it is good for. ".repeat(40)}`;

describe.each([
  ["Slack", onSlack],
  ["Discord", onDiscord],
  ["the page", onPage],
] as const)("on %s", (name, open) => {
  const id = (word: string) => `${word}-${name.replace(/\W/g, "")}`;

  test(`what people edit or delete after it was answered leaves later prompts, other threads' too, and breaks them once, on ${name}`, async () => {
    const talk = await open(`The old door code is ${id("OTTER")}.`);
    const from = model.requests.length;
    await talk.say(`The lab is in house ${id("PELICAN")}.`);
    await talk.say(`The key of the boat is under ${id("HERON")}.`);
    await talk.say(long("Thanks."));
    for (const fact of ["OTTER", "PELICAN", "HERON"]) expect(lastPrompt()).toContain(id(fact));
    await talk.remove(2);
    await talk.edit(1, `The lab is in house ${id("GREBE")}.`);
    await talk.editFirst(`The door code is ${id("EIDER")}.`);
    await talk.say("and now?");
    await talk.say("and then?");
    for (const gone of ["OTTER", "PELICAN", "HERON"]) expect(lastPrompt()).not.toContain(id(gone));
    for (const fact of ["EIDER", "GREBE"]) expect(lastPrompt().split(id(fact))).toHaveLength(2);
    expect(lastPrompt()).toContain("They edited their words below after you had read them.");
    expect(lastPrompt().split(deleted)).toHaveLength(2);
    expect(breaksSince(from)).toBeLessThanOrEqual(1);
    await talk.removeFirst();
    await talk.say("again");
    expect(lastPrompt()).not.toContain(id("EIDER"));
    expect(breaksSince(from)).toBeLessThanOrEqual(2);
    const other = await open("Hello.");
    await other.say(`Where is the key of the boat, and in which house is the lab?`);
    for (const gone of ["PELICAN", "HERON"]) expect(lastPrompt()).not.toContain(id(gone));
  });

  test(`a request that is deleted or edited while the model works on it is not repeated, on ${name}`, async () => {
    const talk = await open("Hello.");
    await talk.say("first");
    await whileModelWorks(() => talk.write(`The password is ${id("AVOCET")}.`), talk.remove);
    await talk.say("second");
    expect(lastPrompt()).not.toContain(id("AVOCET"));
    await whileModelWorks(
      () => talk.write(`The address is ${id("DUNLIN")}.`),
      (said) => talk.edit(said, `The address is ${id("GODWIT")}.`),
    );
    await talk.say("third");
    expect(lastPrompt()).not.toContain(id("DUNLIN"));
    expect(lastPrompt()).toContain(id("GODWIT"));
  });
});

test("what was deleted stays away after a restart, from prompts and from memory's files", async () => {
  const talk = await onSlack("Hello.");
  await talk.say("The code of the safe is KNOT-5.");
  await talk.say("Thanks.");
  await talk.remove(1);
  await restart();
  await talk.say("what is it?");
  expect(lastPrompt()).not.toContain("KNOT-5");
  const folder = join(home.workspace, "brain/hippocampus/episodes");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".md"));
  const kept = files.map((path) => readFileSync(join(folder, path), "utf8")).join("\n");
  for (const gone of ["KNOT-5", "HERON", "OTTER", "PELICAN", "AVOCET", "DUNLIN"]) expect(kept).not.toContain(gone);
  expect(kept).toContain("GREBE");
});
