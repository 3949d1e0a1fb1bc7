/**
 * The demo model: a labelled stand-in without AI, so that the whole product can be tried with no key and no network.
 *
 *   - results of tools that it has just called are reported in plain words
 *   - else the newest message is matched against a handful of phrases (demo-phrases.ts), by their text alone
 *
 * The same request always gets the same answer, the time of day apart.
 */

import { pause } from "../lib/backoff.ts";
import type { ModelEvent, ModelMessage, ModelRequest, Provider } from "../ports/provider.ts";
import { type DemoAnswer, demoAnswer, demoLabel } from "./demo-phrases.ts";
import { newestUserText, readResult } from "./demo-reading.ts";
import { failure } from "./failures.ts";

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
      const { text, call } = answerTo(request, now());
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

function answerTo(request: ModelRequest, now: Date): DemoAnswer {
  const results = newestResults(request.messages);
  if (results.length > 0) return { text: results.map(report).join("\n\n") };
  const answer = demoAnswer(newestUserText(request.messages), request.tools, now);
  return { ...answer, text: `${demoLabel} ${answer.text}` };
}

type ToolMessage = Extract<ModelMessage, { role: "tool" }>;

/** Results that nothing has been said to yet. */
function newestResults(messages: ModelMessage[]): ToolMessage[] {
  const results: ToolMessage[] = [];
  for (const message of messages.toReversed()) {
    if (message.role === "user" && results.length === 0 && isOnlyNotes(message)) continue;
    if (message.role !== "tool") break;
    results.unshift(message);
  }
  return results;
}

/** Notes for the model may follow the results as a message of their own; nobody has said them. */
function isOnlyNotes(message: ModelMessage): boolean {
  return newestUserText([message]) === "";
}

function report({ name, text, isError }: ToolMessage): string {
  const result = readResult(text);
  return `${said(name, result.status || (isError ? "failed" : "ok"))}\n\n${fenced(result.text)}`;
}

/** By the status that the prompt gives each result. */
function said(name: string, status: string): string {
  switch (status) {
    case "ok":
      return `\`${name}\` is done. It said:`;
    case "denied":
      return `I did not run \`${name}\`, because it was denied, and I won't try again. I was told:`;
    case "blocked":
      return `I did not run \`${name}\`, because the safety rules block it, and I won't try again. I was told:`;
    case "invalid":
      return `\`${name}\` was not run, because the call was wrong:`;
    case "interrupted":
      return `\`${name}\` was interrupted, and nobody knows whether it ran to its end:`;
    default:
      return `\`${name}\` failed. It said:`;
  }
}

/** A fence that is longer than any in the text, so that the text can't close it. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text.trimEnd() || "(no output)"}\n${fence}`;
}
