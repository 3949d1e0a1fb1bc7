/** Whether the services' caches work, as `doctor` and the running process say it. */
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import type { HealthCheck } from "../../src/ports/health.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { Usage } from "../../src/ports/provider.ts";
import { type UsageCount, type UsageMeter, usageSubject } from "../../src/ports/usage.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { cacheChecks } from "../../src/usage/cache-use.ts";
import { createUsageMeter } from "../../src/usage/usage.ts";
import { turnRecord } from "../doubles/records.ts";
import { noUsage } from "../doubles/scripted-provider.ts";
import { noLimits } from "../doubles/turn-deps.ts";

const second = 1_000;
const model = "openrouter/some-model";
let ledger: Ledger;
let meter: UsageMeter;
let time: number;

beforeEach(() => {
  ledger = createSqliteLedger({ path: ":memory:" });
  time = Date.UTC(2026, 10, 21, 12);
  meter = createUsageMeter({
    ...{ ledger, priceOf: () => ({ input: 1, output: 1 }), limits: noLimits, log: silentLog, busyWaitMs: 0 },
    now: () => time,
  });
});
afterEach(() => ledger.close());

/** A request of a conversation, a quarter of a minute after the one before. */
async function ask(usage: Partial<Usage>, { conversationId = "test:c1", of = model, pauseMs = 15 * second } = {}) {
  time += pauseMs;
  const permit = await meter.admit(turnRecord({ conversationId }));
  if (permit.type !== "admitted") throw new Error(permit.sentence);
  await permit.count({ model: of, usage: { ...noUsage, ...usage }, addedMs: 0, promptTokens: 100 }).written;
}

async function checks(countsCache: (of: string) => boolean = () => false): Promise<HealthCheck[]> {
  return cacheChecks(await meter.days(usageSubject.everyone), countsCache, time);
}

/** A thread whose requests grow by a hundred tokens, and of which the service reads `share` from its cache. */
async function thread(requests: number, share: number, place: Parameters<typeof ask>[1] = {}, written = true) {
  for (let number = 0; number < requests; number += 1) {
    const prompt = 10_000 + number * 100;
    const read = number === 0 ? 0 : Math.floor((prompt - 100) * share);
    const rest = prompt - read;
    await ask({ cacheReadTokens: read, ...(written ? { cacheWriteTokens: rest } : { inputTokens: rest }) }, place);
  }
}

test("a day on which most of what conversations repeat is paid in full is a warning that says what to look at", async () => {
  await thread(30, 0.2);
  expect(await checks()).toEqual([
    {
      name: `cache ${model}`,
      state: "warning",
      what: "of the 330,600 tokens that requests of 2026-11-21 sent again, only 20 % came from the service's cache",
      why: expect.stringContaining("full price"),
      todo: expect.stringMatching(/settings .* skills .* tools/),
    },
  ]);
});

test("a day on which the cache works says so, without a warning", async () => {
  await thread(30, 0.97);
  expect(await checks()).toEqual([
    {
      name: `cache ${model}`,
      state: "ok",
      what: "of the 330,600 tokens that requests of 2026-11-21 sent again, 97 % came from the service's cache",
    },
  ]);
});

test("nothing is said of a service that counts no cache, unless it is known to count it", async () => {
  await thread(30, 0, {}, false);
  expect(await checks()).toEqual([]);
  expect(await checks((of) => of === model)).toMatchObject([{ state: "warning" }]);
});

test("nothing is said of single mentions that nobody follows, whatever of their shared beginning was read", async () => {
  for (let number = 0; number < 60; number += 1)
    await ask({ cacheReadTokens: 1_000, cacheWriteTokens: 9_000 }, { conversationId: `test:c${number}` });
  expect(await checks(() => true)).toEqual([]);
});

test("requests after a pause that no cache outlasts, with short prompts, or too few of them, say nothing", async () => {
  await thread(30, 0, { pauseMs: 6 * 60 * second });
  for (let number = 0; number < 30; number += 1) await ask({ cacheWriteTokens: 3_000 }, { conversationId: "test:c2" });
  await thread(15, 0, { conversationId: "test:c3" });
  expect(await checks(() => true)).toEqual([]);
});

test("a model is compared with its own requests, so that another that answers in between is no miss", async () => {
  for (let number = 0; number < 30; number += 1) {
    await ask({ cacheReadTokens: number === 0 ? 0 : 9_900, cacheWriteTokens: 100 });
    await ask({ cacheWriteTokens: 10_000 }, { of: "local/bad" });
  }
  expect(await checks()).toMatchObject([
    { name: "cache local/bad", state: "warning" },
    { name: `cache ${model}`, state: "ok" },
  ]);
});

test("the day before counts until this day has enough requests, and no longer than that", async () => {
  await thread(30, 0.1);
  time += 86_400_000 - 3_600_000;
  expect(await checks()).toMatchObject([{ state: "warning", what: expect.stringContaining("2026-11-21") }]);
  await thread(30, 0.97, { conversationId: "test:c2" });
  expect(await checks()).toMatchObject([{ state: "ok", what: expect.stringContaining("2026-11-22") }]);
  time += 2 * 86_400_000;
  expect(await checks()).toEqual([]);
});

test("what a service says that it read can't be more than what was sent again", async () => {
  for (let number = 0; number < 30; number += 1) await ask({ cacheReadTokens: 10_000 + number * 5_000 });
  expect((await checks())[0]?.what).toContain(", 100 % came");
});

test("a model whose price is learned from its service counts, because its tokens are real", async () => {
  meter = createUsageMeter({
    ...{ ledger, priceOf: () => undefined, limits: noLimits, log: silentLog, busyWaitMs: 0 },
    ...{ now: () => time, reportsCost: () => true },
  });
  await ask({ inputTokens: 10_000, cost: 0.01 });
  await thread(30, 0.2);
  expect(await checks()).toMatchObject([{ state: "warning" }]);
});

test("estimated calls and days from before this was counted say nothing", async () => {
  for (let number = 0; number < 60; number += 1) await ask(noUsage);
  const old: UsageCount = { ...noUsage, day: "2026-11-21", calls: 9, cost: 1, unpricedCalls: 0, addedMs: 0 };
  expect(await checks(() => true)).toEqual([]);
  expect(cacheChecks([old], () => true, time)).toEqual([]);
});

test("an entry that an older version has stored is added to, and keeps what it has", async () => {
  const old: UsageCount = { ...noUsage, day: "2026-11-21", calls: 9, cost: 1, unpricedCalls: 0, addedMs: 0 };
  const group = usageSubject.everyone;
  await ledger.create("usage", `2026-11-21 ${group}`, { state: "counted", body: old, group });
  await thread(25, 0.1);
  await thread(25, 0.1, { of: "local/bad" });
  expect(await meter.days(group)).toMatchObject([{ calls: 59, resent: { [model]: { calls: 24 } } }]);
  expect(await checks()).toMatchObject([{ name: "cache local/bad" }, { name: `cache ${model}` }]);
});

test("whatever is stored, what is said of a cache is a share between nothing and everything", () => {
  const odd = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(null, 1e308, "7", undefined));
  const resent = fc.record({ calls: odd, tokens: odd, read: odd, written: odd });
  fc.assert(
    fc.property(fc.dictionary(fc.string(), resent), (byModel) => {
      const day = { ...noUsage, day: "2026-11-21", calls: 9, cost: 1, unpricedCalls: 0, addedMs: 0, resent: byModel };
      for (const { what } of cacheChecks([day as UsageCount], () => true, Date.UTC(2026, 10, 21)))
        expect(what).toMatch(/ (?:only )?(?:nothing|less than 1 %|\d{1,2} %|100 %) came from/);
    }),
  );
});
