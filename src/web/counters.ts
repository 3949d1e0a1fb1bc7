/** What is counted for Prometheus. No label may contain a person, a conversation or text. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { RemoraEvent } from "../ports/events.ts";
import type { Usage } from "../ports/provider.ts";

/** The library's default of 10 ms wakes an idle process a hundred times a second. */
const lagPrecisionMs = 1_000;

export interface Counters {
  record(event: RemoraEvent): void;
  text(): Promise<string>;
}

export function createCounters(): Counters {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: lagPrecisionMs });
  const counts = createCounts(registry);
  return { record: (event) => record(counts, event), text: () => registry.metrics() };
}

type Counts = ReturnType<typeof createCounts>;

function createCounts(registry: Registry) {
  const registers = [registry];
  const counter = (name: string, help: string, labelNames: string[] = []) =>
    new Counter({ name: `remora_${name}`, help, labelNames, registers });
  const seconds = (name: string, help: string, labelNames: string[], buckets: number[]) =>
    new Histogram({ name: `remora_${name}`, help, labelNames, buckets, registers });
  return {
    messages: counter("messages_total", "Messages accepted.", ["platform"]),
    turnsStarted: counter("turns_started_total", "Turns started."),
    turns: counter("turns_total", "Turns ended, by outcome.", ["outcome"]),
    turnSeconds: seconds(
      "turn_seconds",
      "Duration of a turn, including waiting for people.",
      [],
      [0.1, 0.5, 2, 10, 60, 600],
    ),
    firstToken: seconds("model_first_token_seconds", "Time to the first token.", ["model"], [0.1, 0.3, 1, 3, 10, 30]),
    modelErrors: counter("model_errors_total", "Model calls that failed.", ["code"]),
    fallbacks: counter("model_fallbacks_total", "Fallbacks to the next provider.", ["from", "to"]),
    tokens: counter(
      "model_tokens_total",
      "Tokens counted by the provider. Those in are of one kind each: input, cache-read or cache-write.",
      ["model", "kind"],
    ),
    tools: counter("tool_calls_total", "Tool calls that ran, by status.", ["tool", "status"]),
    toolSeconds: seconds(
      "tool_seconds",
      "Duration of a tool call, including retries.",
      ["tool"],
      [0.05, 0.3, 1, 5, 30, 120],
    ),
    retries: counter("tool_retries_total", "Retries of tool calls.", ["tool"]),
    decisions: counter("safety_decisions_total", "Decisions of the gate and of people.", ["decision"]),
    waitSeconds: seconds(
      "safety_wait_seconds",
      "Time from an approval request to its decision.",
      ["decision"],
      [1, 10, 60, 600, 3_600],
    ),
    connected: new Gauge({
      name: "remora_platform_connected",
      help: "1 while the platform is connected.",
      labelNames: ["platform"],
      registers,
    }),
    stalls: counter("queue_stalls_total", "Jobs whose worker disappeared."),
  };
}

function record(count: Counts, event: RemoraEvent): void {
  switch (event.name) {
    case "message.received":
      count.messages.inc({ platform: event.fields.platform });
      break;
    case "turn.started":
      count.turnsStarted.inc();
      break;
    case "turn.finished":
      count.turns.inc({ outcome: event.fields.outcome });
      count.turnSeconds.observe(event.fields.durationMs / 1000);
      break;
    case "llm.response":
      recordResponse(count, event.fields);
      break;
    case "context.compacted":
      recordTokens(count, event.fields);
      break;
    case "llm.error":
      count.modelErrors.inc({ code: event.fields.code });
      break;
    case "llm.fallback":
      count.fallbacks.inc({ from: event.fields.from, to: event.fields.to });
      break;
    case "tool.completed":
    case "tool.failed": {
      const { tool, durationMs } = event.fields;
      count.tools.inc({ tool, status: event.name === "tool.completed" ? "ok" : event.fields.status });
      count.toolSeconds.observe({ tool }, durationMs / 1000);
      break;
    }
    case "tool.retried":
      count.retries.inc({ tool: event.fields.tool });
      break;
    case "safety.allowed":
    case "safety.confirm":
    case "safety.blocked":
    case "safety.granted":
    case "safety.revoked":
      count.decisions.inc({ decision: event.name.slice("safety.".length) });
      break;
    case "safety.approved":
    case "safety.denied":
    case "safety.expired":
    case "safety.cancelled": {
      const decision = event.name.slice("safety.".length);
      count.decisions.inc({ decision });
      count.waitSeconds.observe({ decision }, event.fields.waitedMs / 1000);
      break;
    }
    case "platform.connected":
    case "platform.disconnected":
      count.connected.set({ platform: event.fields.platform }, event.name === "platform.connected" ? 1 : 0);
      break;
    case "queue.stalled":
      count.stalls.inc();
      break;
    default:
  }
}

function recordResponse(count: Counts, fields: Extract<RemoraEvent, { name: "llm.response" }>["fields"]): void {
  count.firstToken.observe({ model: fields.model }, fields.firstTokenMs / 1000);
  recordTokens(count, fields);
}

function recordTokens(count: Counts, { model, usage }: { model: string; usage: Usage }): void {
  count.tokens.inc({ model, kind: "input" }, usage.inputTokens);
  count.tokens.inc({ model, kind: "output" }, usage.outputTokens);
  count.tokens.inc({ model, kind: "cache-read" }, usage.cacheReadTokens);
  count.tokens.inc({ model, kind: "cache-write" }, usage.cacheWriteTokens);
}
