/** Where replies are written: threads and their names, channels, and what happens if a place goes away. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createCard, createPosts, createQuestion } from "../../conformance/platform-world.ts";
import type { ChannelHandle } from "../../doubles/discord/places.ts";
import type { SeenMessage } from "../../doubles/discord/view.ts";
import { agent, bot, discord, mentioned, replyTo, useConnectedBot } from "./connected-bot.ts";
import { begun, own, threadOf, toldPrivately } from "./replying-world.ts";

useConnectedBot();

function refuse(thread: ChannelHandle, status: number, code: number): void {
  const path = new RegExp(`/channels/${thread.id}/messages$`);
  discord.fail({ method: "POST", path, times: 100 }, { type: "answer", status, body: { code, message: "No" } });
}

describe("where a reply is written", () => {
  test("a mention is answered in a thread of its message, created with the first words and named after the message", async () => {
    const message = await mentioned("**Deploy** the `shop` to https://shop.example/x please\nand tell me");
    expect(discord.channel.threads()).toEqual([]);
    await begun(replyTo(message), "On it", () => threadOf(message));
    const [thread, ...more] = discord.channel.threads();
    expect(more).toEqual([]);
    expect(thread).toMatchObject({ id: message.id, name: "Deploy the shop to shop.example/x please" });
    expect(own(thread).map(({ content }) => content)).toEqual(["On it"]);
  });

  test("in a thread or a DM the answer is in the same place, without another thread", async () => {
    const thread = discord.ann.startThread(discord.channel, "plans");
    await replyTo(await mentioned("hello", thread)).finish("In the thread.", []);
    await replyTo(await toldPrivately()).finish("In the DM.", []);
    expect(own(thread).map(({ content }) => content)).toEqual(["In the thread."]);
    expect(own(discord.ann.dm()).map(({ content }) => content)).toEqual(["In the DM."]);
    expect(discord.channel.threads().map(({ id }) => id)).toEqual([thread.id]);
  });

  test("a forum post is already a thread, so answers and refusals are written in it", async () => {
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

  test("if replies go to the channel, the reply refers to the message", async () => {
    await bot.restart({ replyIn: "channel" });
    await bot.platform.connect(agent.handlers, new AbortController().signal);
    const message = await mentioned();
    await replyTo(message).finish("Here.", []);
    expect(own(discord.channel)).toMatchObject([{ content: "Here.", replyTo: message.id, pings: { users: [] } }]);
    expect(discord.channel.threads()).toEqual([]);
  });

  test("a process that never connects can write replies", async () => {
    const message = await mentioned();
    await bot.restart();
    await replyTo(message).finish("From a worker.", []);
    expect(own(threadOf(message)).map(({ content }) => content)).toEqual(["From a worker."]);
    expect(discord.gateway.attempts).toHaveLength(1);
  });

  test("without permission to create threads, the reply is in the channel, and says why once", async () => {
    discord.channel.permit(discord.bot, { deny: ["CreatePublicThreads"] });
    const first = await mentioned();
    await replyTo(first).finish("Here, then.", []);
    const [why, answer] = own(discord.channel);
    expect(why?.content).toMatch(/can't create threads.*Create Public Threads/);
    expect(answer).toMatchObject({ content: "Here, then.", replyTo: first.id });
    await replyTo(await mentioned()).finish("Again.", []);
    expect(own(discord.channel).filter(({ content }) => content.includes("can't create"))).toHaveLength(1);
  });

  test("if the limit of new threads is reached, the reply is in the channel", async () => {
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

  test("an answer to a reply in the channel continues the same conversation", async () => {
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

  test("a click on a card in the channel belongs to the conversation whose thread could not be created", async () => {
    discord.channel.permit(discord.bot, { deny: ["CreatePublicThreads"] });
    const message = await mentioned();
    await replyTo(message).ask(createCard(message));
    const card = own(discord.channel).find(({ buttons }) => buttons.length > 0) as SeenMessage;
    const click = discord.ann.click(card, "Approve");
    await discord.until(() => click.state() === "answered");
    expect(agent.answers).toMatchObject([{ conversationId: message.conversationId, messageId: card.id }]);
  });

  test("without permission to write, an answer and a card have no route", async () => {
    discord.channel.permit(discord.bot, { deny: ["SendMessages", "CreatePublicThreads"] });
    const message = await mentioned();
    await expect(replyTo(message).ask(createCard(message))).rejects.toMatchObject({ code: "platform.no-route" });
    await expect(replyTo(message).finish("The answer.", [])).rejects.toMatchObject({ code: "platform.no-route" });
  });

  test("without permission to write, a question has no route", async () => {
    discord.channel.permit(discord.bot, { deny: ["SendMessages", "CreatePublicThreads"] });
    const message = await mentioned();
    const asking = replyTo(message).question(createQuestion(message));
    await expect(asking).rejects.toMatchObject({ code: "platform.no-route" });
    expect(own(discord.ann.dm())).toEqual([]);
  });

  test("a card whose channel is closed after its first message has no route", async () => {
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

  test("a person who no longer shares a server with the bot can't be reached", async () => {
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

  test("an archived thread is reopened; instead of a locked one, the reply is in the channel", async () => {
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

  test.each([
    ["is locked", "the thread is closed", (thread: ChannelHandle) => discord.ann.archive(thread, { isLocked: true })],
    ["is deleted", "the thread is gone", (thread: ChannelHandle) => thread.delete()],
    [
      "refuses it for an unknown reason",
      "Discord doesn't let me",
      (thread: ChannelHandle) => refuse(thread, 400, 999_123),
    ],
    ["forbids it", "I may not write there", (thread: ChannelHandle) => refuse(thread, 403, 50_013)],
  ])(
    "nothing of a private thread is written in its channel, which others read, if the thread %s",
    async (_if, plain, close) => {
      const thread = discord.ann.startThread(discord.channel, "salaries", { isPrivate: true });
      thread.addToThread(discord.bot.id);
      const message = await mentioned("hello", thread);
      const later = await mentioned("and this", thread);
      close(thread);
      const file = { name: "salaries.csv", path: import.meta.filename, mimeType: "text/csv" };
      const note = { key: "note-1", line: ["Ben earns 9000."] };
      const refused = { code: "platform.no-route", plain };
      await expect(replyTo(message).finish("Ben earns 9000.", [file])).rejects.toMatchObject(refused);
      await expect(replyTo(message).ask(createCard(message))).rejects.toMatchObject(refused);
      await expect(replyTo(message).question(createQuestion(message))).rejects.toMatchObject(refused);
      await expect(replyTo(message).note(note)).rejects.toMatchObject(refused);
      await bot.restart();
      await expect(replyTo(later).fail("", "Ben earns 9000.")).rejects.toMatchObject(refused);
      expect(own(discord.channel)).toEqual([]);
    },
  );

  test("if the thread is locked during the reply, the whole answer is in the channel", async () => {
    const message = await mentioned();
    const reply = replyTo(message);
    await begun(reply, "Half", () => threadOf(message));
    discord.ann.archive(threadOf(message) ?? "", { isLocked: true });
    await reply.finish(`Whole. ${"word ".repeat(500)}End.`, []);
    const [why, ...answer] = own(discord.channel).map(({ content }) => content);
    expect(why).toContain("The thread is locked");
    expect(answer.join(" ")).toMatch(/^Whole\.[\s\S]*End\.$/);
  });

  test("a channel that the bot can no longer see during the reply has no route", async () => {
    const message = await mentioned();
    const reply = replyTo(message);
    await begun(reply, "Half", () => threadOf(message));
    discord.channel.permit(discord.bot, { deny: ["ViewChannel"] });
    await expect(reply.finish("Whole.", [])).rejects.toMatchObject({ code: "platform.no-route" });
  });

  test("if the thread is deleted during the reply, the answer is still posted", async () => {
    const message = await mentioned();
    const reply = replyTo(message);
    await begun(reply, "Half", () => threadOf(message));
    threadOf(message)?.delete();
    await reply.finish("Whole.", []);
    const everywhere = [...own(discord.channel), ...discord.channel.threads().flatMap(own)];
    expect(everywhere.map(({ content }) => content)).toEqual(["Whole."]);
  });

  test("a channel that is deleted during the reply has no route", async () => {
    const channel = discord.guild.addChannel("short-lived");
    const message = await mentioned("hello", channel);
    const reply = replyTo(message);
    await begun(reply, "Half", () => channel.threads()[0]);
    channel.delete();
    await expect(reply.finish("Whole.", [])).rejects.toMatchObject({ code: "platform.no-route" });
  });

  test("a forum post that is deleted during the reply has no route", async () => {
    const forum = discord.guild.addChannel("help", { type: 15 });
    const post = discord.ann.post(forum, "It does not build", `${discord.bot.mention} why?`);
    const message = await discord.until(() => agent.kept.find(({ id }) => id === post.id));
    const reply = replyTo(message);
    await begun(reply, "Half", () => post);
    post.delete();
    await expect(reply.finish("Whole.", [])).rejects.toMatchObject({ code: "platform.no-route" });
  });

  test.each([
    [403, { code: 999_123, message: "No" }],
    [404, { code: 0, message: "No" }],
    [400, { message: "No" }],
  ])("if Discord refuses the thread with %i and %j, the reply is in the channel", async (status, body) => {
    const message = await mentioned();
    const path = new RegExp(`/channels/${discord.channel.id}/messages/${message.id}/threads$`);
    discord.fail({ method: "POST", path, times: 100 }, { type: "answer", status, body });
    await replyTo(message).finish("Here.", []);
    expect(own(discord.channel).at(-1)).toMatchObject({ content: "Here.", replyTo: message.id });
  });

  test.each([
    [403, { code: 999_123, message: "No" }],
    [400, { message: "No" }],
  ])(
    "if Discord refuses an edit of a begun answer with %i and %j, the whole answer is posted anew",
    async (status, body) => {
      const message = await mentioned();
      const reply = replyTo(message);
      await begun(reply, "The first half", () => threadOf(message));
      discord.fail({ method: "PATCH", path: /\/messages\/\d+$/, times: 100 }, { type: "answer", status, body });
      await reply.finish("The first half, and the second.", []);
      expect(own(threadOf(message)).at(-1)?.content).toBe("The first half, and the second.");
    },
  );

  test("files that Discord refuses for a reason that nobody knows are named below the answer, which stays", async () => {
    const message = await mentioned();
    const path = join(await mkdtemp(join(tmpdir(), "remora-refused-")), "report.txt");
    await writeFile(path, "a report");
    const reply = replyTo(message);
    await begun(reply, "The", () => threadOf(message));
    discord.fail(
      { method: "PATCH", path: /\/messages\/\d+$/, times: 1 },
      { type: "answer", status: 400, body: { code: 999_124, message: "No" } },
    );
    await reply.finish("The answer.", [{ name: "report.txt", path, mimeType: "text/plain" }]);
    expect(own(threadOf(message)).at(-1)?.content).toMatch(
      /^The answer\.[\s\S]*report\.txt[\s\S]*Discord doesn't let me/,
    );
  });

  test("if Discord refuses the thread's name, the reply is in the channel", async () => {
    const message = await mentioned("some bad word");
    const wrong = { _errors: [{ code: "CONTAINS_WORDS_NOT_ALLOWED", message: "Contains words not allowed" }] };
    const body = { code: 50035, message: "Invalid Form Body", errors: { name: wrong } };
    discord.fail({ method: "POST", path: /\/threads$/ }, { type: "answer", status: 400, body });
    await replyTo(message).finish("Here, then.", []);
    const [why, answer] = own(discord.channel);
    expect(why?.content).toContain("refused a thread");
    expect(answer).toMatchObject({ content: "Here, then.", replyTo: message.id });
  });

  test("an answer that AutoMod blocks is reported as blocked", async () => {
    const message = await mentioned();
    const body = { code: 200_000, message: "Message was blocked by automatic moderation" };
    discord.fail({ route: "messages.create" }, { type: "answer", status: 400, body });
    await replyTo(message).finish("A bad word.", []);
    expect(own(threadOf(message)).map(({ content }) => content)).toEqual([expect.stringContaining("AutoMod")]);
  });

  test("a thread that somebody has already created from the message is used", async () => {
    const message = await mentioned();
    discord.ben.startThread({ id: message.id, channelId: discord.channel.id }, "Ben's");
    await replyTo(message).finish("There.", []);
    expect(own(threadOf(message)).map(({ content }) => content)).toEqual(["There."]);
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
