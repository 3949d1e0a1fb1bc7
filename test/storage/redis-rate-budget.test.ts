/** Two processes with one token share its budgets, so that together they are refused no more often than one. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { silentLog } from "../../src/lib/log.ts";
import { createDiscordApi } from "../../src/platforms/discord/api/api.ts";
import { createSlackApi } from "../../src/platforms/slack/api/api.ts";
import type { RateBudget } from "../../src/ports/rate-budget.ts";
import { createRedisConnection, type RedisConnection } from "../../src/storage/redis/connection.ts";
import { createRedisRateBudget } from "../../src/storage/redis/rate-budget.ts";
import { createDiscordDouble } from "../doubles/discord/double.ts";
import { missingRedis, type RedisServer, redisNote, startRedisServer } from "../doubles/redis-server.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";

const prefix = "{remora}:";

describe.skipIf(missingRedis !== undefined)(`rate budgets in Redis${redisNote}`, () => {
  let server: RedisServer;
  let connections: RedisConnection[];
  beforeEach(async () => {
    server = await startRedisServer({ persistence: "none" });
    connections = [0, 1].map(() => createRedisConnection(server.url, silentLog));
    await Promise.all(connections.map((each) => each.whenReady(new AbortController().signal)));
  });
  afterEach(async () => {
    await Promise.all(connections.map((each) => each.close()));
    await server.dispose();
  });

  const budgets = (token = "t1"): [RateBudget, RateBudget] => {
    const [first, second] = connections.map((connection) => createRedisRateBudget({ connection, prefix, token }));
    if (first === undefined || second === undefined) throw new Error("two connections are open");
    return [first, second];
  };

  test("slots are taken by both; other buckets and tokens have their own; a wait is for both", async () => {
    const [first, second] = budgets();
    const rate = { everyMs: 60_000, burst: 2 };
    expect([await first.take("a", rate), await second.take("a", rate)]).toEqual([0, 0]);
    for (const budget of [first, second]) {
      // Nobody waits if Redis does not answer soon, which happens on a busy machine.
      const waits: number[] = [];
      await expect.poll(async () => waits.push(await budget.take("a", rate)) && waits.at(-1)).toBeGreaterThan(0);
      expect(waits.at(-1)).toBeLessThanOrEqual(60_000);
    }
    expect(await second.take("b", rate)).toBe(0);
    expect(await budgets("t2")[0].take("a", rate)).toBe(0);
    first.hold("c", 50_000);
    first.hold("c", 10);
    await expect.poll(() => second.take("c")).toBeGreaterThan(40_000);
    expect(await second.take("b")).toBe(0);
  });

  test("nobody waits until the old time when Redis's clock was set back", async () => {
    const [first, second] = budgets();
    const rate = { everyMs: 1_000, burst: 1 };
    const hourMs = 3_600_000;
    first.hold("a", 5_000);
    await expect.poll(() => second.take("a", rate)).toBeGreaterThan(0);
    expect(await first.take("b", rate)).toBe(0);
    // As the keys look after the clock was set back by an hour.
    for (const key of await server.client.keys("*:wait:*")) await server.client.pexpire(key, hourMs);
    for (const key of await server.client.keys("*:next:*"))
      await server.client.set(key, Number(await server.client.get(key)) + hourMs, "PX", hourMs);
    expect([await second.take("a", rate), await second.take("b", rate)]).toEqual([0, 0]);
    expect(await first.take("b", rate)).toBeGreaterThan(0);
  });

  test("without Redis, nobody waits", async () => {
    const [first] = budgets();
    await server.kill();
    first.hold("a", 60_000);
    expect(await first.take("a", { everyMs: 60_000, burst: 1 })).toBe(0);
  });

  test("an unresponsive Redis delays the first call only, and is asked again once it answers", async () => {
    const [first] = budgets();
    const rate = { everyMs: 600_000, burst: 1 };
    expect(await first.take("a", rate)).toBe(0);
    process.kill(server.pid, "SIGSTOP");
    try {
      expect(await first.take("a", rate)).toBe(0);
      const waits = new Promise((resolve) => setImmediate(resolve, "it waits"));
      expect(await Promise.race([first.take("a", rate), waits])).toBe(0);
    } finally {
      process.kill(server.pid, "SIGCONT");
    }
    await expect.poll(() => first.take("a", rate)).toBeGreaterThan(0);
  });

  describe("on Slack", () => {
    let slack: SlackDouble;
    beforeEach(async () => {
      slack = await createSlackDouble();
    });
    afterEach(() => slack.stop());

    const apis = () =>
      budgets(slack.botToken).map((budget) =>
        createSlackApi({
          ...{ token: slack.botToken, apiUrl: slack.apiUrl, onProblem() {}, log: silentLog, budget },
          signal: new AbortController().signal,
        }),
      );
    const refused = () => slack.callsOf("chat.postMessage").filter(({ status }) => status === 429).length;

    test("two processes post in one channel, and Slack refuses nothing", async () => {
      const post = (text: string) => ({ channel: slack.general.id, text });
      await Promise.all(
        apis().flatMap((api, index) =>
          [1, 2, 3, 4].map((number) => api.call("chat.postMessage", post(`${index} ${number}`), z.unknown())),
        ),
      );
      expect(slack.see({ in: slack.general })).toHaveLength(8);
      expect(refused()).toBe(0);
    });

    test("what one was asked to wait for, the other leaves alone", async () => {
      const [first, second] = apis();
      slack.failNext("users.info", { type: "rate-limit", retryAfterSeconds: 60 });
      const ask = (api: typeof first) =>
        api?.call("users.info", { user: slack.ann.id }, z.unknown(), { maxRetryMs: 0 });
      await expect(ask(first)).rejects.toThrow();
      const calls = () => slack.callsOf("users.info").length;
      await expect.poll(() => budgets(slack.botToken)[1].take("users.info")).toBeGreaterThan(0);
      await expect(ask(second)).rejects.toThrow();
      expect(calls()).toBe(1);
    });
  });

  test("on Discord, two processes stay below the limit of all routes, and heed each other's routes", async () => {
    const discord = await createDiscordDouble();
    const apis = budgets(discord.token).map((budget) =>
      createDiscordApi({ token: discord.token, apiUrl: discord.apiUrl, log: silentLog, budget }),
    );
    const get = (index: number) =>
      apis[index % 2]?.request({ method: "GET", route: `/users/${discord.ann.id}` as const });
    await Promise.all(Array.from({ length: 70 }, (_, index) => get(index)));
    const channel = `/channels/${discord.channel.id}/messages` as const;
    const post = (index: number) =>
      apis[index % 2]?.request({ method: "POST", route: channel, body: { content: `m${index}` } });
    // Five messages in five seconds. The answer to the last one says so, and the other process is the next to post.
    for (let index = 0; index < 5; index++) await post(index);
    await expect.poll(() => server.client.keys("*:wait:POST*")).toHaveLength(1);
    await post(5);
    const refused = discord.requests.filter(({ status }) => status === 429);
    const isForAllRoutes = ({ answer }: (typeof refused)[number]) => (answer as { global?: boolean }).global === true;
    expect(refused.filter((request) => !isForAllRoutes(request))).toEqual([]);
    // A busy machine delays some requests of one second into the next. Without a common budget, 20 would be refused.
    expect(refused.length).toBeLessThan(10);
    for (const api of apis) api.close();
    await discord.stop();
  });
});
