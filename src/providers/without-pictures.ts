/** Replaces each picture with a sentence for models that can't see pictures, and where the service does not take a picture. */
import type { RemoraError } from "../lib/errors.ts";
import type { ModelEvent, ModelMessage, ModelRequest, Tries, UserPart } from "../ports/provider.ts";

/** Why a picture is left out, as the model reads it. */
const unseenTexts = {
  blind: "(There is a picture here, but this model can't see pictures. Say so if it matters.)",
  large:
    "(There is a picture here, but it is too large for the model service, or there are too many. Say so if it matters.)",
  broken: "(There is a picture here, but the model service could not read it. Say so if it matters.)",
  refused: "(There is a picture here, but the model service refused the request with it. Say so if it matters.)",
} as const;

type Unseen = keyof typeof unseenTexts;

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

const imageWord = "(?:image|picture|photo|multi-?modal)";
/** Other pictures could be seen, so these come before blindness. */
const large = new RegExp(
  [
    `${imageWord}[^.]{0,80}(?:exceed|too (?:large|big|many)|larger than|maximum|dimensions|pixels|bytes)`,
    `(?:exceed|too (?:large|big|many)|larger than|maximum)[^.]{0,40}${imageWord}`,
    `at most [1-9]\\d* ${imageWord}`,
    // Nothing else makes a request so large.
    "\\b413\\b(?![^)]*\\btokens?\\b)",
    `${imageWord}s?\\b[^.]{0,20}\\b(?:sizes?|resolutions?)\\b`,
  ].join("|"),
  "i",
);
const broken = new RegExp(
  [
    `(?:could not|failed to|unable to|can(?:no|')t) (?:\\w+ ){0,3}(?:process|load|decode|read|download|parse)\\b[^.]{0,30}${imageWord}`,
    `${imageWord}[^.]{0,40}(?:unknown format|(?:format|type)\\b[^.]{0,30}(?:not |un)supported|invalid|corrupt|not valid|could not|failed)`,
    `(?:invalid|unsupported|malformed|corrupt)[ _](?:\\w+[ _]){0,2}${imageWord}[ _](?:data|format|url|type|file)`,
    "illegal base64",
    // One kind of picture, or how it was sent: others are seen.
    `\\b(?:image/\\w+|heic|tiff|animated)\\b|${imageWord}[ _](?:formats?|types?)\\b|${imageWord} urls?\\b|\\b(?:mime|media)[ _]types?\\b`,
  ].join("|"),
  "i",
);

export function hasPictures({ messages }: ModelRequest): boolean {
  return messages.some((message) => {
    if (message.role === "user") return message.content.some(({ type }) => type === "image");
    return message.role === "tool" && message.images !== undefined;
  });
}

export function withoutPictures(request: ModelRequest, why: Unseen = "blind"): ModelRequest {
  return { ...request, messages: request.messages.map((message) => messageWithout(message, unseenTexts[why])) };
}

function messageWithout(message: ModelMessage, unseenText: string): ModelMessage {
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
  /** What no answer has confirmed yet counts for the next tries of the same step alone. */
  const ofStep = new WeakMap<Tries, Unseen>();

  /** A model is only known to be blind once it has answered without the pictures. */
  async function* unseeing(model: string, request: ModelRequest, ask: Ask, why: Unseen): AsyncGenerator<ModelEvent> {
    for await (const event of ask(withoutPictures(request, why))) {
      if (event.type === "end" && why === "blind") blindUntil.set(model, now() + maxBlindMs);
      yield event;
    }
  }

  async function* stream(model: string, request: ModelRequest, ask: Ask): AsyncGenerator<ModelEvent> {
    if (!hasPictures(request)) return yield* ask(request);
    if ((blindUntil.get(model) ?? 0) > now()) return yield* ask(withoutPictures(request));
    const { tries } = request;
    const known = tries && ofStep.get(tries);
    if (known !== undefined) return yield* unseeing(model, request, ask, known);
    let isFirst = true;
    for await (const event of ask(request)) {
      const why = isFirst && event.type === "error" ? reasonIn(event.error) : undefined;
      if (why !== undefined && (tries === undefined || tries.left > 0)) {
        if (tries !== undefined) ofStep.set(tries, why);
        if (why !== "blind") yield { type: "notice", text: "Asking again without the picture" };
        return yield* unseeing(model, request, ask, why);
      }
      isFirst = false;
      yield event;
    }
  }

  return { stream };
}

/** Some services report refused pictures as a missing model, a server failure, or a request that is too long. */
function reasonIn({ code, message }: RemoraError): Unseen | undefined {
  const isOther = [
    "provider.unknown-model",
    "provider.not-an-api",
    "provider.server-error",
    "provider.too-long",
  ].includes(code);
  if (code !== "provider.bad-request" && !isOther) return undefined;
  if (large.test(message)) return "large";
  if (broken.test(message)) return "broken";
  if (blindness.test(message)) return "blind";
  return isOther ? undefined : "refused";
}
