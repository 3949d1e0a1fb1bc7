/** Replaces each picture with a sentence for models that can't see pictures. */
import type { RemoraError } from "../lib/errors.ts";
import type { ModelEvent, ModelMessage, ModelRequest, UserPart } from "../ports/provider.ts";

const unseenText = "(There is a picture here, but this model can't see pictures. Say so if it matters.)";
/** Tries pictures again after this time, because the operator may have changed what serves the model. */
const maxBlindMs = 3_600_000;

/**
 * How OpenAI, Anthropic, Ollama, vLLM, llama.cpp, LM Studio, OpenRouter and others report that a model can't see
 * pictures.
 */
const blindness = new RegExp(
  [
    "(?:do(?:es)? ?n[o']t|that) support[^.]{0,40}(?:image|vision|multi-?modal)",
    "(?:image|vision|multi-?modal)[^.]{0,40}(?:not (?:supported|enabled|available)|only supported by)",
    "not a (?:multi-?modal|vision)",
    "at most 0 image",
    "unknown variant `image_url`",
    "missing data required for image",
    "content must be a string",
  ].join("|"),
  "i",
);

export function hasPictures({ messages }: ModelRequest): boolean {
  return messages.some((message) => {
    if (message.role === "user") return message.content.some(({ type }) => type === "image");
    return message.role === "tool" && message.images !== undefined;
  });
}

export function withoutPictures(request: ModelRequest): ModelRequest {
  return { ...request, messages: request.messages.map(messageWithout) };
}

function messageWithout(message: ModelMessage): ModelMessage {
  switch (message.role) {
    case "user": {
      const seen = (part: UserPart): UserPart => (part.type === "image" ? { type: "text", text: unseenText } : part);
      return { ...message, content: message.content.map(seen) };
    }
    case "tool": {
      const { images, ...rest } = message;
      return images === undefined ? message : { ...rest, text: `${rest.text}\n\n${unseenText}` };
    }
    case "assistant":
      return message;
    default:
      return message satisfies never;
  }
}

type Ask = (request: ModelRequest) => AsyncIterable<ModelEvent>;

export interface PictureFallback {
  /** Asks once more, without pictures, if the service refuses the request and pictures may be the reason. */
  stream(model: string, request: ModelRequest, ask: Ask): AsyncGenerator<ModelEvent>;
}

export function createPictureFallback(now: () => number = Date.now): PictureFallback {
  const blindUntil = new Map<string, number>();

  async function* stream(model: string, request: ModelRequest, ask: Ask): AsyncGenerator<ModelEvent> {
    if (!hasPictures(request)) return yield* ask(request);
    if ((blindUntil.get(model) ?? 0) > now()) return yield* ask(withoutPictures(request));
    let isFirst = true;
    for await (const event of ask(request)) {
      if (isFirst && event.type === "error" && mayBePictures(event.error)) {
        if (blindness.test(event.error.message)) blindUntil.set(model, now() + maxBlindMs);
        return yield* ask(withoutPictures(request));
      }
      isFirst = false;
      yield event;
    }
  }

  return { stream };
}

/** Some services report refused pictures as a missing model or as a server failure. */
function mayBePictures({ code, message }: RemoraError): boolean {
  if (code === "provider.bad-request") return true;
  return ["provider.unknown-model", "provider.server-error"].includes(code) && blindness.test(message);
}
