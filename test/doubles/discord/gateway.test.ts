/** The gateway with the real client: intents, resuming, silence, sessions, shards and refusals. */
import { type Client, Events, GatewayIntentBits as Intents, type Message, Status } from "discord.js";
import { afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { call, connect, createClient } from "./client.ts";
import { createDiscordDouble, type DiscordDouble, type DiscordDoubleOptions } from "./double.ts";

const open: { close(): Promise<unknown> }[] = [];

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function start(options: DiscordDoubleOptions = {}): Promise<DiscordDouble> {
  const discord = await createDiscordDouble({ limits: "none", ...options });
  open.push({ close: () => discord.stop() });
  return discord;
}

async function join(discord: DiscordDouble, options: Parameters<typeof connect>[1] = {}): Promise<Client<true>> {
  const client = await connect(discord, options);
  open.push({ close: () => client.destroy() });
  return client;
}

function textsHeardBy(client: Client): string[] {
  const texts: string[] = [];
  client.on(Events.MessageCreate, (message: Message) => texts.push(message.content));
  return texts;
}

test("after a broken connection the client resumes and gets missed events once and in order", async () => {
  const discord = await start();
  const client = await join(discord);
  const heard: string[] = [];
  // The client itself would hide a message that came twice.
  client.on(Events.Raw, ({ t, d }: { t: string; d: { content: string } }) => {
    if (t === "MESSAGE_CREATE") heard.push(d.content);
  });
  discord.ann.say("before", { in: discord.channel });
  await discord.until(() => heard.length === 1);
  discord.gateway.cut();
  for (const text of ["one", "two", "three"]) discord.ann.say(text, { in: discord.channel });
  await discord.until(() => heard.length === 4);
  discord.ann.say("after", { in: discord.channel });
  await discord.until(() => heard.length === 5);
  expect(heard).toEqual(["before", "one", "two", "three", "after"]);
  expect(discord.gateway.attempts).toMatchObject([
    { type: "identify", outcome: "ready" },
    { type: "resume", isResumeUrl: true, outcome: expect.stringMatching(/^resumed after \d+$/) },
  ]);
});

test("a client resumes when asked to reconnect", async () => {
  const discord = await start();
  await join(discord);
  discord.gateway.requestReconnect();
  await discord.until(() => discord.gateway.attempts.at(-1)?.outcome.startsWith("resumed"));
});

test("after an expired session the client identifies again, and only REST has the missed messages", async () => {
  const discord = await start();
  const client = await join(discord);
  const heard = textsHeardBy(client);
  discord.gateway.refuse();
  discord.gateway.cut();
  discord.gateway.forgetSessions();
  const missed = discord.ann.say("missed", { in: discord.channel });
  discord.gateway.allow();
  await discord.until(() => discord.gateway.attempts.length === 3);
  expect(discord.gateway.attempts.map(({ type, outcome }) => `${type}: ${outcome}`)).toEqual([
    "identify: ready",
    "resume: invalid session",
    "identify: ready",
  ]);
  expect(heard).toEqual([]);
  const channel = await client.channels.fetch(discord.channel.id);
  if (!channel?.isTextBased()) throw new Error("no channel");
  expect([...(await channel.messages.fetch({ limit: 10 })).keys()]).toEqual([missed.id]);
});

test("an idle session expires", async () => {
  const discord = await start();
  await join(discord);
  discord.gateway.cut();
  discord.clock.advance(600_000);
  await discord.until(() => discord.gateway.attempts.at(-1)?.outcome === "invalid session");
});

test("a silent connection is detected by missing acknowledgements and resumed", async () => {
  const discord = await start({ gateway: { heartbeatMs: 150 } });
  const heard = textsHeardBy(await join(discord));
  discord.gateway.silence();
  discord.ann.say("into the void", { in: discord.channel });
  await discord.until(() => heard.includes("into the void"));
  expect(discord.gateway.attempts.at(-1)?.type).toBe("resume");
});

test("the client reconnects after recoverable close codes", async () => {
  const discord = await start();
  const client = await join(discord);
  discord.gateway.close(4009, "Session timed out.");
  await discord.until(() => discord.gateway.attempts.length === 2 && client.ws.status === Status.Ready);
  expect(discord.gateway.attempts[1]?.type).toBe("resume");
});

test("a wrong token is refused by REST and by the gateway", async () => {
  const discord = await start();
  const client = createClient(discord);
  open.push({ close: () => client.destroy() });
  await expect(client.login("not.the.token")).rejects.toThrow(/invalid token/);
  expect(await rawClose(discord, { token: "wrong", intents: 1, properties: {} })).toBe(4004);
});

test("intents that are off in the portal are refused by name", async () => {
  const discord = await start({ portal: { messageContent: false } });
  const client = createClient(discord);
  open.push({ close: () => client.destroy() });
  const errors: Error[] = [];
  client.on(Events.ShardError, (error) => errors.push(error));
  await expect(client.login(discord.token)).rejects.toThrow("Used disallowed intents");
  expect(discord.gateway.attempts).toMatchObject([{ outcome: "closed 4014" }]);
  expect(Number(discord.gateway.attempts[0]?.intents) & Intents.MessageContent).toBe(Intents.MessageContent);
  expect((await call(discord, "GET", "/applications/@me")).body.flags).toBe(0);
});

test("without the message content intent, only mentions, DMs and own messages have text", async () => {
  const discord = await start({ portal: { messageContent: false } });
  const intents = [Intents.Guilds, Intents.GuildMessages, Intents.DirectMessages];
  const client = await join(discord, { intents });
  const heard = textsHeardBy(client);
  const file = { name: "a.txt", content: "a" };
  const plain = discord.ann.say("not for you", { in: discord.channel, files: [file] });
  discord.ann.say("@Remora for you", { in: discord.channel });
  discord.ann.say("a DM", { in: "dm" });
  await discord.until(() => heard.length === 3);
  expect(heard).toEqual(["", `${discord.bot.mention} for you`, "a DM"]);
  const channel = await client.channels.fetch(discord.channel.id);
  if (!channel?.isSendable()) throw new Error("no channel");
  await channel.send("my own");
  const listed = await channel.messages.fetch({ limit: 10, cache: false });
  expect(listed.map(({ content }) => content)).toEqual(["my own", `${discord.bot.mention} for you`, ""]);
  expect(listed.get(plain.id)?.attachments.size).toBe(0);
});

test("events depend on intents", async () => {
  const discord = await start();
  const client = await join(discord, { intents: [Intents.Guilds, Intents.DirectMessages] });
  const packets: string[] = [];
  client.on(Events.Raw, ({ t }: { t: string }) => packets.push(t));
  discord.ann.react(discord.ann.say("in the guild", { in: discord.channel }), "👍");
  discord.ann.setNick(discord.guild, "Annie");
  discord.ann.type(discord.channel);
  discord.ann.say("in private", { in: "dm" });
  await discord.until(() => packets.length === 1);
  expect(packets).toEqual(["MESSAGE_CREATE"]);
});

test("member events need the members intent, in the portal too", async () => {
  const discord = await start({ portal: { guildMembers: true } });
  const client = await join(discord, { intents: [Intents.Guilds, Intents.GuildMembers] });
  const events: string[] = [];
  client.on(Events.GuildMemberAdd, (member) => events.push(`+ ${member.user.username}`));
  client.on(Events.GuildMemberUpdate, (_, member) => events.push(`~ ${member.user.username}`));
  client.on(Events.GuildMemberRemove, (member) => events.push(`- ${member.user.username}`));
  const carl = discord.addPerson("carl");
  await discord.until(() => events.length === 1);
  carl.setRoles(discord.guild, [discord.guild.addRole("crew")]);
  await discord.until(() => events.length === 2);
  carl.leave(discord.guild);
  await discord.until(() => events.length === 3);
  expect(events).toEqual(["+ carl", "~ carl", "- carl"]);
  const members = await client.guilds.cache.first()?.members.fetch();
  expect(members?.map(({ user }) => user.username).sort()).toEqual(["Remora", "ann", "ben", "olga"]);
});

test("two shards split the guilds by id, and the first gets the DMs", async () => {
  const discord = await start({ gateway: { recommendedShards: 2, maxConcurrency: 2, requiredShards: 2 } });
  const guilds = [discord.guild];
  while (new Set(guilds.map(shardOf)).size < 2) {
    discord.clock.advance(1);
    guilds.push(discord.addGuild(`guild ${guilds.length}`));
  }
  const client = await join(discord, { shards: "auto" });
  const heard: [number, string][] = [];
  client.on(Events.Raw, (packet: { t: string; d: { content: string } }, shard: number) => {
    if (packet.t === "MESSAGE_CREATE") heard.push([shard, packet.d.content]);
  });
  for (const guild of guilds) {
    if (guild !== discord.guild) discord.ann.join(guild);
    discord.ann.say(guild.name, { in: guild === discord.guild ? discord.channel : guild.addChannel("talk") });
  }
  discord.ann.say("a DM", { in: "dm" });
  await discord.until(() => heard.length === guilds.length + 1);
  const expected = [...guilds.map((guild) => [shardOf(guild), guild.name]), [0, "a DM"]];
  expect(heard).toEqual(expect.arrayContaining(expected));
  expect(discord.gateway.connected().map(({ shard }) => shard)).toEqual(
    expect.arrayContaining([
      [0, 2],
      [1, 2],
    ]),
  );
});

const shardOf = ({ id }: { id: string }) => Number((BigInt(id) >> 22n) % 2n);

test("an unsharded client is refused where shards are required", async () => {
  const discord = await start({ gateway: { requiredShards: 2 } });
  const client = createClient(discord);
  open.push({ close: () => client.destroy() });
  client.on(Events.ShardError, () => {});
  await expect(client.login(discord.token)).rejects.toThrow("Sharding is required");
});

test("a client without remaining sessions does not connect", async () => {
  const discord = await start({ gateway: { sessionsLeft: 0 } });
  const client = createClient(discord);
  open.push({ close: () => client.destroy() });
  await expect(client.login(discord.token)).rejects.toThrow(/Not enough sessions remaining/);
});

test("each client error has its close code", async () => {
  const discord = await start();
  const good = { token: discord.token, intents: 1, properties: {} };
  expect(await rawClose(discord, { ...good, shard: [2, 2] })).toBe(4010);
  expect(await rawClose(discord, { ...good, intents: 1 << 30 })).toBe(4013);
  expect(await rawClose(discord, "not json", { isText: true })).toBe(4002);
  expect(await rawClose(discord, {}, { op: 99 })).toBe(4001);
  expect(await rawClose(discord, { since: null }, { op: 3 })).toBe(4003);
  expect(await rawClose(discord, good, { query: "?v=6&encoding=json" })).toBe(4012);
  const chatty = raw(discord, null, { op: 1 });
  chatty.once("message", () => Array.from({ length: 130 }, () => chatty.send('{"op":1,"d":null}')));
  expect(await new Promise((resolve) => chatty.once("close", resolve))).toBe(4008);
  const resume = { token: discord.token, session_id: "", seq: 9999 };
  const client = await join(discord);
  client.on(Events.ShardError, () => {});
  const session = (client.ws.shards.first() as unknown as { sessionInfo: { sessionId: string } }).sessionInfo;
  expect(await rawClose(discord, { ...resume, session_id: session.sessionId }, { op: 6 })).toBe(4007);
});

test("a clean close ends the session, an unclean one can resume", async () => {
  const discord = await start();
  const identify = { token: discord.token, intents: 1, properties: {} };
  const resumeAfter = async (code: number) => {
    const socket = raw(discord, identify);
    const ready = await new Promise<{ d: { session_id: string } }>((resolve) => {
      socket.on("message", (data) => String(data).includes('"READY"') && resolve(JSON.parse(String(data))));
    });
    socket.close(code);
    await discord.until(() => discord.gateway.connected().length === 0);
    const resume = { token: discord.token, session_id: ready.d.session_id, seq: 1 };
    await rawAnswer(discord, resume, { op: 6 });
    return discord.gateway.attempts.at(-1)?.outcome;
  };
  expect(await resumeAfter(1000)).toBe("invalid session");
  expect(await resumeAfter(4000)).toBe("resumed after 1");
});

test("a second identify within five seconds is refused where that is enforced", async () => {
  const discord = await start({ gateway: { enforcesConcurrency: true } });
  await join(discord);
  const good = { token: discord.token, intents: 1, properties: {} };
  expect(await rawAnswer(discord, good)).toMatchObject({ op: 9, d: false });
});

/** A connection without a client: sends one payload after HELLO. */
function raw(discord: DiscordDouble, d: unknown, options: { op?: number; isText?: boolean; query?: string } = {}) {
  const { op = 2, isText = false, query = "?v=10&encoding=json" } = options;
  const socket = new WebSocket(`${discord.url.replace("http", "ws")}/${query}`);
  socket.once("message", () => socket.send(isText ? String(d) : JSON.stringify({ op, d })));
  return socket;
}

async function rawClose(...args: Parameters<typeof raw>): Promise<number> {
  const socket = raw(...args);
  return await new Promise((resolve) => socket.once("close", resolve));
}

async function rawAnswer(...args: Parameters<typeof raw>): Promise<unknown> {
  const socket = raw(...args);
  await new Promise((resolve) => socket.once("message", resolve));
  const answer = await new Promise<string>((resolve) => socket.once("message", (data) => resolve(String(data))));
  socket.close();
  return JSON.parse(answer);
}
