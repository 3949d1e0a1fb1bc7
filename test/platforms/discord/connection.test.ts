import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createEvents } from "../../../src/lib/event-bus.ts";
import type { RemoraEvent } from "../../../src/ports/events.ts";
import type { InboundMessage } from "../../../src/ports/message.ts";
import { createPosts, targetOf } from "../../conformance/platform-world.ts";
import type { DiscordDouble } from "../../doubles/discord/double.ts";
import { type DiscordBot, openDiscordBot } from "./discord-bot.ts";
import { createRecordingAgent, type RecordingAgent } from "./recording-agent.ts";

let bot: DiscordBot;
let agent: RecordingAgent;
let discord: DiscordDouble;
let heard: RemoraEvent[];
const signal = new AbortController().signal;

beforeEach(async () => {
  const events = createEvents();
  heard = [];
  events.listen((event) => void heard.push(event));
  bot = await openDiscordBot({ events });
  discord = bot.discord;
  agent = createRecordingAgent();
});
afterEach(() => bot.close());

function connect(): Promise<void> {
  return bot.platform.connect(agent.handlers, signal);
}

function mention(text: string) {
  return discord.ann.say(`${discord.bot.mention} ${text}`, { in: discord.channel });
}

function kept(id: string, timeoutMs = 10_000): Promise<InboundMessage> {
  return discord.until(() => agent.kept.find((message) => message.id === id), timeoutMs);
}

/** What stands in the store, so that nothing of a process is left but what it has written. */
function cursorOf(channelId: string): string | undefined {
  const stored = bot.store.values.get("discord:cursors") as { places: [string, string, string][] } | undefined;
  return stored?.places.find(([id]) => id === channelId)?.[2];
}

/** So long after the end of the process that Discord no longer knows its sessions. */
async function restartWithoutSession(): Promise<void> {
  await bot.restart();
  discord.gateway.forgetSessions();
}

describe("connecting", () => {
  test("only the intents that are needed are asked for", async () => {
    await connect();
    const bits = (await import("discord.js")).GatewayIntentBits;
    const messages = bits.Guilds | bits.GuildMessages | bits.DirectMessages | bits.MessageContent;
    const intents = messages | bits.GuildMessageReactions | bits.DirectMessageReactions;
    expect(discord.gateway.attempts).toMatchObject([{ type: "identify", intents, outcome: "ready" }]);
    expect(bot.platform.health()).toEqual({ isConnected: true, detail: "connected as Remora in 1 server" });
  });

  test("a wrong token is named, with the page where there is a new one", async () => {
    discord.resetToken();
    await expect(connect()).rejects.toMatchObject({
      code: "discord.token",
      message: expect.stringMatching(/DISCORD_TOKEN.*Reset Token/),
    });
    expect(bot.platform.health().isConnected).toBe(false);
  });

  test("beside another service, a token that is refused at the start is tried again", async () => {
    await bot.restart({ refusedTokenRetryMs: 100 });
    const body = { code: 0, message: "401: Unauthorized" };
    const refusal = discord.fail({ times: Number.POSITIVE_INFINITY }, { type: "answer", status: 401, body });
    await connect();
    expect(bot.platform.health()).toMatchObject({ isConnected: false, detail: expect.stringContaining("Reset Token") });
    refusal.remove();
    await discord.until(() => bot.platform.health().isConnected);
    await kept(mention("hello").id);
  });

  test("an intent that is off is named, with its switch", async () => {
    discord.portal.messageContent = false;
    await expect(connect()).rejects.toMatchObject({
      code: "discord.intents",
      message: expect.stringContaining("Message Content Intent"),
    });
  });

  test("a server that needs more shards says which setting to change", async () => {
    discord.gateway.settings.requiredShards = 2;
    await expect(connect()).rejects.toMatchObject({
      code: "discord.sharding",
      message: expect.stringContaining("auto"),
    });
  });

  test("no sessions left today is said, and not tried again", async () => {
    discord.gateway.settings.sessionsLeft = 0;
    await expect(connect()).rejects.toMatchObject({ code: "discord.sessions" });
  });

  test("trouble on the way is waited out: errors of the service, broken connections, a closed gateway", async () => {
    discord.fail({ route: "gateway.bot", times: 1 }, { type: "answer", status: 502 });
    discord.fail({ route: "gateway.bot", times: 1 }, { type: "cut", when: "before" });
    discord.gateway.refuse();
    const connecting = connect();
    await discord.until(() => bot.logged.filter(({ message }) => message.includes("retrying")).length >= 3, 15_000);
    expect(bot.platform.health().isConnected).toBe(false);
    expect(bot.platform.health().detail).toContain("can't reach Discord");
    discord.gateway.allow();
    await connecting;
    expect(bot.platform.health().isConnected).toBe(true);
  });

  test("who gives up waits no longer", async () => {
    discord.gateway.refuse();
    const controller = new AbortController();
    const connecting = bot.platform.connect(agent.handlers, controller.signal);
    await discord.until(() => bot.logged.length > 0);
    controller.abort();
    await expect(connecting).rejects.toThrow();
  });

  test("shards are opened as configured, and each one's state can be seen", async () => {
    discord.gateway.settings.maxConcurrency = 2;
    await bot.restart({ shards: 2 });
    await connect();
    expect(discord.gateway.attempts.map(({ shard }) => shard)).toEqual([
      [0, 2],
      [1, 2],
    ]);
    expect(bot.platform.health().detail).toBe("connected as Remora in 1 server, 2 shards ready");
    await kept(mention("hello").id);
    await kept(discord.ann.say("hello", { in: "dm" }).id);
    discord.gateway.refuse();
    discord.gateway.cut();
    await discord.until(() => !bot.platform.health().isConnected);
    expect(bot.platform.health().detail).toMatch(/^shard 0: \w+, shard 1: \w+$/);
    discord.gateway.allow();
  });

  test("`auto` opens as many shards as Discord recommends", async () => {
    Object.assign(discord.gateway.settings, { recommendedShards: 2, maxConcurrency: 2 });
    await bot.restart({ shards: "auto" });
    await connect();
    expect(discord.gateway.connected()).toHaveLength(2);
  });
});

describe("the commands", () => {
  const puts = () => discord.requests.filter(({ method, route }) => method === "PUT" && route.startsWith("commands"));

  test("are registered once, again only when they change, and for servers and DMs", async () => {
    await connect();
    await discord.until(() => puts().length === 1 && bot.store.values.has("discord:commands"));
    const [command] = discord.commands();
    expect(command?.name).toBe("remora");
    expect(command?.options?.map(({ name }) => name)).toEqual(["ask", "status"]);
    await bot.restart();
    await connect();
    await kept(mention("hello").id);
    expect(puts()).toHaveLength(1);
    await bot.restart({ commands: () => [{ usage: "pair CODE", description: "let a person in" }] });
    await connect();
    await discord.until(() => puts().length === 2);
    expect(discord.commands()[0]?.options?.map(({ name }) => name)).toEqual(["ask", "pair"]);
  });

  test("that can't be registered keep nobody from talking", async () => {
    discord.fail(
      { method: "PUT", times: 99 },
      { type: "answer", status: 403, body: { message: "Missing Access", code: 50001 } },
    );
    await connect();
    await kept(mention("hello").id);
    await discord.until(() => bot.logged.some(({ message }) => message.includes("could not register")));
  });

  test("of any names and lengths are such as Discord takes", async () => {
    const many = Array.from({ length: 40 }, (_, index) => ({
      usage: `c${index} ${"X".repeat(200)}`,
      description: "d".repeat(300),
    }));
    await bot.restart({ commands: () => [...many, { usage: "Bad Name!", description: "x" }] });
    await connect();
    await discord.until(() => discord.commands().length === 1);
    expect(discord.commands()[0]?.options).toHaveLength(25);
    expect(puts().map(({ status }) => status)).toEqual([200]);
  });
});

describe("after a cut", () => {
  test("the session is resumed, what was said meanwhile comes once, and it is known that the line was down", async () => {
    await connect();
    await kept(mention("before").id);
    discord.gateway.cut();
    const meanwhile = mention("meanwhile");
    await kept(meanwhile.id);
    await kept(mention("after").id);
    expect(discord.gateway.attempts.map(({ type }) => type)).toEqual(["identify", "resume"]);
    expect(agent.kept.map(({ text }) => text)).toEqual(["before", "meanwhile", "after"]);
    expect(heard.map(({ name }) => name)).toEqual(["platform.disconnected", "platform.connected"]);
    expect(bot.platform.health().isConnected).toBe(true);
  });

  test("a person's first DM that can't be stored yet does not hide those after it, without a session to resume", async () => {
    await connect();
    let isFull = true;
    agent.beforeKeeping = async () => {
      if (isFull) throw new Error("the disk is full");
    };
    const first = discord.ben.say("first", { in: "dm" });
    await discord.until(() => agent.delivered.some(({ id }) => id === first.id), 20_000);
    discord.gateway.refuse();
    discord.gateway.cut();
    discord.gateway.forgetSessions();
    const second = discord.ben.say("second", { in: "dm" });
    discord.gateway.allow();
    await discord.until(() => discord.gateway.connected().length === 1, 20_000);
    isFull = false;
    await Promise.all([kept(first.id), kept(second.id)]);
  });

  test("without a session to resume, what was missed is fetched, once and in order, before what comes next", async () => {
    await connect();
    const thread = discord.ann.startThread(discord.channel, "plans");
    await kept(discord.ann.say(`${discord.bot.mention} hi`, { in: thread }).id);
    await kept(discord.ann.say("dm before", { in: "dm" }).id);
    await kept(mention("before").id);
    discord.gateway.refuse();
    discord.gateway.cut();
    discord.gateway.forgetSessions();
    const missed = [
      mention("one"),
      mention("two"),
      discord.ben.say("in the thread", { in: thread }),
      discord.ann.say("dm", { in: "dm" }),
    ];
    discord.gateway.allow();
    await discord.until(() => discord.gateway.connected().length === 1, 20_000);
    const next = mention("three");
    await Promise.all([...missed, next].map(({ id }) => kept(id)));
    const inChannel = agent.kept.filter(
      ({ channelId, conversationId }) => channelId === discord.channel.id && !conversationId.endsWith(thread.id),
    );
    expect(inChannel.map(({ text }) => text)).toEqual(["before", "one", "two", "three"]);
    expect(agent.kept.filter(({ isDirect }) => isDirect).map(({ text }) => text)).toEqual(["dm before", "dm"]);
    expect(agent.kept.find(({ text }) => text === "in the thread")).toMatchObject({ isAddressed: true });
    expect(new Set(agent.kept.map(({ id }) => id)).size).toBe(agent.kept.length);
  });

  test.each([
    ["is told to come back", (gateway: DiscordDouble["gateway"]) => gateway.requestReconnect()],
    ["has an invalid session", (gateway: DiscordDouble["gateway"]) => gateway.invalidate(false)],
    ["has a session that may go on", (gateway: DiscordDouble["gateway"]) => gateway.invalidate(true)],
    ["is closed by an error of the service", (gateway: DiscordDouble["gateway"]) => gateway.close(4000)],
    ["timed out", (gateway: DiscordDouble["gateway"]) => gateway.close(4009)],
  ])(
    "a client that %s hears everything",
    async (_what, trouble) => {
      await connect();
      await kept(mention("before").id);
      trouble(discord.gateway);
      const meanwhile = mention("meanwhile");
      await kept(meanwhile.id);
      expect(agent.kept.map(({ text }) => text)).toEqual(["before", "meanwhile"]);
    },
    30_000,
  );

  test("a long outage is survived, and no second message comes of it", async () => {
    await connect();
    discord.gateway.refuse();
    discord.gateway.cut();
    const missed = mention("missed");
    await discord.until(
      () => bot.logged.filter(({ message }) => message.includes("gateway connection failed")).length >= 3,
      20_000,
    );
    expect(bot.platform.health().isConnected).toBe(false);
    discord.gateway.allow();
    await kept(missed.id);
    await kept(mention("after").id);
    expect(agent.kept.map(({ text }) => text)).toEqual(["missed", "after"]);
  });

  test("a token that is taken away is no reason to end, and health says what to do", async () => {
    await connect();
    discord.resetToken();
    discord.gateway.cut();
    await discord.until(() => bot.platform.health().detail.includes("Reset Token"), 10_000);
    expect(bot.platform.health().isConnected).toBe(false);
    const isTold = (event: RemoraEvent) =>
      event.name === "platform.disconnected" && event.fields.message.includes("DISCORD_TOKEN");
    await discord.until(() => heard.some(isTold), 10_000);
  });

  test("a server that was away brings what was said when it comes back", async () => {
    await connect();
    await kept(mention("before").id);
    discord.guild.setAvailable(false);
    const missed = mention("meanwhile");
    discord.guild.setAvailable(true);
    await kept(missed.id);
  });

  test("what can't be fetched of a channel does not hold up what is said there afterwards", async () => {
    await connect();
    await kept(mention("before").id);
    const refusal = { status: 403, body: { code: 40333, message: "internal network error" } };
    const fault = discord.fail({ route: "messages.list", times: 1_000 }, { type: "answer", ...refusal });
    discord.gateway.refuse();
    discord.gateway.cut();
    discord.gateway.forgetSessions();
    mention("out of reach");
    discord.gateway.allow();
    await discord.until(() => fault.hits.length > 0 && discord.gateway.connected().length === 1, 20_000);
    await kept(mention("after").id);
  });
});

describe("events that are not as they should be", () => {
  test("are left out, and nothing ends by them", async () => {
    await connect();
    const [id, channel_id] = ["1300000000000000001", discord.channel.id];
    discord.gateway.send("INTERACTION_CREATE", { id, token: "token", type: 3 });
    discord.gateway.send("INTERACTION_CREATE", { id, token: "token", type: 99 });
    discord.gateway.send("MESSAGE_CREATE", { id, channel_id });
    discord.gateway.send("MESSAGE_UPDATE", null);
    discord.gateway.send("CHANNEL_CREATE", null);
    discord.gateway.send("A_NEW_EVENT", { of: "tomorrow" });
    await kept(mention("hello").id);
    expect(bot.logged.map(({ fields }) => fields)).toContainEqual(expect.objectContaining({ event: "CHANNEL_CREATE" }));
    expect(bot.platform.health().isConnected).toBe(true);
  });
});

describe("a session of the former process", () => {
  const outcomes = () => discord.gateway.attempts.map(({ type, outcome }) => `${type}: ${outcome.replace(/ \d+/, "")}`);
  const histories = () => discord.requests.filter(({ route }) => route === "messages.list");

  test("is resumed: what was said, edited and deleted meanwhile comes once, a person's first DM too, and nothing is fetched", async () => {
    await connect();
    await kept(mention("before").id);
    await bot.restart();
    const missed = [mention("one"), discord.ben.say("we have not met", { in: "dm" }), mention("two")];
    const edited = mention("wrong");
    discord.ann.edit(edited, `${discord.bot.mention} right`);
    await connect();
    await Promise.all(missed.map(({ id }) => kept(id)));
    await discord.until(() => agent.edited.some(({ id }) => id === edited.id));
    await kept(mention("after").id);
    expect(agent.kept.map(({ text }) => text).toSorted()).toEqual(
      ["after", "before", "one", "two", "we have not met", "wrong"].toSorted(),
    );
    expect(outcomes()).toEqual(["identify: ready", "resume: resumed after"]);
    expect(histories()).toEqual([]);
    expect(bot.platform.health()).toEqual({ isConnected: true, detail: "connected as Remora in 1 server" });
  });

  test("begins again before a message that could not be kept", async () => {
    agent.beforeKeeping = ({ text }) => (text === "stuck" ? new Promise(() => {}) : Promise.resolve());
    await connect();
    await kept(mention("before").id);
    const stuck = mention("stuck");
    await kept(discord.ben.say("elsewhere", { in: "dm" }).id);
    agent.beforeKeeping = async () => {};
    await bot.restart();
    await connect();
    await kept(stuck.id);
    expect(outcomes()).toEqual(["identify: ready", "resume: resumed after"]);
    expect(histories()).toEqual([]);
  });

  test("that Discord does not know any more is replaced, and what was said meanwhile is fetched", async () => {
    await connect();
    await kept(mention("before").id);
    await bot.restart();
    const missed = mention("meanwhile");
    discord.clock.advance(10 * 60_000);
    await connect();
    await kept(missed.id);
    await discord.until(() => agent.kept.length === 2);
    expect(outcomes()).toEqual(["identify: ready", "resume: invalid session", "identify: ready"]);
  });

  test("is not resumed while messages from before it are still to be fetched", async () => {
    await connect();
    await kept(discord.ann.say("before", { in: "dm" }).id);
    await restartWithoutSession();
    const missed = discord.ann.say("meanwhile", { in: "dm" });
    const fault = discord.fail({ route: "messages.list" }, { type: "hang" });
    await connect();
    await discord.until(() => fault.hits.length === 1);
    await bot.restart();
    await connect();
    await kept(missed.id);
    expect(outcomes().at(-1)).toBe("identify: ready");
  });

  test("brings no command a second time", async () => {
    await connect();
    await discord.until(() => discord.commands().length === 1);
    await bot.restart();
    discord.ann.slash("remora status", { in: discord.channel });
    const missed = mention("meanwhile");
    await connect();
    await kept(missed.id);
    expect(agent.commands).toEqual([]);
  });

  test("in a store that holds nonsense is not used", async () => {
    bot.store.values.set("discord:session:0", { sessionId: 7 });
    await connect();
    await kept(mention("hello").id);
  });
});

describe("after a restart", () => {
  test("what was said while nothing ran is handed in once: channel, thread, DM; and nothing that was done with before", async () => {
    await connect();
    const first = await kept(mention("before").id);
    await bot.platform.reply(targetOf(first), createPosts()).finish("An answer.", []);
    const [thread] = discord.channel.threads();
    await kept(discord.ann.say("dm before", { in: "dm" }).id);
    await restartWithoutSession();
    const missed = [
      mention("one"),
      discord.ben.say("follow-up", { in: thread ?? "" }),
      discord.ann.say("dm", { in: "dm" }),
    ];
    await connect();
    await Promise.all(missed.map(({ id }) => kept(id)));
    expect(agent.kept.map(({ text }) => text).toSorted()).toEqual(["before", "dm", "dm before", "follow-up", "one"]);
    expect(agent.kept.find(({ text }) => text === "follow-up")?.conversationId).toBe(first.conversationId);
    await restartWithoutSession();
    await connect();
    await kept(mention("last").id);
    expect(agent.kept).toHaveLength(6);
  });

  test("150 people who wrote by DM while nothing ran are all heard", async () => {
    const people = Array.from({ length: 150 }, (_, index) => discord.addPerson(`person ${index}`));
    await connect();
    const before = people.map((person) => person.say("before", { in: "dm" }));
    await Promise.all(before.map(({ id }) => kept(id, 60_000)));
    await restartWithoutSession();
    const missed = people.map((person) => person.say("meanwhile", { in: "dm" }));
    await connect();
    await Promise.all(missed.map(({ id }) => kept(id, 60_000)));
    expect(agent.kept).toHaveLength(2 * people.length);
  }, 120_000);

  test("while one server is away, what was said in another one is understood as what it is", async () => {
    await connect();
    const other = discord.addGuild("Away");
    other.addBot();
    await kept(mention("before").id);
    await restartWithoutSession();
    other.setAvailable(false);
    const missed = mention("meanwhile");
    await connect();
    expect(await kept(missed.id)).toMatchObject({ isAddressed: true, text: "meanwhile" });
  });

  test("a channel in which nothing was said before is read from the first start on", async () => {
    await connect();
    await restartWithoutSession();
    const missed = mention("the first words here");
    await connect();
    await kept(missed.id);
  });

  test("what was said before the first start is not read", async () => {
    const early = mention("long ago");
    // Ids are as exact as their millisecond.
    await discord.until(() => Date.now() > early.at);
    await connect();
    await kept(mention("now").id);
    expect(agent.delivered.map(({ id }) => id)).not.toContain(early.id);
  });

  test("a message that was never kept is handed in by the next process", async () => {
    agent.beforeKeeping = () => new Promise(() => {});
    await connect();
    const said = mention("hello");
    await discord.until(() => agent.delivered.length === 1);
    expect(cursorOf(discord.channel.id) ?? "0").not.toBe(said.id);
    agent.beforeKeeping = async () => {};
    await restartWithoutSession();
    await connect();
    await kept(said.id);
  });

  test("many pages are read to the end, roles of their authors too", async () => {
    await connect();
    const role = discord.guild.addRole("crew");
    discord.ann.setRoles(discord.guild, [role]);
    await kept(mention("before").id);
    await restartWithoutSession();
    const missed = Array.from({ length: 230 }, (_, index) => discord.ann.say(`line ${index}`, { in: discord.channel }));
    const last = mention("the last");
    await connect();
    expect((await kept(last.id)).author.roles).toEqual([role.id]);
    expect(agent.kept.map(({ id }) => id).slice(1)).toEqual([...missed, last].map(({ id }) => id));
  });

  test("a store that holds nonsense is begun anew", async () => {
    bot.store.values.set("discord:cursors", { since: "yesterday", places: 7 });
    await connect();
    await kept(mention("hello").id);
  });

  test("rate limits on the way are waited for", async () => {
    await connect();
    await kept(mention("before").id);
    await restartWithoutSession();
    const missed = mention("meanwhile");
    discord.fail({ route: "messages.list", times: 2 }, { type: "rate-limit", retryAfterSeconds: 0.2 });
    discord.fail({ route: "messages.list", times: 1 }, { type: "answer", status: 503 });
    await connect();
    await kept(missed.id);
  });
});
