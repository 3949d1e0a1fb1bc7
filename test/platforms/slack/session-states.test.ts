/** Calls of a session that Slack delays, refuses, or executes without an answer, in any order. */
import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RemoraError } from "../../../src/lib/errors.ts";
import { silentLog } from "../../../src/lib/log.ts";
import type { SlackApi } from "../../../src/platforms/slack/api/api.ts";
import { createRateLimiter } from "../../../src/platforms/slack/api/rate-limiter.ts";
import { createAgentSessions, type SessionState } from "../../../src/platforms/slack/outbound/agent-sessions.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** How Slack answers a call: it has an effect after `before`, and an answer `after` that. */
interface Fate {
  before: number;
  after: number;
  outcome: "ok" | "late" | "cut" | "refused";
}

const refusals: Partial<Record<Fate["outcome"], Partial<RemoraError> & { code: string }>> = {
  late: { code: "slack.ratelimited", isRetryable: true, retryAfterMs: 3_000 },
  cut: { code: "slack.unreachable", isRetryable: true },
  refused: { code: "slack.never_heard_of_it", isRetryable: false },
};

function createSlack(fates: Fate[]) {
  const slack = { state: undefined as string | undefined, states: [] as string[] };
  const pauseFor = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  async function take(state: string | undefined): Promise<void> {
    const { before, after, outcome } = fates.shift() ?? { before: 1, after: 1, outcome: "ok" };
    await pauseFor(before);
    if (outcome === "ok" || outcome === "cut") {
      slack.state = state ?? "active";
      slack.states.push(slack.state);
    }
    await pauseFor(after);
    const refusal = refusals[outcome];
    if (refusal === undefined) return;
    throw Object.assign(new RemoraError({ code: refusal.code, place: "slack", message: refusal.code }), refusal);
  }
  const call: SlackApi["call"] = async (method, args, schema) => {
    if (method === "assistant.threads.setStatus") await take(args.status === "" ? "active" : "processing");
    else if (method === "agents.sessions.setStatus") await take(String(args.status));
    return schema.parse({});
  };
  const sessions = createAgentSessions({
    ...{ api: { call }, rateLimiter: createRateLimiter(), log: silentLog, signal: new AbortController().signal },
  });
  return { slack, take, session: sessions("C1", "1.1") };
}

const ends = fc.constantFrom<SessionState>("active", "suspended", "closed");
const fate = fc.record<Fate>({
  before: fc.nat(400),
  after: fc.nat(400),
  outcome: fc.oneof(
    { weight: 6, arbitrary: fc.constant("ok" as const) },
    { weight: 2, arbitrary: fc.constantFrom("late" as const, "cut" as const) },
  ),
});
const step = fc.record({
  type: fc.constantFrom("work" as const, "wait" as const, "start" as const, "stop" as const),
  end: ends,
  afterMs: fc.nat(900),
});

test("however calls are delayed and refused, a session ends in the newest state, and never shows work", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 12 }),
      fc.array(fate, { maxLength: 14 }),
      fc.array(fc.nat(13), { maxLength: 2 }),
      ends,
      async (steps, fates, refused, last) => {
        for (const index of refused) Object.assign(fates[index] ?? {}, { outcome: "refused" });
        const { slack, take, session } = createSlack(structuredClone(fates));
        const running: Promise<unknown>[] = [session.set("processing", { title: "hello" })];
        for (const { type, end, afterMs } of steps) {
          if (type === "work") running.push(session.set("processing"));
          if (type === "wait") running.push(session.set(end));
          if (type === "start") running.push(session.starting(() => take("processing")).catch(() => {}));
          if (type === "stop")
            running.push(session.stopping(end, ({ session_status }) => take(session_status)).catch(() => {}));
          await vi.advanceTimersByTimeAsync(afterMs);
        }
        running.push(session.set(last));
        await vi.advanceTimersByTimeAsync(20 * 60_000);
        await Promise.all(running);
        expect([last, undefined, ...(slack.states.includes("processing") ? [] : ["active"])]).toContain(slack.state);
      },
    ),
    { numRuns: 200 },
  );
});

test("a state that does not change is told once, and one that fails is not tried for ever", async () => {
  const { slack, session } = createSlack([]);
  for (let count = 0; count < 100; count++) void session.set("processing");
  await vi.advanceTimersByTimeAsync(1_000);
  for (let count = 0; count < 100; count++) void session.set("active");
  await vi.advanceTimersByTimeAsync(1_000);
  expect(slack.states).toEqual(["processing", "active"]);
  const always = createSlack(Array.from({ length: 9_999 }, () => ({ before: 1, after: 1, outcome: "refused" })));
  void always.session.set("processing");
  void always.session.set("active");
  await vi.advanceTimersByTimeAsync(10 * 3_600_000);
  expect(vi.getTimerCount()).toBe(0);
});
