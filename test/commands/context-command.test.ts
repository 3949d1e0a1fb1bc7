import { afterEach, beforeEach, expect, test } from "vitest";
import { type ContextCommandOptions, contextCommand } from "../../src/commands/context-command.ts";
import { listSnapshots } from "../../src/context/explain.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { InboundCommand } from "../../src/ports/message.ts";
import type { TurnRecord } from "../../src/ports/turn.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { createCompaction, endedTurn, summarizing, turnsOf } from "../context/compaction-world.ts";
import { createMemoryDouble, createWorld, memoryHit, type World } from "../context/world.ts";
import { inboundMessage } from "../doubles/records.ts";

let world: World;
let ledger: Ledger;
beforeEach(() => {
  world = createWorld();
  ledger = createSqliteLedger({ path: ":memory:" });
});
afterEach(async () => {
  world.remove();
  await ledger.close();
});

async function keep(...turns: TurnRecord[]): Promise<void> {
  for (const turn of turns)
    await ledger.create("turn", turn.id, { state: "done", body: turn, group: turn.conversationId });
}

async function run(
  command: Partial<InboundCommand> = {},
  changes: Partial<ContextCommandOptions> = {},
): Promise<string> {
  const builder = world.builder();
  const handler = contextCommand({
    ...{ ledger, context: builder, tools: () => [], isCompacting: false },
    promptCost: (model, tokens) => (model === "test/model" ? tokens / 1_000_000 : undefined),
    newestSnapshot: async (ids) =>
      (await listSnapshots(world.workspace)).findLast(({ turnId }) => ids.has(turnId))?.path,
    ...changes,
  });
  const { author: by } = inboundMessage();
  const place = { platform: "test", conversationId: "test:c1", scope: "channel:c1", by, at: 1 } as const;
  return await handler.run({ ...place, name: "context", rest: "", ...command });
}

test("says in plain words what the model would see, what it costs, and where the last request is", async () => {
  const { add, read } = createCompaction(world, summarizing("- they talked").provider);
  const turns = turnsOf(9);
  await keep(...turns);
  await add(...turns);
  const { snapshotPath } = await world.builder().build({ turn: endedTurn("t9"), step: 1, tools: [], notes: [] });
  const said = await run();
  expect(said).toMatch(
    /^If the last question came again here, `test\/model` would see about \d{3} of at most 32,000 tokens:\n/,
  );
  const lines = said.split("\n").map((line) => line.replace(/\d+(?= |$)/, "N"));
  expect(lines.slice(1, 5)).toEqual([
    expect.stringMatching(/^- your message and the tools: N$/),
    "- identity: N",
    "- procedures: N",
    "- memory: N (nothing new fits the question)",
  ]);
  const { summary, exchanges } = await read();
  expect(said).toContain(
    `(${exchanges.length} earlier requests with their answers, and a summary of ${summary?.turns} older ones, written 2`,
  );
  expect(said).toMatch(
    /That costs about \$0\.000\d+ when the service reads all of it anew .* The answer costs extra\./,
  );
  expect(said).toContain(`The last request is in \`${snapshotPath}\` in the workspace, word for word.`);
});

test("writes no snapshot, asks no model, and leaves the history as it is", async () => {
  await keep(endedTurn("t1"));
  await world.history().add(endedTurn("t1"), []);
  const before = [...world.store.values];
  expect(await run()).toContain("There is no snapshot of the last request on this machine.");
  expect(await listSnapshots(world.workspace)).toEqual([]);
  expect([...world.store.values]).toEqual(before);
});

test("counts what the budget leaves out, and says what happens to it", async () => {
  const shares = { identity: 15, prefrontal: 10, memory: 30, skills: 20, history: 25 };
  const hits = [memoryHit("tea"), memoryHit("x".repeat(90_000), { heading: "long" })];
  const builder = () =>
    world.builder({
      config: { contextTokens: 2_000, shares, maxOutputTokens: 100 },
      memory: createMemoryDouble(hits).memory,
    });
  const turns = turnsOf(40);
  await keep(...turns);
  for (const turn of turns) await world.history().add(turn, []);
  const said = await run({}, { context: builder() });
  expect(said).toMatch(/- memory: \d+ \(2 passages\)|- memory: \d+ \(1 passage, 1 left out\)/);
  expect(said).toMatch(
    /\n\d\d older requests do not fit and are left out\. Ask me to recall what you need from them\.\n/,
  );
  expect(await run({}, { context: builder(), isCompacting: true })).toContain("A summary of them is due.");
});

test("says so if the cost is unknown or nothing, and if nothing was asked yet", async () => {
  expect(await run()).toBe("You have not asked me anything here yet, so there is nothing to show.");
  await keep(endedTurn("t1"));
  const context = world.builder({ preferredModel: async () => "other/`model`" });
  expect(await run({}, { context })).toContain(
    "The cost is unknown: models.prices has no price for `` other/`model` ``.",
  );
  expect(await run({}, { promptCost: () => 0 })).toContain("\nWith this model, that costs nothing.");
});

test("in a channel shows its newest thread, because not every service allows commands in threads", async () => {
  const thread = (id: string, changes: Partial<TurnRecord>) => endedTurn(id, { changes });
  await keep(
    thread("t1", { conversationId: "test:c1:one" }),
    thread("t2", { conversationId: "test:c1:two" }),
    thread("t3", { conversationId: "test:c9:three", scope: "channel:c9" }),
  );
  await world.history().add(thread("t2", { conversationId: "test:c1:two" }), []);
  const said = await run();
  expect(said).toMatch(/^If the last question came again in the newest thread here, /);
  expect(said).toContain("(1 earlier request with its answer)");
});
