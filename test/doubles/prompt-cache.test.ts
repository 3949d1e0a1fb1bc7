import { describe, expect, test } from "vitest";
import { type Block, block, blocksOf, createPromptCache, dollarsFor, keptShare, tokensOf } from "./prompt-cache.ts";

const minutes = 60_000;
const ttls = { "5m": { type: "ephemeral" }, "1h": { type: "ephemeral", ttl: "1h" } };
const long = (name: string, mark?: keyof typeof ttls): Block =>
  block(
    {
      role: "user",
      type: "text",
      text: `${name} ${"word ".repeat(1_200)}`,
      ...(mark && { cache_control: ttls[mark] }),
    },
    true,
  );
const short = (count: number): Block[] =>
  Array.from({ length: count }, (_, index) => block({ text: `answer ${index}` }));
const [system, systemForAnHour] = [long("system", "5m"), long("system", "1h")];
const all = tokensOf([system]);

describe("Anthropic's cache", () => {
  test("reads what was written at a breakpoint, at most 20 blocks back", () => {
    const readWith = (between: number) => {
      const cache = createPromptCache("anthropic");
      expect(cache.send([system], 0)).toMatchObject({ read: 0, written: all });
      const [unmarked, end] = [{ ...system, mark: undefined }, block({ text: "end", cache_control: ttls["5m"] })];
      return cache.send([unmarked, ...short(between), end], 1).read;
    };
    expect([readWith(18), readWith(19)]).toEqual([all, 0]);
  });

  test("forgets after five minutes without a hit, or an hour", () => {
    const readAfter = (first: Block, ...pauses: number[]) => {
      const cache = createPromptCache("anthropic");
      let at = 0;
      cache.send([first], at);
      return pauses.map((pause) => {
        at += pause * minutes;
        return cache.send([first], at).read;
      });
    };
    expect(readAfter(system, 4, 4, 6)).toEqual([all, all, 0]);
    expect(readAfter(systemForAnHour, 50, 50, 61)).toEqual([all, all, 0]);
  });

  test("refuses five breakpoints, and one of an hour behind one of five minutes", () => {
    const send = (blocks: Block[]) => () => createPromptCache("anthropic").send(blocks, 0);
    expect(send(Array(5).fill(system))).toThrow("maximum of 4 blocks");
    expect(send([system, systemForAnHour])).toThrow("must not come after");
  });

  test("writes an hour at twice the price of the input, and nothing that is shorter than 1,024 tokens", () => {
    const price = { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 };
    const dollars = (first: Block) => dollarsFor(createPromptCache("anthropic").send([first], 0), price) * 1e6;
    expect(dollars(system)).toBeCloseTo(all * 2.5);
    expect(dollars(systemForAnHour)).toBeCloseTo(all * 4);
    const tiny = block({ text: "hello", cache_control: ttls["5m"] });
    expect(createPromptCache("anthropic").send([tiny], 0).written).toBe(0);
  });
});

describe("OpenAI's cache", () => {
  test("reads the longest common prefix in steps of 128 tokens before GPT-5.6, and writes for nothing", () => {
    const cache = createPromptCache("prefix");
    cache.send([system, long("one")], 0);
    const { read, written } = cache.send([system, long("other")], 1);
    expect([read % 128, written]).toEqual([0, 0]);
    expect(all - read).toBeLessThan(128);
  });

  test("reads exactly what ended at a message or a breakpoint from GPT-5.6 on", () => {
    const cache = createPromptCache("breakpoints");
    const [one, two] = [long("one"), long("two")];
    expect(cache.send([one], 0)).toMatchObject({ read: 0, written: tokensOf([one]) });
    expect(cache.send([one, ...short(90), two], 1)).toMatchObject({ read: tokensOf([one]) });
    expect(cache.send([{ ...one, text: `${one.text} more` }], 2).read).toBe(0);
    expect(cache.send([one], 32 * minutes).read).toBe(0);
  });
});

test("a breakpoint at a tool's result ends what is written from GPT-5.6 on, and is no part of the result", () => {
  const text = "word ".repeat(1_200);
  const result = (mark: object) => {
    const item = { type: "function_call_output", call_id: "1", output: [{ type: "input_text", text, ...mark }] };
    return blocksOf(JSON.stringify({ input: [item] }))[0] ?? expect.fail();
  };
  const [plain, marked] = [result({}), result({ prompt_cache_breakpoint: { mode: "explicit" } })];
  expect(marked).toEqual({ ...plain, mark: "30m" });
});

describe("the kept share of a request", () => {
  const claude = (system: string, ...said: string[]) =>
    JSON.stringify({
      system: [{ type: "text", text: system, cache_control: ttls["5m"] }],
      messages: said.map((content) => ({ role: "user", content })),
    });
  const gpt = (instructions: string, ...said: string[]) =>
    JSON.stringify({ instructions, input: said.map((content) => ({ role: "user", content })) });

  test.each([
    ["Anthropic", claude],
    ["OpenAI", gpt],
  ])("is all of it if something is appended, and little if its beginning has changed (%s)", (_, request) => {
    const before = request("s".repeat(900), "one");
    expect(blocksOf(before)).toHaveLength(2);
    expect(keptShare(before, request("s".repeat(900), "one", "two"))).toBe(1);
    expect(keptShare(before, request(`news ${"s".repeat(900)}`, "one", "two"))).toBeLessThan(0.1);
    expect(keptShare(before, request("s".repeat(900), "two"))).toBeGreaterThan(0.9);
    expect(keptShare(before, request(`${"s".repeat(450)} news`, "one"))).toBeLessThan(0.6);
  });
});
