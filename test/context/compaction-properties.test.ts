/** Whatever happens in whatever order, on two processes with one store: no turn is lost or doubled, and nothing forgotten comes back. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Compactor, createCompactor } from "../../src/context/compaction.ts";
import type { History } from "../../src/context/history-store.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import { createWithLock } from "../../src/lib/with-lock.ts";
import type { Leases } from "../../src/ports/cluster.ts";
import { type Origin, originOf, originText } from "../../src/ports/origin.ts";
import { readModel } from "../../src/response/parse.ts";
import { createInMemoryLeases } from "../../src/storage/in-memory-cluster.ts";
import { says } from "../doubles/scripted-provider.ts";
import { runs } from "../faults/share.ts";
import { admittedCall, createModel, endedTurn, historyTokens } from "./compaction-world.ts";
import { createWorld, type World } from "./world.ts";

interface Process {
  history: History;
  compactor: Compactor;
  /** Lets the model answer, or fail. Undefined if it was not asked. */
  answer: ((isGood: boolean) => void) | undefined;
}

function startProcess(world: World, leases: Leases, locks: Leases): Process {
  const history = world.history({ withLock: createWithLock(locks) });
  const { provider } = createModel(async function* () {
    const isGood = await new Promise<boolean>((resolve) => {
      process.answer = resolve;
    });
    process.answer = undefined;
    yield* says(isGood ? "- a summary" : "", "test/model");
  });
  const compactor = createCompactor({
    ...{ history, provider, readModel, leases, events: createEvents(), log: silentLog },
    usage: { admitAside: async () => admittedCall() },
    ...{ contextTokens: 3_000, historyTokens, maxOutputTokens: 1_000, tools: () => [] },
  });
  const process: Process = { history, compactor, answer: undefined };
  return process;
}

/** Until the compactor is done, or waits for its model. */
async function settled({ compactor }: Process, isAsked: () => boolean): Promise<void> {
  let isIdle = false;
  void compactor.whenIdle().then(() => {
    isIdle = true;
  });
  while (!isIdle && !isAsked()) await new Promise((resolve) => setImmediate(resolve));
}

const people = ["ann", "ben", "cho"] as const;
const which = fc.constantFrom(0, 1);
const action = fc.oneof(
  {
    weight: 40,
    arbitrary: fc.record({
      type: fc.constant("turn" as const),
      which,
      by: fc.constantFrom(...people),
      site: fc.option(fc.integer({ min: 1, max: 4 })),
    }),
  },
  { weight: 15, arbitrary: fc.record({ type: fc.constant("answer" as const), which, isGood: fc.boolean() }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constant("again" as const), which }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constant("crash" as const), which }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constant("forget" as const), which, by: fc.constantFrom(...people) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("new" as const), which }) },
);

interface Known {
  id: string;
  by: string;
  origins: Origin[];
}

test("turns, their people and their origins survive adds, summaries, crashes and wishes to be forgotten", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 25, maxLength: 60, size: "max" }), async (actions) => {
      const world = createWorld();
      const locks = createInMemoryLeases();
      // A crashed process's lease expires. Here, each process has its own, so that the store alone must keep order.
      const start = () => startProcess(world, createInMemoryLeases(), locks);
      const processes = [start(), start()];
      let known: Known[] = [];
      let count = 0;
      let newest: ReturnType<typeof endedTurn> | undefined;
      try {
        for (const one of actions) {
          const process = processes[one.which];
          if (process === undefined) throw new TypeError("no such process");
          const before = await world.history().read("test:c1", "", []);
          const end = async (turn: ReturnType<typeof endedTurn>) => {
            await process.history.add(turn, []);
            process.compactor.consider(turn);
            await settled(process, () => process.answer !== undefined);
          };
          switch (one.type) {
            case "turn": {
              count += 1;
              const page = one.site === null ? [] : [originOf("web", `site${one.site}.example`)];
              newest = endedTurn(`t${count}`, { by: one.by, ...(page.length === 0 ? {} : { origins: page }) });
              known.push({ id: newest.id, by: one.by, origins: page });
              await end(newest);
              break;
            }
            case "again":
              if (newest !== undefined && known.some(({ id }) => id === newest?.id)) await end(newest);
              break;
            case "answer": {
              const { answer } = process;
              answer?.(one.isGood);
              if (answer !== undefined) await process.compactor.whenIdle();
              break;
            }
            case "crash":
              processes[one.which] = start();
              break;
            case "forget": {
              const gone = before.summary?.authorIds.includes(`test:${one.by}`) ? before.summary.turnIds : [];
              await process.history.clear("test:c1", { platform: "test", userId: one.by });
              known = known.filter(({ id, by }) => by !== one.by && !gone.includes(id));
              break;
            }
            case "new":
              await process.history.clear("test:c1");
              known = [];
              break;
            default:
              one satisfies never;
          }
          await expectKnown(world, known);
        }
      } finally {
        for (const { answer } of processes) answer?.(false);
        await Promise.all(processes.map(({ compactor }) => compactor.close()));
        world.remove();
      }
    }),
    { numRuns: runs(200) },
  );
});

async function expectKnown(world: World, known: readonly Known[]): Promise<void> {
  const { summary, exchanges } = await world.history().read("test:c1", "", []);
  const summarized = new Set(summary?.turnIds);
  expect([...(summary?.turnIds ?? []), ...exchanges.map(({ turnId }) => turnId)]).toEqual(known.map(({ id }) => id));
  if (summary === undefined) return;
  const behind = known.filter(({ id }) => summarized.has(id));
  expect(summary.turns).toBe(behind.length);
  expect(new Set(summary.authorIds)).toEqual(new Set(behind.map(({ by }) => `test:${by}`)));
  const expected = behind.flatMap(({ by, origins }) => [...origins.map(originText), `message of ${by}`]);
  expect(new Set(summary.origins.map(originText))).toEqual(new Set(expected));
}

test("a summary and the turns that end while it is stored don't overwrite each other", async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), async (scheduler) => {
      const world = createWorld();
      const { store } = world;
      const slow = {
        ...store,
        get: scheduler.scheduleFunction(store.get),
        set: scheduler.scheduleFunction(store.set),
      };
      const locks = createInMemoryLeases();
      const processOf = () => world.history({ store: slow, withLock: createWithLock(locks) });
      for (let index = 1; index <= 8; index += 1) await world.history().add(endedTurn(`t${index}`), []);
      const histories = [processOf(), processOf(), processOf()] as const;
      const { provider } = createModel(() => says("- a summary", "test/model"));
      const compactor = createCompactor({
        ...{ history: histories[0], provider, readModel, events: createEvents(), log: silentLog },
        leases: createInMemoryLeases(),
        usage: { admitAside: async () => admittedCall() },
        ...{ contextTokens: 8_000, historyTokens, maxOutputTokens: 1_000, tools: () => [] },
      });
      compactor.consider(endedTurn("t8"));
      const adding = [histories[1].add(endedTurn("t9"), []), histories[2].add(endedTurn("t10"), [])];
      await scheduler.waitFor(Promise.all([...adding, compactor.whenIdle()]));
      const { summary, exchanges } = await world.history().read("test:c1", "", []);
      const ids = [...(summary?.turnIds ?? []), ...exchanges.map(({ turnId }) => turnId)];
      expect(summary).toBeDefined();
      expect(new Set(ids)).toEqual(new Set(Array.from({ length: 10 }, (_, index) => `t${index + 1}`)));
      expect(ids.length).toBe(10);
      world.remove();
    }),
    { numRuns: runs(100) },
  );
});
