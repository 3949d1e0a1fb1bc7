/**
 * Each JSON error code of Discord, and one that nobody knows, is given once to each kind of write: nothing is lost, nobody reads a
 * code, nothing is tried for ever. Plain runs take a share of the codes; `npm run chaos` takes all. Discord does not say which
 * route answers with which code, so each gets all.
 */
import { RESTJSONErrorCodes } from "discord.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { InboundMessage } from "../../../src/ports/message.ts";
import { createCard, createPosts, createQuestion, targetOf } from "../../conformance/platform-world.ts";
import type { InteractionHandle } from "../../doubles/discord/people-interactions.ts";
import { shareOf } from "../../faults/share.ts";
import { type DiscordBot, openDiscordBot } from "./discord-bot.ts";
import { createRecordingAgent, type RecordingAgent } from "./recording-agent.ts";

const words = "What must not be lost";
/** What a server forbids is not written anywhere else. */
const wordsOrWhy = /What must not be lost|This server's AutoMod blocked my answer/;
const unknown = 599_999;
const codes = Object.values(RESTJSONErrorCodes).filter((code) => typeof code === "number");
const sharesOf = 60;
const maxRequests = 20;

let bot: DiscordBot;
let agent: RecordingAgent;
let message: InboundMessage;
let turns = 0;
/** What people were shown only in answer to a click or a command. */
let told: string[] = [];

beforeAll(async () => {
  bot = await openDiscordBot({});
  // Each reply asks for its thread again, which would use up the limit of new threads.
  bot.discord.limits.set("threads.create", "none");
  agent = createRecordingAgent();
  await bot.platform.connect(agent.handlers, new AbortController().signal);
  const said = bot.discord.ann.say(`${bot.discord.bot.mention} hello`, { in: bot.discord.channel });
  message = await bot.discord.until(() => agent.kept.find(({ id }) => id === said.id));
  // Creates the thread.
  await reply().finish("First.", []);
});
afterAll(() => bot.close());

const reply = () => bot.platform.reply({ ...targetOf(message), turnId: `refused${turns}` }, createPosts());
const chat = () => bot.platform.chat ?? expect.fail("no chat");
const place = () => ({ conversationId: message.conversationId, requester: message.author });

interface Caller {
  route: string;
  run(refuse: () => void): Promise<unknown>;
  says?: string | RegExp;
}
const after = (work: () => Promise<unknown>) => async (refuse: () => void) => {
  refuse();
  await work();
};
/** Discord tells the person itself if nothing answered: "The application did not respond". */
async function answered(act: () => InteractionHandle): Promise<InteractionHandle> {
  const given = act();
  await bot.discord.until(() => given.state() === "answered" || given.state() === "failed", 10_000);
  told = [...given.replies().map(({ content }) => content), given.modal()?.title ?? ""];
  return given;
}
const slash = (text: string, name = "status") => {
  agent.commandReceipt = { text, isPrivate: true };
  return answered(() => bot.discord.ann.slash(`remora ${name}`, { in: bot.discord.channel, options: { text: words } }));
};

async function clicked(refuse: () => void, button: string): Promise<unknown> {
  await reply().ask({
    ...createCard(message, { choices: ["approve", "deny", "allow"], grantText: "npm test" }),
    id: `c${turns}`,
  });
  const card = shown().at(-1) ?? expect.fail("no card");
  agent.receipt = { accepted: true, text: words };
  refuse();
  return await answered(() => bot.discord.ann.click(card, button));
}

async function said(refuse: () => void): Promise<InboundMessage> {
  refuse();
  const { id } = bot.discord.ann.say(`${bot.discord.bot.mention} hello`, { in: bot.discord.channel });
  return await bot.discord.until(() => agent.kept.find((kept) => kept.id === id), 10_000);
}

const callers: Record<string, Caller> = {
  "an answer": { route: "messages.create", run: after(() => reply().finish(words, [])), says: wordsOrWhy },
  "a failure": { route: "messages.create", run: after(() => reply().fail("", words)), says: wordsOrWhy },
  "a line": { route: "messages.create", run: after(() => reply().note({ key: "n", line: [words] })), says: words },
  "a card": { route: "messages.create", run: after(() => reply().ask(createCard(message))), says: "" },
  "a question": { route: "messages.create", run: after(() => reply().question(createQuestion(message))), says: "" },
  "a tool's post": {
    route: "messages.create",
    run: after(() => chat().post(place(), { text: words, files: [], key: `k${turns}` })),
    says: words,
  },
  "the end of an edited answer": {
    route: "messages.edit",
    async run(refuse) {
      const [edited, count] = [reply(), shown().length];
      await edited.write("What must not");
      await bot.discord.until(() => shown().length > count);
      refuse();
      await edited.finish(words, []);
    },
    says: words,
  },
  "a tool's reaction": { route: "reactions.add", run: after(() => chat().react(place(), message.id, "👀")) },
  "the acknowledgement of a command": { route: "interactions.callback", run: after(() => slash(words)), says: words },
  "the answer to a command": { route: "webhooks.edit", run: after(() => slash(words)), says: words },
  "the question of a command": {
    route: "interactions.callback",
    run: after(() => slash("", "ask")),
    says: /What must not be lost|didn't work/,
  },
  "a click": { route: "interactions.callback", run: (refuse) => clicked(refuse, "Approve"), says: words },
  "the result of a click": { route: "webhooks.edit", run: (refuse) => clicked(refuse, "Approve"), says: words },
  "the menu of a card": { route: "interactions.callback", run: (refuse) => clicked(refuse, "More…"), says: /\S/ },
  "the thread of an answer": {
    route: "threads.create-from-message",
    async run(refuse) {
      const first = await said(() => {});
      refuse();
      await bot.platform.reply({ ...targetOf(first), turnId: `thread${turns}` }, createPosts()).finish(words, []);
    },
    says: words,
  },
  "a tool's thread": {
    route: "threads.create-from-message",
    run: after(async () => {
      const first = await said(() => {});
      await chat().openThread?.(place(), { messageId: first.id, name: "plans", text: words, key: `t${turns}` });
    }),
  },
  "a direct message": { route: "users.dm", run: after(async () => bot.platform.reach?.direct(bot.discord.ann.id)) },
  "the history for a tool": { route: "messages.list", run: after(() => chat().history(place(), { limit: 5 })) },
  "the files of a message": { route: "messages.get", run: after(async () => chat().files?.(place(), message.id)) },
  "a search of Discord's": {
    route: "messages.search",
    run: after(async () => {
      const asked = { ...place(), messageIds: [message.id], listed: await chat().channels(place()) };
      await chat().search?.({ text: "axolotl", limit: 5 }, asked);
    }),
  },
};

const shown = () =>
  [bot.discord.channel, ...bot.discord.channel.threads()]
    .flatMap((where) => where.messages())
    .filter(({ author }) => author.id === bot.discord.bot.id);

describe.each(Object.entries(callers))("%s", (_, { route, run, says }) => {
  test.each([...shareOf(codes, sharesOf), unknown])(
    `is not lost, and nobody reads a code, when ${route} answers %i`,
    async (code) => {
      turns += 1;
      told = [];
      const before = new Set(shown().map(({ id }) => id));
      const requests = bot.discord.requests.length;
      const answer = { type: "answer", status: 400, body: { message: `Refused ${code}`, code } } as const;
      const faults: { hits: unknown[]; remove(): void }[] = [];
      const rejected = await run(() => faults.push(bot.discord.fail({ route }, answer))).then(
        () => undefined,
        (thrown: unknown) => thrown as { code: string; plain: string },
      );
      for (const fault of faults) fault.remove();
      const read = [...shown().flatMap(({ id, content }) => (before.has(id) ? [] : [content])), ...told].join("\n");
      expect(faults.map(({ hits }) => hits.length)).toEqual([1]);
      if (rejected === undefined && says !== undefined) expect(read).toMatch(says);
      if (rejected !== undefined) expect(rejected.code).toMatch(/^platform\./);
      const all = `${read}\n${rejected?.plain ?? ""}`;
      expect(all).not.toMatch(new RegExp(`\\b${code}\\b`));
      expect(all).not.toContain("Refused");
      expect(bot.discord.requests.length - requests).toBeLessThanOrEqual(maxRequests);
    },
  );
});
