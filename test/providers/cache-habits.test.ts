/** How long a prompt stays in Anthropic's cache, by price and by what came before. */
import { describe, expect, test } from "vitest";
import { createCacheHabits } from "../../src/providers/cache-habits.ts";
import { asking } from "./apis.ts";

const minutes = 60_000;
/** Sonnet 5.5's. */
const price = { read: 0.05, write: 1.25, writeHour: 2 };

function createAgent() {
  let now = 0;
  const habits = createCacheHabits(() => now);
  return {
    /** `after`: minutes since the request before. */
    ask: (after: number, key: string, pausesMs: number[] = [], at: typeof price | "unknown" = price) => {
      now += after * minutes;
      return habits.livesFor("m", asking("hello", { cache: { key, pausesMs } }), at === "unknown" ? undefined : at);
    },
  };
}

test.each([
  ["twenty minutes", [20], "1h"],
  ["once twenty minutes, among short ones", [1, 1, 1, 20, 1, 1, 1, 1], "1h"],
  ["a minute or two", [1, 2, 1, 1], "5m"],
  ["two hours", [120, 120, 120], "5m"],
  ["mostly two hours, and once twenty minutes", [120, 120, 120, 20, 120, 120], "5m"],
  ["twice twenty minutes, and once two hours", [20, 120, 20], "1h"],
])("what was said is kept as is cheaper for a conversation with pauses of %s", (_what, pauses, life) => {
  const lives = createAgent().ask(
    0,
    "a",
    pauses.map((each) => each * minutes),
  );
  expect(lives.said).toBe(life);
});

describe("tools and system text", () => {
  test("stay for an hour once everybody's requests have longer pauses, and for five minutes when they follow quickly", () => {
    const { ask } = createAgent();
    const quick = Array.from({ length: 4 }, (_, index) => ask(1, `quick ${index}`).stable);
    const slow = Array.from({ length: 4 }, (_, index) => ask(10, `slow ${index}`).stable);
    const again = Array.from({ length: 20 }, (_, index) => ask(1, `again ${index}`).stable);
    expect(quick).toEqual(["5m", "5m", "5m", "5m"]);
    expect(slow.at(-1)).toBe("1h");
    expect(again.at(-1)).toBe("5m");
  });

  test("stay no longer if the pauses are longer than an hour, or nobody knows the price", () => {
    const { ask } = createAgent();
    for (let index = 0; index < 20; index += 1) expect(ask(90, `a ${index}`).stable).toBe("5m");
    for (let index = 0; index < 20; index += 1) expect(ask(10, `b ${index}`, [], "unknown").stable).toBe("5m");
  });
});

describe("a request that begins a conversation", () => {
  const said = (ask: ReturnType<typeof createAgent>["ask"], count: number, more: (key: string) => void) =>
    Array.from({ length: count }, (_, index) => {
      const key = `mention ${index}`;
      const { said } = ask(1, key);
      more(key);
      return said;
    });

  test("marks nothing but what stays, where hardly any conversation goes on in time", () => {
    const { ask } = createAgent();
    const lives = said(ask, 40, (key) => key.endsWith("9") && ask(1, key));
    expect(lives.slice(0, 8)).toEqual(Array(8).fill("5m"));
    expect(lives.slice(-8)).toEqual(Array(8).fill(undefined));
  });

  test("keeps its mark where one in four goes on, with a step or a turn", () => {
    const { ask } = createAgent();
    const lives = said(ask, 40, (key) => /[048]$/.test(key) && ask(0, key));
    expect(new Set(lives)).toEqual(new Set(["5m"]));
  });

  test("keeps its mark where other processes take the turns that follow", () => {
    const { ask } = createAgent();
    const lives = said(ask, 40, (key) => ask(1, `elsewhere ${key}`, [1 * minutes]));
    expect(new Set(lives)).toEqual(new Set(["5m"]));
  });

  test("gets its mark back once conversations go on, and always has it from the second request on", () => {
    const { ask } = createAgent();
    said(ask, 20, () => {});
    expect(ask(1, "one").said).toBeUndefined();
    expect(ask(1, "one").said).toBe("5m");
    const later = Array.from({ length: 20 }, (_, index) => {
      const { said } = ask(1, `later ${index}`);
      ask(0, `later ${index}`);
      return said;
    });
    expect(later.at(-1)).toBe("5m");
  });
});
