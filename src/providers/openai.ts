/**
 * OpenAI and all servers that speak its protocols. Asks by the API that suits the address, and once more in another way if the
 * service refuses this one before any output (openai-dialect.ts). What worked is remembered for the model while the process runs.
 */
import type OpenAI from "openai";
import type { ModelRequest, Provider, ProviderAdvice } from "../ports/provider.ts";
import { failure, type ServiceRefusal, serviceRefusalIn } from "./classify-failure.ts";
import type { ProviderPlace } from "./failure-kinds.ts";
import { defaultTimeouts, guardedStream, type StreamCall, type StreamPiece } from "./guarded-stream.ts";
import { completionBody, readCompletion } from "./openai-chat.ts";
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
import { readResponse, responsesBody } from "./openai-responses.ts";
import { digestOfKey } from "./refused-keys.ts";
import { modelOf } from "./request-mapping.ts";
import { createSharedClient, type WithClient } from "./shared-client.ts";
import { createPictureFallback } from "./without-pictures.ts";

/** A service that refuses more than this refuses something else. */
const maxTries = 6;
/** Limited, because people can choose any model name. */
const maxModels = 200;

export function createOpenAiProvider(options: OpenAiOptions): Provider {
  const { timeouts = defaultTimeouts, apiKey } = options;
  const keyNow = typeof apiKey === "function" ? apiKey : () => apiKey;
  const withClient = createSharedClient(
    (fetch) => createOpenAiClient(options, fetch),
    (client) => {
      client.apiKey = keyNow() ?? noKey;
    },
  );
  const pictures = createPictureFallback();
  const dialects = createDialects(options);
  return {
    name: "openai",
    model: `openai/${options.model}`,
    address: options.baseUrl ?? openAiUrl,
    keyDigest() {
      const key = keyNow();
      return key === undefined ? undefined : digestOfKey(key);
    },
    advice: dialects.advice,
    stream(request, signal) {
      const place = openAiPlace(modelOf(request, "openai", options.model), options);
      return pictures.stream(place.model, request, (asked) => {
        const open = (call: StreamCall) => ask(place, withClient, asked, call, dialects);
        return guardedStream({ place, timeouts, request: asked, open }, signal);
      });
    },
  };
}

interface Dialects {
  isAuto: boolean;
  of(model: string): Dialect;
  worked(model: string, dialect: Dialect): void;
  advice(): ProviderAdvice[];
}

function createDialects(options: OpenAiOptions): Dialects {
  const learned = new Map<string, Dialect>();
  return {
    isAuto: (options.api ?? "auto") === "auto",
    of: (model) => learned.get(model) ?? firstDialect(options, model),
    worked(model, dialect) {
      const kept = lasting(dialect);
      if (learned.size >= maxModels) learned.clear();
      if (isSameDialect(kept, firstDialect(options, model))) learned.delete(model);
      else learned.set(model, kept);
    },
    advice: () => [...learned].flatMap(([model, dialect]) => adviceOn(model, firstDialect(options, model), dialect)),
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
  const waiting = [dialects.of(place.model)];
  const tried: Dialect[] = [];
  let refused: unknown;
  for (let dialect = waiting.shift(); dialect !== undefined && tried.length < maxTries; dialect = waiting.shift()) {
    tried.push(dialect);
    let hasOutput = false;
    try {
      for await (const piece of await send(place, withClient, request, call, dialect)) {
        if (!hasOutput && piece.type !== "progress" && piece.type !== "thinking") {
          hasOutput = true;
          dialects.worked(place.model, dialect);
        }
        yield piece;
      }
      return;
    } catch (thrown) {
      // Gateways that have begun a stream refuse in it.
      const refusal = hasOutput ? undefined : serviceRefusalIn(thrown);
      if (refusal === undefined) throw thrown;
      const next = dialectsAfter(dialect, refusal, {
        isAuto: dialects.isAuto,
        maxOutputTokens: request.maxOutputTokens,
      });
      // Why a change was refused says less than what led to it.
      const isOther = next.length === 0 && !isAboutApi(dialect, refusal);
      if (refused === undefined || isOther) refused = explained(place, thrown, dialect, refusal, dialects);
      waiting.unshift(...next.filter((other) => !tried.some((one) => isSameDialect(one, other))));
    }
  }
  throw refused;
}

async function send(
  place: ProviderPlace,
  withClient: WithClient<OpenAI>,
  request: ModelRequest,
  call: StreamCall,
  dialect: Dialect,
): Promise<AsyncIterable<StreamPiece>> {
  const { signal } = call;
  if (dialect.api === "responses") {
    const body = responsesBody(request, place, dialect);
    return readResponse(
      await withClient(call, async (client) => await client.responses.create(body, { signal })),
      place,
    );
  }
  const body = completionBody(request, place, dialect);
  const stream = await withClient(call, async (client) => await client.chat.completions.create(body, { signal }));
  return readCompletion(stream, place);
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
