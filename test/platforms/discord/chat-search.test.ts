/** Which of Discord's messages a requester finds. */
import { expect, onTestFinished, test } from "vitest";
import { describeChannels } from "../../conformance/chat-channels.ts";
import type { Person } from "../../doubles/discord/people.ts";
import { openDiscordBot } from "./discord-bot.ts";
import { createRecordingAgent } from "./recording-agent.ts";

const authorOf = ({ id, name }: Person) => ({ id, name, isBot: false, roles: [] });

describeChannels("Discord", async (handlers) => {
  const bot = await openDiscordBot();
  const { discord } = bot;
  const hidden = discord.guild.addChannel("hidden");
  hidden.permit(discord.guild.everyone, { deny: ["ViewChannel"] });
  for (const who of [discord.bot, discord.ben]) hidden.permit(who, { allow: ["ViewChannel", "ReadMessageHistory"] });
  await bot.platform.connect({ ...createRecordingAgent().handlers, ...handlers }, new AbortController().signal);
  const thread = discord.ben.startThread(discord.channel, "hush", { isPrivate: true });
  thread.addToThread(discord.bot.id);
  const places = { open: discord.channel, hidden, "private place": thread };
  return {
    platform: bot.platform,
    conversationId: `discord:${discord.guild.id}:${discord.channel.id}`,
    direct: `discord:dm:${discord.ben.dm().id}`,
    insider: authorOf(discord.ben),
    outsider: authorOf(discord.ann),
    say: (where, text) => void discord.ben.say(text, { in: places[where] }),
    leaveHidden: () => hidden.permit(discord.ben, { deny: ["ViewChannel"] }),
    leaveAll: () => discord.ben.leave(discord.guild),
    failChecks: () =>
      discord.fail(
        { path: /^\/guilds\//, times: 100 },
        { type: "answer", status: 403, body: { code: 50001, message: "Missing Access" } },
      ),
    close: () => bot.close(),
  };
});

test("a channel without its history, and other servers' channels, are not searched; from a DM, those of shared servers", async () => {
  const bot = await openDiscordBot();
  onTestFinished(() => bot.close());
  const { discord } = bot;
  const closed = discord.guild.addChannel("no-history");
  closed.permit(discord.guild.everyone, { deny: ["ReadMessageHistory"] });
  const elsewhere = discord.addGuild("Elsewhere");
  elsewhere.addChannel("plans");
  const requester = authorOf(discord.ann);
  const names = async (conversationId: string) =>
    (await bot.platform.chat?.channels({ conversationId, requester }))?.map(({ name }) => name) ?? [];
  const inGuild = await names(`discord:${discord.guild.id}:${discord.channel.id}`);
  expect(inGuild).toContain("general");
  expect(inGuild).not.toContain("no-history");
  expect(inGuild).not.toContain("plans");
  const inDm = `discord:dm:${discord.ann.dm().id}`;
  expect(await names(inDm)).not.toContain("plans");
  discord.ann.join(elsewhere);
  expect(await names(inDm)).toEqual(expect.arrayContaining(["general", "plans"]));
});

test("who reads an answer decides which channels may be read for it: roles, people, threads and servers are compared", async () => {
  const bot = await openDiscordBot();
  onTestFinished(() => bot.close());
  const { discord } = bot;
  const { guild, ann, ben, channel } = discord;
  const [staff, leads] = [guild.addRole("staff"), guild.addRole("leads")];
  ann.setRoles(guild, [staff, leads]);
  const read = ["ViewChannel", "ReadMessageHistory"] as const;
  const gated = (name: string, ...who: { id: string }[]) => {
    const made = guild.addChannel(name, { isPrivate: true });
    for (const each of [discord.bot, ...who]) made.permit(each, { allow: [...read] });
    return made;
  };
  const elsewhere = discord.addGuild("Elsewhere");
  ann.join(elsewhere);
  const secret = ben.startThread(channel, "secret", { isPrivate: true });
  for (const who of [ann, discord.bot]) secret.addToThread(who.id);
  const places = {
    general: channel,
    staff: gated("staff", staff),
    "staff-too": gated("staff-too", staff),
    leads: gated("leads", leads),
    both: gated("both", staff, leads),
    "anns-own": gated("anns-own", ann),
    muted: guild.addChannel("muted"),
  };
  places.muted.permit(ben, { deny: [...read] });
  const requester = authorOf(ann);
  const openIn = async ({ id }: { id: string }) => {
    const conversations = new Map(
      Object.entries(places).map(([name, place]) => [name, `discord:${guild.id}:${place.id}`] as const),
    );
    conversations.set("thread", `discord:${guild.id}:${channel.id}:${secret.id}`);
    conversations.set("direct", `discord:dm:${ann.dm().id}`);
    const found = [];
    for (const [name, conversationId] of conversations)
      if ((await bot.platform.chat?.audience({ conversationId, requester, channel: id }))?.isOpenHere) found.push(name);
    return found;
  };
  const all = [...Object.keys(places), "thread", "direct"];
  expect(await openIn(channel)).toEqual(all);
  expect(await openIn(places.staff)).toEqual(["staff", "staff-too", "direct"]);
  expect(await openIn(places.both)).toEqual(["staff", "staff-too", "leads", "both", "direct"]);
  expect(await openIn(places["anns-own"])).toEqual(["anns-own", "direct"]);
  expect(await openIn(places.muted)).toEqual(["muted", "direct"]);
  expect(await openIn(secret)).toEqual(["thread", "direct"]);
  expect(await openIn(elsewhere.addChannel("plans"))).toEqual(["direct"]);
});

test("Discord's own search finds what was said before the bot came, with the rights in each channel, in threads too, and whatever else Discord answers with it", async () => {
  const bot = await openDiscordBot();
  onTestFinished(() => bot.close());
  const { discord } = bot;
  const { guild, ann, ben, channel } = discord;
  const hidden = guild.addChannel("hidden", { isPrivate: true });
  for (const who of [discord.bot, ben]) hidden.permit(who, { allow: ["ViewChannel", "ReadMessageHistory"] });
  const said = ben.say("the axolotl tank", { in: channel });
  ben.say("the axolotl secret", { in: hidden });
  const thread = ben.startThread(channel, "tanks");
  const inThread = ben.say("an axolotl thread", { in: thread });
  const secret = ben.startThread(channel, "hush", { isPrivate: true });
  secret.addToThread(discord.bot.id);
  ben.say("an axolotl whisper", { in: secret });
  const { chat } = bot.platform;
  const conversationId = `discord:${guild.id}:${channel.id}`;
  const search = async (query: object = {}, requester = authorOf(ann)) => {
    const listed = (await chat?.channels({ conversationId, requester })) ?? [];
    const asked = { conversationId, requester, messageIds: [], listed };
    return await chat?.search?.({ text: "axolotl", limit: 10, ...query }, asked);
  };
  const link = `https://discord.com/channels/${guild.id}`;
  expect(await search()).toEqual({
    others: [],
    messages: [
      expect.objectContaining({
        text: "an axolotl thread",
        channelId: channel.id,
        link: `${link}/${thread.id}/${inThread.id}`,
      }),
      expect.objectContaining({
        text: "the axolotl tank",
        channelId: channel.id,
        link: `${link}/${channel.id}/${said.id}`,
      }),
    ],
  });
  expect(discord.requests.filter(({ route }) => route === "messages.search")).toHaveLength(1);
  expect((await search({ author: "Ann" }))?.messages).toEqual([]);
  expect((await search({ author: `<@${ben.id}>` }))?.messages).toHaveLength(2);
  expect((await search({ before: Date.now() - 86_400_000 }))?.messages).toEqual([]);
  const whole = discord.message({ id: said.id, channelId: channel.id })?.raw;
  const odd = [
    null,
    "hello",
    {},
    { ...whole, author: null },
    { ...whole, timestamp: "soon" },
    { ...whole, content: 1 },
  ];
  const messages = [null, ...odd.map((each) => [each]), [whole]];
  const answered = { messages, threads: [null, {}], total_results: 9, doing_deep_historical_index: false };
  discord.fail({ path: /messages\/search$/, times: 1 }, { type: "answer", status: 200, body: answered });
  const readable = ["the axolotl tank", "the axolotl tank", "1", "the axolotl tank"];
  expect((await search())?.messages.map(({ text }) => text)).toEqual(readable);
  discord.searchIndex.set(guild.id, 1);
  expect((await search())?.messages).toHaveLength(2);
  const building = {
    message: "Index not yet available. Try again later",
    code: 110000,
    documents_indexed: 0,
    retry_after: 60,
  };
  discord.fail({ path: /messages\/search$/, times: 1 }, { type: "answer", status: 202, body: building });
  expect(await search()).toMatchObject({ messages: [], notice: expect.stringContaining("still building its search") });
});
