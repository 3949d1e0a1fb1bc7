/**
 * Ollama through its client library, for local models, including small ones. The library can't abort a request without
 * an answer, so `fetch` gets the signal. It skips lines that it can't parse, so lines are checked first. It takes an
 * image given as text for a file path, so images are passed as bytes.
 */
import type { ChatRequest, ChatResponse, Message, Ollama, ShowResponse } from "ollama";
import { isJsonObject, parseJson } from "../lib/json.ts";
import type { ModelMessage, ModelRequest, Provider, StopReason, Usage } from "../ports/provider.ts";
import type { ToolImage } from "../ports/tool.ts";
import { failure, reportedFailure } from "./classify-failure.ts";
import { errorBodyOf } from "./error-body.ts";
import type { ProviderPlace } from "./failure-kinds.ts";
import { defaultTimeouts, guardedStream, type StreamCall, type StreamPiece, type Timeouts } from "./guarded-stream.ts";
import { inputOf, mayCall, modelOf, systemTextOf, wellFormed, wireName } from "./request-mapping.ts";
import { createPictureFallback, hasPictures, withoutPictures } from "./without-pictures.ts";

export interface OllamaOptions {
  /** If absent, the default address on this machine. */
  host?: string;
  model: string;
  timeouts?: Timeouts;
}

export const defaultOllamaHost = "http://127.0.0.1:11434";

/** Completes the value of `OLLAMA_HOST`, which may lack scheme and port, and may be an address to listen on. */
export function ollamaUrlOf(host: string): string {
  const trimmed = host.trim().replace(/\/+$/, "");
  const hasScheme = /^https?:\/\//i.test(trimmed);
  const withHost = trimmed.startsWith(":") ? `127.0.0.1${trimmed}` : trimmed;
  const url = new URL(hasScheme ? trimmed : `http://${withHost}`);
  if (!hasScheme && url.port === "") url.port = "11434";
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  return url.href.replace(/\/$/, "");
}

/** Lists the models of Ollama at `host`, or resolves to undefined if it does not answer. Never rejects. */
export async function probeOllama(host: string, signal: AbortSignal): Promise<string[] | undefined> {
  try {
    const response = await fetch(`${ollamaUrlOf(host)}/api/tags`, { signal });
    const body: unknown = await response.json();
    if (!response.ok || !isJsonObject(body) || !Array.isArray(body.models)) return undefined;
    return body.models.flatMap((model) => (isJsonObject(model) && typeof model.name === "string" ? model.name : []));
  } catch {
    return undefined;
  }
}

export function createOllamaProvider(options: OllamaOptions): Provider {
  const { timeouts = defaultTimeouts } = options;
  const host = options.host ?? defaultOllamaHost;
  const pictures = createPictureFallback();
  return {
    name: "ollama",
    model: `ollama/${options.model}`,
    address: host.includes("://") ? host : `http://${host}`,
    stream(request, signal) {
      const place = ollamaPlace(modelOf(request, "ollama", options.model), host);
      return pictures.stream(place.model, request, (asked) =>
        guardedStream({ place, timeouts, request: asked, open: (call) => ask(place, asked, call) }, signal),
      );
    },
  };
}

function ollamaPlace(model: string, baseUrl: string): ProviderPlace {
  return {
    name: "ollama",
    model,
    baseUrl,
    keySetting: "OLLAMA_HOST or models.ollama.host",
    urlSetting: "OLLAMA_HOST or models.ollama.host",
    modelSetting: "models.ollama.model",
  };
}

async function* ask(place: ProviderPlace, request: ModelRequest, call: StreamCall): AsyncGenerator<StreamPiece> {
  const { Ollama } = await import("ollama");
  const host = ollamaUrlOf(place.baseUrl);
  const client = new Ollama({ host, fetch: checkingLines(place, call.fetch) });
  const canSee = !hasPictures(request) || (await hasVision(new Ollama({ host, fetch: call.fetch }), place.model));
  const asked = canSee ? request : withoutPictures(request);
  yield* read(await client.chat(chatRequest(asked, place.model)), place);
}

/** Asks Ollama first, because it ignores pictures for models without vision. Old versions don't report vision. */
async function hasVision(client: Ollama, model: string): Promise<boolean> {
  try {
    const { capabilities } = (await client.show({ model })) as Partial<ShowResponse>;
    return capabilities === undefined || capabilities.includes("vision");
  } catch {
    return true;
  }
}

function chatRequest(request: ModelRequest, model: string): ChatRequest & { stream: true } {
  const system = systemTextOf(request);
  return {
    model,
    stream: true,
    messages: [...(system === "" ? [] : [{ role: "system", content: system }]), ...request.messages.map(ollamaMessage)],
    options: { num_predict: request.maxOutputTokens },
    ...(!mayCall(request)
      ? {}
      : {
          tools: request.tools.map((tool) => ({
            type: "function",
            function: { name: tool.name, description: wellFormed(tool.description), parameters: tool.parameters },
          })),
        }),
  };
}

function ollamaMessage(message: ModelMessage): Message {
  switch (message.role) {
    case "user": {
      const texts = message.content.flatMap((part) => (part.type === "text" ? wellFormed(part.text) : []));
      const images = message.content.flatMap((part) => (part.type === "image" ? [part] : []));
      return { role: "user", content: texts.join("\n\n"), ...imagesOf(images) };
    }
    case "assistant":
      return {
        role: "assistant",
        content: wellFormed(message.text),
        ...(message.toolCalls.length === 0
          ? {}
          : {
              tool_calls: message.toolCalls.map((call) => ({
                function: { name: wireName(call.name), arguments: inputOf(call.inputJson) },
              })),
            }),
      };
    case "tool":
      return {
        role: "tool",
        content: wellFormed(message.text),
        tool_name: wireName(message.name),
        ...imagesOf(message.images ?? []),
      };
    default:
      return message satisfies never;
  }
}

function imagesOf(images: readonly ToolImage[]): Pick<Message, "images"> {
  if (images.length === 0) return {};
  return { images: images.map(({ base64 }) => new Uint8Array(Buffer.from(base64, "base64"))) };
}

async function* read(stream: AsyncIterable<ChatResponse>, place: ProviderPlace): AsyncGenerator<StreamPiece> {
  let calls = 0;
  for await (const chunk of stream) {
    const { content = "", tool_calls: toolCalls = [] } = chunk.message ?? {};
    yield content === "" ? { type: "progress" } : { type: "text-delta", text: content };
    for (const { function: wanted } of toolCalls) {
      calls += 1;
      const inputJson = JSON.stringify(wanted.arguments ?? {});
      yield { type: "tool-call", id: `call_${calls}`, name: wanted.name, inputJson };
    }
    if (!chunk.done) continue;
    yield { type: "end", stop: doneReason(chunk, calls > 0), usage: chatUsage(chunk), model: `ollama/${place.model}` };
  }
}

function doneReason(chunk: ChatResponse, hasCalls: boolean): StopReason {
  if (chunk.done_reason === "length") return "max-tokens";
  return hasCalls ? "tool-calls" : "end";
}

function chatUsage(chunk: ChatResponse): Usage {
  return {
    inputTokens: chunk.prompt_eval_count ?? 0,
    outputTokens: chunk.eval_count ?? 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  };
}

function checkingLines(place: ProviderPlace, fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.body === null) throw failure(place, "empty");
    let rest = "";
    let hasLines = false;
    const check = (line: string): void => {
      if (line.trim() === "") return;
      hasLines = true;
      const value = parseJson(line);
      if (!isJsonObject(value)) throw failure(place, "malformed", { said: line });
      if (value.error) throw reportedFailure(place, errorBodyOf(value));
    };
    const checked = new TransformStream<string, string>({
      transform(text, controller) {
        const lines = (rest + text).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          check(line);
          controller.enqueue(`${line}\n`);
        }
      },
      flush(controller) {
        // A last line without a line end may be truncated, so accept it only if it is complete JSON.
        if (rest.trim() !== "" && parseJson(rest) === undefined) throw failure(place, "cut");
        check(rest);
        if (!hasLines) throw failure(place, "empty");
        controller.enqueue(rest);
      },
    });
    const body = response.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(checked)
      .pipeThrough(new TextEncoderStream());
    return new Response(body, { status: response.status, headers: response.headers });
  };
}
