/** Reads a prompt for the demo model: people's words and tool output, with or without the tags around them. */
import type { ModelMessage } from "../ports/provider.ts";
import { taggedWords } from "./asks-for-calls.ts";

export function newestUserText(messages: ModelMessage[]): string {
  const newest = messages.findLast((message) => message.role === "user");
  if (newest?.role !== "user") return "";
  const text = newest.content.flatMap((part) => (part.type === "text" ? part.text : [])).join("\n\n");
  const said = newest.isWords === true ? text : taggedWords(text).at(-1);
  const own = said ?? text.replaceAll(/<([a-z][a-z_-]*)\b[^>]*>[\s\S]*?<\/\1>/g, "");
  return withoutCodeFence(unescaped(own).trim());
}

export interface ReadResult {
  tool: string;
  status: string;
  text: string;
}

export function readResult(text: string): ReadResult {
  const [, attributes = "", inside] = /^\s*<tool_result\b([^>]*)>\n?([\s\S]*?)\n?<\/tool_result>\s*$/.exec(text) ?? [];
  if (inside === undefined) return { tool: "", status: "", text };
  const attribute = (name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? "";
  return { tool: attribute("tool"), status: attribute("status"), text: unescaped(inside) };
}

function unescaped(text: string): string {
  return text.replaceAll(/&lt;(?=\s*\/?\s*[a-z_]+)/gi, "<");
}

function withoutCodeFence(text: string): string {
  const inside = /^(`{3,}|~{3,})[^\n]*\n([\s\S]*)\n\1$/.exec(text)?.[2];
  return (inside ?? text).trim();
}
