import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { InboundMessage } from "../../../src/ports/message.ts";
import type { Posts, Reply } from "../../../src/ports/platform.ts";
import { createCard, createPosts, targetOf } from "../../conformance/platform.ts";
import type { DiscordDouble } from "../../doubles/discord/double.ts";
import type { ChannelHandle } from "../../doubles/discord/places.ts";
import type { SeenMessage } from "../../doubles/discord/view.ts";
import { type DiscordBot, openDiscordBot } from "./discord-bot.ts";
import { createRecordingAgent, type RecordingAgent } from "./recording-agent.ts";

let bot: DiscordBot;
let agent: RecordingAgent;
let discord: DiscordDouble;

beforeEach(async () => {
  bot = await openDiscordBot();
  discord = bot.discord;
  agent = createRecordingAgent();
  await bot.platform.connect(agent.handlers, new AbortController().signal);
});
afterEach(() => bot.close());

async function mentioned(text = "hello", where: ChannelHandle = discord.channel): Promise<InboundMessage> {
  const said = discord.ann.say(`${discord.bot.mention} ${text}`, { in: where });
  return await discord.until(() => agent.kept.find(({ id }) => id === said.id));
}

async function toldPrivately(): Promise<InboundMessage> {
  const said = discord.ann.say("hello", { in: "dm" });
  return await discord.until(() => agent.kept.find(({ id }) => id === said.id));
}

function replyTo(message: InboundMessage, posts: Posts = createPosts()): Reply {
  return bot.platform.reply(targetOf(message), posts);
}

function own(channel: ChannelHandle | undefined): SeenMessage[] {
  return (channel?.messages() ?? []).filter(
    ({ author, type }) => author.id === discord.bot.id && type !== 21 && type !== 18,
  );
}

/** Resolves when the first words are there. */
async function begun(reply: Reply, text: string, where: () => ChannelHandle | undefined): Promise<void> {
  await reply.write(text);
  await discord.until(() => own(where()).length > 0);
}

function threadOf(message: InboundMessage): ChannelHandle | undefined {
  return discord.channel.threads().find(({ id }) => id === message.id);
}

function sent(method: string, route: string) {
  return discord.requests.filter((request) => request.method === method && request.route === route);
}

describe("where it is written", () => {
  test("a mention is answered in a thread of the message, made with the first words and named after it", async () => {
    const message = await mentioned("**Deploy** the `shop` to https://shop.example/x please\nand tell me");
    expect(discord.channel.threads()).toEqual([]);
    await begun(replyTo(message), "On it", () => threadOf(message));
    const [thread, ...more] = discord.channel.threads();
    expect(more).toEqual([]);
    expect(thread).toMatchObject({ id: message.id, name: "Deploy the shop to shop.example/x please" });
    expect(own(thread).map(({ content }) => content)).toEqual(["On it"]);
  });

  test("in a thread and in a DM it is answered in place, without another thread", async () => {
    const thread = discord.ann.startThread(discord.channel, "plans");
    await replyTo(await mentioned("hello", thread)).finish("In the thread.", []);
    await replyTo(await toldPrivately()).finish("In the DM.", []);
    expect(own(thread).map(({ content }) => content)).toEqual(["In the thread."]);
    expect(own(discord.ann.dm()).map(({ content }) => content)).toEqual(["In the DM."]);
    expect(discord.channel.threads().map(({ id }) => id)).toEqual([thread.id]);
  });

  test("a post of a forum is a thread already: it is answered there, and its author is told there why not", async () => {
    const forum = discord.guild.addChannel("help", { type: 15 });
    const post = discord.ann.post(forum, "It does not build", `${discord.bot.mention} why?`);
    const message = await discord.until(() => agent.kept.find(({ id }) => id === post.id));
    expect(message.conversationId).toBe(`discord:${discord.guild.id}:${forum.id}:${post.id}`);
    await replyTo(message).finish("Because.", []);
    expect(own(post).map(({ content }) => content)).toEqual(["Because."]);
    agent.notice = { text: "I can't answer." };
    discord.ann.say("and now?", { in: post });
    await discord.until(() => own(post).length === 2);
    expect(own(post)[1]?.content).toBe("I can't answer.");
  });

  test("where it should be the channel, it is an answer to the message", async () => {
    await bot.restart({ replyIn: "channel" });
    await bot.platform.connect(agent.handlers, new AbortController().signal);
    const message = await mentioned();
    await replyTo(message).finish("Here.", []);
    expect(own(discord.channel)).toMatchObject([{ content: "Here.", replyTo: message.id, pings: { users: [] } }]);
    expect(discord.channel.threads()).toEqual([]);
  });

  test("a process that never connects writes as well", async () => {
    const message = await mentioned();
    await bot.restart();
    await replyTo(message).finish("From a worker.", []);
    expect(own(threadOf(message)).map(({ content }) => content)).toEqual(["From a worker."]);
    expect(discord.gateway.attempts).toHaveLength(1);
  });

  test("without the right to make threads it is the channel, and the person is told why, once", async () => {
    discord.channel.permit(discord.bot, { deny: ["CreatePublicThreads"] });
    const first = await mentioned();
    await replyTo(first).finish("Here, then.", []);
    const [why, answer] = own(discord.channel);
    expect(why?.content).toMatch(/can't create threads.*Create Public Threads/);
    expect(answer).toMatchObject({ content: "Here, then.", replyTo: first.id });
    await replyTo(await mentioned()).finish("Again.", []);
    expect(own(discord.channel).filter(({ content }) => content.includes("can't create"))).toHaveLength(1);
  });

  test("where no more threads may be made for minutes it is the channel too", async () => {
    discord.limits.set("threads.create", { requests: 1, windowMs: 300_000 });
    const [first, second, third] = [await mentioned("one"), await mentioned("two"), await mentioned("three")];
    for (const message of [first, second, third]) await replyTo(message).finish(`Answer to ${message.text}.`, []);
    expect(own(threadOf(first)).map(({ content }) => content)).toEqual(["Answer to one."]);
    expect(own(discord.channel).map(({ content }) => content)).toEqual([
      expect.stringContaining("too many active threads"),
      "Answer to two.",
      "Answer to three.",
    ]);
  });

  test("and an answer to that answer goes on with the same conversation", async () => {
    discord.channel.permit(discord.bot, { deny: ["CreatePublicThreads"] });
    const first = await mentioned();
    await replyTo(first).finish("Here, then.", []);
    const answer = own(discord.channel).find(({ content }) => content === "Here, then.") as SeenMessage;
    const said = discord.ann.say("and more?", { in: discord.channel, replyTo: answer });
    const next = await discord.until(() => agent.kept.find(({ id }) => id === said.id));
    expect(next).toMatchObject({ conversationId: first.conversationId, isAddressed: true });
    await replyTo(next).finish("More.", []);
    expect(own(discord.channel).at(-1)).toMatchObject({ content: "More.", replyTo: said.id });
  });

  test("a card in the channel is answered for the conversation whose thread could not be made", async () => {
    discord.channel.permit(discord.bot, { deny: ["CreatePublicThreads"] });
    const message = await mentioned();
    await replyTo(message).ask(createCard(message));
    const card = own(discord.channel).find(({ buttons }) => buttons.length > 0) as SeenMessage;
    const click = discord.ann.click(card, "Approve");
    await discord.until(() => click.state() === "answered");
    expect(agent.answers).toMatchObject([{ conversationId: message.conversationId, messageId: card.id }]);
  });

  test("where nothing may be written, nobody would see an answer or a card", async () => {
    discord.channel.permit(discord.bot, { deny: ["SendMessages", "CreatePublicThreads"] });
    const message = await mentioned();
    await expect(replyTo(message).ask(createCard(message))).rejects.toMatchObject({ code: "platform.no-route" });
    await expect(replyTo(message).finish("The answer.", [])).rejects.toMatchObject({ code: "platform.no-route" });
  });

  test("nor a question", async () => {
    discord.channel.permit(discord.bot, { deny: ["SendMessages", "CreatePublicThreads"] });
    const message = await mentioned();
    const words = {
      tool: "deploy_run",
      question: "Which one?",
      options: ["staging", "production"],
      requesterName: "Ann",
    };
    const asking = replyTo(message).question({ id: "question-1", target: targetOf(message), ...words });
    await expect(asking).rejects.toMatchObject({ code: "platform.no-route" });
    expect(own(discord.ann.dm())).toEqual([]);
  });

  test("nor is the second message of a card whose channel is closed after the first one", async () => {
    const message = await mentioned();
    const path = new RegExp(`/channels/(?:${message.id}|${discord.channel.id})/messages$`);
    const body = { code: 50_001, message: "Missing Access" };
    discord.fail({ method: "POST", path, after: 1, times: 10 }, { type: "answer", status: 403, body });
    const card = createCard(message);
    const items = [1, 2, 3, 4, 5, 6].flatMap((row) =>
      card.items.map((item) => ({ ...item, approvalId: `row-${row}` })),
    );
    const asking = replyTo(message).ask({ ...card, items });
    await expect(asking).rejects.toMatchObject({ code: "platform.no-route" });
    expect(own(discord.ann.dm())).toEqual([]);
  });

  test("a person who shares no server with it any more can't be reached", async () => {
    const message = await toldPrivately();
    discord.ann.leave(discord.guild);
    await expect(replyTo(message).ask(createCard(message))).rejects.toMatchObject({ code: "platform.no-route" });
    await expect(replyTo(message).finish("The answer.", [])).rejects.toMatchObject({ code: "platform.no-route" });
  });

  test("a message that was deleted before the answer is answered in the channel", async () => {
    const message = await mentioned();
    discord.ann.delete({ id: message.id, channelId: discord.channel.id });
    await replyTo(message).finish("Too late?", []);
    expect(own(discord.channel).map(({ content }) => content)).toEqual(["Too late?"]);
  });

  test("an archived thread is opened again, a locked one is left for the channel", async () => {
    const message = await mentioned();
    const posts = createPosts();
    const reply = replyTo(message, posts);
    await begun(reply, "Half", () => threadOf(message));
    discord.ann.archive(threadOf(message) ?? "");
    await reply.finish("Whole.", []);
    expect(own(threadOf(message)).map(({ content }) => content)).toEqual(["Whole."]);
    const next = await mentioned("again", threadOf(message));
    discord.ann.archive(threadOf(message) ?? "", { isLocked: true });
    await replyTo(next).finish("Outside.", []);
    const [why, answer] = own(discord.channel);
    expect(why?.content).toContain("The thread is locked");
    expect(answer?.content).toBe("Outside.");
  });

  test("a thread that is locked in the middle: the whole answer stands in the channel", async () => {
    const message = await mentioned();
    const reply = replyTo(message);
    await begun(reply, "Half", () => threadOf(message));
    discord.ann.archive(threadOf(message) ?? "", { isLocked: true });
    await reply.finish(`Whole. ${"word ".repeat(500)}End.`, []);
    const [why, ...answer] = own(discord.channel).map(({ content }) => content);
    expect(why).toContain("The thread is locked");
    expect(answer.join(" ")).toMatch(/^Whole\.[\s\S]*End\.$/);
  });

  test("a channel that is taken from the bot in the middle has no route", async () => {
    const message = await mentioned();
    const reply = replyTo(message);
    await begun(reply, "Half", () => threadOf(message));
    discord.channel.permit(discord.bot, { deny: ["ViewChannel"] });
    await expect(reply.finish("Whole.", [])).rejects.toMatchObject({ code: "platform.no-route" });
  });

  test("a thread that somebody deletes in the middle is no loss", async () => {
    const message = await mentioned();
    const reply = replyTo(message);
    await begun(reply, "Half", () => threadOf(message));
    threadOf(message)?.delete();
    await reply.finish("Whole.", []);
    const everywhere = [...own(discord.channel), ...discord.channel.threads().flatMap(own)];
    expect(everywhere.map(({ content }) => content)).toEqual(["Whole."]);
  });

  test("a channel that is deleted in the middle has no route", async () => {
    const channel = discord.guild.addChannel("short-lived");
    const message = await mentioned("hello", channel);
    const reply = replyTo(message);
    await begun(reply, "Half", () => channel.threads()[0]);
    channel.delete();
    await expect(reply.finish("Whole.", [])).rejects.toMatchObject({ code: "platform.no-route" });
  });

  test("a post of a forum that is deleted in the middle has no route", async () => {
    const forum = discord.guild.addChannel("help", { type: 15 });
    const post = discord.ann.post(forum, "It does not build", `${discord.bot.mention} why?`);
    const message = await discord.until(() => agent.kept.find(({ id }) => id === post.id));
    const reply = replyTo(message);
    await begun(reply, "Half", () => post);
    post.delete();
    await expect(reply.finish("Whole.", [])).rejects.toMatchObject({ code: "platform.no-route" });
  });

  test("where a thread is refused for its name it is the channel", async () => {
    const message = await mentioned("some bad word");
    const wrong = { _errors: [{ code: "CONTAINS_WORDS_NOT_ALLOWED", message: "Contains words not allowed" }] };
    const body = { code: 50035, message: "Invalid Form Body", errors: { name: wrong } };
    discord.fail({ method: "POST", path: /\/threads$/ }, { type: "answer", status: 400, body });
    await replyTo(message).finish("Here, then.", []);
    const [why, answer] = own(discord.channel);
    expect(why?.content).toContain("refused a thread");
    expect(answer).toMatchObject({ content: "Here, then.", replyTo: message.id });
  });

  test("an answer that the server's AutoMod holds back is said to be", async () => {
    const message = await mentioned();
    const body = { code: 200_000, message: "Message was blocked by automatic moderation" };
    discord.fail({ route: "messages.create" }, { type: "answer", status: 400, body });
    await replyTo(message).finish("A bad word.", []);
    expect(own(threadOf(message)).map(({ content }) => content)).toEqual([expect.stringContaining("AutoMod")]);
  });

  test("a thread that somebody has made of the message already is used", async () => {
    const message = await mentioned();
    discord.ben.startThread({ id: message.id, channelId: discord.channel.id }, "Ben's");
    await replyTo(message).finish("There.", []);
    expect(own(threadOf(message)).map(({ content }) => content)).toEqual(["There."]);
  });
});

describe("while it grows", () => {
  test("the first words are there at once, edits come at least a second apart, the last state arrives", async () => {
    const reply = replyTo(await mentioned());
    let text = "";
    for (let word = 0; word < 40; word++) {
      text += `word${word} `;
      await reply.write(text);
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    await discord.until(() => sent("PATCH", "messages.edit").length >= 2);
    await reply.finish(`${text}end.`, []);
    expect(discord.channel.threads().flatMap(own)).toHaveLength(1);
    const [first, ...edits] = [...sent("POST", "messages.create"), ...sent("PATCH", "messages.edit")];
    expect(first?.body).toMatchObject({ content: "word0" });
    const partial = edits.slice(0, -1).map(({ at }) => at);
    for (const [index, at] of partial.entries())
      expect(at - (partial[index - 1] ?? first?.at ?? 0)).toBeGreaterThanOrEqual(1_000);
    expect(discord.channel.threads().flatMap(own).at(-1)?.content).toBe(`${text}end.`);
  });

  test("a partial text that can't be shown disturbs nothing", async () => {
    const message = await toldPrivately();
    const reply = replyTo(message);
    const storm = discord.fail({ route: "messages.create", times: 1_000 }, { type: "answer", status: 503 });
    await reply.write("One");
    await reply.progress({ headline: "Working", tasks: [] });
    await discord.until(() => storm.hits.length > 0);
    storm.remove();
    await reply.finish("Done.", []);
    expect(own(discord.ann.dm()).map(({ content }) => content)).toEqual(["Done."]);
  });

  test("a reply that is left to another process writes nothing more", async () => {
    const reply = replyTo(await toldPrivately());
    await begun(reply, "One", () => discord.ann.dm());
    await reply.write("One two");
    await reply.leave?.();
    await reply.write("One two three");
    const before = discord.requests.length;
    // Longer than an edit would wait.
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(discord.requests.slice(before)).toEqual([]);
    expect(own(discord.ann.dm()).map(({ content }) => content)).toEqual(["One"]);
  });

  test("what is longer than a message grows over several, with whole fences in each", async () => {
    const message = await toldPrivately();
    const reply = replyTo(message);
    const text = `Look:\n\n\`\`\`ts\n${"const value = 1;\n".repeat(200)}`;
    await begun(reply, text, () => discord.ann.dm());
    await discord.until(() => own(discord.ann.dm()).length === 2);
    const shown = own(discord.ann.dm()).map(({ content }) => content);
    expect(shown).toHaveLength(2);
    for (const content of shown) {
      expect(content.length).toBeLessThanOrEqual(2_000);
      expect(content.match(/```/g)).toHaveLength(2);
    }
    expect(shown[1]).toMatch(/^```ts\n/);
    await reply.finish(`${text}\`\`\`\n\nThat is all.`, []);
    expect(own(discord.ann.dm()).at(-1)?.content).toMatch(/That is all\.$/);
    expect(own(discord.ann.dm())).toHaveLength(2);
  });

  test("an answer of 20,000 characters is a file with its beginning as text, and what stood there too much is gone", async () => {
    const message = await toldPrivately();
    const reply = replyTo(message);
    const text = Array.from({ length: 1_000 }, (_, index) => `line ${index} of the text`).join("\n");
    await reply.write(text);
    await discord.until(() => own(discord.ann.dm()).length === 3);
    await reply.finish(text, []);
    const [only, ...more] = own(discord.ann.dm());
    expect(more).toEqual([]);
    expect(only?.content).toMatch(/^line 0 of the text\n[\s\S]*The full answer is in the file\.$/);
    expect(only?.files.map(({ name, text: content }) => [name, content])).toEqual([["answer.md", text]]);
  });

  test("where no file may be attached the whole is text", async () => {
    discord.channel.permit(discord.bot, { deny: ["AttachFiles"] });
    const message = await mentioned();
    const text = Array.from({ length: 800 }, (_, index) => `line ${index} of the text`).join("\n");
    await replyTo(message).finish(text, []);
    const shown = own(threadOf(message)).map(({ content }) => content);
    expect(shown.join("\n").match(/line \d+ of the text/g)).toHaveLength(800);
  });

  test("typing is shown while it works and the text is not there yet, and ends with it", async () => {
    const message = await toldPrivately();
    await discord.until(() => discord.ann.dm().typing().length === 1);
    await replyTo(message).finish("Done.", []);
    expect(discord.ann.dm().typing()).toHaveLength(1);
  });

  test("one channel has one typing indicator, however many mentions wait there", async () => {
    const messages = [await mentioned("one"), await mentioned("two"), await mentioned("three")];
    for (const message of messages) await replyTo(message).finish("Done.", []);
    expect(discord.channel.typing()).toHaveLength(1);
  });

  test("typing is shown again after the bot has posted something, which hides it", async () => {
    await replyTo(await toldPrivately()).finish("Done.", []);
    await toldPrivately();
    await discord.until(() => discord.ann.dm().typing().length === 2);
  });

  test("typing ends also when another process writes the answer", async () => {
    const other = discord.guild.addChannel("other");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"], shouldAdvanceTime: true });
    const worker = bot.another();
    try {
      const [inChannel, inDm] = [await mentioned(), await toldPrivately()];
      await discord.until(() => discord.channel.typing().length === 1 && discord.ann.dm().typing().length === 1);
      for (const message of [inChannel, inDm])
        await worker.reply(targetOf(message), createPosts()).finish("From a worker.", []);
      // Whatever came before it has been seen.
      await mentioned("hello", other);
      for (const times of [1, 2]) {
        vi.advanceTimersByTime(8_000);
        await discord.until(() => other.typing().length >= times);
      }
      expect([discord.channel.typing(), discord.ann.dm().typing()].map(({ length }) => length)).toEqual([1, 1]);
    } finally {
      vi.useRealTimers();
      await worker.close();
    }
  });

  test("a message that a moderator has deleted is written anew", async () => {
    const message = await mentioned();
    const posts = createPosts();
    const reply = replyTo(message, posts);
    await begun(reply, "Half", () => threadOf(message));
    const [half] = own(threadOf(message));
    threadOf(message)?.bulkDelete([half as SeenMessage]);
    await reply.finish("Whole.", []);
    expect(own(threadOf(message)).map(({ content }) => content)).toEqual(["Whole."]);
    await bot.platform.reply(targetOf(message), posts).finish("Whole again.", []);
    expect(own(threadOf(message)).map(({ content }) => content)).toEqual(["Whole again."]);
  });
});

describe("bad weather", () => {
  const storms = [
    ["the connection breaks before", { type: "cut", when: "before" }],
    ["the connection breaks in the middle of the answer", { type: "cut", when: "during" }],
    ["the service fails", { type: "answer", status: 500 }],
    ["the service does it and says that it failed", { type: "answer", status: 502, isDone: true }],
    ["the limit is reached", { type: "rate-limit", retryAfterSeconds: 0.3 }],
    ["the limit of everything is reached", { type: "rate-limit", retryAfterSeconds: 0.3, scope: "global" }],
  ] as const;

  test.each(storms)(
    "%s: the answer stands there once",
    async (_what, fault) => {
      const message = await mentioned();
      discord.fail({ route: "messages.create", times: 1 }, fault);
      discord.fail({ route: "threads.create-from-message", times: 1 }, fault);
      await replyTo(message).finish("Only once.", []);
      expect(own(threadOf(message)).map(({ content }) => content)).toEqual(["Only once."]);
      expect(own(discord.channel)).toEqual([]);
    },
    20_000,
  );

  test.each(storms)(
    "%s: the end of a text arrives",
    async (_what, fault) => {
      const message = await toldPrivately();
      const reply = replyTo(message);
      await reply.write("Half");
      discord.fail({ route: "messages.edit", times: 1 }, fault);
      await reply.finish("Whole.", []);
      expect(own(discord.ann.dm()).map(({ content }) => content)).toEqual(["Whole."]);
    },
    20_000,
  );

  test.each(storms)(
    "%s: a card stands there once, and is rewritten",
    async (_what, fault) => {
      const message = await toldPrivately();
      const reply = replyTo(message);
      discord.fail({ route: "messages.create", times: 1 }, fault);
      discord.fail({ route: "messages.edit", times: 1 }, fault);
      await reply.ask(createCard(message));
      await reply.settle(createCard(message, { state: "denied", choices: [], outcome: "Denied by Ann" }));
      const [card, ...more] = own(discord.ann.dm());
      expect(more).toEqual([]);
      expect(card?.buttons).toEqual([]);
    },
    20_000,
  );

  test("while the token is refused, the end is refused too, and made once later", async () => {
    const message = await mentioned();
    const posts = createPosts();
    const body = { code: 0, message: "401: Unauthorized" };
    const outage = discord.fail({ times: Number.POSITIVE_INFINITY }, { type: "answer", status: 401, body });
    const finish = () => replyTo(message, posts).finish("Once.", []);
    await expect(finish()).rejects.toMatchObject({ code: "platform.away", isRetryable: true });
    outage.remove();
    await finish();
    expect(own(threadOf(message)).map(({ content }) => content)).toEqual(["Once."]);
  });

  test("what was posted before a crash, and says something else now, is changed", async () => {
    const message = await mentioned();
    const forgetful: Posts = {
      all: async () => [],
      keep: async (key) => (key.startsWith("try:") ? undefined : await new Promise(() => {})),
    };
    void replyTo(message, forgetful).write("Half");
    await discord.until(() => own(threadOf(message)).length === 1);
    await bot.restart();
    await replyTo(message).finish("Whole.", []);
    expect(own(threadOf(message)).map(({ content }) => content)).toEqual(["Whole."]);
  });

  test("a process that dies between posting and knowing posts nothing twice", async () => {
    const message = await mentioned();
    const forgetful: Posts = {
      all: async () => [],
      keep: async (key) => (key.startsWith("try:") ? undefined : await new Promise(() => {})),
    };
    void replyTo(message, forgetful).finish("Once.", []);
    await discord.until(() => own(threadOf(message)).length === 1);
    await bot.restart();
    await replyTo(message).finish("Once.", []);
    expect(own(threadOf(message)).map(({ content }) => content)).toEqual(["Once."]);
  });
});

test("a question that is answered while the text goes on below it leaves that text alone", async () => {
  const message = await toldPrivately();
  const reply = replyTo(message);
  const question = {
    id: "q1",
    target: targetOf(message),
    tool: "t",
    question: "Which?",
    options: ["a"],
    requesterName: "Ann",
  };
  await reply.question(question);
  await begun(reply, "Below", () => discord.ann.dm());
  await discord.until(() => own(discord.ann.dm()).some(({ content }) => content === "Below"));
  await reply.question({ ...question, outcome: "a — Ann" });
  await reply.finish("Below the question.", []);
  expect(own(discord.ann.dm()).map(({ content }) => content)).toEqual(["", "Below the question."]);
});

describe("nobody is disturbed", () => {
  test("nothing that is sent or edited pings anybody or unfolds a link, whatever it says", async () => {
    const role = discord.guild.addRole("crew", { isMentionable: true });
    discord.channel.permit(discord.bot, { allow: ["MentionEveryone"] });
    const bad = `@everyone @here ${discord.ben.mention} ${role.mention} https://evil.example/?q=secret [x](https://evil.example)`;
    const message = await mentioned(`say ${bad}`);
    const reply = replyTo(message);
    await begun(reply, bad, () => threadOf(message));
    await reply.progress({ headline: bad, current: bad, tasks: [] });
    await reply.finish(`${bad} ${bad}`, []);
    agent.notice = { text: bad };
    await mentioned("again");
    await discord.until(() => own(discord.channel).length === 1);
    for (const each of [...own(threadOf(message)), ...own(discord.channel)]) {
      expect(each.pings).toEqual({ users: [], roles: [], everyone: false });
      expect(each.previews).toEqual([]);
    }
    const bodies = [...sent("POST", "messages.create"), ...sent("PATCH", "messages.edit")].map(({ body }) => body);
    for (const body of bodies) expect(body).toMatchObject({ allowed_mentions: { parse: [] } });
  });

  test("every message that will be answered has the reaction that was asked for", async () => {
    await bot.restart({ ackReaction: "👀" });
    await bot.platform.connect(agent.handlers, new AbortController().signal);
    const message = await mentioned();
    const reactions = () => discord.message({ id: message.id, channelId: discord.channel.id })?.reactions ?? [];
    await discord.until(() => reactions().length === 1);
    expect(reactions()).toEqual([{ emoji: "👀", userIds: [discord.bot.id] }]);
  });
});

describe("files", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "remora-discord-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function file(name: string, content: string | Buffer) {
    const path = join(folder, name.replaceAll("/", "_"));
    await writeFile(path, content);
    return { name, path, mimeType: "text/plain" };
  }

  test("more than a message takes go into further ones, and none twice when it is done again", async () => {
    const files = await Promise.all(Array.from({ length: 12 }, (_, index) => file(`${index}.txt`, `file ${index}`)));
    const message = await toldPrivately();
    const posts = createPosts();
    for (const _ of [1, 2]) await replyTo(message, posts).finish("All of them.", files);
    const shown = own(discord.ann.dm());
    expect(shown.map(({ content }) => content)).toEqual(["All of them.", ""]);
    expect(shown.flatMap((each) => each.files.map(({ text }) => text))).toEqual(
      files.map((_, index) => `file ${index}`),
    );
  });

  test("files are sent where Slack's library has loaded a newer undici, also if processes share limits", async () => {
    await import("undici");
    // The web server replaces it.
    vi.stubGlobal("Response", class extends Response {});
    await bot.restart({ budget: { take: async () => 0, hold() {} } });
    await bot.platform.connect(agent.handlers, new AbortController().signal);
    const message = await toldPrivately();
    await replyTo(message).finish("Here.", [await file("notes.txt", "x")]);
    vi.unstubAllGlobals();
    expect(own(discord.ann.dm())).toMatchObject([{ content: "Here.", files: [{ name: "notes.txt" }] }]);
  });

  test("a file alone needs no text; one that is too large, or not there, is named", async () => {
    const message = await toldPrivately();
    await replyTo(message).finish("", [await file("alone.txt", "x")]);
    expect(own(discord.ann.dm())).toMatchObject([{ content: "", files: [{ name: "alone.txt" }] }]);
    const next = await toldPrivately();
    const large = await file("large.bin", Buffer.alloc(10 * 1024 * 1024 + 1));
    await replyTo(next).finish("Here.", [
      large,
      { name: "gone.txt", path: join(folder, "gone"), mimeType: "text/plain" },
    ]);
    const text = own(discord.ann.dm()).at(-1)?.content;
    expect(text).toMatch(/^Here\.\n\n⚠️ I couldn't attach the file `large\.bin`: it has 10\.0 MiB/);
    expect(text).toContain("`gone.txt`");
  });

  test("where none may be attached the text says so", async () => {
    discord.channel.permit(discord.bot, { deny: ["AttachFiles"] });
    const message = await mentioned();
    await replyTo(message).finish("Here.", [await file("a.txt", "x")]);
    expect(own(threadOf(message))[0]?.content).toMatch(/^Here\.\n\n⚠️ I couldn't attach the file `a\.txt`/);
  });
});

describe("thread names", () => {
  test.each([
    ["", /^Conversation with Ann$/],
    ["@everyone <@&1> # **Fix** the build\nnow", /^@everyone # Fix the build$|^Fix the build|@everyone Fix the build$/],
    ["```ts\nconst a = 1;\n```\nexplain that", /^explain that$/],
    ["x".repeat(300), /^x{79}…$/],
    ["word ".repeat(50), /^(?:word )+word…$/],
    ["\u202e\u200bhidden", /^hidden$/],
    ["🎉🎉", /^🎉🎉$/],
  ])("%j", async (text, expected) => {
    const message = await mentioned(text);
    await replyTo(message).finish("x", []);
    const name = threadOf(message)?.name ?? "";
    expect(name).toMatch(expected);
    expect(name.length).toBeLessThanOrEqual(100);
  });
});
