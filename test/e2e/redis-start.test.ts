/** Starts with the real process: before Redis runs, against one that refuses, and against a badly configured one. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { freePort } from "../doubles/free-port.ts";
import { missingRedis, redisNote } from "../doubles/redis-server.ts";
import {
  answerIn,
  createDurabilityWorld,
  type DurabilityWorld,
  eventually,
  newId,
  processesWith,
} from "./durability-world.ts";

let world: DurabilityWorld;
afterEach(() => world.close());

/** Its output when it exits instead of starting. */
async function refusalOf(args: string[], env: Record<string, string>): Promise<string> {
  return await world.start(args, { env }).then(
    () => "it has started",
    (thrown: unknown) => String(thrown),
  );
}

const runningHere = () => processesWith("environ", `REMORA_DATA=${world.home.data} `);

describe.skipIf(missingRedis !== undefined)(`Redis at the start${redisNote}`, () => {
  test("when Redis starts later, the process says what it waits for, then starts", async () => {
    world = await createDurabilityWorld({ redis: {} });
    await world.redis.stop();
    const url = `http://127.0.0.1:${await freePort()}`;
    const starting = world.start([], { env: { REMORA_PORT: new URL(url).port } });
    await eventually(async () => {
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
      const ready = await fetch(`${url}/readyz`);
      expect(ready.status).toBe(503);
      expect(await ready.text()).toMatch(/waiting for Redis: .*127\.0\.0\.1.*ECONNREFUSED/);
    });
    await world.redis.start();
    const remora = await starting;
    expect(remora.stderr()).toMatch(/can't be reached. Remora keeps trying/);
    expect(remora.stderr()).toMatch(/is reachable again/);
    await eventually(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200));
    const id = newId();
    await world.person.say(id, `plain ${id}`);
    expect(await answerIn(world, id)).toContain(`You said plain ${id}`);
  });

  test("when Redis never starts, SIGTERM ends the wait with exit code 0", async () => {
    world = await createDurabilityWorld({ redis: {} });
    await world.redis.stop();
    const url = `http://127.0.0.1:${await freePort()}`;
    const ended = refusalOf([], { REMORA_PORT: new URL(url).port });
    await eventually(async () => expect((await fetch(`${url}/readyz`)).status).toBe(503));
    const [pid, ...others] = await runningHere();
    expect(others).toEqual([]);
    process.kill(pid ?? 0, "SIGTERM");
    expect(await ended).toContain("the process ended with 0 before it was ready");
    expect(await runningHere()).toEqual([]);
  });

  test("when Redis refuses the password, the process exits with 1 and says what to fix without showing it", async () => {
    world = await createDurabilityWorld({ redis: { password: "right-password" } });
    const REDIS_URL = world.redis.url.replace("right-password", "wrong-password");
    const said = await refusalOf([], { REDIS_URL });
    expect(said).toContain("ended with 1");
    expect(said).toContain("refuses the user or password. Correct them in REDIS_URL");
    expect(said).not.toContain("wrong-password");
  });

  test("when a local file can't be opened, the start ends and names it", async () => {
    world = await createDurabilityWorld({ redis: {} });
    await mkdir(world.home.data, { recursive: true });
    await writeFile(
      join(world.home.data, "local.db"),
      "no database, but long enough to be looked at as one".repeat(40),
    );
    await expect(world.startHere()).rejects.toThrow(/can't open the local chat: .*move the file away/);
  });

  test("the log warns if Redis evicts or does not persist data, and only then", async () => {
    world = await createDurabilityWorld({
      redis: { persistence: "none", args: ["--maxmemory-policy", "allkeys-lru"] },
    });
    const remora = await world.startHere();
    await eventually(() => expect(remora.stderr()).toContain("Redis has the maxmemory-policy allkeys-lru"));
    await eventually(() => expect(remora.stderr()).toContain("Redis stores nothing on disk"));
    await remora.stop();
    await world.redis.client.config("SET", "maxmemory-policy", "noeviction");
    await world.redis.client.config("SET", "appendonly", "yes");
    const next = await world.startHere();
    expect(next.stderr()).not.toMatch(/maxmemory-policy|on disk|snapshots/);
  });
});

describe("without Redis", () => {
  test.each(["worker", "platforms"])("--role %s does not start and says what it needs", async (role) => {
    world = await createDurabilityWorld();
    await expect(world.startHere(["--role", role])).rejects.toThrow(
      `[--role] "${role}" shares its work with other processes, and they need Redis for that. Set REDIS_URL`,
    );
  });

  test("a second process on the same data folder exits with 1 and names the first", async () => {
    world = await createDurabilityWorld();
    await world.startHere();
    const said = await refusalOf([], {});
    expect(said).toContain("ended with 1");
    expect(said).toContain(world.home.data);
    expect(said).toContain(`(process ${process.pid})`);
    const id = newId();
    await world.person.say(id, `plain ${id}`);
    expect(await answerIn(world, id)).toContain(`You said plain ${id}`);
  });
});
