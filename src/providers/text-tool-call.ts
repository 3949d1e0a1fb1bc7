/** Recognises a tool call that a small model wrote as text: one JSON object, nothing else, naming a known tool. */
import type { ModelToolCall } from "../ports/provider.ts";
import type { ToolSpec } from "../ports/tool.ts";
import { isJsonObject } from "./request-mapping.ts";

export function textToolCall(text: string, tools: ToolSpec[]): ModelToolCall | undefined {
  const trimmed = text.trim();
  if (!trimmed.startsWith("{") || !trimmed.endsWith("}")) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(trimmed);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const wanted = isJsonObject(value.function) ? value.function : value;
  const name = [wanted.name, wanted.tool, wanted.function].find((field) => typeof field === "string");
  if (!tools.some((tool) => tool.name === name) || typeof name !== "string") return undefined;
  const input = wanted.arguments ?? wanted.parameters ?? wanted.input;
  // An object without arguments may describe the tool instead of calling it.
  if (input === undefined) return undefined;
  return { id: "call_1", name, inputJson: typeof input === "string" ? input : JSON.stringify(input) };
}
