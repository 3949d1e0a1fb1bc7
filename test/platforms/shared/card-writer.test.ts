/** Two processes on one Redis post and settle the same cards at random: each part appears once, in its latest state. */
import { randomInt } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createPosts } from "../../../src/engine/turn/posts.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { isLockTaken } from "../../../src/lib/with-lock.ts";
import type { ApprovalCard, CardItem } from "../../../src/ports/card.ts";
import type { ReplyTarget } from "../../../src/ports/message.ts";
import type { Platform } from "../../../src/ports/platform.ts";
import type { Delivery } from "../../../src/ports/turn-deps.ts";
import { createCardWriter } from "../../../src/response/card-writer.ts";
import { createDeliveries, type Deliveries } from "../../../src/response/deliveries.ts";
import { createInMemoryLeases } from "../../../src/storage/in-memory-cluster.ts";
import { createRedisConnection } from "../../../src/storage/redis/connection.ts";
import { createRedisLeases } from "../../../src/storage/redis/leases.ts";
import { createRedisLedger } from "../../../src/storage/redis/ledger.ts";
import { createCard, createPosts as createKeptPosts, targetOf } from "../../conformance/platform-world.ts";
import { inboundMessage } from "../../doubles/records.ts";
import { missingRedis, type RedisServer, redisNote, startRedisServer } from "../../doubles/redis-server.ts";
import { openChangesWorld } from "../discord/changes-world.ts";
import { openDiscordBot } from "../discord/discord-bot.ts";
import { rendered } from "../discord/rendering.ts";
import { createSlackWorld } from "../slack/world.ts";

interface World {
  platforms: [Platform, Platform];
  conversationId: string;
  messageId: string;
  /** Labels of the buttons of each of the bot's messages. */
  shown(): { buttons: string[] }[];
  close(): Promise<void>;
}

/** `npm run chaos` plays more. */
const rounds = process.env.CHAOS_SEEDS === undefined ? 40 : 100;
const atOnce = 20;
const itemsOfCard = 4;
const maxPauseMs = 40;

const pause = () => wait(randomInt(maxPauseMs));

test("a state that is out of date once it is written is written again", async () => {
  const states = ["open", "approved", "approved"];
  const target = { platform: "test", conversationId: "c", turnId: "t", messageId: "m" };
  const card = cardOf(target);
  const cardNow = async () => ({ ...card, approversText: states.shift() ?? "" });
  const written: string[] = [];
  await createCardWriter({ leases: createInMemoryLeases(), cardNow }).ask(card, async (now) => {
    written.push(now.approversText);
  });
  expect(written).toEqual(["open", "approved"]);
});

test("while a card has a writer, who settles it is refused at once, and who asks it looks seldom", async () => {
  vi.useFakeTimers();
  try {
    const leases = createInMemoryLeases();
    const acquire = vi.spyOn(leases, "acquire");
    const card = cardOf({ platform: "test", conversationId: "c", turnId: "t", messageId: "m" });
    const { ask, settle } = createCardWriter({ leases, cardNow: async () => card });
    const service = Promise.withResolvers<void>();
    const first = ask(card, () => service.promise);
    const settled = settle(card, async () => {});
    await expect(settled).rejects.toMatchObject({ code: "coordination.busy", isRetryable: true });
    expect(acquire).toHaveBeenCalledTimes(2);
    const second = ask(card, async () => {});
    await vi.advanceTimersByTimeAsync(20_000);
    expect(acquire.mock.calls.length).toBeLessThan(25);
    service.resolve();
    await vi.advanceTimersByTimeAsync(2_000);
    await Promise.all([first, second]);
  } finally {
    vi.useRealTimers();
  }
});

test("what was undone does not look kept again when a turn goes on with the card as it once was", async () => {
  const { bot, message, card, labels, cardOf: changesCard } = await openChangesWorld();
  try {
    const posts = createKeptPosts();
    const kept = changesCard({}, { state: "consumed", outcome: "Kept", choices: ["undo"] });
    const undone = changesCard({}, { state: "consumed", outcome: "Undone by Ann", choices: [] });
    let latest = kept;
    const open = () =>
      createDeliveries({
        askElsewhere: async () => false,
        platform: () => bot.platform,
        postsFor: () => posts,
        cardWriter: createCardWriter({ leases: createInMemoryLeases(), cardNow: async () => latest }),
        redact: (text) => text,
        wrap: (_, port) => port,
        log: silentLog,
      }).open(targetOf(message));
    await (await open()).ask(kept);
    expect(labels()).toEqual(["Undo"]);
    latest = undone;
    await (await open()).settle(undone);
    await bot.restart();
    await (await open()).ask(kept);
    expect(rendered(card()).text).toContain("Undone by Ann");
    expect(labels()).toEqual([]);
  } finally {
    await bot.close();
  }
});

describe.skipIf(missingRedis !== undefined)(`two processes that write the same cards${redisNote}`, () => {
  let redis: RedisServer;
  let closing: (() => Promise<unknown>)[];
  let cards: Map<string, ApprovalCard>;
  beforeAll(async () => {
    redis = await startRedisServer();
  });
  afterAll(() => redis?.dispose());
  beforeEach(() => {
    closing = [];
    cards = new Map();
  });
  afterEach(async () => {
    for (const close of closing.reverse()) await close();
  });

  async function startProcess(platform: Platform, prefix: string) {
    const connection = createRedisConnection(redis.url, silentLog);
    const leases = createRedisLeases({ connection, prefix, lockMs: 10_000 });
    const ledger = await createRedisLedger({ connection, prefix });
    closing.push(async () => {
      await leases.close();
      await connection.close();
    });
    const cardNow = async (_: string, turnId: string) => {
      const now = cards.get(turnId);
      await pause();
      return now;
    };
    const deliveries = createDeliveries({
      askElsewhere: async () => false,
      platform: () => platform,
      postsFor: ({ turnId }) => createPosts(ledger, turnId, pause),
      cardWriter: createCardWriter({ leases, cardNow }),
      redact: (text) => text,
      wrap: (_, port) => port,
      log: silentLog,
    });
    return { deliveries, ledger };
  }

  test.each<[string, () => Promise<World>]>([
    ["Discord", openDiscord],
    ["Slack", openSlack],
  ])(
    "on %s, each part is there once and shows the last state",
    async (name, open) => {
      const world = await open();
      closing.push(world.close);
      const processes = await Promise.all(world.platforms.map((platform) => startProcess(platform, `{${name}}:`)));
      const ids = Array.from({ length: rounds }, (_, index) => `turn${index}`);
      for (let next = 0; next < rounds; next += atOnce) {
        await Promise.all(ids.slice(next, next + atOnce).map((turnId) => playCard(world, turnId, processes)));
      }
      const posts = await Promise.all(ids.map((turnId) => processes[0]?.ledger.list("post", { group: turnId })));
      const posted = posts.flat().filter((post) => post !== undefined && /:(?:card|more|card-part):/.test(post.id));
      const messages = posted.filter((post) => post?.id.includes(":try:") === false);
      expect(messages.length).toBeGreaterThanOrEqual(rounds);
      expect(world.shown()).toHaveLength(messages.length);
      expect(world.shown().flatMap(({ buttons }) => buttons)).toEqual([]);
    },
    300_000,
  );

  /** The turn posts its card, sometimes from two processes, while people answer one half of it after the other. */
  async function playCard(
    { conversationId, messageId, platforms }: World,
    turnId: string,
    processes: { deliveries: Deliveries }[],
  ): Promise<void> {
    const target: ReplyTarget = { platform: platforms[0].name, conversationId, turnId, messageId };
    const anywhere = () => processes[randomInt(2)]?.deliveries.open(target);
    const now = () => cards.get(turnId) as ApprovalCard;
    cards.set(turnId, cardOf(target));
    const asking = Array.from({ length: 1 + randomInt(2) }, async () => {
      const asked = now();
      await pause();
      await (await anywhere())?.ask(asked);
    });
    const answering = [0, 1].map(async (half) => {
      for (let looks = 0; looks <= half * 2; looks += 1) await pause();
      const items = now().items.map((item, index) => (index % 2 === half ? denied(item) : item));
      const settled = { ...now(), items };
      cards.set(turnId, settled);
      await settleAsNotices(await anywhere(), settled);
    });
    await Promise.all([...asking, ...answering]);
  }
});

/** A notice stays due while the card has another writer. */
async function settleAsNotices(delivery: Delivery | undefined, card: ApprovalCard): Promise<void> {
  for (;;) {
    try {
      return await delivery?.settle(card);
    } catch (thrown) {
      if (!isLockTaken(thrown)) throw thrown;
      await pause();
    }
  }
}

function cardOf(target: ReplyTarget): ApprovalCard {
  const card = createCard(inboundMessage({ id: target.messageId }));
  const items = Array.from({ length: itemsOfCard }, (_, index) => ({
    ...(card.items[0] as CardItem),
    approvalId: `approval-${index}`,
    callText: `shell_exec\ncommand: "echo ${"x".repeat(4_000)}"`,
  }));
  return { ...card, id: `card-${target.turnId}`, target, items };
}

function denied(item: CardItem): CardItem {
  return { ...item, state: "denied", choices: [], outcome: "Denied by Ann" };
}

async function openDiscord(): Promise<World> {
  const bot = await openDiscordBot({ leases: createInMemoryLeases() });
  const dm = bot.discord.ann.dm();
  const said = bot.discord.ann.say("hello", { in: "dm" });
  const other = bot.another();
  const own = () => dm.messages().filter(({ author }) => author.id === bot.discord.bot.id);
  return {
    platforms: [bot.platform, other],
    conversationId: `discord:dm:${dm.id}`,
    messageId: said.id,
    shown: () => own().map(({ buttons }) => ({ buttons: buttons.map(({ label }) => label) })),
    async close() {
      await other.close();
      await bot.close();
    },
  };
}

async function openSlack(): Promise<World> {
  const world = await createSlackWorld();
  const { slack } = world;
  slack.limits.isEnforced = false;
  const dm = slack.workspace.direct(slack.ann);
  const { ts } = slack.people.say({ as: slack.ann, in: dm, text: "hello" });
  return {
    platforms: [world.platform, await world.another()],
    conversationId: `slack:${slack.state.team.id}:${dm.id}`,
    messageId: `${dm.id}:${ts}`,
    shown: () =>
      slack
        .see({ in: dm })
        .filter(({ isAgents }) => isAgents)
        .map(({ buttons }) => ({ buttons: buttons.map(({ label }) => label) })),
    close: world.close,
  };
}
