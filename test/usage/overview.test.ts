/** `usage.overview()`, which the dashboard and `/remora usage` show to operators. */
import { expect, test } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { createUsageMeter } from "../../src/usage/usage.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";
import { noUsage } from "../doubles/scripted-provider.ts";
import { noLimits } from "../doubles/turn-deps.ts";

test("sums up by day, person, channel and model, the highest cost first, and stays small", async () => {
  const ledger = createSqliteLedger({ path: ":memory:" });
  let time = Date.UTC(2026, 10, 20, 12);
  const priceOf = (model: string) => (model === "a/free" ? undefined : { input: 0, output: 1 });
  const meter = createUsageMeter({ ledger, priceOf, limits: noLimits, log: silentLog, now: () => time });
  const use = async (id: string, dollars: number, model = "a/one") => {
    const author = { id, name: id.toUpperCase(), isBot: false, roles: [] };
    const permit = await meter.admit(turnRecord({ messages: [inboundMessage({ author })], scope: "channel:c1" }));
    const usage = { ...noUsage, outputTokens: dollars * 1_000_000 };
    if (permit.type === "admitted") await permit.count({ model, usage, addedMs: 0 }).written;
  };
  await use("ann", 1);
  time += 86_400_000;
  await use("ann", 1);
  await use("ben", 5);
  for (let number = 0; number < 30; number += 1) await use(`p${number}`, 0.1);
  await use("ben", 1, "a/free");
  await meter.record({ model: "e/words", usage: { ...noUsage, outputTokens: 500_000 } });

  const overview = await meter.overview();
  expect(overview.today).toBe("2026-11-21");
  expect(overview.days.map(({ day, cost }) => [day, Math.round(cost * 100)])).toEqual([
    ["2026-11-21", 950],
    ["2026-11-20", 100],
  ]);
  expect(overview.people).toHaveLength(20);
  expect(overview.people[0]).toMatchObject({ id: "ben", platform: "test", name: "BEN", total: { unpricedCalls: 1 } });
  expect(overview.people[1]).toMatchObject({ id: "ann", today: { cost: 1 }, total: { cost: 2, calls: 2 } });
  expect(overview.channels).toMatchObject([{ id: "channel:c1", platform: "test" }]);
  expect(overview.models.map(({ id }) => id)).toEqual(["a/one", "e/words", "a/free"]);
  expect(overview.isComplete).toBe(true);
  await ledger.close();
});
