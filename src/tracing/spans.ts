/**
 * Turns events into spans of OpenTelemetry, in the JSON form of OTLP. A turn is one trace:
 *
 *   invoke_agent remora
 *     chat {model}
 *     execute_tool {tool}
 *     wait_for_approval
 *
 * The ids of the trace and of its root come from the turn's id, so every process that works on a turn, also after a
 * restart, adds to the same trace without telling the others. Names and attributes follow the semantic conventions for
 * generative AI (https://opentelemetry.io/docs/specs/semconv/gen-ai/). No attribute has words of people, models or tools.
 */
import { createHash, randomBytes } from "node:crypto";
import type { RemoraEvent, TurnFields } from "../ports/events.ts";
import type { Usage } from "../ports/provider.ts";

/** https://github.com/open-telemetry/opentelemetry-proto: integers of 64 bits are strings, ids are hexadecimal. */
export interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: OtlpAttribute[];
  status: { code: number; message?: string };
}

export interface OtlpAttribute {
  key: string;
  value: { stringValue: string } | { intValue: string } | { boolValue: boolean } | { arrayValue: { values: object[] } };
}

type Value = string | number | boolean | string[] | undefined;

const spanKind = { internal: 1, client: 3 } as const;
const statusCode = { unset: 0, error: 2 } as const;
const nanosecondsPerMillisecond = 1_000_000n;

/** Undefined for an event that ends nothing. */
export function spanOf({ name, at, fields }: RemoraEvent): OtlpSpan | undefined {
  switch (name) {
    case "turn.finished":
      return {
        ...span(at, fields.durationMs, `invoke_agent remora`, spanKind.internal),
        traceId: traceIdOf(fields.turnId),
        spanId: rootIdOf(fields.turnId),
        attributes: attributes({
          "gen_ai.operation.name": "invoke_agent",
          "gen_ai.agent.name": "remora",
          ...whereOf(fields),
          "remora.turn.outcome": fields.outcome,
          "remora.turn.steps": fields.steps,
        }),
        status: statusOf(fields.outcome === "failed" ? "failed" : undefined),
      };
    case "llm.response":
      return {
        ...child(fields, at, fields.durationMs, `chat ${modelOf(fields.model).model}`, spanKind.client),
        attributes: attributes({
          ...ofModel(fields.model, fields.usage),
          ...whereOf(fields),
          "gen_ai.response.finish_reasons": [fields.stop],
          "remora.step": fields.step,
          "remora.first_token_ms": Math.round(fields.firstTokenMs),
        }),
      };
    case "context.compacted":
      return {
        ...child(fields, at, fields.durationMs, `chat ${modelOf(fields.model).model}`, spanKind.client),
        attributes: attributes({
          ...ofModel(fields.model, fields.usage),
          ...whereOf(fields),
          "remora.purpose": "summary of older turns",
        }),
      };
    case "llm.error":
      return {
        ...child(fields, at, 0, "chat", spanKind.client),
        attributes: attributes({
          "gen_ai.operation.name": "chat",
          ...whereOf(fields),
          "remora.step": fields.step,
          "error.type": fields.code,
        }),
        status: statusOf(fields.code),
      };
    case "tool.completed":
    case "tool.failed":
      return {
        ...child(fields, at, fields.durationMs, `execute_tool ${fields.tool}`, spanKind.internal),
        attributes: attributes({
          "gen_ai.operation.name": "execute_tool",
          "gen_ai.tool.name": fields.tool,
          "gen_ai.tool.call.id": fields.callId,
          "gen_ai.tool.type": "function",
          ...whereOf(fields),
          "remora.tool.attempts": fields.attempts,
          "error.type": name === "tool.failed" ? fields.status : undefined,
        }),
        status: statusOf(name === "tool.failed" ? fields.status : undefined),
      };
    case "safety.approved":
    case "safety.denied":
    case "safety.expired":
    case "safety.cancelled":
      return {
        ...child(fields, fields.decidedAt, fields.waitedMs, "wait_for_approval", spanKind.internal),
        attributes: attributes({
          "gen_ai.tool.name": fields.tool,
          "gen_ai.tool.call.id": fields.callId,
          ...whereOf(fields),
          "remora.approval.id": fields.approvalId,
          "remora.approval.decision": name.slice("safety.".length),
        }),
      };
    default:
      return undefined;
  }
}

export function traceIdOf(turnId: string): string {
  return hashOf("trace", turnId).slice(0, 32);
}

export function rootIdOf(turnId: string): string {
  return hashOf("root", turnId).slice(0, 16);
}

function hashOf(what: string, turnId: string): string {
  return createHash("sha256").update(`remora ${what} ${turnId}`).digest("hex");
}

function span(endedAt: number, durationMs: number, name: string, kind: number) {
  const end = BigInt(Math.round(endedAt)) * nanosecondsPerMillisecond;
  const start = end - BigInt(Math.max(0, Math.round(durationMs))) * nanosecondsPerMillisecond;
  return { name, kind, startTimeUnixNano: String(start), endTimeUnixNano: String(end) };
}

function child({ turnId }: TurnFields, endedAt: number, durationMs: number, name: string, kind: number) {
  return {
    traceId: traceIdOf(turnId),
    spanId: randomBytes(8).toString("hex"),
    parentSpanId: rootIdOf(turnId),
    ...span(endedAt, durationMs, name, kind),
    status: statusOf(undefined),
  };
}

function statusOf(failure: string | undefined): OtlpSpan["status"] {
  return failure === undefined ? { code: statusCode.unset } : { code: statusCode.error, message: failure };
}

/** A conversation's id names its service, such as `slack:…`. */
function whereOf({ turnId, conversationId }: TurnFields): Record<string, Value> {
  return { "gen_ai.conversation.id": conversationId, "remora.turn.id": turnId };
}

function modelOf(id: string): { provider: string; model: string } {
  const slash = id.indexOf("/");
  return slash < 0 ? { provider: "remora", model: id } : { provider: id.slice(0, slash), model: id.slice(slash + 1) };
}

function ofModel(id: string, usage: Usage): Record<string, Value> {
  const { provider, model } = modelOf(id);
  return {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": provider,
    "gen_ai.request.model": model,
    "gen_ai.usage.input_tokens": usage.inputTokens,
    "gen_ai.usage.output_tokens": usage.outputTokens,
    "gen_ai.usage.cache_read.input_tokens": usage.cacheReadTokens,
    "gen_ai.usage.cache_creation.input_tokens": usage.cacheWriteTokens,
  };
}

export function attributes(values: Record<string, Value>): OtlpAttribute[] {
  return Object.entries(values).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: otlpValue(value) }],
  );
}

function otlpValue(value: Exclude<Value, undefined>): OtlpAttribute["value"] {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number") return { intValue: String(Math.round(value)) };
  return { arrayValue: { values: value.map((one) => ({ stringValue: one })) } };
}
