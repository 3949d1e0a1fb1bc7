import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runTurn } from "../../src/engine/turn/run-turn.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { tokensOf, type UsageMeter, usageSubject } from "../../src/ports/usage.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import type { Prices } from "../../src/usage/price-table.ts";
import { costOf, createPriceList } from "../../src/usage/prices.ts";
import { createUsageMeter, type UsageOptions } from "../../src/usage/usage.ts";
import { inboundMessage, toolSpec, turnRecord } from "../doubles/records.ts";
import { calls, fails, noUsage, says } from "../doubles/scripted-provider.ts";
import { createStageDoubles, keepTurn, noLimits, type StageDoubleOptions } from "../doubles/turn-deps.ts";

const noon = Date.UTC(2026, 10, 21, 12);
const unlimited = noLimits;
const never = new AbortController().signal;
let folder: string;
let ledger: Ledger;
let time: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "remora-usage-"));
  ledger = createSqliteLedger({ path: join(folder, "ledger.db") });
  time = noon;
});
afterEach(async () => {
  await ledger.close();
  rmSync(folder, { recursive: true, force: true });
});

function meterWith(changes: Partial<UsageOptions> = {}): UsageMeter {
  const unpriced = { priceOf: () => undefined, busyWaitMs: 0 };
  return createUsageMeter({ ledger, limits: unlimited, log: silentLog, now: () => time, ...unpriced, ...changes });
}

function turnOf(id: string, changes: Parameters<typeof turnRecord>[0] = {}) {
  return turnRecord({ messages: [inboundMessage({ author: { id, name: id, isBot: false, roles: [] } })], ...changes });
}

/** Asks a model that uses this many tokens; the sentence when it may not be asked. */
async function use(
  meter: UsageMeter,
  turn: ReturnType<typeof turnOf>,
  inputTokens: number,
): Promise<string | undefined> {
  const permit = await meter.admit(turn);
  if (permit.type !== "admitted") return permit.sentence;
  await permit.count({ model: "test/one", usage: { ...noUsage, inputTokens }, addedMs: 2 }).written;
  await permit.end();
  return undefined;
}

const ann = usageSubject.user("test", "ann");
const priced = (configured: Prices) => createPriceList({ configured, hasOwnAddress: () => false });

describe("counting", () => {
  test("adds up by person, channel, conversation and for everyone", async () => {
    const meter = meterWith();
    await use(meter, turnOf("ann"), 10);
    await use(meter, turnOf("ann", { conversationId: "test:c2" }), 5);
    await use(meter, turnOf("ben", { scope: "dm:ben", conversationId: "test:dm" }), 1);
    const tokens = async (subject: string) => (await meter.days(subject)).map(tokensOf);
    expect(await tokens(ann)).toEqual([15]);
    expect(await tokens(usageSubject.user("test", "ben"))).toEqual([1]);
    expect(await tokens(usageSubject.scope("test", "channel:c1"))).toEqual([15]);
    expect(await tokens(usageSubject.conversation("test:c1"))).toEqual([10]);
    expect(await tokens(usageSubject.everyone)).toEqual([16]);
    expect(await tokens(usageSubject.user("other", "ann"))).toEqual([]);
  });

  test("loses nothing when many calls end at once, in two processes that share the ledger", async () => {
    const other = createSqliteLedger({ path: join(folder, "ledger.db") });
    const meters = [meterWith(), meterWith({ ledger: other })];
    const uses = Array.from({ length: 100 }, (_, index) => use(meters[index % 2] as UsageMeter, turnOf("ann"), index));
    await Promise.all(uses);
    expect(await meterWith().days(ann)).toMatchObject([{ calls: 100, inputTokens: 4_950, addedMs: 200 }]);
    await other.close();
  });

  test("begins anew with each UTC day, newest first, and goes on after a restart", async () => {
    await use(meterWith(), turnOf("ann"), 1);
    time = Date.UTC(2026, 10, 21, 23, 59, 59, 999);
    await use(meterWith(), turnOf("ann"), 2);
    time += 1;
    await use(meterWith(), turnOf("ann"), 4);
    expect((await meterWith().days(ann)).map(({ day, inputTokens }) => [day, inputTokens])).toEqual([
      ["2026-11-22", 4],
      ["2026-11-21", 3],
    ]);
  });

  test("keeps two months", async () => {
    const meter = meterWith();
    await use(meter, turnOf("ann"), 1);
    // The ledger's own clock says when an entry was changed.
    time = Date.now() + 61 * 86_400_000;
    await meter.prune();
    expect(await meter.days(ann)).toHaveLength(1);
    time = Date.now() + 63 * 86_400_000;
    await meter.prune();
    expect(await meter.days(ann)).toEqual([]);
  });

  test("an entry in an unknown state is named, and holds up nothing", async () => {
    const errors: unknown[] = [];
    const log = { ...silentLog, error: ({ error }: { error?: unknown }) => errors.push(error) };
    await use(meterWith(), turnOf("ann"), 1);
    const raw = new DatabaseSync(join(folder, "ledger.db"));
    raw.exec("UPDATE entry SET state = 'damaged'");
    raw.close();
    await use(meterWith({ log }), turnOf("ann"), 2);
    expect(errors[0]).toMatch(/unknown state \(usage 2026-11-21/);
    const limited = meterWith({ log, limits: { ...unlimited, userTokensPerDay: 100 } });
    expect(await use(limited, turnOf("ann"), 2)).toBeUndefined();
    expect(errors).toEqual(errors.map(() => expect.stringContaining("unknown state")));
  });

  test("a ledger that can't be written costs the figures, not the answer", async () => {
    const errors: string[] = [];
    const log = { ...silentLog, error: (_fields: object, message: string) => errors.push(message) };
    const meter = meterWith({ log, limits: { ...unlimited, userTokensPerDay: 5 } });
    await ledger.close();
    expect(await use(meter, turnOf("ann"), 10)).toBeUndefined();
    expect(errors).toHaveLength(2);
  });
});

describe("cost", () => {
  const usage = { inputTokens: 1_000_000, outputTokens: 100_000, cacheReadTokens: 2_000_000, cacheWriteTokens: 0 };

  test("is by the table, with prices for cached tokens where it has them", () => {
    expect(costOf("a/one", usage, priced({ "a/one": { input: 3, output: 15, cacheRead: 0.3 } }))).toBeCloseTo(
      3 + 1.5 + 0.6,
    );
    expect(costOf("a/one", usage, priced({ "a/one": { input: 3, output: 15 } }))).toBeCloseTo(3 + 1.5 + 6);
  });

  test("of a model that is not in the table is unknown, and not nothing", async () => {
    expect(costOf("a/two", usage, priced({ "a/one": { input: 3, output: 15 } }))).toBeUndefined();
    const meter = meterWith();
    await use(meter, turnOf("ann"), 10);
    expect(await meter.days(ann)).toMatchObject([{ cost: 0, unpricedCalls: 1 }]);
  });

  test("a key with a star is for all models that begin so; the exact one, and the longer one, come first", () => {
    const prices = {
      "a/*": { input: 1, output: 1 },
      "a/o*": { input: 2, output: 1 },
      "a/one": { input: 3, output: 1 },
    };
    const million = { ...noUsage, inputTokens: 1_000_000 };
    expect(["a/one", "a/other", "a/two", "b/one"].map((model) => costOf(model, million, priced(prices)))).toEqual([
      3,
      2,
      1,
      undefined,
    ]);
  });
});

describe("a daily limit", () => {
  const limited = (userTokensPerDay: number | null, channelTokensPerDay: number | null = null) =>
    meterWith({ limits: { ...unlimited, userTokensPerDay, channelTokensPerDay } });

  test("lets the call pass that reaches it, refuses those after it, and says whose it is and until when", async () => {
    const meter = limited(1_000);
    expect(await use(meter, turnOf("ann"), 600)).toBeUndefined();
    expect(await use(meter, turnOf("ann"), 600)).toBeUndefined();
    const sentence = await use(meter, turnOf("ann"), 1);
    expect(sentence).toMatch(
      /tokens of ann are used up: 1,200 of 1,000\..*at 00:00 UTC, in 12 h 0 min.*Whoever runs me can raise it/,
    );
    expect(await use(meter, turnOf("ben"), 1)).toBeUndefined();
    time += 12 * 3_600_000;
    expect(await use(meter, turnOf("ann"), 1)).toBeUndefined();
  });

  test("of a channel is for all its members and threads, and not for DMs", async () => {
    const meter = limited(null, 1_000);
    await use(meter, turnOf("ann"), 1_000);
    expect(await use(meter, turnOf("ben", { conversationId: "test:c2" }), 1)).toMatch(/tokens of this channel/);
    const direct = { scope: "dm:ben", conversationId: "test:dm" } as const;
    expect(await use(meter, turnOf("ben", direct), 5_000)).toBeUndefined();
    expect(await use(meter, turnOf("ben", direct), 1)).toBeUndefined();
  });

  test("is not passed by many calls at once: those under way hold their part of it", async () => {
    const meter = limited(10_000);
    const permits = await Promise.all(
      Array.from({ length: 50 }, (_, index) => meter.admit(turnOf("ann", { id: `turn-${index}` }))),
    );
    const admitted = permits.filter((permit) => permit.type === "admitted");
    expect(admitted).toHaveLength(3);
    expect(permits.find((permit) => permit.type === "refused")).toMatchObject({
      sentence: expect.stringContaining("ask again when they are done"),
    });
    for (const permit of admitted) if (permit.type === "admitted") await permit.end();
    expect(await use(meter, turnOf("ann"), 1)).toBeUndefined();
  });

  test("is given back by calls that failed, once each", async () => {
    const meter = limited(4_000);
    for (let attempt = 0; attempt < 5; attempt++) {
      const permit = await meter.admit(turnOf("ann"));
      expect(permit.type).toBe("admitted");
      if (permit.type !== "admitted") continue;
      await permit.end();
      await permit.end();
    }
    const [one, two] = [await meter.admit(turnOf("ann")), await meter.admit(turnOf("ann", { id: "other" }))];
    expect([one.type, two.type]).toEqual(["admitted", "refused"]);
  });

  test("is never passed by more than the calls that had begun below it, whatever the order", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 900 }), { maxLength: 30 }), async (sizes) => {
        const own = createSqliteLedger({ path: ":memory:" });
        const meter = createUsageMeter({
          ledger: own,
          priceOf: () => undefined,
          limits: { ...unlimited, userTokensPerDay: 2_000 },
          log: silentLog,
        });
        for (const size of sizes) await use(meter, turnOf("ann"), size);
        const [count] = await meter.days(ann);
        const used = count === undefined ? 0 : tokensOf(count);
        expect(used).toBeLessThan(2_000 + 900);
        const wanted = sizes.reduce((sum, size) => sum + size, 0);
        expect(used).toBeGreaterThanOrEqual(Math.min(wanted, 2_000));
        await own.close();
      }),
      { numRuns: 30 },
    );
  });
});

describe("in a turn", () => {
  async function run(options: StageDoubleOptions, before = 0) {
    const doubles = createStageDoubles(options);
    const meter = createUsageMeter({
      ledger: doubles.ledger,
      priceOf: () => undefined,
      limits: unlimited,
      log: silentLog,
    });
    if (before > 0) await use(meter, turnRecord(), before);
    const turn = await keepTurn(doubles.ledger, turnRecord());
    const end = await runTurn(turn, doubles.stages, never);
    const days = await meter.days(usageSubject.user("test", "ann"));
    await doubles.close();
    return { end, doubles, days };
  }
  const using = (events: ReturnType<typeof says>, inputTokens: number) =>
    events.map((event) => (event.type === "end" ? { ...event, usage: { ...noUsage, inputTokens } } : event));

  test("every model call is counted, with what passed before it", async () => {
    const steps = [using(calls({ name: "act" }), 100), using(says("Done."), 120)];
    const { days } = await run({ tools: [toolSpec("act")], steps });
    expect(days).toMatchObject([{ calls: 2, inputTokens: 220 }]);
    expect(days[0]?.addedMs).toBeGreaterThan(0);
  });

  test("with nothing left the model is not asked, and people read why", async () => {
    const { end, doubles } = await run({ steps: [], usageLimits: { userTokensPerDay: 50 } }, 60);
    expect(end).toBe("failed");
    expect(doubles.provider.requests).toEqual([]);
    expect(doubles.reply.segments.at(-1)).toMatch(/⚠️ Today's tokens of Ann are used up: 60 of 50/);
    expect(doubles.events.map((event) => event.name)).not.toContain("context.built");
    expect(doubles.events.find((event) => event.name === "llm.error")?.fields).toMatchObject({
      code: "usage.userTokensPerDay",
    });
  });

  test("that reaches its limit between two steps ends with what it has done", async () => {
    const steps = [using(calls({ name: "act", text: "Let me see." }), 100)];
    const { end, doubles } = await run({ tools: [toolSpec("act")], steps, usageLimits: { channelTokensPerDay: 80 } });
    expect(end).toBe("failed");
    expect(doubles.ran).toHaveLength(1);
    expect(doubles.reply.segments.at(-1)).toMatch(/^Let me see\.[\s\S]*used up[\s\S]*I had called: `act` \(ok\)/);
  });

  test("a call that failed takes nothing of the limit", async () => {
    const { days } = await run({ steps: [fails("provider.down", "down")], usageLimits: { userTokensPerDay: 50 } });
    expect(days).toEqual([]);
  });
});
