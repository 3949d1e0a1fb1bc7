import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Leases } from "../../../src/ports/cluster.ts";
import { createDraftLocks } from "../../../src/sandbox/draft/draft-locks.ts";
import { createInMemoryLeases } from "../../../src/storage/in-memory-cluster.ts";

const never = new AbortController().signal;

/** Leases that count what is held, to check that every lease is released. */
function countedLeases(): Leases & { held(): string[] } {
  const leases = createInMemoryLeases();
  const held = new Set<string>();
  return {
    held: () => [...held],
    close: leases.close,
    async acquire(name) {
      const lease = await leases.acquire(name);
      if (lease === undefined) return undefined;
      held.add(name);
      return {
        signal: lease.signal,
        async release() {
          held.delete(name);
          await lease.release();
        },
      };
    },
  };
}

function deferred() {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

interface Use {
  /** One of two processes, each with its own locks. */
  process: 0 | 1;
  name: "a" | "b";
  mode: "shared" | "exclusive";
  rounds: number;
  ending: "resolves" | "rejects" | "aborts";
}

const anyUse: fc.Arbitrary<Use> = fc.record({
  process: fc.constantFrom(0 as const, 1 as const),
  name: fc.constantFrom("a" as const, "b" as const),
  mode: fc.constantFrom("shared" as const, "exclusive" as const),
  rounds: fc.nat({ max: 6 }),
  ending: fc.constantFrom("resolves" as const, "resolves" as const, "rejects" as const, "aborts" as const),
});

test("a writer is always alone, every use comes to its end, and nothing stays held", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyUse, { minLength: 1, maxLength: 14 }), async (uses) => {
      const leases = countedLeases();
      const processes = [createDraftLocks(leases), createDraftLocks(leases)] as const;
      const inside = new Map<string, Use[]>([
        ["a", []],
        ["b", []],
      ]);
      const wrong: string[] = [];

      async function work(use: Use): Promise<Use> {
        const there = inside.get(use.name) as Use[];
        const clash = use.mode === "exclusive" ? there.length > 0 : there.some((other) => other.mode === "exclusive");
        const isForeign = there.some((other) => other.process !== use.process);
        if (clash || isForeign) wrong.push(`${use.mode} in ${use.name} beside ${there.map(({ mode }) => mode).join()}`);
        there.push(use);
        for (let round = 0; round < use.rounds; round += 1) await setImmediate();
        there.splice(there.indexOf(use), 1);
        if (use.ending === "rejects") throw new Error("failed inside");
        return use;
      }

      const ended = uses.map(async (use) => {
        const abort = new AbortController();
        const held = processes[use.process].use(use.name, use.mode, abort.signal, () => work(use));
        if (use.ending === "aborts") abort.abort(new Error("stopped"));
        return await held.then(
          () => "resolves",
          (thrown: Error) => thrown.message,
        );
      });
      const results = await Promise.all(ended);
      expect(wrong).toEqual([]);
      for (const [index, use] of uses.entries()) {
        const allowed = { resolves: ["resolves"], rejects: ["failed inside"], aborts: ["stopped", "resolves"] };
        expect(allowed[use.ending]).toContain(results[index]);
      }
      expect(leases.held()).toEqual([]);
    }),
    { numRuns: 150 },
  );
});

describe("who waits for whom", () => {
  test("readers work side by side, and a writer waits for all of them", async () => {
    const locks = createDraftLocks(createInMemoryLeases());
    const [first, second] = [deferred(), deferred()];
    const order: string[] = [];
    const one = locks.use("a", "shared", never, async () => {
      order.push("first in");
      await first.promise;
    });
    const other = locks.use("a", "shared", never, async () => {
      order.push("second in");
      await second.promise;
    });
    const writer = locks.use("a", "exclusive", never, async () => void order.push("writer in"));
    while (order.length < 2) await setImmediate();
    first.resolve();
    await one;
    expect(order).toEqual(["first in", "second in"]);
    second.resolve();
    await Promise.all([other, writer]);
    expect(order).toEqual(["first in", "second in", "writer in"]);
  });

  test("readers that come later don't keep a waiting writer out", async () => {
    const locks = createDraftLocks(createInMemoryLeases());
    const gate = deferred();
    const order: string[] = [];
    const first = locks.use("a", "shared", never, () => gate.promise);
    const writer = locks.use("a", "exclusive", never, async () => void order.push("writer"));
    const late = locks.use("a", "shared", never, async () => void order.push("late reader"));
    gate.resolve();
    await Promise.all([first, writer, late]);
    expect(order).toEqual(["writer", "late reader"]);
  });

  test("a writer that gives up lets the readers behind it in", async () => {
    const locks = createDraftLocks(createInMemoryLeases());
    const gate = deferred();
    const abort = new AbortController();
    const first = locks.use("a", "shared", never, () => gate.promise);
    const writer = locks.use("a", "exclusive", abort.signal, async () => {});
    const late = locks.use("a", "shared", never, async () => "in");
    abort.abort(new Error("stopped"));
    await expect(writer).rejects.toThrow("stopped");
    expect(await late).toBe("in");
    gate.resolve();
    await first;
  });

  test("a reader that is stopped while the lease is awaited stops nobody else", async () => {
    const leases = createInMemoryLeases();
    const elsewhere = await leases.acquire("a");
    const locks = createDraftLocks(leases);
    const abort = new AbortController();
    const stopped = locks.use("a", "shared", abort.signal, async () => "in");
    const other = locks.use("a", "shared", never, async () => "in");
    abort.abort(new Error("stopped"));
    await expect(stopped).rejects.toThrow("stopped");
    await elsewhere?.release();
    expect(await other).toBe("in");
  });

  test("a lease that can't be asked for is an error of that use, and the next one asks again", async () => {
    const leases = createInMemoryLeases();
    let isAway = true;
    const locks = createDraftLocks({
      ...leases,
      acquire: (name) => (isAway ? Promise.reject(new Error("the service is away")) : leases.acquire(name)),
    });
    await expect(locks.use("a", "exclusive", never, async () => "in")).rejects.toThrow("the service is away");
    isAway = false;
    expect(await locks.use("a", "exclusive", never, async () => "in")).toBe("in");
  });
});
