/** Turns whose model declines to answer: what people read, what is counted, and what is remembered. */
import { describe, expect, test } from "vitest";
import { toolSpec } from "../doubles/records.ts";
import { calls, declines, says } from "../doubles/scripted-provider.ts";
import { doubles, run, useDoubles } from "./run-turn-world.ts";

useDoubles();

const tools = [toolSpec("look", { isReadOnly: true }), toolSpec("act")];
const sentence = "scripted/one declined to answer this; ask in other words, or start over with /remora new.";

describe("a refusal", () => {
  test("after some words ends the turn as failed, in one sentence, and the words are gone", async () => {
    const { end, turn } = await run({ steps: [declines("scripted/one", "Here is how you ")] });
    expect(end).toBe("failed");
    expect(turn).toMatchObject({ failure: sentence, isRefused: true, isFailureFinal: true, steps: [] });
    expect(doubles.reply.segments.at(-1)).toBe(`⚠️ ${sentence}`);
  });

  test("leaves neither the question nor half an answer in memory", async () => {
    await run({
      tools,
      steps: [calls({ name: "look", text: "I look." }), declines("scripted/one", "Here is how you ")],
    });
    const [episode] = doubles.episodes;
    expect(episode).toMatchObject({ outcome: "failed", tools: [], response: sentence });
    expect(episode?.userText).toMatch(/^\(What was asked here is left out/);
  });

  test("counts what the service has counted, also if another model answers then", async () => {
    const priceOf = () => ({ input: 1_000, output: 1_000 });
    const [again, ...rest] = declines("scripted/one", "Here is how you ").slice(1);
    const { turn } = await run({ priceOf, steps: [declines("scripted/one", "Here is how you ")] });
    expect(turn.brokenCost).toBeCloseTo(1.016);
    if (again === undefined) throw new Error("no restart");
    const answered = await run({ priceOf, steps: [[again, ...says("Hi.")]] });
    expect(rest).toHaveLength(1);
    expect(answered.turn.brokenCost).toBeCloseTo(1.016);
    expect(answered.turn.steps.map(({ text }) => text)).toEqual(["Hi."]);
  });

  test("a refusal that the service did not charge costs nothing", async () => {
    const free = declines().map((event) =>
      event.type === "restart" ? { ...event, usage: { ...event.usage, inputTokens: 0 } } : event,
    );
    const { turn } = await run({
      priceOf: () => ({ input: 1_000, output: 1_000 }),
      steps: [free as ReturnType<typeof declines>],
    });
    expect(turn).not.toHaveProperty("brokenCost");
  });

  test("a refusal is final once the turn has changed something, and not while it has only read", async () => {
    const steps = [calls({ id: "a", name: "look" }), calls({ id: "b", name: "act" }), says("Done.")];
    await run({ tools, steps });
    expect(doubles.provider.requests.map(({ isRefusalFinal }) => isRefusalFinal)).toEqual([undefined, undefined, true]);
  });

  test("after a call runs nothing", async () => {
    const [call] = calls({ name: "act" });
    if (call === undefined) throw new Error("no call");
    const { end } = await run({ tools, steps: [[call, ...declines()]] });
    expect(end).toBe("failed");
    expect(doubles.ran).toEqual([]);
  });
});
