/** Shards over several processes that share leases, a bus and a store, as with Redis. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Log, silentLog } from "../../../src/lib/log.ts";
import { createSessions } from "../../../src/platforms/discord/gateway/sessions.ts";
import { createShardPlan } from "../../../src/platforms/discord/gateway/shard-plan.ts";
import { createDiscordPlatform } from "../../../src/platforms/discord/platform.ts";
import type { Bus, Lease, Leases } from "../../../src/ports/cluster.ts";
import type { Platform } from "../../../src/ports/platform.ts";
import type { Store } from "../../../src/ports/store.ts";
import { createInMemoryBus, createInMemoryLeases } from "../../../src/storage/in-memory-cluster.ts";
import { createDiscordDouble, type DiscordDouble } from "../../doubles/discord/double.ts";
import type { ChannelHandle } from "../../doubles/discord/places.ts";
import { isWhole } from "../../faults/share.ts";
import { createMemoryStore, type MemoryStore } from "./discord-bot.ts";
import { createRecordingAgent, type RecordingAgent } from "./recording-agent.ts";

/** Short, so that a takeover takes a moment. */
const lockMs = 1_000;

let discord: DiscordDouble;
let store: MemoryStore;
let leases: Leases;
let bus: Bus;
let processes: Process[];

interface Process {
  platform: Platform;
  agent: RecordingAgent;
  warnings: string[];
  /** Its leases expire, as after a long pause, and it gets no others until `mayHold` is true again. */
  loseLeases(): Promise<void>;
  mayHold: boolean;
  cannotSaveSessions: boolean;
  /** Nothing it writes arrives any more, its connections end, and its leases expire. */
  kill(): Promise<void>;
}

beforeEach(() => {
  [store, leases, bus, processes] = [createMemoryStore(), createInMemoryLeases(), createInMemoryBus(silentLog), []];
});
afterEach(async () => {
  for (const { platform } of processes) await platform.close();
  await discord.stop();
});

function createProcess(shards: number | "auto" = "auto"): Process {
  let isDead = false;
  const held = new Map<Lease, AbortController>();
  const ownLeases: Leases = {
    async acquire(name) {
      const lease = isDead || !made.mayHold ? undefined : await leases.acquire(name);
      if (lease === undefined) return undefined;
      const lost = new AbortController();
      held.set(lease, lost);
      return { signal: lost.signal, release: () => lease.release() };
    },
    close: async () => {},
  };
  const ownStore: Store = {
    ...store,
    async set(...args) {
      if (made.cannotSaveSessions && args[0].startsWith("discord:session:")) throw new Error("the store is away");
      if (!isDead) await store.set(...args);
    },
  };
  const ownBus: Bus = { ...bus, publish: (message) => (isDead ? undefined : bus.publish(message)) };
  const agent = createRecordingAgent();
  const warnings: string[] = [];
  const log: Log = { ...silentLog, warn: (_, text) => void warnings.push(text) };
  const platform = createDiscordPlatform({
    ...{ token: discord.token, apiUrl: discord.apiUrl, replyIn: "thread", ackReaction: null, shards },
    ...{ store: ownStore, leases: ownLeases, shared: { bus: ownBus, lockMs }, log },
    ...{ commands: () => [{ usage: "status", description: "what runs" }], isAllowedBot: () => false },
  });
  const made: Process = {
    ...{ platform, agent, warnings, mayHold: true, cannotSaveSessions: false },
    async loseLeases() {
      made.mayHold = false;
      for (const [lease, lost] of held) {
        await lease.release();
        lost.abort();
      }
      held.clear();
    },
    async kill() {
      isDead = true;
      await platform.close();
      for (const lease of held.keys()) await lease.release();
    },
  };
  processes.push(made);
  return made;
}

const connect = ({ platform, agent }: Process) => platform.connect(agent.handlers, new AbortController().signal);
const outcomes = () => discord.gateway.attempts.map(({ type, outcome }) => `${type}: ${outcome.replace(/ \d+/, "")}`);

/** How many of the shards each of them holds, from what health says. */
function parts(...all: Process[]): number[] {
  return all.map(({ platform }) =>
    Number(/, (?:(\d+) of )?(\d+) shards ready/.exec(platform.health().detail)?.slice(1).find(Boolean) ?? 0),
  );
}

function addServers(count: number): ChannelHandle[] {
  return Array.from({ length: count }, (_, index) => {
    // Servers of one millisecond would all be of one shard.
    discord.clock.advance(1);
    const guild = discord.addGuild(`server ${index}`);
    discord.ann.join(guild);
    return guild.addChannel("general");
  });
}

const keptBy = (...all: Process[]) => all.flatMap(({ agent }) => agent.kept.map(({ id }) => id));

/** `npm run chaos` has as many as two processes' worth. */
const serverCount = isWhole ? 2_600 : 260;

test(`${serverCount} servers: two processes share the shards, hear everything once, and one takes over from the other`, async () => {
  discord = await createDiscordDouble({ limits: "none", gateway: { recommendedShards: 4, maxConcurrency: 16 } });
  const channels = addServers(serverCount);
  // Nobody is mentioned, so that no typing indicators run.
  const say = (text: string, where = channels) => where.map((channel) => discord.ann.say(text, { in: channel }).id);
  const [one, other] = [createProcess(), createProcess()];
  await connect(one);
  expect(parts(one)).toEqual([4]);
  const early = say("one");
  await connect(other);
  await discord.until(() => String(parts(one, other)) === "2,2", 60_000);
  const shared = say("both");
  const expected = [...early, ...shared];
  await discord.until(() => keptBy(one, other).length >= expected.length, 60_000);
  expect(keptBy(one, other).toSorted()).toEqual(expected.toSorted());
  expect(Math.min(one.agent.kept.length, other.agent.kept.length)).toBeGreaterThan(channels.length / 4);
  // What moved from one process to the other was resumed.
  expect(outcomes().toSorted()).toEqual([
    ...Array(4).fill("identify: ready"),
    ...Array(2).fill("resume: resumed after"),
  ]);

  const dying = one.kill();
  // A resumed session lists no channels, so each costs a request, of which there are 50 a second.
  const some = channels.filter((_, index) => index % 10 === 0);
  const missed = say("kept by the other one", some);
  await dying;
  await discord.until(() => parts(other)[0] === 4, 60_000);
  const last = say("last", some);
  await discord.until(() => new Set(keptBy(one, other)).size === expected.length + 2 * some.length, 60_000);
  expect(new Set(keptBy(other))).toEqual(new Set([...keptBy(other), ...missed, ...last]));
  expect(outcomes().filter((outcome) => outcome.startsWith("identify"))).toHaveLength(4);
  expect(discord.requests.filter(({ route }) => route === "messages.list")).toEqual([]);

  const [channel] = channels;
  if (channel === undefined) throw new Error("there is no channel");
  discord.ann.slash("remora status", { in: channel });
  await discord.until(() => other.agent.commands.length === 1);
}, 180_000);

test("new sessions of all processes together keep to Discord's pace", async () => {
  discord = await createDiscordDouble({
    limits: "none",
    gateway: { recommendedShards: 2, maxConcurrency: 1, enforcesConcurrency: true },
  });
  const [one, other] = [createProcess(), createProcess()];
  await Promise.all([connect(one), connect(other)]);
  await discord.until(() => discord.gateway.connected().length === 2, 60_000);
  expect(outcomes().filter((outcome) => outcome.includes("too soon"))).toEqual([]);
  expect(outcomes().filter((outcome) => outcome === "identify: ready")).toHaveLength(2);
}, 90_000);

test("the number of shards stays while processes are running; then each server's cursors move to its new shard", async () => {
  discord = await createDiscordDouble({ limits: "none", gateway: { maxConcurrency: 16 } });
  const channels = addServers(6);
  const say = (text: string) => channels.map((channel) => discord.ann.say(text, { in: channel }).id);
  const [one, other] = [createProcess(1), createProcess(3)];
  await connect(one);
  const before = say("before");
  await discord.until(() => keptBy(one).length === before.length);
  await connect(other);
  expect(other.warnings).toContain("other processes use another number of shards; it changes once all have stopped");
  expect(other.platform.health()).toMatchObject({ isConnected: true, detail: expect.stringContaining("standing by") });
  await one.platform.close();
  await other.platform.close();
  const missed = say("missed");
  const next = createProcess(3);
  await connect(next);
  await discord.until(() => keptBy(next).length === missed.length);
  expect(keptBy(next).toSorted()).toEqual(missed.toSorted());
  expect(parts(next)).toEqual([3]);
}, 60_000);

test("what is being read when a shard is lost is read again, and addressed to the bot as before", async () => {
  discord = await createDiscordDouble({ limits: "none" });
  const { ann, channel } = discord;
  const former = createProcess();
  await connect(former);
  const asked = ann.say("@Remora hello", { in: channel });
  await discord.until(() => former.agent.addressed().length === 1);
  const thread = ann.startThread(asked, "hello");
  ann.say("more", { in: thread });
  await discord.until(() => former.agent.addressed().length === 2);
  await former.platform.close();

  // A resumed session lists no channels, so they are asked for.
  const one = createProcess();
  await connect(one);
  discord.fail({ route: "channels.get", times: 2 }, { type: "delay", milliseconds: 500 });
  const said = [ann.say("@Remora again", { in: channel }).id, ann.say("without a mention", { in: thread }).id];
  const asks = () => discord.requests.filter(({ route }) => route === "channels.get");
  await discord.until(() => asks().length === 2);
  await one.loseLeases();
  await discord.until(() => one.platform.health().detail.includes("standing by"));
  await discord.until(() => asks().every(({ status }) => status === 200));
  one.mayHold = true;
  await discord.until(() => one.agent.kept.length === said.length);
  expect(
    one.agent
      .addressed()
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual(said.toSorted());
});

test("a session that could not be saved is resumed by the process that had it, unless another one had the shard", async () => {
  discord = await createDiscordDouble({ limits: "none" });
  const [one, other] = [createProcess(), createProcess()];
  const losePatiently = async (process: Process) => {
    await process.loseLeases();
    await discord.until(() => process.platform.health().detail.includes("standing by"));
  };
  one.cannotSaveSessions = true;
  await connect(one);
  await losePatiently(one);
  // Only a resumed session tells of a person's first direct message.
  const first = discord.ann.say("hello", { in: discord.ann.dm() }).id;
  [one.cannotSaveSessions, one.mayHold] = [false, true];
  await discord.until(() => keptBy(one).includes(first));
  expect(outcomes()).toEqual(["identify: ready", "resume: resumed after"]);

  one.cannotSaveSessions = true;
  await losePatiently(one);
  await connect(other);
  await losePatiently(other);
  [one.cannotSaveSessions, one.mayHold] = [false, true];
  const second = discord.ben.say("and I", { in: discord.ben.dm() }).id;
  await discord.until(() => keptBy(one, other).includes(second));
});

test("a lost shard is gained again only once it is closed", async () => {
  discord = await createDiscordDouble();
  let gained = 0;
  let lost = new AbortController();
  const closing = Promise.withResolvers<void>();
  const asked: string[] = [];
  const plan = createShardPlan({
    leases: {
      async acquire(name) {
        asked.push(name);
        lost = new AbortController();
        return { signal: lost.signal, release: async () => {} };
      },
      close: async () => {},
    },
    ...{ store, shared: { bus, lockMs: 20 }, log: silentLog },
    onGained() {
      gained += 1;
    },
    onReleased: () => closing.promise,
  });
  const sweeps = () => asked.filter((name) => name === "discord:plan").length;
  await plan.start(1, new AbortController().signal);
  lost.abort();
  const before = sweeps();
  await expect.poll(() => sweeps() - before).toBeGreaterThan(2);
  expect(gained).toBe(1);
  closing.resolve();
  await expect.poll(() => gained).toBe(2);
  await plan.close();
});

test("a closed shard's session is no longer written, because another process may hold it", async () => {
  discord = await createDiscordDouble();
  const session = (sequence: number) => ({
    ...{ sessionId: `session ${sequence}`, resumeURL: "wss://discord", sequence, shardId: 0, shardCount: 1, guilds: 0 },
    bot: { id: "1", name: "Remora", applicationId: "1" },
  });
  const sessions = createSessions(store, silentLog);
  const [former, next] = [sessions.writer(0, undefined), sessions.writer(0, undefined)];
  former.keep(session(1));
  await former.close();
  next.keep(session(3));
  await next.close();
  former.keep(session(2));
  await former.close();
  expect(await sessions.load(0, 1)).toEqual(session(3));
});

test("a process that died before the clock was set back is missed in time", async () => {
  discord = await createDiscordDouble();
  await store.set("discord:shards", 2);
  await store.set("discord:processes", { dead: Date.now() + 3 * 3_600_000 });
  const gained: number[] = [];
  const plan = createShardPlan({
    ...{ leases, store, shared: { bus, lockMs: 100 }, log: silentLog },
    onGained: (shard) => void gained.push(shard),
    onReleased: async () => {},
  });
  await plan.start(2, new AbortController().signal);
  expect(gained).toHaveLength(1);
  await expect.poll(() => gained.toSorted()).toEqual([0, 1]);
  await plan.close();
});
