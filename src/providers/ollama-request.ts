/** Maps a request to Ollama's format. Gives a model's thinking back to it, as long as the turn runs. */
import type { ChatRequest, Message } from "ollama";
import { isJsonObject } from "../lib/json.ts";
import type { Json } from "../ports/message.ts";
import type { ModelMessage, ModelRequest } from "../ports/provider.ts";
import type { ToolImage } from "../ports/tool.ts";
import { inputOf, systemTextOf, wellFormed, wireName } from "./request-mapping.ts";

type Think = boolean | "low" | "medium" | "high" | "max";

/** The library's types lack what the service has: newer fields, and the level `max`. */
type SentRequest = ChatRequest & { stream: true; truncate: false; shift: false };

export interface RequestSettings {
  /** Undefined: Ollama decides, so models think that can. */
  think?: Think | undefined;
  /** How long a model stays in memory: seconds, or such as `30m`. Undefined: Ollama decides. */
  keepAlive?: string | number | undefined;
  /** Undefined: Ollama decides. */
  numCtx: number | undefined;
}

const carryKind = "ollama-chat";

export function chatRequest(
  request: ModelRequest,
  model: string,
  { think, keepAlive, numCtx }: RequestSettings,
): SentRequest {
  const system = systemTextOf(request);
  const sent = {
    model,
    stream: true as const,
    messages: [
      ...(system === "" ? [] : [{ role: "system", content: system }]),
      ...request.messages.map((message) => ollamaMessage(message, model)),
    ],
    options: { num_predict: request.maxOutputTokens, ...(numCtx === undefined ? {} : { num_ctx: numCtx }) },
    // Otherwise Ollama silently drops the beginning of what is too long, also while the model answers.
    truncate: false as const,
    shift: false as const,
    ...(think === undefined ? {} : { think: think as NonNullable<ChatRequest["think"]> }),
    ...(keepAlive === undefined ? {} : { keep_alive: keepAlive }),
  };
  if (request.tools.length === 0) return sent;
  const tools = request.tools.map((tool) => ({
    type: "function",
    function: { name: tool.name, description: wellFormed(tool.description), parameters: tool.parameters },
  }));
  return { ...sent, tools };
}

function ollamaMessage(message: ModelMessage, model: string): Message {
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
        ...thinkingOf(message, model),
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

export function carryOf(thinking: string): Json | undefined {
  return thinking === "" ? undefined : { kind: carryKind, thinking };
}

/** What the same model thought before its calls. Its template shows it to the model again. */
function thinkingOf({ carry }: Extract<ModelMessage, { role: "assistant" }>, model: string): Pick<Message, "thinking"> {
  if (carry?.model !== `ollama/${model}` || !isJsonObject(carry.data)) return {};
  const { kind, thinking } = carry.data;
  return kind === carryKind && typeof thinking === "string" ? { thinking: wellFormed(thinking) } : {};
}

function imagesOf(images: readonly ToolImage[]): Pick<Message, "images"> {
  if (images.length === 0) return {};
  return { images: images.map(({ base64 }) => new Uint8Array(Buffer.from(base64, "base64"))) };
}
