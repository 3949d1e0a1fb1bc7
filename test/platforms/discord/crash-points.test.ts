/** A process that dies at any instant of a reply, wherever Discord lets the reply be written. */
import { afterEach, expect, test } from "vitest";
import type { ReplyTarget } from "../../../src/ports/message.ts";
import { answersOnceAtEveryCrash, asksOnceAtEveryCrash, type CrashWorld } from "../../conformance/crash-points.ts";
import type { DiscordDouble } from "../../doubles/discord/double.ts";
import type { ChannelHandle } from "../../doubles/discord/places.ts";
import type { SeenMessage } from "../../doubles/discord/view.ts";
import { type DiscordBot, openDiscordBot } from "./discord-bot.ts";
import { createRecordingAgent } from "./recording-agent.ts";

/** Discord has forgotten every nonce. */
const longMs = 20 * 60_000;

const isDecision = (label: string) => /^(?:Approve|Deny)/.test(label);

let bot: DiscordBot;
afterEach(() => bot.close());

type SetUp = (
  discord: DiscordDouble,
  threadOf: (target: ReplyTarget) => ChannelHandle | undefined,
) => Partial<CrashWorld>;

const setUps: [string, "thread" | "channel", SetUp][] = [
  ["in a thread", "thread", () => ({})],
  ["in a channel", "channel", () => ({})],
  [
    "in a channel that may have no more threads",
    "thread",
    (discord) => {
      discord.limits.set("threads.create", { requests: 0, windowMs: 365 * 86_400_000 });
      return {};
    },
  ],
  [
    "in a thread that is locked in the middle",
    "thread",
    (discord, threadOf) => ({
      betweenWords(target) {
        const thread = threadOf(target);
        if (thread !== undefined) discord.ann.archive(thread, { isLocked: true });
      },
    }),
  ],
];

async function open(replyIn: "thread" | "channel", setUp: SetUp): Promise<CrashWorld> {
  bot = await openDiscordBot({ replyIn });
  const { discord } = bot;
  const agent = createRecordingAgent();
  await bot.platform.connect(agent.handlers, new AbortController().signal);
  let channel = discord.channel;
  const threadOf = ({ messageId }: ReplyTarget) => channel.threads().find(({ id }) => id === messageId);
  const own = (target: ReplyTarget): SeenMessage[] =>
    [...channel.messages(), ...(threadOf(target)?.messages() ?? [])].filter(
      ({ author, type }) => author.id === discord.bot.id && type !== 21,
    );
  return {
    async mention() {
      channel = discord.guild.addChannel("another");
      const said = discord.ann.say(`${discord.bot.mention} hello`, { in: channel });
      return await discord.until(() => agent.kept.find(({ id }) => id === said.id));
    },
    start: async () => bot.another(),
    waitLong: () => discord.clock.advance(longMs),
    shown: (target) => own(target).map(({ content, components }) => content + JSON.stringify(components)),
    buttons: (target) =>
      own(target)
        .flatMap(({ buttons }) => buttons.map(({ label }) => label))
        .filter(isDecision),
    files: (target) => own(target).flatMap(({ files }) => files.map(({ name }) => name)),
    until: (check) => discord.until(check),
    ...setUp(discord, threadOf),
  };
}

test.each(setUps)("an answer %s is shown once", async (_, replyIn, setUp) => {
  expect(await answersOnceAtEveryCrash(await open(replyIn, setUp))).toBeGreaterThan(3);
});

test.each(setUps.slice(0, 3))("a card %s is shown once, and ends without buttons", async (_, replyIn, setUp) => {
  expect(await asksOnceAtEveryCrash(await open(replyIn, setUp))).toBeGreaterThan(3);
});
