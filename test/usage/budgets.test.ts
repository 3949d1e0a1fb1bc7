/** Budgets in dollars: reservations, asking, additions, and several processes that use up one budget. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { TurnRecord } from "../../src/ports/turn.ts";
import { type AdmittedCall, type DollarLimits, payerOf, usageSubject } from "../../src/ports/usage.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import type { Price } from "../../src/usage/price-table.ts";
import { createUsageMeter, type UsageOptions } from "../../src/usage/usage.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";
import { missingRedis, redisNote, startRedisServer } from "../doubles/redis-server.ts";
import { noUsage } from "../doubles/scripted-provider.ts";
import { noDollarLimits, noLimits } from "../doubles/turn-deps.ts";
import { runs } from "../faults/share.ts";
import { cap, maxCallCost } from "./use-up.ts";

const workerFile = fileURLToPath(new URL("./budget-worker.ts", import.meta.url));
const noon = Date.UTC(2026, 10, 21, 12);
let folder: string;
let ledger: Ledger;
let time: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "remora-budgets-"));
  ledger = createSqliteLedger({ path: join(folder, "ledger.db") });
  time = noon;
});
afterEach(async () => {
  await ledger.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A call costs a dollar per million tokens, and reserves half a dollar. */
function meterWith(dollars: Partial<DollarLimits>, changes: Partial<UsageOptions> = {}) {
  return createUsageMeter({
    ...{ ledger, log: silentLog, now: () => time, busyWaitMs: 0, priceOf: (): Price => ({ input: 1, output: 1 }) },
    limits: { ...noLimits, dollars: { ...noDollarLimits, ...dollars } },
    estimate: { promptTokens: 100_000, outputTokens: 400_000, modelOf: async () => "a/one", fallbacks: () => [] },
    ...changes,
  });
}

type Meter = ReturnType<typeof meterWith>;

const author = { id: "ann", name: "Ann", isBot: false, roles: [] };
const place = { platform: "test", user: author, scope: "channel:c1" } as const;
let turns = 0;
function turnOf(changes: Partial<TurnRecord> = {}): TurnRecord {
  turns += 1;
  return turnRecord({ id: `turn-${turns}`, messages: [inboundMessage({ author })], ...changes });
}

async function spend(meter: Meter, turn: TurnRecord, dollars: number): Promise<string> {
  const permit = await meter.admit(turn);
  if (permit.type !== "admitted") return permit.type;
  const usage = { ...noUsage, outputTokens: Math.round(dollars * 1_000_000) };
  await permit.count({ model: "a/one", usage, addedMs: 0 }).written;
  await permit.end();
  return permit.asks.length > 0 ? "nearly" : "admitted";
}

async function askOf(meter: Meter, turn = turnOf()) {
  const permit = await meter.admit(turn);
  if (permit.type === "asks") return permit.ask;
  if (permit.type === "admitted") await permit.end();
  throw new Error(`the budget is not used up: ${permit.type}`);
}

test.each([
  ["turn", { turn: 1 }, {}],
  ["user", { user: 1 }, {}],
  ["channel", { channel: 1 }, {}],
  ["scheduleRun", { scheduleRun: 1, turn: 50 }, { id: "schedule:s1:1" }],
  ["schedule", { schedule: 1 }, { id: "schedule:s1:1" }],
] as const)("the budget of a %s asks from 80 %% on, and holds calls back at 100 %%", async (kind, limits, message) => {
  const meter = meterWith(limits);
  const turn = turnOf({ messages: [inboundMessage({ author, ...message })] });
  expect(await spend(meter, turn, 0.79)).toBe("admitted");
  expect(await spend(meter, turn, 0.01)).toBe("admitted");
  expect(await spend(meter, turn, 0.2)).toBe("nearly");
  const ask = await askOf(meter, turn);
  expect(ask).toMatchObject({ kind, addition: 0, limit: 1, step: 2 });
  expect(ask.used).toBeCloseTo(1);
  expect(ask.endsAt).toBe(kind === "turn" || kind === "scheduleRun" ? null : noon + 12 * 3_600_000);
});

test("a budget is only its own: other people, channels, schedules and turns go on", async () => {
  const meter = meterWith({ user: 1, turn: 1 });
  await spend(meter, turnOf(), 2);
  const ben = { ...author, id: "ben" };
  expect(await spend(meter, turnOf({ messages: [inboundMessage({ author: ben })] }), 0.5)).toBe("admitted");
  time += 12 * 3_600_000;
  expect(await spend(meter, turnOf(), 0.5)).toBe("admitted");
});

test("each addition counts once, until the end of its day, and its owner is asked again later", async () => {
  const meter = meterWith({ user: 1 });
  await spend(meter, turnOf(), 1);
  const ask = await askOf(meter);
  await Promise.all([1, 2, 3].map(() => meter.continued(ask, "Ben", time)));
  expect(await meter.budgets(place)).toEqual([{ kind: "user", used: 1, limit: 3, added: 2 }]);
  expect(await spend(meter, turnOf(), 1.4)).toBe("admitted");
  expect(await spend(meter, turnOf(), 0.6)).toBe("nearly");
  const second = await askOf(meter);
  expect(second).toMatchObject({ addition: 1, limit: 3 });
  // An answer to the first card can't add again.
  await meter.continued(ask, "Ben", time);
  expect(await askOf(meter)).toMatchObject({ addition: 1 });
  time += 12 * 3_600_000;
  expect(await meter.budgets(place)).toEqual([{ kind: "user", used: 0, limit: 1, added: 0 }]);
});

test("one turn asks before the budget is used up, also again after a crash; others don't", async () => {
  const meter = meterWith({ user: 1 });
  await spend(meter, turnOf(), 0.9);
  const [ask] = await meter.asks(turnOf());
  if (ask === undefined) throw new Error("nobody would be asked");
  expect(await meter.asked(ask, "one")).toBe(true);
  expect(await meter.asked(ask, "two")).toBe(false);
  expect(await meter.asked(ask, "one")).toBe(true);
  expect(await meter.asks(turnOf())).toEqual([]);
});

test("after a no, the rest can be used without tools, and then people read who declined", async () => {
  const meter = meterWith({ user: 1 });
  await spend(meter, turnOf(), 0.9);
  const [ask] = await meter.asks(turnOf());
  if (ask === undefined) throw new Error("nobody would be asked");
  await meter.declined(ask, "Ben");
  const permit = await meter.admit(turnOf());
  expect(permit).toMatchObject({ type: "admitted", declinedBy: "Ben", asks: [] });
  if (permit.type === "admitted") await permit.end();
  await spend(meter, turnOf(), 0.2);
  expect(await meter.admit(turnOf())).toMatchObject({
    type: "refused",
    code: "usage.dollars.user",
    sentence: expect.stringMatching(
      /^The budget of Ann for today is used up: \$1\.10 of \$1\.00\. It resets at 00:00 UTC, in 12 h 0 min\. Ben decided not to add to it\.$/,
    ),
  });
});

test("a request that a person repeats by a click has the budget of a request, not of a schedule", async () => {
  const meter = meterWith({ turn: 1, scheduleRun: 50, schedule: 50 });
  for (const id of ["schedule:reask-a1:1", "schedule:again-a1:1"]) {
    const turn = turnOf({ messages: [inboundMessage({ author, id })] });
    await spend(meter, turn, 1);
    expect(await askOf(meter, turn)).toMatchObject({ kind: "turn", limit: 1 });
  }
});

test("a free model answers after a budget is used up, and then no paid model may answer instead", async () => {
  const prices: Record<string, Price> = { "a/one": { input: 0, output: 0 }, "b/paid": { input: 1, output: 1 } };
  const estimate = { promptTokens: 100_000, outputTokens: 400_000, modelOf: async () => "a/one" };
  const meter = (fallbacks: string[]) =>
    meterWith(
      { user: 1, turn: 1 },
      { priceOf: (m) => prices[m], estimate: { ...estimate, fallbacks: () => fallbacks } },
    );
  const turn = turnOf();
  const before = await meter(["a/one", "b/paid"]).admit(turn);
  if (before.type !== "admitted") throw new Error(before.type);
  expect(before.isWithoutFallback).toBeUndefined();
  // The free model has failed, and the paid one has answered.
  await before.count({ model: "b/paid", usage: { ...noUsage, outputTokens: 1_000_000 }, addedMs: 0 }).written;
  expect(await meter([]).budgets({ ...place, turnId: turn.id })).toMatchObject([
    { kind: "turn", used: 1 },
    { used: 1 },
  ]);

  expect(await meter(["a/one", "b/paid"]).admit(turn)).toMatchObject({ type: "admitted", isWithoutFallback: true });
  const alone = await meter(["a/one"]).admit(turn);
  expect(alone).toMatchObject({ type: "admitted" });
  expect(alone).not.toHaveProperty("isWithoutFallback");
});

describe("bad input", () => {
  test("a budget of nothing asks before the first paid call, and lets free calls pass", async () => {
    const meter = meterWith({ user: 0 });
    expect(await askOf(meter)).toMatchObject({ used: 0, limit: 0, addition: 0 });
    const free = meterWith({ user: 0 }, { priceOf: () => ({ input: 0, output: 0 }) });
    expect(await spend(free, turnOf(), 1)).toBe("admitted");
  });

  test("a model without a price is refused where a budget applies, unless the setting allows it", async () => {
    const unknown = { priceOf: () => undefined };
    const permit = await meterWith({ user: 1 }, unknown).admit(turnOf());
    expect(permit).toMatchObject({ type: "refused", code: "usage.unpriced" });
    expect(permit).toMatchObject({ sentence: expect.stringContaining("a/one has no price") });
    const allowing = meterWith({ user: 1, unpriced: "allow" }, unknown);
    expect(await spend(allowing, turnOf(), 1)).toBe("admitted");
    expect(await allowing.days(usageSubject.everyone)).toMatchObject([{ cost: 0, unpricedCalls: 1 }]);
    expect(await spend(meterWith({}, unknown), turnOf(), 1)).toBe("admitted");
  });

  test("a call counts for the day on which it began, whatever the clock does in the meantime", async () => {
    const meter = meterWith({ user: 1 });
    const permit = await meter.admit(turnOf());
    if (permit.type !== "admitted") throw new Error("the call was refused");
    time = noon + 13 * 3_600_000;
    await permit.count({ model: "a/one", usage: { ...noUsage, outputTokens: 2_000_000 }, addedMs: 0 }).written;
    expect(await meter.budgets(place)).toMatchObject([{ used: 0 }]);
    time = noon;
    expect(await askOf(meter)).toMatchObject({ used: 2 });
    expect((await ledger.get("usage", "2026-11-21 user:test:ann"))?.body.held).toBeUndefined();
  });

  test("a provider that reports no tokens is estimated, and so is an answer that broke off", async () => {
    const meter = meterWith({});
    const permit = await meter.admit(turnOf());
    if (permit.type !== "admitted") throw new Error("the call was refused");
    const silent = { model: "a/one", usage: noUsage, addedMs: 0, promptTokens: 1_000, answerCharacters: 300 };
    const { written, ...counted } = permit.count(silent);
    await written;
    expect(counted).toEqual({
      usage: { ...noUsage, inputTokens: 1_000, outputTokens: 100 },
      ...{ cost: 0.0011, isEstimated: true },
    });
    expect(await meter.days(usageSubject.everyone)).toMatchObject([{ calls: 1, estimatedCalls: 1 }]);
  });

  test("the reservation of a dead process ends with the turn's next call, or after a while, and its prompt counts", async () => {
    const meter = meterWith({ user: 1 });
    const [dead, other] = [turnOf(), turnOf()];
    await meter.admit(dead);
    await meter.admit(other);
    expect(await meter.admit(turnOf())).toMatchObject({ type: "refused" });
    const again = await meter.admit(dead);
    expect(again.type).toBe("admitted");
    expect(await meter.budgets(place)).toMatchObject([{ used: 0.1 }]);
    time += 16 * 60_000;
    expect(await spend(meter, turnOf(), 0.1)).toBe("admitted");
    expect((await meter.budgets(place))[0]?.used).toBeCloseTo(0.4);
  });

  test("a summary and a running step of the same turn keep each other's reservation", async () => {
    const meter = meterWith({ user: 0.5 });
    const turn = turnOf();
    const step = await meter.admit(turn);
    expect(step.type).toBe("admitted");
    expect((await meter.admitAside(payerOf(turn), {})).type).toBe("refused");
    if (step.type === "admitted") await step.end();
    const aside = await meter.admitAside(payerOf(turn), {});
    expect(aside.type).toBe("admitted");
    expect((await meter.admit(turn)).type).toBe("refused");
    expect(await meter.budgets(place)).toMatchObject([{ used: 0 }]);
  });

  test("steps, summaries and recordings of few turns at once never exceed a budget by more than one call", async () => {
    const begin = fc.record({ turn: fc.nat(2), kind: fc.constantFrom("step", "summary", "recording") });
    const end = fc.record({ ends: fc.nat(20), share: fc.double({ min: 0, max: 1, noNaN: true }) });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(begin, end), { minLength: 5, maxLength: 40 }), async (actions) => {
        const own = createSqliteLedger({ path: ":memory:" });
        const meter = meterWith({ user: 1 }, { ledger: own });
        const all = [0, 1, 2].map(() => turnOf());
        const stepping = new Set<TurnRecord>();
        let running: { permit: AdmittedCall; turn: TurnRecord; kind: string }[] = [];
        const finish = async (one: (typeof running)[number] | undefined, share: number) => {
          if (one === undefined) return;
          running = running.filter((other) => other !== one);
          if (one.kind === "step") stepping.delete(one.turn);
          const usage = { ...noUsage, outputTokens: Math.floor(share * 500_000) };
          await one.permit.count({ model: "a/one", usage, promptTokens: 0, addedMs: 0 }).written;
        };
        for (const action of actions) {
          if ("ends" in action) {
            await finish(running[action.ends % Math.max(1, running.length)], action.share);
            continue;
          }
          const turn = all[action.turn] ?? turnOf();
          // A turn does one step after the other.
          if (action.kind === "step" && stepping.has(turn)) continue;
          const side = action.kind === "summary" ? {} : { model: "b/speech", dollars: 0.5 };
          const wanted = action.kind === "step" ? meter.admit(turn) : meter.admitAside(payerOf(turn), side);
          const permit = await wanted;
          if (permit.type !== "admitted") continue;
          if (action.kind === "step") stepping.add(turn);
          running.push({ permit, turn, kind: action.kind });
        }
        while (running.length > 0) await finish(running[0], 1);
        const [{ used } = { used: 0 }] = await meter.budgets(place);
        expect(used).toBeLessThanOrEqual(1.5);
        await own.close();
      }),
      { numRuns: runs(200) },
    );
  });

  test("a ledger that can't be read stops calls where a budget in dollars applies", async () => {
    const meter = meterWith({ user: 1 });
    await ledger.close();
    await expect(meter.admit(turnOf())).rejects.toThrow(/closed/);
  });

  test("a call waits for running calls that may use up the rest, and goes on when they are done", async () => {
    const meter = meterWith({ user: 1 }, { busyWaitMs: 60_000 });
    const [one, two] = [await meter.admit(turnOf()), await meter.admit(turnOf())];
    const third = meter.admit(turnOf());
    for (const permit of [one, two]) if (permit.type === "admitted") await permit.end();
    expect((await third).type).toBe("admitted");
  });
});

async function runWorkers(args: string[], names: string[]): Promise<number[]> {
  const outputs = names.map(async (name) => {
    const worker = spawn(process.execPath, [workerFile, ...args, name]);
    const errors = text(worker.stderr);
    const output = await text(worker.stdout);
    if (output === "") throw new Error(await errors);
    return JSON.parse(output) as number[];
  });
  return (await Promise.all(outputs)).flat();
}

function expectWithin(spent: number[]): void {
  const total = spent.reduce((sum, cost) => sum + cost, 0);
  expect(total).toBeGreaterThanOrEqual(cap);
  expect(total).toBeLessThanOrEqual(cap + maxCallCost);
}

describe("three processes that use up one budget exceed it by at most one call", () => {
  test("on the embedded ledger", async () => {
    expectWithin(await runWorkers(["sqlite", join(folder, "ledger.db")], ["a", "b", "c"]));
  });

  test.skipIf(missingRedis !== undefined)(
    `on Redis${redisNote}`,
    async () => {
      const server = await startRedisServer();
      try {
        expectWithin(await runWorkers(["redis", server.url, "{budget}:"], ["a", "b", "c"]));
      } finally {
        await server.dispose();
      }
    },
    60_000,
  );
});
