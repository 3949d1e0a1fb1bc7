/**
 * The oracle: nothing that commands do without approval may be visible outside their draft. They run in the real process
 * against a hostile folder. Nobody answers a card; then everything is inspected.
 *
 *   ORACLE_SEED=7 ORACLE_COMMANDS=20000 npx vitest run test/e2e/oracle
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { askedByTag, looking, working } from "../../gate/tables/harmless.ts";
import { leftToSandbox } from "../../gate/tables/shipped.ts";
import { generateCalls } from "./commands/generate.ts";
import { watchHealth } from "./health-watch.ts";
import { createInspector, type Inspector } from "./inspect.ts";
import { processorSecondsOf } from "./machine-state.ts";
import { type CallOutcome, runCalls } from "./run-calls.ts";
import { vectors } from "./vectors.ts";
import { createOracleWorld, type OracleWorld } from "./world.ts";

/** A plain run takes the same few commands each time; `npm run oracle` generates thousands of new ones. */
const isPlain = process.env.ORACLE_COMMANDS === undefined;
const seed = Number(process.env.ORACLE_SEED ?? (isPlain ? 1 : Date.now() % 1_000_000));
const count = Number(process.env.ORACLE_COMMANDS ?? 15);
const runMs = 120_000 + count * 400;
/** Small, so a violation is found near the commands that caused it, and before a later one hides it. */
const callsBetweenInspections = Math.min(500, Math.ceil(count / 2));

let world: OracleWorld;
let inspector: Inspector;
beforeAll(async () => {
  world = await createOracleWorld();
  inspector = createInspector(world);
});
afterAll(() => world?.close());

describe("known escape attempts run without asking and do nothing", () => {
  test.each(vectors)("$name", { timeout: runMs }, async ({ commands }) => {
    const outcomes = await runCalls(
      world,
      commands.map((command) => ({ command })),
    );
    expect(outcomes.map(({ fate }) => fate)).toEqual(commands.map(() => "ran"));
    expect(inspector.violations()).toEqual([]);
  });
});

test(`${count} generated commands have no effect that nobody approved`, { timeout: runMs }, async () => {
  console.log(`oracle: ORACLE_SEED=${seed} ORACLE_COMMANDS=${count}`);
  const calls = generateCalls(seed, count);
  const health = watchHealth(world.remora.url);
  const outcomes: CallOutcome[] = [];
  const [began, processorBefore] = [Date.now(), processorSecondsOf(world.remora.pid)];
  for (let from = 0; from < count; from += callsBetweenInspections) {
    outcomes.push(...(await runCalls(world, calls.slice(from, from + callsBetweenInspections))));
    expect(inspector.violations(), `after command ${from + callsBetweenInspections} of seed ${seed}`).toEqual([]);
  }
  const { asked, slowestMs, late } = await health.stop();
  const report = {
    ...{ seed, commands: outcomes.length, ...countFates(outcomes), seconds: Math.round((Date.now() - began) / 1_000) },
    processorSeconds: Math.round(processorSecondsOf(world.remora.pid) - processorBefore),
    unaskedEffects: inspector.violations().length,
    health: { asked, slowestMs, late: late.length },
  };
  console.log(`oracle: ${JSON.stringify(report)}`);
  expect(late).toEqual([]);
  expect(report.lost).toBe(0);
  expect(report.ran).toBeGreaterThan(count * 0.8);
});

test("commands that match no pattern are harmless, and only the listed examples ask", {
  timeout: runMs,
}, async () => {
  // test/gate/gate-tables.test.ts asks the gate about all of them; a plain run runs a few.
  const runs = (commands: readonly string[], every: number) =>
    commands.filter((_command, index) => !isPlain || index % every === 0).map((command) => ({ command }));
  const harmless = runs([...looking, ...working, ...askedByTag], 60);
  const outcomes = await runCalls(world, harmless);
  const asked = outcomes.filter(({ fate }) => fate === "asked").length;
  const percent = Number(((100 * asked) / harmless.length).toFixed(1));
  console.log(
    `oracle: of ${harmless.length} harmless commands ${asked} ask, ${percent} %: ${JSON.stringify(countFates(outcomes))}`,
  );
  expect(percent).toBeLessThanOrEqual(5);
  const left = runs(
    leftToSandbox.flatMap(({ commands }) => commands),
    3,
  );
  expect(countFates(await runCalls(world, left)).ran).toBe(left.length);
  expect(inspector.violations()).toEqual([]);
});

test("no command leaves anything behind", { timeout: runMs }, async () => {
  await expect.poll(() => inspector.remains(), { timeout: 60_000, interval: 500 }).toEqual([]);
  expect(await world.remora.stop()).toBe(0);
});

function countFates(outcomes: readonly CallOutcome[]) {
  const counts = { ran: 0, asked: 0, blocked: 0, lost: 0 };
  for (const { fate } of outcomes) counts[fate] += 1;
  return counts;
}
