import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ChatActions, ChatPlace } from "../../../src/ports/chat.ts";
import type { Author } from "../../../src/ports/message.ts";
import type { DiscordDouble } from "../../doubles/discord/double.ts";
import type { Person } from "../../doubles/discord/people.ts";
import type { ChannelHandle } from "../../doubles/discord/places.ts";
import { type DiscordBot, openDiscordBot } from "./discord-bot.ts";
import { createRecordingAgent } from "./recording-agent.ts";

let bot: DiscordBot;
let discord: DiscordDouble;

beforeEach(async () => {
  bot = await openDiscordBot();
  discord = bot.discord;
});
afterEach(() => bot.close());

function chat(): ChatActions {
  if (bot.platform.chat === undefined) throw new Error("there is no chat");
  return bot.platform.chat;
}

function author({ id, name }: Person): Author {
  return { id, name, isBot: false, roles: [] };
}

/** From the general channel, for Ann, unless it says otherwise. */
function at(channel?: string, { thread, who = discord.ann }: { thread?: ChannelHandle; who?: Person } = {}): ChatPlace {
  const conversationId = `discord:${discord.guild.id}:${discord.channel.id}:${thread?.id ?? "1234567890123"}`;
  return { conversationId, requester: author(who), ...(channel === undefined ? {} : { channel }) };
}

function inDm(channel?: string): ChatPlace {
  const conversationId = `discord:dm:${discord.ann.dm().id}`;
  return { conversationId, requester: author(discord.ann), ...(channel === undefined ? {} : { channel }) };
}

describe("history", () => {
  test("the newest lines, oldest first, with names, files and threads, and what the service says in a line", async () => {
    const { ann, ben, channel } = discord;
    ann.say("one", { in: channel });
    const two = ben.say(`two ${ann.mention}`, { in: channel, files: [{ name: "a.txt", content: "a" }] });
    channel.systemMessage(7, ben.id);
    ann.startThread(two, "about two");
    const lines = await chat().history(at(), { limit: 3 });
    expect(lines).toMatchObject([
      { text: "one", files: [] },
      {
        author: { id: ben.id, name: "Ben", isBot: false },
        text: `two @Ann (${ann.mention})`,
        files: ["a.txt"],
        at: two.at,
      },
      { author: { name: "Ben" }, text: "[joined the server]" },
    ]);
    expect((await chat().history(at(), { limit: 2 })).map(({ text }) => text.slice(0, 3))).toEqual(["two", "[jo"]);
  });

  test("of a thread when the conversation is one, and only what is older when that is asked", async () => {
    const thread = discord.ann.startThread(discord.channel, "plans");
    const said = Array.from({ length: 150 }, (_, index) => discord.ann.say(`line ${index}`, { in: thread }));
    const lines = await chat().history(at(undefined, { thread }), { limit: 120, before: said[140]?.id ?? "" });
    expect(lines.map(({ text }) => text)).toEqual(Array.from({ length: 120 }, (_, index) => `line ${index + 20}`));
  });
});

describe("the files of a message", () => {
  test("can be opened, in the thread of the conversation and in the channel around it", async () => {
    const { ann, ben, channel } = discord;
    const file = (name: string) => ({ in: channel, files: [{ name, content: "a,b" }] });
    const about = ben.say("the numbers", file("a.csv"));
    const thread = ann.startThread(about, "numbers");
    const inside = ben.say("more", { ...file("b.csv"), in: thread });
    const place = at(undefined, { thread });
    expect(await chat().files?.(place, about.id)).toMatchObject([
      { name: "a.csv", bytes: 3, source: { channel: channel.id, message: about.id, url: expect.any(String) } },
    ]);
    expect(await chat().files?.(place, inside.id)).toMatchObject([{ name: "b.csv" }]);
    await expect(chat().files?.(place, "1234567890123")).rejects.toMatchObject({ code: "platform.unknown-message" });
  });

  test("of places that the person can't see or read are refused", async () => {
    const secret = discord.guild.addChannel("secret");
    secret.permit(discord.guild.everyone, { deny: ["ViewChannel"] });
    secret.permit(discord.bot, { allow: ["ViewChannel"] });
    await expect(chat().files?.(at(secret.id), "1234567890123")).rejects.toMatchObject({ code: "platform.no-access" });
    const old = discord.ben.say("x", { in: discord.channel, files: [{ name: "a.csv", content: "a" }] });
    discord.channel.permit(discord.ann, { deny: ["ReadMessageHistory"] });
    await expect(chat().files?.(at(), old.id)).rejects.toMatchObject({ code: "platform.unknown-message" });
  });
});

describe("other channels", () => {
  test("by id, mention and name, where the person can look as well", async () => {
    const plans = discord.guild.addChannel("plans");
    discord.ben.say("the plan", { in: plans });
    for (const name of [plans.id, plans.mention, "#plans", "plans", "#PLANS", `#plans (${plans.mention})`]) {
      expect((await chat().history(at(name), { limit: 5 })).map(({ text }) => text)).toEqual(["the plan"]);
    }
    expect(await chat().history(inDm("#plans"), { limit: 5 })).toHaveLength(1);
  });

  test("a channel that the person can't see is refused, though the bot sees it; so is another server's", async () => {
    const secret = discord.guild.addChannel("secret");
    secret.permit(discord.guild.everyone, { deny: ["ViewChannel"] });
    secret.permit(discord.bot, { allow: ["ViewChannel"] });
    const elsewhere = discord.addGuild("Elsewhere").addChannel("plans");
    for (const channel of [
      secret.id,
      "#secret",
      elsewhere.id,
      "#nowhere",
      "123456789012345678",
      "x y z",
      discord.ben.dm().id,
    ]) {
      await expect(chat().history(at(channel), { limit: 5 })).rejects.toMatchObject({ code: "platform.no-access" });
      await expect(chat().post(at(channel), { text: "x", files: [], key: "k" })).rejects.toMatchObject({
        code: "platform.no-access",
      });
    }
    const role = discord.guild.addRole("crew");
    secret.permit(role, { allow: ["ViewChannel"] });
    discord.ann.setRoles(discord.guild, [role]);
    expect(await chat().history(at(secret.id), { limit: 5 })).toEqual([]);
  });

  test("who may read but not write there can't have it written", async () => {
    const news = discord.guild.addChannel("news");
    news.permit(discord.guild.everyone, { deny: ["SendMessages"] });
    news.permit(discord.bot, { allow: ["SendMessages"] });
    expect(await chat().history(at(news.id), { limit: 5 })).toEqual([]);
    await expect(chat().post(at(news.id), { text: "x", files: [], key: "k" })).rejects.toMatchObject({
      code: "platform.no-access",
    });
    expect(news.messages()).toEqual([]);
  });

  test("a private thread is for those who are in it", async () => {
    const thread = discord.ben.startThread(discord.channel, "private", { isPrivate: true });
    thread.addToThread(discord.bot.id);
    await expect(chat().history(at(thread.id), { limit: 5 })).rejects.toMatchObject({ code: "platform.no-access" });
    thread.addToThread(discord.ann.id);
    expect(await chat().history(at(thread.id), { limit: 5 })).toEqual([]);
  });

  test("what Discord does not let the bot do is said in a sentence", async () => {
    discord.channel.permit(discord.bot, { deny: ["SendMessages"] });
    await expect(chat().post(at(), { text: "x", files: [], key: "k" })).rejects.toMatchObject({
      code: "platform.no-access",
      message: expect.stringContaining("Discord won't let me post there"),
    });
  });
});

describe("deeds", () => {
  test("a post is converted, split, pings nobody, and stands there once for one key", async () => {
    const text = `@everyone ${discord.ben.mention}\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n${"word ".repeat(500)}`;
    const [one, other] = [
      await chat().post(at(), { text, files: [], key: "turn-1 call-1" }),
      await chat().post(at(), { text, files: [], key: "turn-1 call-1" }),
    ];
    expect(other).toEqual(one);
    const shown = discord.channel.messages();
    expect(shown).toHaveLength(2);
    expect(shown[0]).toMatchObject({ id: one.messageId, pings: { users: [], everyone: false } });
    expect(shown[0]?.content).toContain("```\na  b");
    await expect(chat().post(at(), { text: "", files: [], key: "k" })).rejects.toMatchObject({
      code: "platform.empty",
    });
  });

  test("a reaction by the character or its name", async () => {
    const said = discord.ann.say("done", { in: discord.channel });
    for (const emoji of ["🎉", ":eyes:", "❤"]) await chat().react(at(), said.id, emoji);
    const reactions = discord.message(said)?.reactions.map(({ emoji }) => emoji.replace("\ufe0f", ""));
    expect(reactions).toEqual(["🎉", "👀", "❤"]);
    for (const emoji of ["yes", ":no_such_name:", "🎉🎉🎉", "../x", ""])
      await expect(chat().react(at(), said.id, emoji)).rejects.toMatchObject({ code: "platform.unsupported" });
    await expect(chat().react(at(), "../../x", "🎉")).rejects.toMatchObject({ code: "platform.unknown-message" });
  });

  test("a thread of a message, or of a first message of its own; what is said there is meant for the bot", async () => {
    const agent = createRecordingAgent();
    await bot.platform.connect(agent.handlers, new AbortController().signal);
    const said = discord.ann.say("the release", { in: discord.channel });
    const first = await chat().openThread(at(), {
      messageId: said.id,
      name: "Release *1.0*",
      text: "Let us talk.",
      key: "k1",
    });
    expect(first.threadId).toBe(said.id);
    const second = await chat().openThread(at(), { name: "Retro", text: "How was it?", key: "k2" });
    expect(discord.channel.threads().map(({ id, name }) => [id, name])).toEqual([
      [first.threadId, "Release 1.0"],
      [second.threadId, "Retro"],
    ]);
    expect(discord.channelOf(first.threadId).messages().at(-1)?.content).toBe("Let us talk.");
    expect(discord.channel.messages().at(-1)?.content).toBe("How was it?");
    const answer = discord.ben.say("well", { in: second.threadId });
    const heard = await discord.until(() => agent.kept.find(({ id }) => id === answer.id));
    expect(heard.isAddressed).toBe(true);
  });

  test("works in a process that never connects", async () => {
    await chat().post(at(), { text: "from a worker", files: [], key: "k" });
    expect(discord.channel.messages().at(-1)?.content).toBe("from a worker");
    expect(discord.gateway.attempts).toEqual([]);
  });
});

describe("who people are now", () => {
  test("their roles as they are this moment; whoever has left is nobody", async () => {
    const role = discord.guild.addRole("crew");
    const lookUp = (who: Person) => bot.platform.lookUp?.(author(who), at().conversationId);
    expect(await lookUp(discord.ann)).toMatchObject({ id: discord.ann.id, name: "Ann", roles: [] });
    discord.ann.setRoles(discord.guild, [role]);
    expect(await lookUp(discord.ann)).toMatchObject({ roles: [role.id] });
    expect(await bot.platform.lookUp?.(author(discord.ann), inDm().conversationId)).toMatchObject({ roles: [role.id] });
    discord.ann.leave(discord.guild);
    expect(await lookUp(discord.ann)).toBeUndefined();
  });
});
