/**
 * Each JSON error code of Discord, and one that nobody knows, is given once to each kind of write: nothing is lost, nobody reads a
 * code, nothing is tried for ever. Plain runs take a share of the codes; `npm run chaos` takes all. Discord does not say which
 * route answers with which code, so each gets all.
 */
import { RESTJSONErrorCodes } from "discord.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { InboundMessage } from "../../../src/ports/message.ts";
import { createCard, createPosts, createQuestion, targetOf } from "../../conformance/platform-world.ts";
import { shareOf } from "../../faults/share.ts";
import { type DiscordBot, openDiscordBot } from "./discord-bot.ts";
import { createRecordingAgent } from "./recording-agent.ts";

const words = "What must not be lost";
const unknown = 599_999;
const codes = Object.values(RESTJSONErrorCodes).filter((code) => typeof code === "number");
const sharesOf = 16;
const maxRequests = 20;

let bot: DiscordBot;
let message: InboundMessage;
let turns = 0;

beforeAll(async () => {
  bot = await openDiscordBot({});
  const agent = createRecordingAgent();
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
  says?: string;
}
const after = (work: () => Promise<unknown>) => async (refuse: () => void) => {
  refuse();
  await work();
};
const callers: Record<string, Caller> = {
  "an answer": { route: "messages.create", run: after(() => reply().finish(words, [])), says: words },
  "a failure": { route: "messages.create", run: after(() => reply().fail("", words)), says: words },
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
      const edited = reply();
      await edited.write("What must not");
      await bot.discord.until(() => shown().some(({ content }) => content.startsWith("What must not")) || turns);
      refuse();
      await edited.finish(words, []);
    },
    says: words,
  },
  "a tool's reaction": { route: "reactions.add", run: after(() => chat().react(place(), message.id, "👀")) },
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
      const before = new Set(shown().map(({ id }) => id));
      const requests = bot.discord.requests.length;
      const answer = { type: "answer", status: 400, body: { message: `Refused ${code}`, code } } as const;
      const faults: { remove(): void }[] = [];
      const rejected = await run(() => faults.push(bot.discord.fail({ route }, answer))).then(
        () => undefined,
        (thrown: unknown) => thrown as { code: string; plain: string },
      );
      for (const fault of faults) fault.remove();
      const said = shown().filter(({ id }) => !before.has(id));
      if (rejected === undefined && says !== undefined)
        expect(said.map(({ content }) => content).join("\n")).toContain(says);
      if (rejected !== undefined) expect(rejected.code).toMatch(/^platform\./);
      const read = [...said.map(({ content }) => content), rejected?.plain ?? ""].join("\n");
      expect(read).not.toMatch(new RegExp(`\\b${code}\\b`));
      expect(read).not.toContain("Refused");
      expect(bot.discord.requests.length - requests).toBeLessThanOrEqual(maxRequests);
    },
  );
});
