import { expect, test } from "vitest";
import { createEvents } from "../../src/lib/event-bus.ts";
import { createMetrics } from "../../src/web/metrics.ts";

const turn = { turnId: "t1", conversationId: "local:dm:ann", userId: "ann" };
const call = { ...turn, callId: "c1", tool: "shell_exec" };
const judged = { ...call, callHash: "00ff", rules: [] };
const decided = { ...judged, approvalId: "a1", decidedAt: 7 };

test("events become counts, times and tokens, without a word about anybody", async () => {
  const events = createEvents();
  const metrics = createMetrics(events);
  const { userId, conversationId } = turn;
  events.emit("message.received", { messageId: "m1", platform: "local", conversationId, userId, characters: 5 });
  events.emit("turn.started", { ...turn, messages: 1 });
  events.emit("llm.response", {
    ...turn,
    step: 1,
    model: "demo/scripted",
    stop: "end",
    usage: { inputTokens: 120, outputTokens: 30, cacheReadTokens: 4_100, cacheWriteTokens: 900 },
    firstTokenMs: 200,
    durationMs: 900,
  });
  const usage = { inputTokens: 7, outputTokens: 3, cacheReadTokens: 0, cacheWriteTokens: 0 };
  events.emit("context.compacted", { ...turn, turns: 9, isKept: true, model: "demo/summary", usage, durationMs: 900 });
  events.emit("safety.confirm", { ...judged, approvalId: "a1", reasons: [] });
  events.emit("safety.denied", { ...decided, by: "ann", waitedMs: 5_000, reason: "secret words" });
  events.emit("safety.cancelled", { ...decided, waitedMs: 1_000, reason: "secret words" });
  const grant = { grantId: "g1", skill: "shell", pattern: "rm", by: "ann", decidedAt: 7 };
  events.emit("safety.granted", { ...turn, ...grant, approvalId: "a1", expiresAt: 9 });
  events.emit("safety.revoked", { ...grant, conversationId });
  events.emit("tool.completed", { ...call, attempts: 1, durationMs: 40 });
  events.emit("tool.failed", { ...call, status: "interrupted", attempts: 2, durationMs: 40, message: "secret words" });
  events.emit("turn.finished", { ...turn, outcome: "done", steps: 2, durationMs: 1500 });
  events.emit("platform.connected", { platform: "slack" });
  events.emit("platform.disconnected", { platform: "slack", message: "gone" });
  const text = await metrics.text();
  for (const line of [
    'remora_messages_total{platform="local"} 1',
    "remora_turns_started_total 1",
    'remora_turns_total{outcome="done"} 1',
    "remora_turn_seconds_sum 1.5",
    'remora_model_tokens_total{model="demo/scripted",kind="input"} 120',
    'remora_model_tokens_total{model="demo/scripted",kind="cache-read"} 4100',
    'remora_model_tokens_total{model="demo/scripted",kind="cache-write"} 900',
    'remora_model_tokens_total{model="demo/summary",kind="output"} 3',
    'remora_safety_decisions_total{decision="denied"} 1',
    'remora_safety_decisions_total{decision="cancelled"} 1',
    'remora_safety_decisions_total{decision="granted"} 1',
    'remora_safety_decisions_total{decision="revoked"} 1',
    'remora_safety_wait_seconds_sum{decision="denied"} 5',
    'remora_safety_wait_seconds_count{decision="cancelled"} 1',
    'remora_tool_calls_total{tool="shell_exec",status="ok"} 1',
    'remora_tool_calls_total{tool="shell_exec",status="interrupted"} 1',
    'remora_platform_connected{platform="slack"} 0',
  ]) {
    expect(text).toContain(line);
  }
  for (const word of ["ann", "secret words", "local:dm"]) expect(text).not.toContain(word);
});

test("two processes' worth of metrics in one process do not meet, and a closed one counts no more", async () => {
  const events = createEvents();
  const [one, other] = [createMetrics(events), createMetrics(createEvents())];
  events.emit("turn.started", { ...turn, messages: 1 });
  one.close();
  events.emit("turn.started", { ...turn, messages: 1 });
  expect(await one.text()).toContain("remora_turns_started_total 1");
  expect(await other.text()).toContain("remora_turns_started_total 0");
});

test("events are counted before they need much memory, also if nobody reads the metrics", async () => {
  const events = createEvents();
  const metrics = createMetrics(events);
  let counted = 0;
  const fields = {
    ...{ ...turn, steps: 1, durationMs: 7 },
    get outcome() {
      counted += 1;
      return "done" as const;
    },
  };
  for (let index = 0; index < 1_000; index += 1) events.emit("turn.finished", fields);
  await expect.poll(() => counted).toBe(1_000);
  expect(await metrics.text()).toContain('remora_turns_total{outcome="done"} 1000');
});
