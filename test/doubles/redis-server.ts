/**
 * A private, real redis-server on a free loopback port, with its data in a temporary folder.
 *
 *   const server = await startRedisServer();
 *   await server.client.set("a", "1");
 *   await server.kill();       SIGKILL, as in a crash
 *   await server.start();      again, on the same port and data
 *   await server.dispose();    ends it, closes the client, removes the folder
 *
 * Without the program, suites are skipped with the reason (`describe.skipIf(missingRedis !== undefined)`). With `CI=true`
 * nothing can be skipped: `missingRedis` stays undefined, and `startRedisServer` fails with that reason.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Redis } from "ioredis";
import { freePort } from "./free-port.ts";

const problem = (process.env.PATH ?? "").split(delimiter).some((folder) => existsSync(join(folder, "redis-server")))
  ? undefined
  : "no redis-server on the PATH; install it: apt-get install -y redis-server";

/** Why Redis suites are skipped; undefined when they must run. */
export const missingRedis = process.env.CI === "true" ? undefined : problem;

/** Appended to a suite's name, so the report shows the reason. */
export const redisNote = missingRedis === undefined ? "" : ` (skipped: ${missingRedis})`;

export interface RedisServerOptions {
  /** `aof`, the default: what was answered survives SIGKILL. `none`: a restart is empty. */
  persistence?: "aof" | "none";
  password?: string;
  /** More settings as redis-server takes them: `["--maxmemory", "1mb"]`. */
  args?: string[];
  /** The lines of a sentinel's settings, which make it one. Then persistence does not apply. */
  sentinel?: string[];
}

export interface RedisServer {
  host: string;
  port: number;
  url: string;
  /** Of the process that runs now, or ran last. */
  pid: number;
  isRunning: boolean;
  /** For tests. Always reconnects. */
  client: Redis;
  /** What the server has printed, over all its starts. */
  output(): string;
  /** On the same port and data. Resolves once it answers. */
  start(): Promise<void>;
  /** SIGTERM. Resolves when the process has ended. The data stays. */
  stop(): Promise<void>;
  /** SIGKILL. Resolves when the process has ended. The data stays. */
  kill(): Promise<void>;
  /** Ends everything and removes the data. */
  dispose(): Promise<void>;
}

const host = "127.0.0.1";
const startTimeoutMs = 60_000;
const stopTimeoutMs = 5_000;

/** Resolves once the server answers. */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  if (problem !== undefined) throw new Error(problem);
  const folder = await mkdtemp(join(tmpdir(), "remora-redis-"));
  try {
    for (let attempt = 1; ; attempt += 1) {
      // Written anew each time: a sentinel puts its port into it.
      if (options.sentinel !== undefined) await writeFile(join(folder, "sentinel.conf"), options.sentinel.join("\n"));
      const server = createRedisServer(await freePort(), folder, options);
      try {
        await server.start();
        return server;
      } catch (thrown) {
        await server.stop();
        // Somebody else took the port between the look and the start.
        if (attempt === 5 || !server.output().includes("in use")) throw thrown;
      }
    }
  } catch (thrown) {
    await rm(folder, { recursive: true, force: true });
    throw thrown;
  }
}

function createRedisServer(port: number, folder: string, options: RedisServerOptions): RedisServer {
  const output = { text: "" };
  let child: ChildProcess | undefined;
  let pid = 0;
  let client: Redis | undefined;
  const killChild = () => child?.kill("SIGKILL");

  async function end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    const running = child;
    if (running === undefined) return;
    const gone = exitOf(running);
    running.kill(signal);
    const timer = setTimeout(() => running.kill("SIGKILL"), stopTimeoutMs);
    await gone;
    clearTimeout(timer);
    child = undefined;
    process.off("exit", killChild);
  }

  return {
    host,
    port,
    url: `redis://${options.password === undefined ? "" : `:${encodeURIComponent(options.password)}@`}${host}:${port}`,
    get pid() {
      return pid;
    },
    get isRunning() {
      return child !== undefined && !hasExited(child);
    },
    get client() {
      client ??= createTestClient(port, options.password);
      return client;
    },
    output: () => output.text,
    async start() {
      if (child !== undefined && !hasExited(child)) throw new Error(`redis-server on port ${port} is already running`);
      const from = output.text.length;
      child = spawn("redis-server", argumentsFor(port, folder, options), {
        cwd: folder,
        stdio: ["ignore", "pipe", "pipe"],
      });
      pid = child.pid ?? 0;
      // A test process that ends without disposing leaves no server behind.
      process.on("exit", killChild);
      for (const stream of [child.stdout, child.stderr]) {
        stream?.on("data", (chunk) => {
          output.text += chunk;
        });
      }
      await untilReady(child, port, () => output.text.slice(from));
    },
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
    async dispose() {
      client?.disconnect();
      await end("SIGKILL");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function argumentsFor(port: number, folder: string, options: RedisServerOptions): string[] {
  const { persistence, password, args, sentinel } = options;
  const own = ["--port", String(port), "--bind", host, "--dir", folder, "--daemonize", "no"];
  const login = password === undefined ? [] : ["--requirepass", password];
  if (sentinel !== undefined) return [join(folder, "sentinel.conf"), "--sentinel", ...own, ...login, ...(args ?? [])];
  return [
    ...own,
    ...login,
    ...["--save", ""],
    // `no` writes before it answers and leaves the disk to the system: safe against SIGKILL, and never held up by a slow
    // disk. `everysec` may hold a write back for two seconds while the disk is busy.
    ...["--appendonly", persistence === "none" ? "no" : "yes", "--appendfsync", "no"],
    ...(args ?? []),
  ];
}

/**
 * Waits for the process's own ready line, so another server on the port can't pass for it, and then for a reply, so the next
 * client is served. Errors such as a missing password count as replies.
 */
async function untilReady(child: ChildProcess, port: number, printed: () => string): Promise<void> {
  const failed = exitOf(child).then(() => {
    throw new Error("redis-server ended before it was ready");
  });
  const ready = until(`redis-server on port ${port}`, async () => {
    if (hasExited(child)) await failed;
    return /Ready to accept connections|Sentinel ID is/.test(printed()) && (await answers(port));
  });
  await Promise.race([ready, failed]).catch((thrown: unknown) => {
    throw new Error(`${thrown}\n${printed()}`);
  });
}

/** Rejects after a minute. */
export async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const latest = Date.now() + startTimeoutMs;
  while (!(await isTrue())) {
    if (Date.now() > latest) throw new Error(`${what} was not ready within ${startTimeoutMs} ms`);
    await wait(10);
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, host, () => socket.write("PING\r\n"));
    const finish = (isAnswered: boolean) => {
      socket.destroy();
      done(isAnswered);
    };
    socket.setTimeout(1_000, () => finish(false));
    socket.on("error", () => finish(false));
    socket.on("close", () => finish(false));
    socket.on("data", (answer) => finish(!answer.toString().startsWith("-LOADING")));
  });
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
}

/** Resolves when the process has ended, or could not be started. */
function exitOf(child: ChildProcess): Promise<void> {
  if (hasExited(child)) return Promise.resolve();
  return new Promise((done) => {
    child.once("exit", () => done());
    child.once("error", () => done());
  });
}

function createTestClient(port: number, password: string | undefined): Redis {
  const client = new Redis({
    host,
    port,
    ...(password === undefined ? {} : { password }),
    maxRetriesPerRequest: null,
    retryStrategy: () => 50,
  });
  // Connection errors are what the tests are about; the command that waits says what comes of it.
  client.on("error", () => undefined);
  return client;
}
