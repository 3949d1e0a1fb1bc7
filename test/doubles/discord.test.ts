/** The Discord double with the real client: messages, threads, people, visibility and pings. */
import {
  type Client,
  Events,
  type Message,
  MessageFlags,
  type TextChannel,
  ThreadAutoArchiveDuration,
} from "discord.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { call, connect } from "./discord/client.ts";
import { createDiscordDouble, type DiscordDouble } from "./discord/double.ts";

let discord: DiscordDouble;
let client: Client<true>;
let heard: Message[];

beforeEach(async () => {
  discord = await createDiscordDouble({ limits: "none" });
  client = await connect(discord);
  heard = [];
  client.on(Events.MessageCreate, (message) => heard.push(message));
});

afterEach(async () => {
  await client.destroy();
  await discord.stop();
});

const lastHeard = (content: string) => discord.until(() => heard.find((message) => message.content === content));
const general = () => client.channels.cache.get(discord.channel.id) as TextChannel;

test("a client connects, knows its guild, and receives messages with their author's membership", async () => {
  const role = discord.guild.addRole("crew");
  discord.ann.setRoles(discord.guild, [role]);
  const said = discord.ann.say("hello @Remora, says @crew", { in: discord.channel });
  const message = await discord.until(() => heard[0]);
  expect(client.guilds.cache.map((guild) => guild.name)).toEqual(["Harbour"]);
  expect(message.id).toBe(said.id);
  expect(message.content).toBe(`hello <@${discord.bot.id}>, says <@&${role.id}>`);
  expect(message.mentions.users.has(discord.bot.id)).toBe(true);
  expect(message.member?.roles.cache.has(role.id)).toBe(true);
  expect(message.author.displayName).toBe("Ann");
});

test("a reply refers to its message, and everybody sees an edit", async () => {
  discord.ann.say("ping", { in: discord.channel });
  const message = await lastHeard("ping");
  const reply = await message.reply("pong");
  await reply.edit("pong!");
  const [, answer] = discord.channel.messages();
  expect(answer).toMatchObject({ content: "pong!", replyTo: message.id, isEdited: true, earlierContents: ["pong"] });
  expect(discord.ben.sees(discord.channel)).toHaveLength(2);
});

test("a DM arrives with its channel, and nobody else sees it", async () => {
  discord.ann.say("between us", { in: "dm" });
  const message = await lastHeard("between us");
  expect(message.channel.isDMBased()).toBe(true);
  await message.reply("quite so");
  expect(discord.ann.sees("dm").map(({ content }) => content)).toEqual(["between us", "quite so"]);
  expect(discord.ben.sees("dm")).toEqual([]);
});

test("the bot can write to a person first, unless that person refuses DMs", async () => {
  const user = await client.users.fetch(discord.ben.id);
  await user.send("news");
  expect(discord.ben.sees("dm").map(({ content }) => content)).toEqual(["news"]);
  discord.ben.acceptDms(false);
  await expect(user.send("more news")).rejects.toMatchObject({ code: 50007 });
  discord.ben.acceptDms(true);
  discord.ben.leave(discord.guild);
  await expect(user.send("still there?")).rejects.toMatchObject({ code: 50278 });
});

test("a message's thread has the message's id and its author as a member", async () => {
  discord.ann.say("let us talk", { in: discord.channel });
  const message = await lastHeard("let us talk");
  const thread = await message.startThread({ name: "Talk", autoArchiveDuration: ThreadAutoArchiveDuration.OneDay });
  await thread.send("here");
  const place = discord.channel.threads()[0];
  expect(place?.id).toBe(message.id);
  expect(place?.thread()).toMatchObject({ memberIds: expect.arrayContaining([discord.ann.id, discord.bot.id]) });
  expect(place?.messages().map(({ type, content }) => [type, content])).toEqual([
    [21, ""],
    [0, "here"],
  ]);
  discord.ann.say("yes, here", { in: thread.id });
  expect((await lastHeard("yes, here")).channel.isThread()).toBe(true);
  const again = await call(discord, "POST", `/channels/${message.channelId}/messages/${message.id}/threads`, {
    name: "Again",
  });
  expect(again.body).toEqual({ code: 160004, message: "A thread has already been created for this message" });
});

test("the bot posts in forums with a first message, and uses announcement threads", async () => {
  const forum = discord.guild.addChannel("help", { type: 15 });
  const path = `/channels/${forum.id}`;
  expect((await call(discord, "POST", `${path}/threads`, { name: "Empty" })).body.code).toBe(50035);
  expect((await call(discord, "POST", `${path}/messages`, { content: "no" })).body.code).toBe(50008);
  const post = await call(discord, "POST", `${path}/threads`, { name: "How to", message: { content: "Like this" } });
  expect(discord.channelOf(post.body.id).messages()).toMatchObject([{ id: post.body.id, content: "Like this" }]);
  const news = discord.guild.addChannel("news", { type: 5 });
  const said = discord.ann.say("today", { in: news });
  const thread = await call(discord, "POST", `/channels/${news.id}/messages/${said.id}/threads`, { name: "About it" });
  expect(thread.body).toMatchObject({ id: said.id, type: 10 });
});

test("a thread without a message is announced in its channel", async () => {
  const thread = await general().threads.create({ name: "On its own", autoArchiveDuration: 60 });
  expect(discord.channel.messages().map(({ type, content }) => [type, content])).toEqual([[18, "On its own"]]);
  expect(discord.channelOf(thread.id).thread()).toMatchObject({ ownerId: discord.bot.id });
});

test("a message reopens an archived thread, but not a locked one", async () => {
  const thread = discord.ann.startThread(discord.channel, "Old talk");
  await discord.until(() => client.channels.cache.has(thread.id));
  const channel = client.channels.cache.get(thread.id) as TextChannel;
  const sent = await channel.send("first");
  discord.ann.archive(thread);
  await expect(sent.edit("changed")).rejects.toMatchObject({ code: 50083 });
  await channel.send("second");
  expect(thread.thread()?.isArchived).toBe(false);
  discord.ann.archive(thread, { isLocked: true });
  await expect(channel.send("third")).rejects.toMatchObject({ code: 50083 });
});

test("the bot manages its own thread: members, name, archive, and the list of archived threads", async () => {
  const thread = await general().threads.create({ name: "Mine", autoArchiveDuration: 60 });
  await thread.members.add(discord.ben.id);
  await thread.setName("Still mine");
  await thread.setArchived(true);
  const archived = await general().threads.fetchArchived();
  expect(archived.threads.map(({ name }) => name)).toEqual(["Still mine"]);
  expect((await general().threads.fetchActive()).threads.size).toBe(0);
  await expect(thread.setLocked(true)).rejects.toMatchObject({ code: 50013 });
  await thread.setArchived(false);
  expect(discord.channelOf(thread.id).thread()).toMatchObject({
    isArchived: false,
    memberIds: [discord.bot.id, discord.ben.id],
  });
  const foreign = discord.ann.startThread(discord.channel, "Hers");
  await discord.until(() => client.channels.cache.has(foreign.id));
  const path = `/channels/${foreign.id}`;
  expect((await call(discord, "PATCH", path, { name: "Taken over" })).body.code).toBe(50013);
  expect((await call(discord, "DELETE", path)).body.code).toBe(50013);
});

test("a reply to a deleted message is refused, or becomes a plain message if the sender allows it", async () => {
  const said = discord.ann.say("soon gone", { in: discord.channel });
  const message = await lastHeard("soon gone");
  discord.ann.delete(said);
  await expect(message.reply("too late")).rejects.toMatchObject({ code: 50035 });
  await message.reply({ content: "anyway", failIfNotExists: false });
  expect(discord.channel.messages(said)).toMatchObject([{ content: "anyway", type: 0 }]);
});

test("only members see a private thread", async () => {
  const thread = discord.ann.startThread(discord.channel, "Secret", { isPrivate: true });
  discord.ann.say("nobody hears this", { in: thread });
  await expect(client.channels.fetch(thread.id)).rejects.toMatchObject({ code: 50001 });
  thread.addToThread(discord.bot);
  discord.ann.say("welcome", { in: thread });
  await lastHeard("welcome");
  expect(heard.map(({ content }) => content)).toEqual(["welcome"]);
});

test("files are uploaded with names and descriptions, and downloaded through expiring links", async () => {
  const file = { attachment: Buffer.from("so long"), name: "long answer.md", description: "the whole answer" };
  const sent = await general().send({ content: "see file", files: [file] });
  const seen = discord.message(sent)?.files[0];
  expect(seen).toMatchObject({ name: "long_answer.md", text: "so long", description: "the whole answer" });
  const link = sent.attachments.first()?.url ?? "";
  expect(await (await fetch(link)).text()).toBe("so long");
  expect((await fetch(link.replace(/hm=\w/, "hm=x"))).status).toBe(404);
  discord.clock.advance(25 * 3_600_000);
  expect((await fetch(link)).status).toBe(404);
});

test("an edit keeps the files it names, adds new ones, and removes the rest", async () => {
  const files = ["a", "b"].map((name) => ({ attachment: Buffer.from(name), name: `${name}.txt` }));
  const sent = await general().send({ files });
  const kept = sent.attachments.filter(({ name }) => name === "b.txt");
  await sent.edit({ attachments: [...kept.values()], files: [{ attachment: Buffer.from("c"), name: "c.txt" }] });
  expect(discord.message(sent)?.files.map(({ name }) => name)).toEqual(["b.txt", "c.txt"]);
});

test("attachments are read through the link in the message", async () => {
  discord.ann.say("look", { in: discord.channel, files: [{ name: "notes.txt", content: "a note" }] });
  const { attachments } = await lastHeard("look");
  const [file] = attachments.values();
  expect(file).toMatchObject({ name: "notes.txt", size: 6, contentType: "text/plain; charset=utf-8" });
  expect(await (await fetch(file?.url ?? "")).text()).toBe("a note");
});

test("a message pings only the people it names and is allowed to ping", async () => {
  const crew = discord.guild.addRole("crew", { isMentionable: true });
  const staff = discord.guild.addRole("staff");
  const content = `@everyone ${discord.ann.mention} ${crew.mention} ${staff.mention} \`${discord.ben.mention}\``;
  const open = await general().send(content);
  const quiet = await general().send({ content, allowedMentions: { parse: [] } });
  const narrow = await general().send({ content, allowedMentions: { users: [discord.ann.id, discord.ben.id] } });
  expect(discord.message(open)?.pings).toEqual({ users: [discord.ann.id], roles: [crew.id], everyone: false });
  expect(discord.message(quiet)?.pings).toEqual({ users: [], roles: [], everyone: false });
  expect(discord.message(narrow)?.pings).toEqual({ users: [discord.ann.id], roles: [], everyone: false });
});

test("people who can't see a channel are not pinged there", async () => {
  discord.channel.permit(discord.ann, { deny: ["ViewChannel"] });
  const sent = await general().send(discord.ann.mention);
  expect(discord.message(sent)?.pings.users).toEqual([]);
  expect(() => discord.ann.say("x", { in: discord.channel })).toThrow("Missing Access");
});

test("a reply pings its recipient, unless it says otherwise", async () => {
  discord.ann.say("who?", { in: discord.channel });
  const message = await lastHeard("who?");
  const loud = await message.reply("you");
  const quiet = await message.reply({ content: "you", allowedMentions: { repliedUser: false } });
  expect(discord.message(loud)?.pings.users).toEqual([discord.ann.id]);
  expect(discord.message(quiet)?.pings.users).toEqual([]);
});

test("links get previews unless they are in angle brackets, in code, or suppressed", async () => {
  const content = "https://a.example/x, <https://b.example> `https://c.example` [d](https://d.example)";
  const open = await general().send(content);
  const quiet = await general().send({ content, flags: MessageFlags.SuppressEmbeds });
  expect(discord.message(open)?.previews).toEqual(["https://a.example/x", "https://d.example"]);
  expect(discord.message(quiet)?.previews).toEqual([]);
});

test("with an enforced nonce, a repeated post returns the first message", async () => {
  const first = await general().send({ content: "once", nonce: "turn-1", enforceNonce: true });
  const second = await general().send({ content: "once again", nonce: "turn-1", enforceNonce: true });
  expect(second.id).toBe(first.id);
  discord.clock.advance(10 * 60_000);
  const later = await general().send({ content: "much later", nonce: "turn-1", enforceNonce: true });
  expect(discord.channel.messages().map(({ content }) => content)).toEqual(["once", "much later"]);
  expect(later.id).not.toBe(first.id);
});

test("the history is listed by before, after and around", async () => {
  const said = Array.from({ length: 120 }, (_, index) => discord.ann.say(`n${index}`, { in: discord.channel }));
  const texts = async (options: object) =>
    [...(await general().messages.fetch({ cache: false, ...options })).values()].map(({ content }) => content);
  expect(await texts({})).toHaveLength(50);
  expect((await texts({ limit: 100 }))[0]).toBe("n119");
  expect(await texts({ after: said[10]?.id, limit: 2 })).toEqual(["n12", "n11"]);
  expect(await texts({ before: said[10]?.id, limit: 2 })).toEqual(["n9", "n8"]);
  expect(await texts({ around: said[10]?.id, limit: 3 })).toEqual(["n11", "n10", "n9"]);
  await expect(texts({ limit: 101 })).rejects.toMatchObject({ code: 50035 });
});

test("people's edits, deletions and reactions cause events", async () => {
  const events: string[] = [];
  client.on(Events.MessageUpdate, (_, message) => events.push(`edited ${message.content}`));
  client.on(Events.MessageDelete, ({ id }) => events.push(`deleted ${id}`));
  client.on(Events.MessageBulkDelete, (messages) => events.push(`bulk ${messages.size}`));
  client.on(Events.MessageReactionAdd, ({ emoji }, user) => events.push(`${user.username} ${emoji.name}`));
  const [one, two, three] = ["one", "two", "three"].map((text) => discord.ann.say(text, { in: discord.channel }));
  if (one === undefined || two === undefined || three === undefined) throw new Error("nothing was said");
  await lastHeard("three");
  discord.ann.edit(one, "uno");
  discord.ben.react(one, "👍");
  discord.ann.delete(one);
  discord.channel.bulkDelete([two, three]);
  await discord.until(() => events.length === 4);
  expect(events).toEqual(["edited uno", "ben 👍", `deleted ${one.id}`, "bulk 2"]);
});

test("the bot adds and removes a reaction, and a word is not an emoji", async () => {
  const said = discord.ann.say("good?", { in: discord.channel });
  const message = await lastHeard("good?");
  const reaction = await message.react("✅");
  expect(discord.message(said)?.reactions).toEqual([{ emoji: "✅", userIds: [discord.bot.id] }]);
  await reaction.users.remove();
  expect(discord.message(said)?.reactions).toEqual([]);
  await expect(message.react("yes")).rejects.toMatchObject({ code: 10014 });
});

test("permissions follow roles and overwrites, and errors name the missing one", async () => {
  const message = await general().send("before");
  discord.channel.permit(discord.bot, { deny: ["SendMessages"] });
  await expect(general().send("x")).rejects.toMatchObject({ code: 50013, status: 403 });
  await message.edit("an own message may still be changed");
  discord.channel.permit(discord.bot, { deny: ["EmbedLinks", "AttachFiles", "CreatePublicThreads", "AddReactions"] });
  await general().send("text goes");
  await expect(general().send({ embeds: [{ title: "no" }] })).rejects.toMatchObject({ code: 50013 });
  await expect(general().send({ files: [Buffer.from("no")] })).rejects.toMatchObject({ code: 50013 });
  await expect(message.startThread({ name: "no" })).rejects.toMatchObject({ code: 50013 });
  await expect(message.react("👍")).rejects.toMatchObject({ code: 50013 });
  discord.channel.permit(discord.bot, { deny: ["ReadMessageHistory"] });
  await expect(message.reply("no")).rejects.toMatchObject({ code: 160002 });
  expect((await general().messages.fetch({ cache: false })).size).toBe(0);
  discord.channel.permit(discord.guild.everyone, { deny: ["ViewChannel"] });
  await expect(general().send("x")).rejects.toMatchObject({ code: 50001 });
  discord.ann.say("in the DM", { in: "dm" });
  await lastHeard("in the DM");
});

test("a bot that gains access to a channel learns its threads", async () => {
  const closed = discord.guild.addChannel("closed", { isPrivate: true });
  closed.permit(discord.ann, { allow: ["ViewChannel"] });
  const thread = discord.ann.startThread(closed, "Inside");
  discord.ann.say("unheard", { in: thread });
  closed.permit(discord.bot, { allow: ["ViewChannel"] });
  await discord.until(() => client.channels.cache.has(thread.id));
  discord.ann.say("heard", { in: thread });
  await lastHeard("heard");
  expect(heard.map(({ content }) => content)).toEqual(["heard"]);
});

test("only members with Manage Messages delete other people's messages", async () => {
  const said = discord.ann.say("mine", { in: discord.channel });
  const message = await lastHeard("mine");
  await expect(message.delete()).rejects.toMatchObject({ code: 50013 });
  await expect(message.edit("yours")).rejects.toMatchObject({ code: 50005 });
  discord.channel.permit(discord.bot, { allow: ["ManageMessages"] });
  await message.delete();
  expect(discord.message(said)).toBeUndefined();
  await expect(general().messages.fetch(said.id)).rejects.toMatchObject({ code: 10008 });
});

test("bots, webhooks, forwards, forum posts and system messages have their real formats", async () => {
  const robot = discord.addPerson("robot", { isBot: true });
  robot.say("beep", { in: discord.channel, embeds: [{ title: "status" }] });
  discord.channel.webhookSays("Deploys", "deployed");
  discord.channel.systemMessage(7, discord.ben.id);
  const quoted = discord.ann.say("to be forwarded", { in: discord.channel });
  discord.ben.forward(quoted, { in: discord.channel });
  const forum = discord.guild.addChannel("help", { type: 15 });
  const post = discord.ann.post(forum, "How?", "@Remora how?");
  await discord.until(() => heard.length === 6);
  expect(heard[0]?.author.bot).toBe(true);
  expect(heard[1]).toMatchObject({ webhookId: expect.any(String), author: { username: "Deploys" } });
  expect(heard[2]?.system).toBe(true);
  expect(heard[4]?.messageSnapshots.first()?.content).toBe("to be forwarded");
  expect(heard[5]).toMatchObject({ id: post.id, channelId: post.id });
  expect(heard[5]?.mentions.has(discord.bot.id)).toBe(true);
});

test("a link preview is an update and not an edit, and a repeated event is the same message", async () => {
  const said = discord.ann.say("https://a.example", { in: discord.channel });
  const message = await lastHeard("https://a.example");
  discord.channel.unfurl(said, "A");
  await discord.until(() => message.embeds.length === 1);
  expect(message.editedAt).toBeNull();
  const raw: string[] = [];
  client.on(Events.Raw, (packet: { t: string; d: { id: string } }) => raw.push(`${packet.t} ${packet.d.id}`));
  discord.channel.repeat(said);
  await discord.until(() => raw.includes(`MESSAGE_CREATE ${said.id}`));
});

test("guilds, roles and members come and go", async () => {
  const events: string[] = [];
  client.on(Events.GuildCreate, ({ name }) => events.push(`+ ${name}`));
  client.on(Events.GuildDelete, ({ name }) => events.push(`- ${name}`));
  client.on(Events.GuildUnavailable, ({ name }) => events.push(`? ${name}`));
  const other = discord.addGuild("Island");
  await discord.until(() => events.includes("+ Island"));
  other.setAvailable(false);
  await discord.until(() => events.includes("? Island"));
  other.setAvailable(true);
  await discord.until(() => client.guilds.cache.get(other.id)?.available);
  other.removeBot();
  await discord.until(() => events.includes("- Island"));
  const guild = client.guilds.cache.get(discord.guild.id);
  const crew = discord.guild.addRole("crew");
  discord.ann.setRoles(discord.guild, [crew]);
  const member = await guild?.members.fetch({ user: discord.ann.id, force: true });
  expect(member?.roles.cache.has(crew.id)).toBe(true);
  discord.ann.leave(discord.guild);
  await expect(guild?.members.fetch({ user: discord.ann.id, force: true })).rejects.toMatchObject({ code: 10007 });
});

test("all requests are recorded, refused ones with their code", async () => {
  await expect(general().send({ content: "x".repeat(2001) })).rejects.toMatchObject({ code: 50035 });
  const request = discord.requests.at(-1);
  expect(request).toMatchObject({ method: "POST", route: "messages.create", status: 400, code: 50035 });
  expect(request?.body).toMatchObject({ content: "x".repeat(2001) });
});

test("a failed wait reports the last request", async () => {
  await general().sendTyping();
  expect(discord.channel.typing()).toHaveLength(1);
  await expect(discord.until(() => false, 30)).rejects.toThrow(/not within 30 ms[\s\S]*POST .*typing → 204/);
});
