/** Records what this process asks model services and what they answer, at its `fetch`. Keys are in headers, which it never keeps. */
import { codeOf } from "../lib/errors.ts";
import { isJsonObject, parseJson } from "../lib/json.ts";
import type { JsonObject } from "../ports/message.ts";
import type { Usage } from "../ports/provider.ts";

/** One request to a model service and its answer, as they went over the wire. */
export interface ModelTraffic {
  url: string;
  /** The body, without headers, because those hold keys. */
  request: string;
  /** 0 if no answer came. */
  status: number;
  /** Why there was no connection, such as `ECONNREFUSED`. */
  noConnection?: string;
  response: string;
  /** ISO 8601. */
  at: string;
  milliseconds: number;
  /** As the service counts them; absent if it does not say. Input tokens include the cached ones. */
  inputTokens?: number;
  cachedTokens?: number;
  outputTokens?: number;
}

export interface TrafficRecorder {
  /** What has begun since the last call, in order. A request that still runs has what has arrived of its answer. */
  take(): ModelTraffic[];
  stop(): void;
}

/** Of errors of connections. A service that only takes too long has one. */
const connectionCode = /^(?:ECONN|ENOTFOUND|EAI_|EHOST|ENET|ETIMEDOUT|UND_ERR_(?:SOCKET|CONNECT))/;
const modelPaths = /\/(?:chat\/completions|responses|v1\/messages|api\/chat)$/;

type Recorded = ModelTraffic & { from: number };

/** Never delays an answer: each piece is passed on as it comes. */
export function recordTraffic(): TrafficRecorder {
  const original = globalThis.fetch;
  let recorded: Recorded[] = [];

  async function recordingFetch(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
    const url = URL.parse(input instanceof Request ? input.url : String(input));
    if (url === null || !modelPaths.test(url.pathname)) return await original(input, init);
    const entry: Recorded = {
      ...{ url: url.origin + url.pathname, request: await bodyOf(input, init), status: 0, response: "" },
      ...{ at: new Date().toISOString(), milliseconds: 0, from: performance.now() },
    };
    recorded.push(entry);
    try {
      const response = await original(input, init);
      entry.status = response.status;
      return watched(response, entry);
    } catch (thrown) {
      const code = thrown instanceof Error ? codeOf(thrown.cause) : undefined;
      if (code !== undefined && connectionCode.test(code)) entry.noConnection = code;
      throw thrown;
    } finally {
      entry.milliseconds = Math.round(performance.now() - entry.from);
    }
  }

  globalThis.fetch = recordingFetch;
  return {
    take() {
      const taken = recorded;
      recorded = [];
      return taken.map(({ from: _from, ...entry }) => ({ ...entry, ...countsIn(entry.response) }));
    },
    stop() {
      if (globalThis.fetch === recordingFetch) globalThis.fetch = original;
    },
  };
}

/** Whether the service has seen none of several requests, so that they say nothing about the model. */
export function hadNoConnection(traffic: readonly ModelTraffic[]): boolean {
  return traffic.length > 0 && traffic.every(({ noConnection }) => noConnection !== undefined);
}

async function bodyOf(input: Parameters<typeof fetch>[0], init: RequestInit | undefined): Promise<string> {
  const body = init?.body ?? (input instanceof Request ? await input.clone().text() : "");
  if (typeof body === "string") return body;
  return body instanceof Uint8Array ? new TextDecoder().decode(body) : "";
}

/** The same answer. If nobody reads it any more, the connection ends as without the recorder. */
function watched(response: Response, entry: Recorded): Response {
  const { body, status, statusText, headers, url } = response;
  if (body === null) return response;
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const note = (text: string) => {
    entry.response += text;
    entry.milliseconds = Math.round(performance.now() - entry.from);
  };
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        note(decoder.decode(value, { stream: !done }));
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return Object.defineProperty(new Response(stream, { status, statusText, headers }), "url", { value: url });
}

function countsIn(response: string): Partial<ModelTraffic> {
  const usage = usageIn(response);
  if (usage === undefined) return {};
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens } = usage;
  return {
    inputTokens: inputTokens + cacheReadTokens + cacheWriteTokens,
    cachedTokens: cacheReadTokens,
    outputTokens,
  };
}

/** Of an answer in the protocols of OpenAI, Anthropic or Ollama, streamed or not. Undefined if it has no counts. */
export function usageIn(response: string): Usage | undefined {
  let found: Usage | undefined;
  for (const line of [response, ...response.split("\n").map((text) => text.replace(/^data: ?/, ""))]) {
    const value = line.includes("tokens") || line.includes("eval_count") ? parseJson(line) : undefined;
    if (isJsonObject(value)) found = countedIn(value, found) ?? found;
  }
  return found;
}

function countedIn(value: JsonObject, before: Usage | undefined): Usage | undefined {
  const number = (count: unknown, otherwise = 0) => (typeof count === "number" ? count : otherwise);
  const inner = [value.usage, objectIn(value.response).usage, objectIn(value.message).usage].find(isJsonObject);
  if (inner === undefined) {
    if (value.done !== true) return undefined;
    const [inputTokens, outputTokens] = [number(value.prompt_eval_count), number(value.eval_count)];
    return { inputTokens, outputTokens, cacheReadTokens: 0, cacheWriteTokens: 0 };
  }
  const outputTokens = number(inner.completion_tokens ?? inner.output_tokens, before?.outputTokens);
  // OpenRouter and xAI say what a call has cost.
  const cost = typeof inner.cost === "number" ? { cost: inner.cost } : {};
  const details = objectIn(inner.prompt_tokens_details ?? inner.input_tokens_details);
  const all = inner.prompt_tokens ?? (Object.keys(details).length > 0 ? inner.input_tokens : undefined);
  if (all !== undefined) {
    const cacheReadTokens = number(details.cached_tokens);
    const cacheWriteTokens = number(details.cache_write_tokens);
    const inputTokens = Math.max(0, number(all) - cacheReadTokens - cacheWriteTokens);
    return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, ...cost };
  }
  // Anthropic counts cached tokens beside the others, and says each number once or again with its newest value.
  return {
    inputTokens: number(inner.input_tokens, before?.inputTokens),
    cacheReadTokens: number(inner.cache_read_input_tokens, before?.cacheReadTokens),
    cacheWriteTokens: number(inner.cache_creation_input_tokens, before?.cacheWriteTokens),
    ...{ outputTokens, ...cost },
  };
}

function objectIn(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
