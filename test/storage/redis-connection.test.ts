import { Queue, Worker } from "bullmq";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import { createRedisConnection, type RedisConnection } from "../../src/storage/redis/connection.ts";
import { missingRedis, type RedisServer, redisNote, startRedisServer } from "../doubles/redis-server.ts";
import { recordingLog } from "./redis-log.ts";
import { type RedisProxy, startRedisProxy } from "./redis-proxy.ts";

describe.skipIf(missingRedis !== undefined)(`the connection to Redis${redisNote}`, () => {
  let server: RedisServer;
  let connection: RedisConnection;
  const never = new AbortController().signal;
  const connect = (...rest: [Parameters<typeof createRedisConnection>[2]?]) => {
    connection = createRedisConnection(server.url, silentLog, ...rest);
    return connection;
  };
  const ping = () => connection.run({ place: "test" }, (client) => client.ping());

  afterEach(async () => {
    await connection?.close();
    await server?.dispose();
  });

  describe("to a server that runs", () => {
    beforeEach(async () => {
      server = await startRedisServer();
    });

    test("is ready, says where it goes, and has nothing to say about a server that is well set up", async () => {
      connect();
      await connection.whenReady(never);
      expect(connection.health()).toEqual({ isConnected: true, detail: `${server.url}/0` });
      expect(await connection.checks()).toEqual([]);
      expect(connection.secrets).toEqual([]);
    });

    test("goes to the database that the address names", async () => {
      connection = createRedisConnection(`${server.url}/5`, silentLog);
      await connection.run({ place: "test" }, (client) => client.set("here", "1"));
      expect(await server.client.get("here")).toBeNull();
      expect(await server.client.info("keyspace")).toContain("db5:keys=1");
    });

    test("a database that is not there is refused, and nothing goes to another one", async () => {
      connection = createRedisConnection(`${server.url}/16`, silentLog);
      const refused = {
        code: "storage.no-database",
        isRetryable: false,
        message: expect.stringContaining("REDIS_URL"),
      };
      await expect(connection.whenReady(never)).rejects.toMatchObject(refused);
      const sent = connection.run({ place: "test" }, (client) => client.set("here", "1"));
      await expect(sent).rejects.toMatchObject(refused);
      expect(connection.health().isConnected).toBe(false);
      expect(await server.client.dbsize()).toBe(0);
    });

    test("closing ends every connection, and what comes later is refused", async () => {
      connect();
      await connection.whenReady(never);
      await connection.subscriber().subscribe("channel");
      await connection.forBullMq("worker").ping();
      const names = async () => (await server.client.client("LIST")) as string;
      expect(await names()).toMatch(/remora-commands[\s\S]*remora-subscriber[\s\S]*remora-worker/);
      await connection.close();
      await connection.close();
      await vi.waitFor(async () => expect(await names()).not.toContain("remora-"));
      await expect(ping()).rejects.toMatchObject({ code: "storage.closed" });
      await expect(connection.whenReady(never)).rejects.toMatchObject({ code: "storage.closed" });
      expect(() => connection.forBullMq("queue")).toThrow(/closed/);
    });

    test("what waits when it is closed is refused at once", async () => {
      connect();
      await connection.whenReady(never);
      await server.stop();
      const waiting = ping();
      await connection.close();
      await expect(waiting).rejects.toMatchObject({ code: "storage.closed" });
    });

    test("BullMQ works with its connections", async () => {
      connect();
      const options = { prefix: "{test}:jobs" };
      const queue = new Queue("work", { ...options, connection: connection.forBullMq("queue") });
      const done = Promise.withResolvers<unknown>();
      const worker = new Worker("work", async (job) => done.resolve(job.data), {
        ...options,
        connection: connection.forBullMq("worker"),
      });
      await queue.waitUntilReady();
      await queue.add("job", { hello: "world" });
      expect(await done.promise).toEqual({ hello: "world" });
      await worker.close();
      await queue.close();
    });
  });

  describe("while Redis is away", () => {
    beforeEach(async () => {
      server = await startRedisServer();
    });

    test("at the start it waits, says so once and then every so often, and says when it is there", async () => {
      await server.stop();
      const { log, entries } = recordingLog();
      connection = createRedisConnection(server.url, log, { reminderMs: 300 });
      const ready = connection.whenReady(never);
      await vi.waitFor(() => expect(entries.length).toBeGreaterThanOrEqual(3), 5_000);
      expect(entries[0]).toMatchObject({
        level: "warn",
        message: expect.stringContaining(`${server.url}/0] can't be reached`),
        fields: { error: expect.stringContaining("ECONNREFUSED") },
      });
      expect(connection.health()).toEqual({ isConnected: false, detail: expect.stringContaining("ECONNREFUSED") });
      await server.start();
      await ready;
      expect(connection.health().isConnected).toBe(true);
      await vi.waitFor(() => expect(entries.at(-1)).toMatchObject({ level: "info" }));
    });

    test("waiting ends with the signal's reason", async () => {
      await server.stop();
      connect();
      const controller = new AbortController();
      const ready = connection.whenReady(controller.signal);
      controller.abort(new Error("shutting down"));
      await expect(ready).rejects.toThrow("shutting down");
    });

    test("a command waits for it, in the middle of work too", async () => {
      connect();
      await ping();
      await server.kill();
      const waiting = Promise.all([ping(), ping(), ping()]);
      await server.start();
      expect(await waiting).toEqual(["PONG", "PONG", "PONG"]);
    });

    test("a command waits no longer than the bound, and is not sent after it", async () => {
      connect({ waitMs: 2_000 });
      await ping();
      await server.kill();
      const lost = connection.run({ place: "test" }, (client) => client.set("late", "1"));
      await expect(lost).rejects.toMatchObject({
        code: "storage.unreachable",
        isRetryable: true,
        message: expect.stringMatching(/^\[test redis:.* [2-9](?:\.\d)? s \(.+/),
      });
      await server.start();
      // Reconnecting may take longer than the bound.
      await expect.poll(() => ping().catch(() => "")).toBe("PONG");
      expect(await server.client.get("late")).toBeNull();
    });

    test("a slow server is waited for", async () => {
      connect();
      await ping();
      await server.client.client("PAUSE", 300, "ALL");
      expect(await ping()).toBe("PONG");
    });

    test("a frozen server is given up after the bound", async () => {
      connect({ waitMs: 1_000 });
      await ping();
      process.kill(server.pid, "SIGSTOP");
      await expect(ping()).rejects.toMatchObject({ code: "storage.unreachable", isRetryable: true });
      process.kill(server.pid, "SIGCONT");
      expect(await ping()).toBe("PONG");
    });

    test("adding jobs is refused at once, and a worker waits", async () => {
      connect();
      const [queue, worker] = [connection.forBullMq("queue"), connection.forBullMq("worker")];
      await Promise.all([queue, worker].map((client) => vi.waitFor(() => expect(client.status).toBe("ready"))));
      await server.kill();
      await vi.waitFor(() => expect(queue.status).toBe("reconnecting"));
      await expect(queue.ping()).rejects.toThrow("enableOfflineQueue");
      const waiting = worker.ping();
      await server.start();
      expect(await waiting).toBe("PONG");
      await vi.waitFor(async () => expect(await queue.ping()).toBe("PONG"));
    });
  });

  describe("that was cut without a word", () => {
    let proxy: RedisProxy;
    beforeEach(async () => {
      server = await startRedisServer();
      proxy = await startRedisProxy(server);
    });
    afterEach(() => proxy.close());

    test("is noticed by a command that is not answered, and the command goes over a new one", async () => {
      connection = createRedisConnection(proxy.url, silentLog, { silenceMs: 100 });
      await ping();
      proxy.stall();
      expect(await ping()).toBe("PONG");
    });
  });

  describe("to a server with a password", () => {
    const password = "hunter2-hunter2";
    beforeEach(async () => {
      server = await startRedisServer({ password });
    });
    const at = (login: string) => `redis://${login}${server.host}:${server.port}`;

    test("gets in with it, and gives it out only to be redacted", async () => {
      connect();
      await connection.whenReady(never);
      expect(connection.secrets).toEqual([password]);
      expect(JSON.stringify(connection.health())).not.toContain(password);
    });

    test.each([
      ["a wrong one", ":hunter2-wrong@"],
      ["none", ""],
      ["an unknown user", "nobody:hunter2-wrong@"],
    ])("with %s nothing waits, and the log says what to do without showing it", async (_, login) => {
      const { log, entries } = recordingLog();
      connection = createRedisConnection(at(login), log);
      const denied = { code: "storage.denied", isRetryable: false, message: expect.stringContaining("REDIS_URL") };
      await expect(connection.whenReady(never)).rejects.toMatchObject(denied);
      await expect(ping()).rejects.toMatchObject(denied);
      await vi.waitFor(() => expect(entries.some(({ level }) => level === "error")).toBe(true));
      expect(JSON.stringify([entries, connection.health()])).not.toContain("hunter2");
      const thrown: unknown = await ping().catch((error: unknown) => error);
      expect(JSON.stringify(thrown, Object.getOwnPropertyNames(thrown))).not.toContain("hunter2");
    });

    test("gets in once the server takes it", async () => {
      connection = createRedisConnection(at(":hunter2-other@"), silentLog);
      await expect(connection.whenReady(never)).rejects.toMatchObject({ code: "storage.denied" });
      await server.client.config("SET", "requirepass", "hunter2-other");
      await vi.waitFor(async () => expect(await ping()).toBe("PONG"), 5_000);
    });
  });

  describe("to a server that does not suit", () => {
    test.each([
      ["that may throw keys away", ["--maxmemory-policy", "allkeys-lru"], "allkeys-lru"],
      ["that only takes snapshots", ["--appendonly", "no", "--save", "60 1"], "only takes snapshots"],
      ["that keeps nothing", ["--appendonly", "no"], "stores nothing on disk"],
      ["that is a replica", ["--replicaof", "127.0.0.1 1"], "is a read-only replica"],
    ])("one %s is named, with what to do", async (_, args, words) => {
      server = await startRedisServer({ args });
      connect();
      expect(await connection.checks()).toEqual([expect.stringContaining(words)]);
    });

    test("one that is too old is named with its version and the one that is needed", async () => {
      server = await startRedisServer();
      const proxy = await startRedisProxy(server);
      const [, version = ""] = /redis_version:(\S+)/.exec(await server.client.info("server")) ?? [];
      const old = version.replace(/^\d+\.\d+/, (found) => "6.1".padEnd(found.length, "9"));
      proxy.replace(`redis_version:${version}`, `redis_version:${old}`);
      connection = createRedisConnection(proxy.url, silentLog);
      expect(await connection.checks()).toEqual([expect.stringMatching(/version is 6\.1.* needs 6\.2/)]);
      await proxy.close();
    });

    test("one that keeps its settings to itself is not guessed about", async () => {
      server = await startRedisServer({ persistence: "none" });
      await server.client.acl("SETUSER", "default", "-config");
      connect();
      expect(await connection.checks()).toEqual([]);
    });

    test("checks wait while Redis is away like every command", async () => {
      server = await startRedisServer();
      await server.stop();
      connect({ waitMs: 100 });
      await expect(connection.checks()).rejects.toMatchObject({ code: "storage.unreachable" });
    });
  });
});
