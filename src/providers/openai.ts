/**
 * OpenAI and all servers that speak its protocols. Asks by the API that suits the address, and once more in another way if the
 * service refuses this one before any output (openai-dialect.ts). What worked is remembered for the model for an hour.
 */
import { isDeepStrictEqual } from "node:util";
import type OpenAI from "openai";
import type { ModelRequest, Provider, ProviderAdvice, Tries } from "../ports/provider.ts";
import { failure, type ServiceRefusal, serviceRefusalIn } from "./classify-failure.ts";
import type { ProviderPlace } from "./failure-kinds.ts";
import { guardedStream, type StreamCall, type StreamPiece } from "./guarded-stream.ts";
import { createOpenAiClient, noKey, type OpenAiOptions, openAiPlace, openAiUrl } from "./openai-client.ts";
import {
  apiNames,
  type Dialect,
  dialectsAfter,
  firstDialect,
  isAboutApi,
  isSameDialect,
  lasting,
} from "./openai-dialect.ts";
import { defaultTimeouts } from "./patience.ts";
import { digestOfKey } from "./refused-keys.ts";
import { modelOf } from "./request-mapping.ts";
import { createSharedClient, type WithClient } from "./shared-client.ts";
import { createTextOnlyFallback } from "./text-only.ts";
import { createToolFallback } from "./tool-fallback.ts";
import { createPictureFallback } from "./without-pictures.ts";

/** A service that refuses more than this refuses something else. */
const maxTries = 6;
/** Then the first way is tried again: a refusal may have been a moment's, and the operator may have changed what serves the model. */
const learnedMs = 3_600_000;
/** Limited, because people can choose any model name. */
const maxModels = 200;

export function createOpenAiProvider(options: OpenAiOptions, now: () => number = Date.now): Provider {
  const { timeouts = defaultTimeouts, apiKey } = options;
  const keyNow = typeof apiKey === "function" ? apiKey : () => apiKey;
  const withClient = createSharedClient(
    (fetch) => createOpenAiClient(options, fetch),
    (client) => {
      client.apiKey = keyNow() ?? noKey;
    },
  );
  const pictures = createPictureFallback();
  const textOnly = createTextOnlyFallback();
  const tools = createToolFallback(now);
  const dialects = createDialects(options, now);
  return {
    name: "openai",
    model: `openai/${options.model}`,
    address: options.baseUrl ?? openAiUrl,
    keyDigest() {
      const key = keyNow();
      return key === undefined ? undefined : digestOfKey(key);
    },
    advice: () => [...dialects.advice(), ...tools.advice("openai")],
    stream(request, signal) {
      const place = openAiPlace(modelOf(request, "openai", options.model), options);
      const { tries = { left: Number.POSITIVE_INFINITY } } = request;
      return pictures.stream(place.model, { ...request, tries }, (seen) =>
        tools.stream(place, seen, (asked) =>
          textOnly.stream(place.model, asked, (given) => {
            const open = (call: StreamCall) => ask(place, withClient, given, call, dialects);
            return guardedStream({ place, timeouts, request: asked, open }, signal);
          }),
        ),
      );
    },
  };
}

interface Dialects {
  isAuto: boolean;
  of(model: string, tries: Tries | undefined): Dialect;
  worked(model: string, dialect: Dialect): void;
  /** For the next tries of the same step: this way was refused for another reason, so what led to it was right. */
  kept(dialect: Dialect, tries: Tries | undefined): void;
  advice(): ProviderAdvice[];
}

function createDialects(options: OpenAiOptions, now: () => number): Dialects {
  const learned = new Map<string, { dialect: Dialect; until: number }>();
  const ofStep = new WeakMap<Tries, Dialect>();
  const known = (model: string) => {
    const one = learned.get(model);
    return one !== undefined && one.until > now() ? one.dialect : undefined;
  };
  return {
    isAuto: (options.api ?? "auto") === "auto",
    of: (model, tries) => (tries && ofStep.get(tries)) ?? known(model) ?? firstDialect(options, model),
    kept(dialect, tries) {
      if (tries !== undefined) ofStep.set(tries, dialect);
    },
    worked(model, dialect) {
      const lasts = lasting(dialect);
      const before = known(model);
      // What is used does not stay longer for that, or it would stay for ever.
      if (before !== undefined && isSameDialect(before, lasts)) return;
      if (learned.size >= maxModels) learned.clear();
      if (isSameDialect(lasts, firstDialect(options, model))) learned.delete(model);
      else learned.set(model, { dialect: lasts, until: now() + learnedMs });
    },
    advice: () =>
      [...learned].flatMap(([model, { dialect }]) => adviceOn(model, firstDialect(options, model), dialect)),
  };
}

/** What owners can set so that no request is refused first. Other changes concern nobody. */
function adviceOn(model: string, first: Dialect, { api, effort }: Dialect): ProviderAdvice[] {
  const name = `openai/${model}`;
  if (api !== first.api)
    return [
      {
        model: name,
        what: `${name} refused ${apiNames[first.api]}, so it is asked by ${apiNames[api]}`,
        todo: `Set models.openai.api: ${api}`,
      },
    ];
  if (effort === first.effort) return [];
  return effort === "none"
    ? [
        {
          model: name,
          what: `${name} takes tools here only if it does not reason`,
          todo: "Set models.openai.effort: none, or use an address that has the Responses API",
        },
      ]
    : [
        {
          model: name,
          what: `${name} refused the effort ${first.effort}, so its own applies`,
          todo: "Set models.openai.effort to a level that it has, or to null",
        },
      ];
}

async function* ask(
  place: ProviderPlace,
  withClient: WithClient<OpenAI>,
  request: ModelRequest,
  call: StreamCall,
  dialects: Dialects,
): AsyncGenerator<StreamPiece> {
  const { tries, maxOutputTokens } = request;
  const waiting = [dialects.of(place.model, tries)];
  const tried: Dialect[] = [];
  let refused: unknown;
  const begun = { is: false };
  const mayTry = () => tried.length < maxTries && (tried.length === 0 || (tries?.left ?? 1) > 0);
  for (let dialect = waiting.shift(); dialect !== undefined && mayTry(); dialect = waiting.shift()) {
    tried.push(dialect);
    let hasOutput = false;
    const onOutput = () => {
      hasOutput = true;
      dialects.worked(place.model, dialect);
    };
    try {
      yield* beginningOnce(await send(place, withClient, request, call, dialect), begun, onOutput);
      return;
    } catch (thrown) {
      // Gateways that have begun a stream refuse in it.
      const refusal = hasOutput ? undefined : serviceRefusalIn(thrown);
      if (refusal === undefined) {
        dialects.kept(dialect, tries);
        throw thrown;
      }
      const changes = dialectsAfter(dialect, refusal, { isAuto: dialects.isAuto, maxOutputTokens });
      const next = await thoseThatChange(changes, dialect, request, place);
      // Why a change was refused says less than what led to it.
      const isOther = next.length === 0 && !isAboutApi(dialect, refusal);
      if (isOther) dialects.kept(dialect, tries);
      if (refused === undefined || isOther) refused = explained(place, thrown, dialect, refusal, dialects);
      waiting.unshift(...next.filter((other) => !tried.some((one) => isSameDialect(one, other))));
    }
  }
  throw refused;
}

/** Without those that would send the same request once more. */
async function thoseThatChange(
  changes: Dialect[],
  dialect: Dialect,
  request: ModelRequest,
  place: ProviderPlace,
): Promise<Dialect[]> {
  const bodyOf = async (one: Dialect) =>
    one.api === "responses"
      ? (await import("./openai-responses.ts")).responsesBody(request, place, one)
      : (await import("./openai-chat.ts")).completionBody(request, place, one);
  const sent = await bodyOf(dialect);
  const bodies = await Promise.all(changes.map(bodyOf));
  return changes.filter((_, index) => !isDeepStrictEqual(bodies[index], sent));
}

/**
 * Services say that a model thinks before they have looked at the request, so a first `thinking` is no output. It passes once for
 * all tries, so that they share one time limit.
 */
async function* beginningOnce(
  pieces: AsyncIterable<StreamPiece>,
  begun: { is: boolean },
  onOutput: () => void,
): AsyncGenerator<StreamPiece> {
  let isFirst = true;
  let hasOutput = false;
  for await (const piece of pieces) {
    const isBeginning = isFirst && piece.type === "thinking";
    isFirst = false;
    if (isBeginning && begun.is) continue;
    begun.is ||= isBeginning;
    if (!isBeginning && !hasOutput) onOutput();
    hasOutput ||= !isBeginning;
    yield piece;
  }
}

/** Loads what the API needs with its first request, so that a start does not wait for it. */
async function send(
  place: ProviderPlace,
  withClient: WithClient<OpenAI>,
  request: ModelRequest,
  call: StreamCall,
  dialect: Dialect,
): Promise<AsyncIterable<StreamPiece>> {
  const { signal } = call;
  if (dialect.api === "responses") {
    const { readResponse, responsesBody } = await import("./openai-responses.ts");
    const body = responsesBody(request, place, dialect);
    return readResponse(
      await withClient(call, async (client) => await client.responses.create(body, { signal })),
      place,
      call.onUsage,
    );
  }
  const { completionBody, readCompletion } = await import("./openai-chat.ts");
  const body = completionBody(request, place, dialect);
  const stream = await withClient(call, async (client) => await client.chat.completions.create(body, { signal }));
  const names = new Set([...request.tools, ...(request.named ?? [])].map(({ name }) => name));
  return readCompletion(stream, place, call.onUsage, (name) => names.has(name));
}

/** If the settings name the API that the service refuses, they are what to change. A web page says something else. */
function explained(
  place: ProviderPlace,
  thrown: unknown,
  dialect: Dialect,
  refusal: ServiceRefusal,
  { isAuto }: Dialects,
): unknown {
  if (isAuto || refusal.message === "" || !isAboutApi(dialect, refusal)) return thrown;
  return failure(place, "wrongApi", { note: String(refusal.status), said: refusal.message, cause: thrown });
}
