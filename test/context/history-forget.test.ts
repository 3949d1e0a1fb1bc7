import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { forgetSnapshots } from "../../src/context/forget-snapshots.ts";
import { createConversationRegistry } from "../../src/engine/conversation/conversation-registry.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";
import { createMemoryDouble, createWorld, memoryHit, textOfMessage, type World } from "./world.ts";

let world: World;
beforeEach(() => {
  world = createWorld();
});
afterEach(() => world.remove());

const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

function saidBy(turnId: string, ...people: string[]) {
  const messages = people.map((id) =>
    inboundMessage({
      id: `${turnId}-${id}`,
      author: { id, name: id, isBot: false, roles: [] },
      text: `${turnId} by ${id}`,
    }),
  );
  const step = { text: "Yes.", calls: [], stop: "end" as const, model: "m", requestedModel: "m", usage, at: 1 };
  return turnRecord({ id: turnId, messages, steps: [step], endedAt: 1 });
}

test("a person's exchanges can be taken out of a conversation, and those of others with the same id elsewhere stay", async () => {
  const builder = world.builder();
  for (const turn of [
    saidBy("one", "ann"),
    saidBy("two", "ben"),
    saidBy("three", "ben", "ann"),
    saidBy("four", "annabel"),
  ]) {
    await builder.remember(turn);
  }
  const shown = async () => {
    const { request } = await builder.build({ turn: saidBy("next", "ben"), step: 1, tools: [], notes: [] });
    return [
      ...request.messages
        .map(textOfMessage)
        .join("\n")
        .matchAll(/\b\w+ by \w+/g),
    ].map(([found]) => found);
  };
  await builder.forget("test:c1", { platform: "elsewhere", userId: "ann" });
  expect(await shown()).toEqual([
    "one by ann",
    "two by ben",
    "three by ben",
    "three by ann",
    "four by annabel",
    "next by ben",
  ]);
  await builder.forget("test:c1", { platform: "test", userId: "ann" });
  expect(await shown()).toEqual(["two by ben", "four by annabel", "next by ben"]);
  await builder.forget("test:c1");
  expect(await shown()).toEqual(["next by ben"]);
});

test("notes of what a person said leave the store with that person, also from turns of others", async () => {
  const ofAnn = { kind: "person" as const, name: "ann", personId: "ann" };
  const { memory } = createMemoryDouble([
    memoryHit("Ann's door code is 7302", { origins: [ofAnn] }),
    memoryHit("tea at four"),
  ]);
  const builder = world.builder({ memory });
  const turn = saidBy("one", "ben");
  const { shown } = await builder.build({ turn: { ...turn, steps: [] }, step: 1, tools: [], notes: [] });
  await builder.remember({ ...turn, shown });
  const stored = () => [...world.store.values.values()].join("");
  expect(stored()).toContain("7302");
  await builder.forget("test:c1", { platform: "test", userId: "ann" });
  expect(stored()).not.toContain("7302");
  expect(stored()).toContain("tea at four");

  const ledger = createSqliteLedger({ path: ":memory:" });
  onTestFinished(() => ledger.close());
  const registry = createConversationRegistry(ledger);
  await registry.note({ ...turn, shown });
  expect(await registry.list()).toMatchObject([{ id: "test:c1", userIds: ["ben", "ann"] }]);
});

test("snapshots go by their turn, and the others stay", async () => {
  const builder = world.builder();
  const paths: string[] = [];
  for (const id of ["one", "two", "with-dash"]) {
    const built = await builder.build({ turn: saidBy(id, "ann"), step: 1, tools: [], notes: [] });
    paths.push(built.snapshotPath);
  }
  builder.flush();
  const wanted = ["one", "with-dash"];
  expect(await forgetSnapshots(world.workspace, async (turnId) => wanted.includes(turnId))).toBe(2);
  expect(await forgetSnapshots(world.workspace, async (turnId) => wanted.includes(turnId))).toBe(0);
  expect(await forgetSnapshots(world.workspace, async () => true)).toBe(1);
});
