/** A process dies after Discord has a message and before its id is stored. Then nothing is posted or pinged twice. */
import { expect, test } from "vitest";
import type { ApprovalCard, CardNote } from "../../../src/ports/card.ts";
import type { InboundMessage } from "../../../src/ports/message.ts";
import type { Posts, Reply } from "../../../src/ports/platform.ts";
import { createCard, createPosts, targetOf } from "../../conformance/platform-world.ts";
import type { SeenMessage } from "../../doubles/discord/view.ts";
import { bot, discord, mentioned, useConnectedBot } from "./connected-bot.ts";

/** Discord has forgotten every nonce. */
const longAfterMs = 20 * 60_000;

useConnectedBot();

function ownIn(message: InboundMessage): SeenMessage[] {
  const thread = discord.channel.threads().find(({ id }) => id === message.id);
  return (thread?.messages() ?? []).filter(({ author, type }) => author.id === discord.bot.id && type !== 21);
}

/** The process ends when the first message is to be recorded. What it stored before stays. */
async function postAndDie(message: InboundMessage, work: (reply: Reply) => Promise<void>): Promise<Posts> {
  const posts = createPosts();
  const dying: Posts = {
    all: posts.all,
    keep: (key, id) => (key.startsWith("try:") ? posts.keep(key, id) : new Promise(() => {})),
  };
  void work(bot.platform.reply(targetOf(message), dying));
  await discord.until(() => ownIn(message).length === 1);
  await bot.restart();
  discord.clock.advance(longAfterMs);
  return posts;
}

function cardAsking(message: InboundMessage): ApprovalCard {
  const line = ["Waiting for ", { userId: discord.ben.id, name: "Ben" }, "."];
  return { ...createCard(message), notify: { userIds: [discord.ben.id], roleIds: [], line, text: "Waiting for Ben." } };
}

const pingsIn = (message: InboundMessage) => ownIn(message).flatMap(({ pings }) => pings.users);
const buttonsIn = (message: InboundMessage) =>
  ownIn(message).flatMap(({ buttons }) => buttons.map(({ label }) => label));

test("a card is asked for again long after, and stays one message with one ping", async () => {
  const message = await mentioned();
  const posts = await postAndDie(message, (reply) => reply.ask(cardAsking(message)));
  // Somebody wrote in the meantime.
  const thread = discord.channel.threads().find(({ id }) => id === message.id);
  if (thread !== undefined)
    for (let count = 0; count < 3; count++) discord.ben.say(`meanwhile ${count}`, { in: thread });
  await bot.platform.reply(targetOf(message), posts).ask(cardAsking(message));
  expect(ownIn(message)).toHaveLength(1);
  expect(pingsIn(message)).toEqual([discord.ben.id]);
  expect(buttonsIn(message)).toContain("Approve");
  const [{ id } = { id: "" }] = ownIn(message);
  expect(await posts.all()).toContainEqual({ key: "card:card-1", messageId: id });
});

test.each([
  { what: "that mentions nobody", cardOf: createCard, buttons: ["Approve", "Deny"] },
  // It gets its buttons only after its message is kept.
  { what: "that mentions somebody", cardOf: cardAsking, buttons: [] },
])(
  "a card $what and is settled before it is asked for again loses its buttons, also in another process",
  async ({ cardOf, buttons }) => {
    const message = await mentioned();
    const posts = await postAndDie(message, (reply) => reply.ask(cardOf(message)));
    expect(buttonsIn(message)).toEqual(expect.arrayContaining(buttons));
    const settled = createCard(message, { state: "denied", outcome: "Ben denied this.", choices: [] });
    const worker = bot.another();
    await worker.reply(targetOf(message), posts).settle(settled);
    expect(buttonsIn(message)).toEqual([]);
    expect(ownIn(message)[0]?.content).toBe("");
    expect(ownIn(message)).toHaveLength(1);
    await worker.close();
  },
);

test("a settled card that was never posted is not looked for or posted", async () => {
  const message = await mentioned();
  await bot.platform.reply(targetOf(message), createPosts()).settle(createCard(message, { state: "denied" }));
  expect(ownIn(message)).toEqual([]);
  expect(discord.channel.threads()).toEqual([]);
  expect(discord.requests.filter(({ route }) => route === "messages.list")).toEqual([]);
});

test("a line that says something else by now is found by what it said", async () => {
  const message = await mentioned();
  const noteSaying = (rest: string): CardNote => ({
    key: "remind-1",
    line: [{ userId: discord.ben.id, name: "Ben" }, `: still waiting for your answer. ${rest}`],
  });
  const posts = await postAndDie(message, async (reply) => {
    await reply.note(noteSaying("It expires in 30 minutes."));
  });
  await bot.platform.reply(targetOf(message), posts).note(noteSaying("It expires in 10 minutes."));
  expect(ownIn(message).map(({ content }) => content)).toEqual([expect.stringContaining("It expires in 10 minutes")]);
  expect(pingsIn(message)).toEqual([discord.ben.id]);
});

test("an answer continues in the message that its first words are in", async () => {
  const message = await mentioned();
  const posts = await postAndDie(message, (reply) => reply.write("First words"));
  await bot.platform.reply(targetOf(message), posts).finish("Other words altogether.", []);
  expect(ownIn(message).map(({ content }) => content)).toEqual(["Other words altogether."]);
});

test("a message that somebody else wrote with the same words is left alone", async () => {
  const message = await mentioned();
  const posts = await postAndDie(message, (reply) => reply.write("Same words"));
  const thread = discord.channel.threads().find(({ id }) => id === message.id);
  const [lost] = ownIn(message);
  if (thread === undefined || lost === undefined) throw new Error("nothing was posted");
  discord.channel.permit(discord.ann, { allow: ["ManageMessages"] });
  discord.ann.delete(lost);
  discord.ben.say("Same words", { in: thread });
  await bot.platform.reply(targetOf(message), posts).finish("The answer.", []);
  expect(ownIn(message).map(({ content }) => content)).toEqual(["The answer."]);
});

test("an answer whose thread was refused is edited, not posted again, if the process died after the post", async () => {
  const message = await mentioned();
  discord.limits.set("threads.create", { requests: 0, windowMs: 3_600_000 });
  const posts = createPosts();
  let isDead = false;
  const dying: Posts = {
    all: posts.all,
    keep: async (key, id) => {
      if (isDead) await new Promise(() => {});
      await posts.keep(key, id);
      isDead = key.startsWith("text:");
    },
  };
  void bot.platform.reply(targetOf(message), dying).finish("The answer.", []);
  const answers = () => discord.channel.messages().filter(({ content }) => content === "The answer.");
  await discord.until(() => isDead);
  await bot.restart();
  discord.clock.advance(longAfterMs);
  await bot.platform.reply(targetOf(message), posts).finish("The answer.", []);
  expect(answers()).toHaveLength(1);
});
