import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Bus, BusMessage } from "../../src/ports/cluster.ts";
import { createEphemeralTexts } from "../../src/storage/ephemeral-texts.ts";
import { createRedisBus } from "../../src/storage/redis/bus.ts";
import { createRedisConnection, type RedisConnection } from "../../src/storage/redis/connection.ts";
import { missingRedis, type RedisServer, redisNote, startRedisServer } from "../doubles/redis-server.ts";
import { recordingLog } from "./redis-log.ts";

const work: BusMessage = { type: "work", conversationId: "c" };
const channel = "{remora}:bus";

describe.skipIf(missingRedis !== undefined)(`the bus on Redis${redisNote}`, () => {
  let server: RedisServer;
  let connections: RedisConnection[];
  beforeEach(async () => {
    server = await startRedisServer();
    connections = [];
  });
  afterEach(async () => {
    for (const connection of connections) await connection.close();
    await server.dispose();
  });

  /** Each is a process of its own, with what it has heard. */
  async function open(): Promise<{
    bus: Bus;
    heard: BusMessage[];
    entries: ReturnType<typeof recordingLog>["entries"];
  }> {
    const { log, entries } = recordingLog();
    const connection = createRedisConnection(server.url, log);
    connections.push(connection);
    const bus = createRedisBus({ connection, log });
    const heard: BusMessage[] = [];
    bus.listen((message) => heard.push(message));
    await connection.whenReady(new AbortController().signal);
    await subscribed(connections.length);
    return { bus, heard, entries };
  }

  const subscribed = (count: number) =>
    vi.waitFor(async () => expect(await server.client.pubsub("NUMSUB", channel)).toEqual([channel, count]), 5_000);

  test("after Redis was killed and started again everybody hears again", async () => {
    const [one, two] = [await open(), await open()];
    await server.kill();
    expect(() => one.bus.publish(work)).not.toThrow();
    expect(one.heard).toEqual([work]);
    await server.start();
    await subscribed(2);
    await vi.waitFor(() => {
      one.bus.publish(work);
      expect(two.heard.length).toBeGreaterThan(0);
    }, 5_000);
  });

  test("what is no message of the bus is left out, and noted", async () => {
    const { heard, entries } = await open();
    const rubbish = [
      "",
      "nonsense",
      "[]",
      JSON.stringify(work),
      JSON.stringify({ from: "x", message: { type: "format the disk" } }),
      JSON.stringify({ from: "x", message: { type: "abort", conversationId: "c", cause: "whim" } }),
      JSON.stringify({ from: 1, message: work }),
    ];
    for (const text of rubbish) await server.client.publish(channel, text);
    await server.client.publish(channel, JSON.stringify({ from: "x", message: { ...work, more: "than is known" } }));
    await vi.waitFor(() => expect(heard).toEqual([work]));
    expect(entries.filter(({ level }) => level === "warn")).toHaveLength(rubbish.length);
  });

  test("a listener that fails is noted, and keeps nothing from the others or from whoever published", async () => {
    const [one, two] = [await open(), await open()];
    one.bus.listen(() => {
      throw new Error("a bug in the listener");
    });
    const after: BusMessage[] = [];
    one.bus.listen((message) => after.push(message));
    expect(() => one.bus.publish(work)).not.toThrow();
    expect(after).toEqual([work]);
    expect(one.entries).toMatchObject([{ level: "error", fields: { error: "a bug in the listener" } }]);
    await vi.waitFor(() => expect(two.heard).toEqual([work]));
  });

  test("while Redis answers nothing only so much waits to be sent, and later it goes on", async () => {
    const [one, two] = [await open(), await open()];
    process.kill(server.pid, "SIGSTOP");
    for (let number = 0; number < 3_000; number += 1) one.bus.publish({ type: "changed", kind: "k", id: `${number}` });
    expect(one.heard).toHaveLength(3_000);
    process.kill(server.pid, "SIGCONT");
    await vi.waitFor(() => expect(two.heard).toHaveLength(1_000), 5_000);
    await vi.waitFor(() => {
      one.bus.publish(work);
      expect(two.heard.at(-1)).toEqual(work);
    });
  });

  test("a text that may not be stored reaches the other processes, and Redis keeps none of it", async () => {
    const [one, two] = [await open(), await open()].map(({ bus }) => createEphemeralTexts(bus));
    one?.put("result:t1-c1", "found");
    await vi.waitFor(() => expect(two?.get("result:t1-c1")).toBe("found"));
    expect(await server.client.keys("*")).toEqual([]);
    two?.drop("result:t1-");
    await vi.waitFor(() => expect(one?.get("result:t1-c1")).toBeUndefined());
  });

  test("another prefix is another bus", async () => {
    const { heard } = await open();
    const { log } = recordingLog();
    const connection = createRedisConnection(server.url, log);
    connections.push(connection);
    const other = createRedisBus({ connection, log, prefix: "{other}:" });
    await connection.whenReady(new AbortController().signal);
    other.publish(work);
    await vi.waitFor(async () => expect(await server.client.info("commandstats")).toContain("cmdstat_publish"));
    const end: BusMessage = { type: "changed", kind: "the", id: "end" };
    await server.client.publish(channel, JSON.stringify({ from: "x", message: end }));
    await vi.waitFor(() => expect(heard).toEqual([end]));
  });

  test("closing one bus leaves another on the same connection alone", async () => {
    const { bus } = await open();
    const [connection] = connections;
    if (connection === undefined) throw new Error("no connection");
    const { log } = recordingLog();
    const second = createRedisBus({ connection, log });
    const heard: BusMessage[] = [];
    second.listen((message) => heard.push(message));
    await bus.close();
    await server.client.publish(channel, JSON.stringify({ from: "x", message: work }));
    await vi.waitFor(() => expect(heard).toEqual([work]));
    await second.close();
    await subscribed(0);
  });

  test("who may not subscribe says so in the log, and is still heard by its own listeners", async () => {
    await server.client.acl("SETUSER", "remora", "on", ">secret-secret", "~*", "resetchannels", "+@all");
    const { log, entries } = recordingLog();
    const connection = createRedisConnection(`redis://remora:secret-secret@${server.host}:${server.port}`, log);
    connections.push(connection);
    const bus = createRedisBus({ connection, log });
    await vi.waitFor(() => expect(entries).toMatchObject([{ level: "error", fields: { channel } }]));
    const heard = vi.fn();
    bus.listen(heard);
    bus.publish(work);
    expect(heard).toHaveBeenCalledOnce();
  });
});
