/** When progress is shown: at each change, and again and again while work goes on. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createTurnProgress } from "../../src/engine/turn/turn-progress.ts";
import { silentLog } from "../../src/lib/log.ts";
import { type Progress, progressLine } from "../../src/ports/progress.ts";
import type { TurnRecord } from "../../src/ports/turn.ts";
import { turnRecord } from "../doubles/records.ts";

let shown: { at: number; line: string }[];
beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  shown = [];
});
afterEach(() => vi.useRealTimers());

function begin(turn: TurnRecord = turnRecord(), get: () => Promise<unknown> = async () => undefined) {
  return createTurnProgress({
    turn,
    delivery: {
      progress: (progress: Progress) => shown.push({ at: Date.now(), line: progressLine(progress, Date.now()) }),
    },
    ledger: { get } as never,
    specs: () => [],
    log: silentLog,
  });
}

test("a model that thinks for ten minutes is seen to work, every five seconds and until the end", async () => {
  const progress = begin();
  progress.phase("Thinking");
  await vi.advanceTimersByTimeAsync(600_000);
  const gaps = shown.slice(1).map(({ at }, index) => at - (shown[index]?.at ?? 0));
  expect(Math.max(...gaps)).toBeLessThanOrEqual(5_000);
  expect(shown.slice(0, 3).map(({ line }) => line)).toEqual(["Thinking", "Thinking", "Thinking · 5 s"]);
  expect(shown.at(-1)?.line).toBe("Thinking · 10 min");
  progress.stop();
  const before = shown.length;
  progress.phase("Thinking more");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(shown).toHaveLength(before);
});

test("a call that waits for its turn or for another attempt says so, also if another process runs it", async () => {
  const call = { raw: { id: "c1", name: "look", inputJson: "{}" }, startedAt: 0 };
  const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const step = { text: "", calls: [call], stop: "tool-calls" as const, model: "m", requestedModel: "m", usage, at: 0 };
  let entry: unknown = { state: "planned", body: {} };
  const progress = begin(turnRecord({ steps: [step] }), async () => entry);
  progress.update();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(shown.at(-1)?.line).toBe("Running look: waiting for other tools to finish");
  entry = { state: "waiting", body: { attempts: 1, retryAt: 11_000 } };
  await vi.advanceTimersByTimeAsync(3_000);
  expect(shown.at(-1)?.line).toBe("Running look: trying again in 6 s (attempt 2)");
  entry = { state: "started", body: { attempts: 2 } };
  await vi.advanceTimersByTimeAsync(5_000);
  expect(shown.at(-1)?.line).toBe("Running look · 10 s");
  progress.stop();
});

test("neither a ledger that fails nor a delivery that throws disturbs the turn", async () => {
  const progress = begin(turnRecord(), async () => Promise.reject(new Error("away")));
  shown.push = () => {
    throw new Error("full");
  };
  progress.phase("Thinking");
  await vi.advanceTimersByTimeAsync(20_000);
  progress.stop();
});
