/** Two processes that share their state in Redis end turns of one conversation at once; either may summarise, and one stalls. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createHistory } from "../../src/context/history-store.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { DurableState } from "../../src/storage/durable-state.ts";
import { openShared } from "../../src/storage/redis/open-redis.ts";
import { missingRedis, type RedisServer, redisNote, startRedisServer } from "../doubles/redis-server.ts";
import { says } from "../doubles/scripted-provider.ts";
import { createCompaction, createModel, endedTurn } from "./compaction-world.ts";
import { createWorld } from "./world.ts";

describe.skipIf(missingRedis !== undefined)(`Compaction with Redis${redisNote}`, () => {
  let server: RedisServer;
  let folder: string;
  const world = createWorld();
  const opened: DurableState[] = [];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "compaction-redis-"));
    server = await startRedisServer();
  });
  afterAll(async () => {
    await Promise.all(opened.map((state) => state.close()));
    await server.dispose();
    world.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = async (name: string) => {
    const settings = { url: server.url, prefix: "test", lockMs: 5_000, waitMs: 5_000, journals: folder };
    const never = new AbortController().signal;
    const state = await openShared(join(folder, name), settings, silentLog, async () => async () => {}, never);
    opened.push(state);
    return state;
  };
  const historyOn = ({ store, withLock }: Pick<DurableState, "store" | "withLock">) =>
    createHistory({
      store,
      log: silentLog,
      idleMs: null,
      maxTokens: 100_000,
      ...(withLock === undefined ? {} : { withLock }),
    });

  test("no turn is lost or doubled, and only one of them asks the model at a time", async () => {
    let running = 0;
    let mostRunning = 0;
    const { requests, provider } = createModel(async function* () {
      running += 1;
      mostRunning = Math.max(mostRunning, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      yield* says("- they talked", "test/model");
    });
    const start = async (name: string) => {
      const state = await open(name);
      return createCompaction(world, provider, { history: historyOn(state), leases: state.leases });
    };
    const processes = [await start("one"), await start("two")] as const;
    const ids = Array.from({ length: 40 }, (_, index) => `t${index + 1}`);
    for (let from = 0; from < ids.length; from += 4) {
      // Two turns in each process end at the same time.
      await Promise.all(
        ids.slice(from, from + 4).map(async (id, index) => {
          const { history, compactor } = processes[index % 2 === 0 ? 0 : 1];
          await history.add(endedTurn(id), []);
          compactor.consider(endedTurn(id));
        }),
      );
    }
    await Promise.all(processes.map(({ compactor }) => compactor.whenIdle()));
    await processes[0].add(endedTurn("last"));
    const { summary, exchanges } = await processes[1].read();
    const stored = [...(summary?.turnIds ?? []), ...exchanges.map(({ turnId }) => turnId)];
    expect(stored.toSorted()).toEqual([...ids, "last"].toSorted());
    expect(summary?.turns).toBe(summary?.turnIds.length);
    expect(requests.length).toBeGreaterThan(1);
    expect(mostRunning).toBe(1);
  });

  test("a process that stalls right before its write until another one has written does not overwrite it", async () => {
    const [stalled, other] = [await open("stalled"), await open("other")];
    const stall = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const store: typeof stalled.store = {
      ...stalled.store,
      async set(...write) {
        reached.resolve();
        await stall.promise;
        await stalled.store.set(...write);
      },
    };
    const slow = historyOn({ ...stalled, store }).add({ ...endedTurn("slow"), conversationId: "stalls" }, []);
    await reached.promise;
    // Its lock expires.
    expect(await server.client.del("{test}:lease:history:stalls")).toBe(1);
    const history = historyOn(other);
    await history.add({ ...endedTurn("quick"), conversationId: "stalls" }, []);
    stall.resolve();
    await slow;
    const { exchanges } = await history.read("stalls", "", []);
    expect(exchanges.map(({ turnId }) => turnId)).toEqual(["quick", "slow"]);
  });
});
