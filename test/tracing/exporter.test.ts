import { createServer } from "node:http";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { createEvents } from "../../src/lib/event-bus.ts";
import { createTraceExporter, type TraceExporter, tracesAddress } from "../../src/tracing/exporter.ts";
import { rootIdOf, traceIdOf } from "../../src/tracing/spans.ts";
import { startTraceCollector, type TraceCollector } from "../doubles/trace-collector.ts";
import { listening } from "../sandbox/egress/servers.ts";

const turn = { turnId: "t1", conversationId: "slack:C1:1", userId: "U1" };
const call = { ...turn, callId: "c1", tool: "shell_exec" };
const usage = { inputTokens: 120, outputTokens: 30, cacheReadTokens: 7, cacheWriteTokens: 0 };

let collector: TraceCollector;
const exporters: TraceExporter[] = [];
const warnings: object[] = [];
beforeEach(async () => {
  collector = await startTraceCollector();
  warnings.length = 0;
});
afterEach(async () => {
  for (const exporter of exporters.splice(0)) await exporter.close();
  await collector.close();
});

function exporterTo(endpoint: string, headers: string | null = null) {
  const events = createEvents();
  const log = { debug() {}, info: () => {}, warn: (fields: object) => void warnings.push(fields), error: () => {} };
  const exporter = createTraceExporter({
    ...{ events, log, endpoint, headers, role: "all" },
    ...{ serviceName: "remora-test", version: "1.2.3" },
  });
  exporters.push(exporter);
  return { events, exporter };
}

test("a turn is one trace: its model calls, tools and waits are below its root", async () => {
  const { events, exporter } = exporterTo(collector.url, "authorization=Bearer%20abc");
  events.emit("turn.started", { ...turn, messages: 1 });
  events.emit("llm.response", {
    ...{ ...turn, step: 1, model: "anthropic/claude-x", stop: "tool_use", usage },
    ...{ firstTokenMs: 200, durationMs: 900 },
  });
  events.emit("safety.approved", {
    ...{ ...call, callHash: "00", rules: [], approvalId: "a1", decidedAt: Date.now(), waitedMs: 5_000 },
    ...{ by: "U2", voters: ["U2"], grantIds: [], isEdited: false, requestedHash: "00" },
  });
  events.emit("tool.failed", { ...call, status: "interrupted", attempts: 2, durationMs: 40, message: "secret words" });
  events.emit("llm.error", { ...turn, step: 2, code: "overloaded", message: "secret words" });
  events.emit("turn.finished", { ...turn, outcome: "failed", steps: 2, durationMs: 7_000 });
  await exporter.close();
  expect(collector.problems).toEqual([]);
  expect(collector.requests).toEqual([{ path: "/v1/traces", authorization: "Bearer abc" }]);
  const { spans } = collector;
  expect(spans.map(({ name }) => name)).toEqual([
    "chat claude-x",
    "wait_for_approval",
    "execute_tool shell_exec",
    "chat",
    "invoke_agent remora",
  ]);
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([traceIdOf("t1")]));
  const [root, ...others] = spans.toReversed();
  expect(root).toMatchObject({ spanId: rootIdOf("t1"), status: 2 });
  expect(root?.parentSpanId).toBeUndefined();
  for (const { parentSpanId } of others) expect(parentSpanId).toBe(rootIdOf("t1"));
  expect(spans[0]?.attributes).toMatchObject({
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "anthropic",
    "gen_ai.request.model": "claude-x",
    "gen_ai.usage.input_tokens": "120",
    "gen_ai.conversation.id": "slack:C1:1",
    "remora.turn.id": "t1",
  });
  expect(spans[0]?.resource).toMatchObject({ "service.name": "remora-test", "service.version": "1.2.3" });
  expect((spans[1]?.end ?? 0n) - (spans[1]?.start ?? 0n)).toBe(5_000_000_000n);
  expect(JSON.stringify(spans, (_, value) => (typeof value === "bigint" ? String(value) : value))).not.toMatch(
    /secret words|U1|U2/,
  );
});

test("after a refusal that may pass, the same spans are sent again, once", async () => {
  collector.failNext(503, 429);
  const { events } = exporterTo(collector.url);
  events.emit("turn.finished", { ...turn, outcome: "done", steps: 1, durationMs: 10 });
  await expect.poll(() => collector.spans.length).toBe(1);
  expect(collector.requests).toHaveLength(3);
  expect(warnings).toHaveLength(1);
});

test("spans that the collector refuses for good are dropped", async () => {
  collector.failNext(400);
  const { events, exporter } = exporterTo(collector.url);
  events.emit("turn.finished", { ...turn, outcome: "done", steps: 1, durationMs: 10 });
  await expect.poll(() => collector.requests.length).toBe(1);
  await exporter.close();
  expect(collector.requests).toHaveLength(1);
});

test("a collector that redirects gets no second request elsewhere, and the warning says where it leads", async () => {
  const other = await listening(createServer((_request, response) => response.end()));
  const moved = await listening(
    createServer((_request, response) =>
      response.writeHead(307, { location: `http://127.0.0.1:${other.port}/x` }).end(),
    ),
  );
  onTestFinished(() => [other, moved].forEach((each) => void each.close()));
  let reached = 0;
  other.server.on("request", () => (reached += 1));
  const { events, exporter } = exporterTo(`http://127.0.0.1:${moved.port}`);
  events.emit("turn.finished", { ...turn, outcome: "done", steps: 1, durationMs: 10 });
  await expect.poll(() => JSON.stringify(warnings)).toContain(`redirects to http://127.0.0.1:${other.port}/x (307)`);
  await exporter.close();
  expect(reached).toBe(0);
});

test("a collector that is away costs one warning, a bounded list, and no wait at the end", async () => {
  const { events, exporter } = exporterTo("http://127.0.0.1:1");
  for (let number = 0; number < 5_000; number++)
    events.emit("turn.finished", { ...turn, turnId: `t${number}`, outcome: "done", steps: 1, durationMs: 10 });
  await expect.poll(() => warnings.length).toBe(1);
  await exporter.close();
  expect(warnings).toHaveLength(1);
});

test.each([
  ["http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"],
  ["https://otlp.example.com/otlp/", "https://otlp.example.com/otlp/v1/traces"],
  ["http://127.0.0.1:4318/v1/traces", "http://127.0.0.1:4318/v1/traces"],
])("%s is the collector at %s", (endpoint, address) => expect(tracesAddress(endpoint)).toBe(address));
