/**
 * A scripted model: each request gets the next step. A surplus request, or a leftover step at `finish()`, fails the test.
 */
import { RemoraError } from "../../src/lib/errors.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import type { ModelEvent, ModelRequest, ModelToolCall, Provider } from "../../src/ports/provider.ts";

export const noUsage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

/** What the model says in one step; a function sees the request and the signal. */
export type ScriptStep =
  | ModelEvent[]
  | ((request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelEvent> | ModelEvent[]);

export interface ScriptedProvider extends Provider {
  requests: ModelRequest[];
  /** Throws when steps are left. */
  finish(): void;
}

export function createScriptedProvider(steps: ScriptStep[], model = "scripted/one"): ScriptedProvider {
  const left = [...steps];
  const requests: ModelRequest[] = [];
  return {
    name: "scripted",
    model,
    requests,
    async *stream(request, signal) {
      const { onSent: _onSent, shorter: _shorter, ...plain } = request;
      requests.push(structuredClone(plain));
      const step = left.shift();
      if (step === undefined)
        throw new Error(`the model was asked ${requests.length} times; the script has ${steps.length} steps`);
      yield* typeof step === "function" ? step(request, signal) : step;
    },
    finish() {
      if (left.length > 0) throw new Error(`${left.length} of ${steps.length} script steps were not asked for`);
    },
  };
}

export function says(text: string, model = "scripted/one"): ModelEvent[] {
  const words = text.split(/(?<= )/);
  return [
    ...words.map((word) => ({ type: "text-delta" as const, text: word })),
    { type: "end", stop: "end", usage: noUsage, model },
  ];
}

export function calls(
  ...wanted: { id?: string; name: string; input?: JsonObject; inputJson?: string; text?: string }[]
): ModelEvent[] {
  const events: ModelEvent[] = [];
  for (const [index, { id, name, input, inputJson, text }] of wanted.entries()) {
    if (text !== undefined) events.push({ type: "text-delta", text });
    const call: ModelToolCall = {
      id: id ?? `call-${index + 1}`,
      name,
      inputJson: inputJson ?? JSON.stringify(input ?? {}),
    };
    events.push({ type: "tool-call", ...call });
  }
  return [...events, { type: "end", stop: "tool-calls", usage: noUsage, model: "scripted/one" }];
}

export function fails(code: string, message: string, isRetryable = false): ModelEvent[] {
  return [{ type: "error", error: new RemoraError({ code, place: "provider scripted", message, isRetryable }) }];
}

/** An answer that the model declines to give, perhaps after some words. */
export function declines(model = "scripted/one", said = ""): ModelEvent[] {
  const message = `${model} declined to answer this; ask in other words, or start over with /remora new`;
  const usage = { ...noUsage, inputTokens: 1_000, outputTokens: said.length };
  return [
    ...(said === "" ? [] : [{ type: "text-delta" as const, text: said }]),
    { type: "restart", model, usage },
    { type: "error", error: new RemoraError({ code: "provider.refused", place: "provider scripted", message }) },
  ];
}

/** Yields what is given and then waits for the abort, as a stream that goes quiet does. */
export function hangs(...before: ModelEvent[]): ScriptStep {
  return async function* (_request, signal) {
    yield* before;
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    yield {
      type: "error",
      error: new RemoraError({ code: "provider.aborted", place: "provider scripted", message: "aborted" }),
    };
  };
}
