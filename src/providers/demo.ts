/**
 * The demo model: a labelled stand-in without AI, to try the product without a key or a network. Reports the results of
 * the tools that it just called; otherwise matches the newest message against phrases (demo-phrases.ts). Except for the
 * time of day, the same request always gets the same answer.
 */
import { pause } from "../lib/backoff.ts";
import type { ModelEvent, ModelMessage, ModelRequest, Provider } from "../ports/provider.ts";
import type { ToolSpec } from "../ports/tool.ts";
import { useToolName } from "../ports/tool-offer.ts";
import { failure } from "./classify-failure.ts";
import type { DemoAnswer } from "./demo-phrases.ts";
import { newestUserText, readResult } from "./demo-reading.ts";

export interface DemoOptions {
  /** Between two words. */
  delayMs?: number;
  now?: () => Date;
}

const model = "demo/scripted";

export function createDemoProvider(options: DemoOptions = {}): Provider {
  const { delayMs = 8, now = () => new Date() } = options;
  return {
    name: "demo",
    model,
    async *stream(request, signal): AsyncGenerator<ModelEvent> {
      const { text, call } = await answerTo(request, now());
      for (const word of text.split(/(?<=\s)(?=\S)/)) {
        if (word !== "") yield { type: "text-delta", text: word };
        if (delayMs > 0) await pause(delayMs, signal);
        if (signal.aborted) return yield { type: "error", error: failure(place, "aborted") };
      }
      if (call !== undefined) {
        const id = `demo_${request.messages.length}`;
        yield { type: "tool-call", id, name: call.name, inputJson: call.inputJson };
      }
      const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
      yield { type: "end", stop: call === undefined ? "end" : "tool-calls", usage, model };
    },
  };
}

const place = { name: "demo", model: "scripted", baseUrl: "", keySetting: "", urlSetting: "", modelSetting: "" };

async function answerTo(request: ModelRequest, now: Date): Promise<DemoAnswer> {
  const results = newestResults(request.messages);
  if (results.length > 0) return { text: results.map(report).join("\n\n") };
  const { demoAnswer, demoLabel } = await import("./demo-phrases.ts");
  const answer = demoAnswer(newestUserText(request.messages), toolsIn(request), now);
  return { ...answer, text: `${demoLabel} ${answer.text}` };
}

/** Without `use_tool`, because the demo model calls every tool by its name. */
function toolsIn({ tools, mayCall, named = [] }: ModelRequest): ToolSpec[] {
  if (mayCall === false) return [];
  return [...tools.filter(({ name }) => name !== useToolName), ...named];
}

type ToolMessage = Extract<ModelMessage, { role: "tool" }>;

function newestResults(messages: ModelMessage[]): ToolMessage[] {
  const results: ToolMessage[] = [];
  for (const message of messages.toReversed()) {
    if (message.role === "user" && results.length === 0 && isOnlyNotes(message)) continue;
    if (message.role !== "tool") break;
    results.unshift(message);
  }
  return results;
}

/** True if the message contains only notes for the model, which may follow the results. */
function isOnlyNotes(message: ModelMessage): boolean {
  return newestUserText([message]) === "";
}

function report({ name, text, isError }: ToolMessage): string {
  const result = readResult(text);
  return `${said(result.tool || name, result.status || (isError ? "failed" : "ok"))}\n\n${fenced(result.text)}`;
}

function said(name: string, status: string): string {
  switch (status) {
    case "ok":
      return `\`${name}\` is done. Output:`;
    case "denied":
      return `I didn't run \`${name}\` because it was denied. I won't try again. The reason:`;
    case "blocked":
      return `I didn't run \`${name}\` because the safety rules block it. I won't try again. The reason:`;
    case "invalid":
      return `\`${name}\` did not run because the call was not valid:`;
    case "interrupted":
      return `\`${name}\` was interrupted. It may or may not have finished:`;
    default:
      return `\`${name}\` failed. Output:`;
  }
}

/** Quotes text in a fence that is longer than any fence in the text so that the text can't close it. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text.trimEnd() || "(no output)"}\n${fence}`;
}
