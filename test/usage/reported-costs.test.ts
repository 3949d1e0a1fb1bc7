/** Models without a price whose service says what each call costs: budgets count them, and do not refuse them. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { type DollarLimits, type Permit, payerOf } from "../../src/ports/usage.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { createReportedCosts } from "../../src/usage/prices.ts";
import { createUsageMeter } from "../../src/usage/usage.ts";
import { turnRecord } from "../doubles/records.ts";
import { noUsage } from "../doubles/scripted-provider.ts";
import { noDollarLimits, noLimits } from "../doubles/turn-deps.ts";

const model = "openai/deepseek/deepseek-v4";
const turn = turnRecord();
let ledger: Ledger;
beforeEach(() => {
  ledger = createSqliteLedger({ path: ":memory:" });
});
afterEach(() => ledger.close());

function meterWith(
  dollars: Partial<DollarLimits>,
  more: { reportsCost?: (model: string) => boolean; prices?: object } = {},
) {
  const { prices = {}, ...options } = more;
  return createUsageMeter({
    ...{ ledger, log: silentLog, busyWaitMs: 0, ...options },
    priceOf: (name) => (prices as Record<string, { input: number; output: number }>)[name],
    limits: { ...noLimits, dollars: { ...noDollarLimits, ...dollars } },
    estimate: { promptTokens: 1_000, outputTokens: 1_000, modelOf: async () => model, fallbacks: () => [] },
  });
}

function admitted(permit: Permit) {
  if (permit.type !== "admitted") throw new Error(permit.sentence);
  return permit;
}

const used = (cost?: number) => ({
  ...{ model, addedMs: 0 },
  usage: { ...noUsage, inputTokens: 900, outputTokens: 100, ...(cost === undefined ? {} : { cost }) },
});

test("what the service says counts, before a configured price and the table", async () => {
  const meter = meterWith({ user: 1 }, { prices: { [model]: { input: 1_000, output: 1_000 } } });
  const counted = admitted(await meter.admit(turn)).count(used(0.02));
  await counted.written;
  expect(counted.cost).toBe(0.02);
  expect((await meter.budgets(payerOf(turn))).map(({ used: dollars }) => dollars)).toEqual([0.02]);
});

test("a model without a price is refused where a budget applies, unless its service reports costs", async () => {
  const refused = await meterWith({ user: 1 }).admit(turn);
  expect(refused).toMatchObject({ type: "refused", code: "usage.unpriced" });
  expect(await meterWith({ user: 1 }, { reportsCost: (name) => name === model }).admit(turn)).toMatchObject({
    type: "admitted",
  });
});

test("a model whose service has reported a cost of it once, in a check, is not refused from then on", async () => {
  const meter = meterWith({ user: 1 });
  await meter.record({ model, usage: used(0.000_01).usage });
  const permit = admitted(await meter.admit(turn));
  await permit.count(used(0.5)).written;
  await admitted(await meter.admit(turn)).count(used(0.6)).written;
  expect(await meter.admit(turn)).toMatchObject({ type: "asks", code: "usage.dollars.user" });
});

test("the first call reserves as much as the most expensive models cost, and later ones what such calls have cost", () => {
  const costs = createReportedCosts((name) => name === model);
  expect(costs.reservePriceOf(model)).toEqual({ input: 10, output: 50 });
  expect(costs.learnedPriceOf(model, true)).toBeUndefined();
  costs.note(model, used(0.002).usage);
  expect(costs.reservePriceOf(model)).toEqual({ input: 2, output: 10 });
  costs.note(model, used(0.001).usage);
  expect(costs.learnedPriceOf(model, true)).toEqual({ input: 2, output: 10 });
  expect(costs.reservePriceOf("anthropic/claude")).toBeUndefined();
});

test("two calls at the same time do not pass a budget that is nearly used up together", async () => {
  const meter = meterWith({ user: 0.05 }, { reportsCost: () => true });
  admitted(await meter.admit(turnRecord({ id: "one" })));
  expect(await meter.admit(turnRecord({ id: "two" }))).toMatchObject({ type: "refused", code: "usage.dollars.user" });
});

test("a call that broke off costs what such calls have cost, and is unknown before the first", async () => {
  const meter = meterWith({}, { reportsCost: () => true });
  const broken = { ...used(), usage: noUsage, promptTokens: 1_000, answerCharacters: 300, isBroken: true };
  expect(admitted(await meter.admit(turn)).count(broken).cost).toBeUndefined();
  admitted(await meter.admit(turn)).count(used(0.002));
  expect(admitted(await meter.admit(turn)).count(broken).cost).toBeCloseTo(0.002 + 0.001, 6);
});

test.each([
  ["costs nothing", model, 0],
  ["is another model's", "openai/other", 0.01],
])("a cost that %s does not let a model without a price pass a budget", async (_why, name, cost) => {
  const meter = meterWith({ user: 1 });
  await meter.record({ model: name, usage: used(cost).usage });
  expect(await meter.admit(turn)).toMatchObject({ type: "refused", code: "usage.unpriced" });
});

test("a price of the owner counts where the service says that a call costs nothing", async () => {
  const meter = meterWith({ user: 1 }, { prices: { [model]: { input: 10, output: 50 } } });
  expect(admitted(await meter.admit(turn)).count(used(0)).cost).toBeCloseTo(0.014, 9);
});

test("without a price, a call costs nothing if the service says so", async () => {
  const meter = meterWith({ user: 1 }, { reportsCost: () => true });
  expect(admitted(await meter.admit(turn)).count(used(0)).cost).toBe(0);
});

test("an answer whose cost is not said costs what earlier ones have cost, and before them as much as the most expensive models", async () => {
  const meter = meterWith({ user: 1 }, { reportsCost: () => true });
  const counted = admitted(await meter.admit(turn)).count(used());
  expect(counted).toMatchObject({ isEstimated: true });
  expect(counted.cost).toBeCloseTo(0.014, 9);
  admitted(await meter.admit(turn)).count(used(0.002));
  expect(admitted(await meter.admit(turn)).count(used()).cost).toBeCloseTo(0.0028, 9);
});

test("a short answer, and a dear one, do not make all later calls look dear", () => {
  const costs = createReportedCosts();
  costs.note(model, { ...noUsage, inputTokens: 3, outputTokens: 1, cost: 0.02 });
  expect(costs.reservePriceOf(model)).toEqual({ input: 10, output: 50 });
  costs.note(model, { ...noUsage, inputTokens: 1_000, cost: 2 });
  expect(costs.reservePriceOf(model)).toEqual({ input: 150, output: 750 });
});

test("tokens that are not said are estimated, also where the cost is said", async () => {
  const meter = meterWith({ user: 1 }, { reportsCost: () => true });
  const silent = { ...used(0.5), usage: { ...noUsage, cost: 0.5 }, promptTokens: 1_000, answerCharacters: 300 };
  expect(admitted(await meter.admit(turn)).count(silent)).toMatchObject({
    usage: { inputTokens: 1_000, outputTokens: 100 },
    ...{ cost: 0.5, isEstimated: true },
  });
});
