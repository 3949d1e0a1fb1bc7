/**
 * Ollama through its client library, for local models, including small ones. The library can't abort a request without
 * an answer, so `fetch` gets the signal. It skips lines that it can't parse, so lines are checked first. It takes an
 * image given as text for a file path, so images are passed as bytes.
 *
 * What the server refuses for one model is adapted to, and remembered for an hour: a context that needs too much memory, `think`, and
 * messages of one role in a row.
 */
import type { ChatResponse } from "ollama";
import { messageOf, RemoraError } from "../lib/errors.ts";
import { isJsonObject, parseJson, textLengthIn } from "../lib/json.ts";
import type { JsonObject } from "../ports/message.ts";
import type { ModelRequest, ModelToolCall, Provider, Usage } from "../ports/provider.ts";
import { stopOf } from "./answer-end.ts";
import { argumentsIn, textIn } from "./answer-fields.ts";
import { failure, reportedFailure } from "./classify-failure.ts";
import { errorBodyOf } from "./error-body.ts";
import { modelSettingOf, type ProviderPlace, type SettingNames } from "./failure-kinds.ts";
import { guardedStream, type StreamCall, type StreamPiece } from "./guarded-stream.ts";
import { type ContextWishes, createOllamaContexts, type OllamaContexts } from "./ollama-context.ts";
import { defaultOllamaHost, ollamaUrlOf } from "./ollama-models.ts";
import { carryOf, chatRequest, type RequestSettings } from "./ollama-request.ts";
import { createParameterFallback, type OptionalParameter } from "./optional-parameters.ts";
import { defaultTimeouts, type Timeouts } from "./patience.ts";
import { tokensIn } from "./reported-usage.ts";
import { alternatingMessages, modelOf, rolesInRow } from "./request-mapping.ts";
import { createTextOnlyFallback } from "./text-only.ts";
import { createToolFallback } from "./tool-fallback.ts";
import { createPictureFallback, hasPictures, withoutPictures } from "./without-pictures.ts";

export interface OllamaOptions extends Pick<RequestSettings, "think" | "keepAlive">, SettingNames {
  /** If absent, the default address on this machine. */
  host?: string;
  model: string;
  timeouts?: Timeouts;
  /** For which context a model is loaded. */
  context: ContextWishes | OllamaContexts;
}

/** As Ollama 0.9 and later say it. */
const thinkParameter: OptionalParameter = {
  name: "think",
  refused: /does not support thinking|think value|invalid think/i,
};
/** Messages as they are: newer versions render the model's own template, which may want roles that alternate. */
const rowsParameter: OptionalParameter = { name: "rows", refused: rolesInRow };
/** As llama-server and the engine for Apple's chips say it. */
const givenContext = /(?:context size|context length) \((\d+) tokens\)/;
/** At the beginning of the server's words, before anything is quoted: a model's own words may be about memory, too. */
const memoryRefused =
  /\(5\d\d `* ?(?!.{0,40}(?:pars(?:e|ing)|tool call|template))[^'"`“{}[\]=]{0,120}?(?:more system memory|out[ -]of[ -](?:device )?memory|(?:not enough|insufficient) memory|failed to allocate|allocation failed|[a-z]+malloc failed|signal: killed)/i;
/** Each loads the model anew while a person waits. The next message goes on from there. */
const maxShrinks = 2;

export function createOllamaProvider(options: OllamaOptions): Provider {
  const { timeouts = defaultTimeouts } = options;
  const host = options.host ?? defaultOllamaHost;
  const contexts = "of" in options.context ? options.context : createOllamaContexts(host, options.context);
  const { think, keepAlive } = options;
  const pictures = createPictureFallback();
  const parameters = createParameterFallback();
  const textOnly = createTextOnlyFallback();
  const tools = createToolFallback();
  return {
    name: "ollama",
    model: `ollama/${options.model}`,
    address: host.includes("://") ? host : `http://${host}`,
    promptTokens: (model) => contexts.promptTokens(model.replace(/^ollama\//, "")),
    advice: () => tools.advice("ollama"),
    stream(request, signal) {
      const place = ollamaPlace(modelOf(request, "ollama", options.model), { ...options, host });
      const answer = (asked: ModelRequest, given: ModelRequest, leftOut: ReadonlySet<string>) => {
        const server = { contexts, keepAlive, think: leftOut.has(thinkParameter.name) ? undefined : think };
        const messages = leftOut.has(rowsParameter.name) ? alternatingMessages(given.messages) : given.messages;
        const open = (call: StreamCall) => ask(server, place, { ...given, messages }, call);
        return guardedStream({ place, timeouts, request: asked, open }, signal);
      };
      const hasRows = alternatingMessages(request.messages).some((one, index) => one !== request.messages[index]);
      const sent = [...(think === undefined ? [] : [thinkParameter]), ...(hasRows ? [rowsParameter] : [])];
      return pictures.stream(place.model, request, (seen) =>
        tools.stream(place, seen, (asked) =>
          textOnly.stream(place.model, asked, (given) =>
            parameters.stream(place.model, sent, (leftOut) => answer(asked, given, leftOut), request.tries),
          ),
        ),
      );
    },
  };
}

interface Server extends Pick<RequestSettings, "think" | "keepAlive"> {
  contexts: OllamaContexts;
}

function ollamaPlace(model: string, options: OllamaOptions & { host: string }): ProviderPlace {
  const urlSetting = options.urlSetting ?? "OLLAMA_HOST or models.ollama.host";
  return {
    name: "ollama",
    model,
    baseUrl: options.host,
    keySetting: urlSetting,
    urlSetting,
    modelSetting: modelSettingOf(model, options, "models.ollama.model"),
  };
}

async function* ask(
  { contexts, think, keepAlive }: Server,
  place: ProviderPlace,
  request: ModelRequest,
  call: StreamCall,
): AsyncGenerator<StreamPiece> {
  const { Ollama } = await import("ollama");
  const client = new Ollama({ host: ollamaUrlOf(place.baseUrl), fetch: checkingLines(place, call.fetch) });
  for (let shrinks = 0; ; shrinks += 1) {
    const { facts, numCtx } = await contexts.of(place.model, call.signal, call.fetch);
    // Ollama ignores pictures for models without vision. Old versions don't report vision.
    const canSee = facts?.capabilities?.includes("vision") ?? true;
    const asked = canSee || !hasPictures(request) ? request : withoutPictures(request);
    let answer: AsyncIterable<ChatResponse>;
    try {
      answer = await client.chat(chatRequest(asked, place.model, { think, keepAlive, numCtx }));
    } catch (thrown) {
      if (!adapts(contexts, place, thrown, numCtx) || shrinks === maxShrinks) throw noMemory(place, thrown);
      continue;
    }
    yield* read(answer, place, call.onUsage);
    return;
  }
}

/** Learns from a refusal. True if the model can be loaded with a smaller context. Throws if memory is not the reason. */
function adapts(
  contexts: OllamaContexts,
  { model }: ProviderPlace,
  thrown: unknown,
  numCtx: number | undefined,
): boolean {
  if (!(thrown instanceof RemoraError)) throw thrown;
  const { code, message } = thrown;
  const given = code === "provider.too-long" ? Number(givenContext.exec(message)?.[1]) : 0;
  if (given > 0) contexts.learn(model, given);
  if (code !== "provider.server-error" || !memoryRefused.test(message)) throw thrown;
  return contexts.shrink(model, numCtx);
}

function noMemory(place: ProviderPlace, thrown: unknown): RemoraError {
  return failure(place, "noMemory", { said: messageOf(thrown), cause: thrown });
}

async function* read(
  stream: AsyncIterable<ChatResponse>,
  place: ProviderPlace,
  onUsage: (usage: Usage) => void,
): AsyncGenerator<StreamPiece> {
  const calls: ModelToolCall[] = [];
  let thought = "";
  for await (const chunk of stream) {
    // Servers that imitate Ollama send null for what there is none of.
    const message: JsonObject = isJsonObject(chunk.message) ? chunk.message : {};
    const content = textIn(message.content);
    const thinking = textIn(message.thinking);
    const toolCalls = [message.tool_calls].flat().filter(isJsonObject);
    thought += thinking;
    if (content) yield { type: "text-delta", text: content };
    const length = textLengthIn([thinking, toolCalls]);
    if (!content || length > 0) yield { type: thinking ? "thinking" : "progress", length, hidden: thinking };
    for (const { function: wanted } of toolCalls) {
      if (!isJsonObject(wanted) || typeof wanted.name !== "string") continue;
      calls.push({ id: `call_${calls.length + 1}`, name: wanted.name, inputJson: argumentsIn(wanted.arguments ?? {}) });
    }
    if (!chunk.done) continue;
    onUsage(chatUsage(chunk));
    // Old versions give no reason.
    const stop = stopOf(
      place,
      typeof chunk.done_reason === "string" && chunk.done_reason !== "" ? chunk.done_reason : "stop",
      calls.length > 0,
    );
    if (stop === "refusal") {
      yield { type: "refusal", usage: chatUsage(chunk) };
      return;
    }
    for (const call of calls) yield { type: "tool-call", ...call };
    const carry = carryOf(thought);
    yield {
      ...{ type: "end", stop, usage: chatUsage(chunk), model: `ollama/${place.model}` },
      ...(carry === undefined ? {} : { carry }),
    };
  }
}

function chatUsage(chunk: ChatResponse): Usage {
  return {
    inputTokens: tokensIn(chunk.prompt_eval_count),
    outputTokens: tokensIn(chunk.eval_count),
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
      // As in `{"error parsing tool call": "invalid character"}`.
      const report = Object.entries(value).find(([key]) => /^error\b./i.test(key));
      if (report !== undefined) throw reportedFailure(place, errorBodyOf(report.join(": ")));
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
