/**
 * Discord's shards over two real `platforms` processes on a real Redis, of which one dies by SIGKILL, and the other one pauses
 * until it has lost its leases.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import { openLedger } from "../../src/storage/open-state.ts";
import { createDiscordDouble, type DiscordDouble } from "../doubles/discord/double.ts";
import { missingRedis, type RedisServer, redisNote, startRedisServer } from "../doubles/redis-server.ts";
import { createHome, type RemoraHome, type RemoraProcess, startRemora } from "../doubles/remora-process.ts";
import { isWhole } from "../faults/share.ts";

/** Longer than a busy machine holds a process up. */
const lockMs = 5_000;
const shardCount = 4;
/** One person writes everywhere. */
const limits = { userRequestsPerMinute: null };
/** `npm run chaos` has as many as two processes' worth. */
const serverCount = isWhole ? 2_600 : 40;
/** A resumed session lists no channels, so each costs a request, of which all processes send 40 a second. */
const hearingMs = 60_000 + serverCount * 50;

let discord: DiscordDouble;
let redis: RedisServer;
let home: RemoraHome;
const processes: RemoraProcess[] = [];
afterEach(async () => {
  await Promise.all(processes.splice(0).map((process) => process.kill()));
  await Promise.all([discord.stop(), redis.dispose(), home.remove()]);
});

test.skipIf(missingRedis !== undefined)(
  `${serverCount} servers: when a process is killed, the other one resumes its shards, pauses, and every message is heard once${redisNote}`,
  async () => {
    const gateway = { recommendedShards: shardCount, maxConcurrency: 16 };
    [discord, redis, home] = await Promise.all([
      createDiscordDouble({ limits: "none", gateway }),
      startRedisServer({ persistence: "none" }),
      createHome(),
    ]);
    const channels = Array.from({ length: serverCount }, (_, index) => {
      // Servers of one millisecond would all be of one shard.
      discord.clock.advance(1);
      const guild = discord.addGuild(`server ${index}`);
      discord.ann.join(guild);
      return guild.addChannel("general");
    });
    const config = join(home.workspace, "..", "remora.yaml");
    await writeFile(config, JSON.stringify({ discord: { shards: "auto" }, limits, redis: { lockMs } }));
    const env = { REDIS_URL: redis.url, REMORA_CONFIG: config };
    const token = { DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl };
    async function start(): Promise<RemoraProcess> {
      const started = await startRemora(home, { ...env, ...token }, ["--role", "platforms"]);
      processes.push(started);
      return started;
    }
    const held = () => new Set(discord.gateway.connected().map(({ shard: [id] }) => id)).size;
    const attempts = (type: string) => discord.gateway.attempts.filter((each) => each.type === type);
    const expected: string[] = [];
    const say = (text: string, where = channels) => {
      for (const channel of where) expected.push(discord.ann.say(`@Remora ${text}`, { in: channel }).id);
    };
    const settings = {
      url: redis.url,
      prefix: "remora",
      lockMs,
      waitMs: 10_000,
      journals: join(home.workspace, "journals"),
    };
    const ledger = await openLedger({ data: home.data, redis: settings, log: silentLog });
    /** No worker runs, so each message stays in the queue. */
    const heard = async () => (await ledger.list("message", { states: ["queued"] })).map(({ body }) => body.id);
    /** Where the events of missing messages were, and from where sessions were resumed. */
    function trail(known: Set<string>): string {
      const missing = expected.filter((id) => !known.has(id)).slice(0, 20);
      const lines = missing.map((id) => `message ${id}: ${JSON.stringify(discord.gateway.sent("MESSAGE_CREATE", id))}`);
      const sessions = discord.gateway.attempts.map(
        ({ type, shard, outcome }) => `shard ${shard?.[0]}: ${type}, ${outcome}`,
      );
      return [...lines, ...sessions, ...processes.map((each) => each.stderr() + each.stdout())].join("\n");
    }
    async function expectAllHeard(): Promise<void> {
      await expect
        .poll(async () => (await heard()).length, { timeout: hearingMs, interval: 250 })
        .toBe(expected.length)
        .catch(async (thrown: unknown) => {
          throw new Error(`${thrown}\n${trail(new Set(await heard()))}`);
        });
      expect((await heard()).toSorted()).toEqual(expected.toSorted());
    }

    const one = await start();
    await discord.until(() => held() === shardCount, 60_000);
    say("with one process");
    await expectAllHeard();
    const other = await start();
    await discord.until(() => attempts("resume").length >= shardCount / 2 && held() === shardCount, 60_000);
    say("with two processes");
    await expectAllHeard();
    const resumed = attempts("resume").length;

    // Right after these messages, so that some are on their way when the process dies.
    say("just before the kill");
    await one.kill();
    const some = channels.filter((_, index) => index % 5 === 0);
    say("while its shards are nobody's", some);
    await discord.until(() => attempts("resume").length >= resumed + shardCount / 2 && held() === shardCount, 60_000);
    say("after the takeover", some);
    // Channels are still being asked for, and the answers come before the shards are its own again.
    process.kill(other.pid, "SIGSTOP");
    const leases = Array.from({ length: shardCount }, (_, shard) => `{remora}:lease:discord:shard:${shard}`);
    await expect.poll(() => redis.client.exists(...leases), { timeout: lockMs * 4 }).toBe(0);
    process.kill(other.pid, "SIGCONT");
    await expectAllHeard();
    expect(attempts("identify").map(({ outcome }) => outcome)).toEqual(Array(shardCount).fill("ready"));
    // Everything came by the sessions: no history was read.
    expect(discord.requests.filter(({ query }) => query.has("after"))).toEqual([]);
    await ledger.close();
  },
  600_000,
);
