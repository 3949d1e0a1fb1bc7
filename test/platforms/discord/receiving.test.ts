import { beforeEach, describe, expect, test } from "vitest";
import type { Attachment, InboundMessage } from "../../../src/ports/message.ts";
import { createPosts, targetOf } from "../../conformance/platform-world.ts";
import type { ChannelHandle } from "../../doubles/discord/places.ts";
import type { SeenMessage } from "../../doubles/discord/view.ts";
import { openedText } from "../../doubles/opened-file.ts";
import { agent, bot, discord, useConnectedBot } from "./connected-bot.ts";

const helper = { id: "" };

useConnectedBot({ isAllowedBot: (id) => id === helper.id });

function kept(id: string): Promise<InboundMessage> {
  return discord.until(() => agent.kept.find((message) => message.id === id));
}

/** The thread in which the bot has answered. */
function threadOf(): ChannelHandle {
  const [thread] = discord.channel.threads();
  if (thread === undefined) throw new Error("there is no thread");
  return thread;
}

async function answered(message: InboundMessage, text = "An answer."): Promise<void> {
  await bot.platform.reply(targetOf(message), createPosts()).finish(text, []);
}

describe("who is meant", () => {
  test("a mention in a channel is the beginning of the thread that will have the message's id", async () => {
    const { ann, channel, guild, bot: self } = discord;
    const said = ann.say(`${self.mention}, what time is it?`, { in: channel });
    const message = await kept(said.id);
    expect(message.isInThread).toBeUndefined();
    expect(message).toMatchObject({
      platform: "discord",
      conversationId: `discord:${guild.id}:${channel.id}:${said.id}`,
      scope: `channel:${channel.id}`,
      channelId: channel.id,
      spaceId: guild.id,
      author: { id: ann.id, name: "Ann", isBot: false, roles: [] },
      text: "what time is it?",
      isAddressed: true,
      isDirect: false,
    });
  });

  test("a DM that comes while the token is refused is read once it is accepted again", async () => {
    const refused = discord.fail(
      { route: "members.get" },
      { type: "answer", status: 401, body: { code: 0, message: "401" } },
    );
    const said = discord.ann.say("between us", { in: "dm" });
    expect(await kept(said.id)).toMatchObject({ text: "between us", isDirect: true });
    expect(refused.hits).toHaveLength(1);
  });

  test("a DM has its person's scope, and no server", async () => {
    const { ann } = discord;
    const said = ann.say("between us", { in: "dm" });
    const message = await kept(said.id);
    expect(message).toMatchObject({
      conversationId: `discord:dm:${ann.dm().id}`,
      scope: `dm:${ann.id}`,
      isDirect: true,
    });
    expect(message).not.toHaveProperty("channelId");
    expect(message).not.toHaveProperty("spaceId");
  });

  test("a role that the bot came with means the bot", async () => {
    const ownRole = await roleOfBot();
    const said = discord.ann.say(`<@&${ownRole}> are you there?`, { in: discord.channel });
    expect(await kept(said.id)).toMatchObject({ isAddressed: true, text: "are you there?" });
  });

  async function roleOfBot(): Promise<string> {
    const headers = { authorization: `Bot ${discord.token}` };
    const response = await fetch(`${discord.apiUrl}/v10/guilds/${discord.guild.id}/roles`, { headers });
    const roles = (await response.json()) as { id: string; tags?: { bot_id?: string } }[];
    return roles.find(({ tags }) => tags?.bot_id === discord.bot.id)?.id ?? "";
  }

  test("an answer to the bot means the bot, also with its ping switched off", async () => {
    const first = await kept(discord.ann.say(`${discord.bot.mention} hello`, { in: discord.channel }).id);
    await answered(first);
    const answer = threadOf()
      .messages()
      .filter(({ author }) => author.isBot)[0] as SeenMessage;
    const said = discord.ben.say("and for me?", { in: threadOf(), replyTo: answer, pingsAuthor: false });
    expect(await kept(said.id)).toMatchObject({
      isAddressed: true,
      conversationId: first.conversationId,
      attachments: [],
    });
  });

  test("in its own thread everybody speaks to it, but not who begins with another's name; that holds after a restart", async () => {
    const first = await kept(discord.ann.say(`${discord.bot.mention} hello`, { in: discord.channel }).id);
    await answered(first);
    const thread = threadOf();
    await bot.restart();
    await bot.platform.connect(agent.handlers, new AbortController().signal);
    const toBot = discord.ben.say("and then?", { in: thread });
    const toAnn = discord.ben.say(`${discord.ann.mention} lunch?`, { in: thread });
    expect(await kept(toBot.id)).toMatchObject({
      ...{ isAddressed: true, isInThread: true, conversationId: first.conversationId },
    });
    expect(await kept(toAnn.id)).toMatchObject({ isAddressed: false, text: `@Ann (${discord.ann.mention}) lunch?` });
  });

  test("somebody else's thread is its own from the first mention on, also after a restart", async () => {
    const thread = discord.ann.startThread(discord.channel, "plans");
    expect(await kept(discord.ann.say("just us", { in: thread }).id)).toMatchObject({ isAddressed: false });
    const mention = await kept(discord.ann.say(`${discord.bot.mention} join in`, { in: thread }).id);
    expect(mention.conversationId).toBe(`discord:${discord.guild.id}:${discord.channel.id}:${thread.id}`);
    expect(mention.scope).toBe(`channel:${discord.channel.id}`);
    expect(await kept(discord.ben.say("what do you think?", { in: thread }).id)).toMatchObject({ isAddressed: true });
    await bot.restart();
    await bot.platform.connect(agent.handlers, new AbortController().signal);
    expect(await kept(discord.ben.say("still there?", { in: thread }).id)).toMatchObject({ isAddressed: true });
  });

  test("everyone is not the bot", async () => {
    const said = discord.ann.say("@everyone lunch!", { in: discord.channel, isVerbatim: true });
    expect(await kept(said.id)).toMatchObject({ isAddressed: false });
  });

  test("where answers go into the channel, the channel is the conversation", async () => {
    await bot.restart({ replyIn: "channel" });
    await bot.platform.connect(agent.handlers, new AbortController().signal);
    const said = discord.ann.say(`${discord.bot.mention} hello`, { in: discord.channel });
    expect((await kept(said.id)).conversationId).toBe(`discord:${discord.guild.id}:${discord.channel.id}`);
  });
});

describe("what is nobody's word", () => {
  test("webhooks, the service itself, strangers' bots and the bot are not heard; a bot that is named is", async () => {
    const { channel, bot: self } = discord;
    const [stranger, named] = [
      discord.addPerson("stranger", { isBot: true }),
      discord.addPerson("named", { isBot: true }),
    ];
    helper.id = named.id;
    channel.webhookSays("hook", `${self.mention} hello`);
    channel.systemMessage(7, discord.ben.id);
    stranger.say(`${self.mention} hello`, { in: channel });
    const said = named.say(`${self.mention} hello`, { in: channel });
    expect(await kept(said.id)).toMatchObject({ isAddressed: true, author: { isBot: true } });
    const last = await kept(discord.ann.say("done", { in: channel }).id);
    expect(agent.kept.map(({ id }) => id)).toEqual([said.id, last.id]);
  });

  test("a named bot in the bot's own thread is answered only when it means the bot: two bots don't keep each other going", async () => {
    const other = discord.addPerson("other", { isBot: true });
    helper.id = other.id;
    const first = await kept(discord.ann.say(`${discord.bot.mention} hello`, { in: discord.channel }).id);
    await answered(first);
    const said = other.say("I have something to say", { in: threadOf() });
    expect(await kept(said.id)).toMatchObject({ isAddressed: false });
  });
});

describe("what is said", () => {
  test("mentions are names with their ids, the bot's own in front is none of it", async () => {
    const { ann, ben, channel, guild, bot: self } = discord;
    const role = guild.addRole("crew", { isMentionable: true });
    const text = `${self.mention} ask ${ben.mention} and ${role.mention} in ${channel.mention}, ${self.mention}! <:cat:123456789012345678>`;
    const message = await kept(ann.say(text, { in: channel, isVerbatim: true }).id);
    expect(message.text).toBe(
      `ask @Ben (${ben.mention}) and @crew (${role.mention}) in #general (${channel.mention}), @Remora (${self.mention})! :cat:`,
    );
  });

  test("a nickname is the name, on one line and without characters that nobody sees", async () => {
    discord.ann.setNick(discord.guild, "Ann\u202e\u200b the\nGreat");
    const said = discord.ann.say(`${discord.bot.mention} hello`, { in: discord.channel });
    expect((await kept(said.id)).author.name).toBe("Ann the Great");
  });

  test("roles come with the author: in a server from the message, in a DM from the servers that both are in", async () => {
    const role = discord.guild.addRole("crew");
    discord.ann.setRoles(discord.guild, [role]);
    const inGuild = discord.ann.say(`${discord.bot.mention} hello`, { in: discord.channel });
    expect((await kept(inGuild.id)).author.roles).toEqual([role.id]);
    expect((await kept(discord.ann.say("hello", { in: "dm" }).id)).author.roles).toEqual([role.id]);
  });

  test("a message of 4,000 characters comes whole", async () => {
    const text = "x".repeat(3_950);
    const said = discord.ann.say(`${discord.bot.mention} ${text}`, { in: discord.channel });
    expect((await kept(said.id)).text).toBe(text);
  });

  test("a poll is read as words, and a message of an unknown kind as one that can't be read, never as silence", async () => {
    const { ann, channel } = discord;
    const poll = { question: "Where do we eat?", answers: ["Pizza", "Sushi"] };
    const words = "Poll: Where do we eat?\n- Pizza (votes: 2)\n- Sushi";
    const asked = ann.say("", { in: "dm", poll });
    const strange = ann.say("", { in: "dm", isUnknown: true });
    const forwarded = ann.forward(asked, { in: "dm" });
    const about = ann.say("@Remora what do you say?", { in: channel, replyTo: ann.say("", { in: channel, poll }) });
    const read = (id: string) => discord.until(() => agent.kept.find((each) => each.id === id));
    expect((await read(asked.id)).text).toBe(words);
    const note = "[A message without text, of a kind that I can't read.]";
    expect((await read(strange.id)).text).toBe(note);
    expect((await read(forwarded.id)).attachments).toMatchObject([{ name: "forwarded message", text: note }]);
    expect((await read(about.id)).attachments).toMatchObject([{ text: expect.stringContaining(words) }]);
    const place = { conversationId: `discord:${discord.guild.id}:${channel.id}:1234567890123` };
    const lines = await bot.platform.chat?.history(
      { ...place, requester: { id: ann.id, name: "Ann", isBot: false, roles: [] } },
      { limit: 5 },
    );
    expect(lines?.map(({ text }) => text)).toContain(words);
  });

  test("an answer to somebody else brings what it answers, as something that others said", async () => {
    const bens = discord.ben.say("The build is red.", { in: discord.channel });
    const said = discord.ann.say(`${discord.bot.mention} why?`, { in: discord.channel, replyTo: bens });
    const [quoted, ...more] = (await kept(said.id)).attachments;
    expect(more).toEqual([]);
    expect(quoted?.text).toBe(`Ben (${discord.ben.mention}) wrote:\nThe build is red.`);
  });
});

describe("files", () => {
  async function messageWith(...files: { name: string; content: string | Buffer; contentType?: string }[]) {
    const said = discord.ann.say("", { in: "dm", files });
    return { said, attachments: (await kept(said.id)).attachments };
  }

  const contentOf = (attachment: Attachment | undefined) => openedText(bot.platform, attachment);

  test("files are described when their message arrives, also when nothing is said with them", async () => {
    const { attachments } = await messageWith(
      { name: "notes.md", content: "# Zo\n", contentType: "text/markdown; charset=utf-8" },
      { name: "big.zip", content: Buffer.alloc(3_000_000, 7), contentType: "application/zip" },
      { name: "Makefile", content: "all:" },
    );
    expect(attachments.map(({ source: _source, ...rest }) => rest)).toEqual([
      { name: "notes.md", mimeType: "text/markdown; charset=utf-8", bytes: 5 },
      { name: "big.zip", mimeType: "application/zip", bytes: 3_000_000 },
      { name: "Makefile", mimeType: "application/octet-stream", bytes: 4 },
    ]);
    expect(await contentOf(attachments[0])).toBe("# Zo\n");
    expect(await contentOf(attachments[1])).toHaveLength(3_000_000);
  });

  test("files of a forwarded message are opened like other files", async () => {
    const old = discord.ben.say("the report", { in: discord.channel, files: [{ name: "report.csv", content: "a,b" }] });
    const { attachments } = await kept(discord.ann.forward(old, { in: "dm" }).id);
    expect(attachments.map(({ name }) => name)).toEqual(["report.csv", "forwarded message"]);
    expect(await contentOf(attachments[0])).toBe("a,b");
  });

  test("a file of a message that is answered is opened like the asker's own", async () => {
    const old = discord.ben.say("", { in: discord.channel, files: [{ name: "report.csv", content: "a,b" }] });
    const said = discord.ann.say(`${discord.bot.mention} look`, { in: discord.channel, replyTo: old });
    const [file, quoted] = (await kept(said.id)).attachments;
    expect(quoted?.text).toContain("[file: report.csv]");
    expect([file?.name, file?.quotes, await contentOf(file)]).toEqual(["report.csv", old.id, "a,b"]);
  });

  test("files of people who speak to others are not described", async () => {
    const said = discord.ann.say("look", { in: discord.channel, files: [{ name: "a.txt", content: "a" }] });
    expect((await kept(said.id)).attachments).toEqual([]);
  });

  test("a link that has expired is renewed by fetching the message again", async () => {
    const { attachments } = await messageWith({ name: "a.txt", content: "alpha" });
    discord.clock.advance(2 * 86_400_000);
    expect(await contentOf(attachments[0])).toBe("alpha");
    expect(discord.requests.filter(({ route }) => route === "messages.get")).toHaveLength(1);
  });

  test("a file of a deleted message gives a sentence that says what to do", async () => {
    const { said, attachments } = await messageWith({ name: "a.txt", content: "alpha" });
    discord.ann.delete(said);
    expect(await contentOf(attachments[0])).toContain(
      "the file was deleted, or I can't see it any more. Send it again.",
    );
  });

  test("a server in trouble is a failure that may pass, and a link to another host is not followed", async () => {
    const { attachments } = await messageWith({ name: "a.txt", content: "alpha" });
    const [file] = attachments;
    discord.failNextFile({ type: "answer", status: 503 });
    const opened = bot.platform.openFile?.(file as Attachment, new AbortController().signal);
    await expect(opened).rejects.toMatchObject({ isRetryable: true });
    const elsewhere = { ...file, source: { ...file?.source, url: "https://evil.example/a.txt" } } as Attachment;
    expect(await contentOf(elsewhere)).toContain("not stored by Discord");
  });
});

describe("order", () => {
  test("a message that can't be kept is tried again, and what is said after it waits behind it", async () => {
    let failures = 0;
    agent.beforeKeeping = async ({ text }) => {
      if (text === "one" && failures++ < 2) throw new Error("the disk is full");
    };
    const [one, two] = ["one", "two"].map((text) => discord.ann.say(text, { in: "dm" }));
    await kept(two?.id ?? "");
    expect(agent.kept.map(({ id }) => id)).toEqual([one?.id, two?.id]);
    expect(agent.delivered.map(({ text }) => text)).toEqual(["one", "one", "one", "two"]);
  });

  test("a channel that is stuck holds up no other", async () => {
    agent.beforeKeeping = async ({ isDirect }) => {
      if (isDirect) throw new Error("the disk is full");
    };
    discord.ann.say("stuck", { in: "dm" });
    const said = discord.ann.say("free", { in: discord.channel });
    await kept(said.id);
    expect(agent.kept.map(({ text }) => text)).toEqual(["free"]);
  });

  test("edited and deleted messages are said to be, also many at once, each behind the message itself", async () => {
    const { ann, channel, bot: self } = discord;
    let letIn = () => {};
    agent.beforeKeeping = () => new Promise((resolve) => (letIn = resolve));
    const said = ann.say(`${self.mention} frist`, { in: channel });
    ann.edit(said, `${self.mention} first`);
    ann.delete(said);
    await discord.until(() => agent.delivered.length === 1);
    expect(agent.edited).toEqual([]);
    agent.beforeKeeping = async () => {};
    letIn();
    await discord.until(() => agent.deleted.length === 1);
    expect(agent.edited).toEqual([{ id: said.id, text: "first" }]);
    const many = ["a", "b", "c"].map((text) => ann.say(text, { in: channel }));
    channel.bulkDelete(many);
    await discord.until(() => agent.deleted.length === 4);
    expect(agent.deleted).toEqual([said.id, ...many.map(({ id }) => id)]);
  });

  test("an edit that lacks what was said is none, one that lacks other fields is, and neither holds up anything", async () => {
    const said = discord.ann.say("hello", { in: "dm" });
    await kept(said.id);
    const { id, channelId: channel_id } = said;
    const author = { id: discord.ann.id, username: "Ann" };
    const edited_timestamp = new Date().toISOString();
    discord.gateway.send("MESSAGE_UPDATE", { id, channel_id, author, edited_timestamp });
    discord.gateway.send("MESSAGE_UPDATE", { id, channel_id, author, edited_timestamp, content: "hello?" });
    await kept(discord.ann.say("are you there?", { in: "dm" }).id);
    expect(agent.edited).toEqual([{ id, text: "hello?" }]);
  });

  test("what changes a message without being said, such as an unfolded link, is no edit", async () => {
    const said = discord.ann.say(`${discord.bot.mention} see https://example.com`, { in: discord.channel });
    await answered(await kept(said.id));
    await kept(discord.ann.say("done", { in: discord.channel }).id);
    expect(agent.edited).toEqual([]);
  });
});

describe("/remora", () => {
  beforeEach(() => discord.until(() => discord.commands().length === 1));

  test("a command is acknowledged at once, answered to the person alone, and knows where it was given", async () => {
    agent.commandReceipt = { text: "- here: **1** running", isPrivate: true };
    const given = discord.ann.slash("remora status", { in: discord.channel, options: { text: "all" } });
    await discord.until(() => given.state() === "answered");
    expect(agent.commands).toMatchObject([
      {
        name: "status",
        rest: "all",
        conversationId: `discord:${discord.guild.id}:${discord.channel.id}`,
        scope: `channel:${discord.channel.id}`,
        channelId: discord.channel.id,
        spaceId: discord.guild.id,
        by: { id: discord.ann.id, name: "Ann" },
      },
    ]);
    expect(given.reply()).toMatchObject({ content: "- here: **1** running", isEphemeral: true });
    expect(discord.ben.sees(discord.channel)).toEqual([]);
  });

  test("in a thread and in a DM it is that conversation's", async () => {
    const thread = discord.ann.startThread(discord.channel, "plans");
    const inThread = discord.ann.slash("remora status", { in: thread });
    await discord.until(() => inThread.state() === "answered");
    expect(agent.commands[0]?.conversationId).toBe(`discord:${discord.guild.id}:${discord.channel.id}:${thread.id}`);
    agent.commands.length = 0;
    discord.ann.slash("remora status", { in: "dm" });
    await discord.until(() => agent.commands.length === 1);
    expect(agent.commands[0]).toMatchObject({
      conversationId: `discord:dm:${discord.ann.dm().id}`,
      scope: `dm:${discord.ann.id}`,
    });
  });

  test("a long answer comes in parts, a very long one as a file", async () => {
    agent.commandReceipt = { text: "word ".repeat(700), isPrivate: true };
    const long = discord.ann.slash("remora status", { in: discord.channel });
    await discord.until(() => long.replies().length === 2);
    expect(long.replies().every(({ isEphemeral }) => isEphemeral)).toBe(true);
    agent.commandReceipt = { text: "word ".repeat(5_000), isPrivate: true };
    const longer = discord.ann.slash("remora status", { in: discord.channel });
    await discord.until(() => longer.reply()?.files.length === 1);
    expect(longer.reply()?.files[0]?.text).toBe("word ".repeat(5_000));
  });

  test("ask is something said: everybody sees it, and it is its author's message", async () => {
    const role = discord.guild.addRole("crew");
    discord.ann.setRoles(discord.guild, [role]);
    const asked = discord.ann.slash("remora ask", { in: discord.channel, options: { text: "what is a *remora*?" } });
    const message = await discord.until(() => agent.addressed()[0]);
    const [shown] = discord.ben.sees(discord.channel);
    expect(shown).toMatchObject({
      id: message.id,
      content: ">>> what is a *remora*?",
      isEphemeral: false,
      pings: { users: [] },
    });
    expect(message).toMatchObject({
      text: "what is a *remora*?",
      author: { id: discord.ann.id, name: "Ann", isBot: false, roles: [role.id] },
      conversationId: `discord:${discord.guild.id}:${discord.channel.id}:${message.id}`,
      isAddressed: true,
    });
    await answered(message, "A fish.");
    expect(discord.channel.threads()[0]?.messages().at(-1)?.content).toBe("A fish.");
    expect(asked.state()).toBe("answered");
    expect(agent.addressed()).toHaveLength(1);
  });

  test("what is asked with a skill is posted whole, and nothing longer than that can be entered", async () => {
    await bot.restart({ commands: () => [{ usage: "skill NAME TEXT", description: "ask with one skill" }] });
    await bot.platform.connect(agent.handlers, new AbortController().signal);
    await discord.until(() => JSON.stringify(discord.commands()).includes("skill"));
    const text = `planning ${"w".repeat(1_890)}!`;
    discord.ann.slash("remora skill", { in: discord.channel, options: { text } });
    const message = await discord.until(() => agent.addressed()[0]);
    expect(message.text).toBe(`/skill ${text}`);
    const longer = { in: discord.channel, options: { text: `${text}!` } };
    expect(() => discord.ann.slash("remora skill", longer)).toThrow();
  });

  test("what was asked while the process died is answered after it", async () => {
    agent.beforeKeeping = () => new Promise(() => {});
    discord.ann.slash("remora ask", { in: discord.channel, options: { text: "are you there?" } });
    await discord.until(() => agent.delivered.length === 1);
    agent.beforeKeeping = async () => {};
    await bot.restart();
    await bot.platform.connect(agent.handlers, new AbortController().signal);
    const message = await discord.until(() => agent.addressed()[0]);
    expect(message).toMatchObject({ text: "are you there?", author: { id: discord.ann.id, isBot: false } });
  });

  test("the files of ask come with the question, also when its process died, and everybody sees their names", async () => {
    agent.beforeKeeping = () => new Promise(() => {});
    await discord.until(() => discord.commands().length === 1);
    const file = { name: "my_plan.csv", content: "a;b", contentType: "text/csv" };
    const file2 = { name: "x.png", content: "png" };
    const options = { text: "sum this up", file, file2 };
    discord.ann.slash("remora ask", { in: discord.channel, options });
    await discord.until(() => agent.delivered.length === 1);
    agent.beforeKeeping = async () => {};
    await bot.restart();
    await bot.platform.connect(agent.handlers, new AbortController().signal);
    const message = await discord.until(() => agent.addressed()[0]);
    expect(message.text).toBe("sum this up");
    expect(message.attachments).toMatchObject([
      { name: "my_plan.csv", mimeType: "text/csv", bytes: 3 },
      { name: "x.png", mimeType: "application/octet-stream", bytes: 3 },
    ]);
    const open = bot.platform.openFile as NonNullable<typeof bot.platform.openFile>;
    const [first] = message.attachments as [(typeof message.attachments)[number]];
    const never = new AbortController().signal;
    const pieces: Uint8Array[] = [];
    for await (const piece of await open(first, never)) pieces.push(piece);
    expect(Buffer.concat(pieces).toString()).toBe("a;b");
    expect(discord.ben.sees(discord.channel)[0]?.content.replaceAll("\\", "")).toBe(
      ">>> sum this up\n-# With my_plan.csv, x.png",
    );
    discord.clock.advance(25 * 3_600_000);
    await expect(open(first, never)).rejects.toThrow(/deleted/);
  });

  test("a question whose files can't be kept is not asked, and its author is told", async () => {
    await discord.until(() => discord.commands().length === 1);
    bot.store.set = async () => {
      throw new Error("the disk is full");
    };
    const file = { name: "plan.csv", content: "a;b" };
    const asked = discord.ann.slash("remora ask", { in: discord.channel, options: { text: "sum this up", file } });
    await discord.until(() => asked.state() === "answered");
    expect(asked.reply()).toMatchObject({ isEphemeral: true, content: expect.stringContaining("Nothing was asked") });
    expect(agent.addressed()).toEqual([]);
  });

  test("one that the gateway brings twice is taken once", async () => {
    await discord.until(() => discord.commands().length === 1);
    const click = discord.ann.slash("remora status", { in: discord.channel });
    await discord.until(() => click.state() === "answered");
    discord.gateway.repeat("INTERACTION_CREATE", click.id);
    const next = discord.ann.slash("remora status", { in: "dm" });
    await discord.until(() => next.state() === "answered");
    expect(agent.commands.map(({ conversationId }) => conversationId.split(":")[1])).toEqual([discord.guild.id, "dm"]);
  });

  test("a handler that fails is answered all the same", async () => {
    agent.failure = new Error("the disk is full");
    const given = discord.ann.slash("remora status", { in: discord.channel });
    await discord.until(() => given.state() === "answered");
    expect(given.reply()?.content).toMatch(/didn't work/);
  });
});

describe("messages that are not answered", () => {
  test("one that can't be kept for now gets one sentence, and is tried again until it is kept", async () => {
    agent.notice = { text: "Not now.", later: "Not now, but later." };
    const said = discord.ann.say(`${discord.bot.mention} hello`, { in: discord.channel });
    const told = () => discord.channel.messages().filter(({ replyTo }) => replyTo === said.id);
    const tries = () => agent.delivered.filter(({ id }) => id === said.id).length;
    await discord.until(() => told().length > 0 && tries() > 1);
    agent.notice = undefined;
    const next = discord.ann.say(`${discord.bot.mention} next`, { in: discord.channel });
    await discord.until(() => agent.delivered.some(({ id }) => id === next.id), 60_000);
    expect(told().map(({ content }) => content)).toEqual(["Not now, but later."]);
  });

  test("in a channel the author is told as an answer to the message, and nobody is pinged", async () => {
    agent.notice = { text: "I can't answer: @everyone **you** are not among those who may use me." };
    const said = discord.ann.say(`${discord.bot.mention} hello`, { in: discord.channel });
    const told = await discord.until(() => discord.channel.messages().find(({ replyTo }) => replyTo === said.id));
    expect(told.content).toContain("not among those who may use me");
    expect(told.pings).toEqual({ users: [], roles: [], everyone: false });
    expect(discord.channel.threads()).toEqual([]);
  });
});
