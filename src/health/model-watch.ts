/**
 * Knows which models answer: from one small call at the start, then from every real call, and from another small call now
 * and then while a model is broken. The demo model needs no check.
 */
import type { Log } from "../lib/log.ts";
import { oneLine } from "../lib/text/sanitize.ts";
import { withoutPlace } from "../lib/text/without-place.ts";
import type { HealthCheck } from "../ports/health.ts";
import type { Provider, Usage } from "../ports/provider.ts";
import { callModel } from "./model-call.ts";

export interface ModelWatch {
  /** The provider, with its answers watched. */
  observe(provider: Provider): Provider;
  /** Calls the models that have not been heard of, and those that are broken. */
  check(signal: AbortSignal, count?: (call: { model: string; usage: Usage }) => void): Promise<void>;
  checks(): HealthCheck[];
  /** Why the model failed the last time. Undefined if it answered, or has not been asked. */
  problemOf(model: string): string | undefined;
  /** True if its last answer was one. */
  isAnswering(model: string): boolean;
  /** True if no model can answer. */
  isBroken(): boolean;
  /** Models that conversations have chosen besides. */
  chosen(): Iterable<string>;
}

interface Heard {
  provider: Provider;
  state: "unknown" | "ok" | "broken";
  what: string;
  /** With what the service says, if it says anything. */
  forOwners?: string | undefined;
  todo: string;
  /** Of the failure, if it is broken. */
  code?: string;
  /** When it began to fail with this code. */
  since: number;
  /** An account that may not spend is not asked before. */
  askAt: number;
  keyDigest?: string | undefined;
}

const refusedTodo = "It is tried again after an hour at the latest";
const refusedCodes = new Set(["provider.wrong-key", "provider.forbidden"]);
/** The failure itself says what to do. */
const moneyTodo = "It is tried again within 6 hours, and with another key at once";
const moneyCodes = new Set(["provider.no-credit", "provider.spend-limit"]);
const moneyRestMs = 3_600_000;
const longestMoneyRestMs = 6 * moneyRestMs;
/** Rates are counted by the minute or the day, and most by the minute. */
const longLimitMs = 30 * 60_000;
const maxCallMs = 20_000;
/** To give up a model while it loads ends the loading. */
export const maxSlowCallMs = 300_000;
const maxMessageCharacters = 300;
const maxChosen = 200;
/** In a turn, these say something about the request, not about the model. */
const ofRequest = new Set([
  "provider.busy",
  ...["provider.aborted", "provider.too-long", "provider.bad-request", "provider.empty", "provider.endless"],
]);

/** People can't put these right by other words, so the owners hear of them for a while. */
const refusedRequestMs = 3_600_000;

interface Failure {
  code: string;
  message: string;
  /** Without the service's words. */
  plain?: string | undefined;
  detail?: string | undefined;
  retryAfterMs?: number | undefined;
}

export interface ModelWatchOptions {
  log: Log;
  /** Why the model's key counts as refused. Such a model rests, so it is not called while another one can answer. */
  refusal(provider: Provider): Failure | undefined;
  /** Of servers that may first load the model. By default, every server must answer a small call in seconds. */
  mayBeSlow?(provider: Provider): boolean;
  now?: () => number;
}

export function createModelWatch(options: ModelWatchOptions): ModelWatch {
  const { log, refusal, mayBeSlow, now = Date.now } = options;
  const known = new Map<string, Heard>();
  const chosen = new Set<string>();
  const told = new Set<string>();
  const refusals = new Map<string, { at: number; what: string; forOwners: string }>();

  function heard(provider: Provider, model: string, failure?: Failure): void {
    // A conversation can choose models that are not configured; they say nothing about the others.
    if (model !== provider.model) return;
    const state = failure === undefined ? "ok" : "broken";
    const code = failure?.code ?? "";
    const isMoney = moneyCodes.has(code);
    const todo = refusedCodes.has(code) ? refusedTodo : isMoney ? moneyTodo : "";
    const shown = (text: string) => oneLine(text, maxMessageCharacters);
    const what = shown(failure === undefined ? `${model} answers` : plainText(failure, model));
    const whole = failure === undefined ? what : shown(textOf(failure, model));
    const forOwners = whole === what ? undefined : whole;
    const before = known.get(provider.model);
    if (state === "broken" && before?.state !== "broken") log.warn({ model }, `model: ${whole}`);
    if (state === "ok" && before?.state === "broken") log.info({ model }, `${model} answers again`);
    const restMs = isMoney ? Math.min(failure?.retryAfterMs ?? moneyRestMs, longestMoneyRestMs) : 0;
    known.set(provider.model, {
      ...{ provider, state, what, forOwners, todo, code, askAt: now() + restMs, keyDigest: provider.keyDigest?.() },
      since: before?.code === code ? before.since : now(),
    });
  }

  const checkOf = ({ provider: { model }, state, what, forOwners, todo, code = "", since }: Heard): HealthCheck => {
    const name = `model ${model}`;
    if (state === "unknown") return { name, state: "ok", what: "not asked yet" };
    if (state === "ok") return { name, state: "ok", what };
    const isLong = code === "provider.rate-limited" && now() - since >= longLimitMs;
    const why = isLong
      ? `It has said so since ${new Date(since).toISOString().slice(0, 16)}Z, so it may be a limit on spending. Look into the account`
      : "";
    const told = moneyCodes.has(code) || isLong ? { tellsOwners: true } : {};
    const more = forOwners === undefined ? {} : { forOwners };
    return { name, state: isBroken() ? "broken" : "warning", what, ...more, why, todo, ...told };
  };

  /** A call that the account refuses again costs nothing, but tells nothing either. */
  function isAskable({ provider, state, code = "", askAt, keyDigest }: Heard): boolean {
    if (state !== "broken" || !moneyCodes.has(code)) return state !== "ok";
    return now() >= askAt || provider.keyDigest?.() !== keyDigest;
  }

  /** The service may have begun to refuse every request, so the next check asks it. */
  function doubt(provider: Provider): void {
    const one = known.get(provider.model);
    if (one?.state === "ok") known.set(provider.model, { ...one, state: "unknown" });
  }

  /** It works, but every start begins with a request that the service refuses. */
  function adviceOf({ provider }: Pick<Heard, "provider">): HealthCheck[] {
    return (provider.advice?.() ?? []).map(({ model, what, todo }) => {
      if (!told.has(what)) log.warn({ model }, `model: ${what}. ${todo}`);
      told.add(what);
      return { name: `settings ${model}`, state: "warning", what, todo };
    });
  }

  /** The model answers others, so nothing else would say it. */
  function refusedRequest(model: string, failure: Failure): void {
    const shown = (text: string) => oneLine(text, maxMessageCharacters);
    refusals.set(model, {
      at: now(),
      what: shown(`its service refused a request: ${plainText(failure, model)}`),
      forOwners: shown(`its service refused a request: ${textOf(failure, model)}`),
    });
  }

  /** What a broken model says covers it. */
  function refusedChecks({ provider: { model }, state }: Pick<Heard, "provider" | "state">): HealthCheck[] {
    const { at, ...texts } = refusals.get(model) ?? { at: Number.NEGATIVE_INFINITY };
    if (state === "broken" || now() - at > refusedRequestMs || !("what" in texts)) return [];
    return [{ name: `requests ${model}`, state: "warning", ...texts, tellsOwners: true }];
  }

  function isBroken(): boolean {
    return known.size > 0 && [...known.values()].every(({ state }) => state === "broken");
  }

  return {
    observe(provider) {
      const isDemo = provider.name === "demo";
      known.set(provider.model, {
        ...{ provider, state: isDemo ? "ok" : "unknown", todo: "", since: now(), askAt: 0 },
        what: isDemo ? "the demo model: no AI, a few fixed phrases" : "",
      });
      return {
        ...provider,
        async *stream(request, signal) {
          const model = request.preferredModel ?? provider.model;
          if (model !== provider.model && chosen.size < maxChosen) chosen.add(model);
          for await (const event of provider.stream(request, signal)) {
            const code = event.type === "error" ? event.error.code : undefined;
            if (event.type === "end" || code === "provider.refused") {
              heard(provider, model);
              adviceOf({ provider });
            } else if (event.type === "error" && !ofRequest.has(event.error.code)) heard(provider, model, event.error);
            if (event.type === "error" && code === "provider.bad-request" && model === provider.model) {
              doubt(provider);
              refusedRequest(model, event.error);
            }
            yield event;
          }
        },
      };
    },
    async check(signal, count = () => {}) {
      const refused = [...known.values()].filter(({ provider }) => refusal(provider) !== undefined);
      const isOtherLeft = refused.length < known.size;
      for (const { provider, state } of refused)
        if (state === "unknown") heard(provider, provider.model, refusal(provider));
      const asked = [...known.values()]
        .filter((one) => isAskable(one) && !(isOtherLeft && refused.some(({ provider }) => provider === one.provider)))
        .map(({ provider }) => provider);
      await Promise.all(
        asked.map(async (provider) => {
          const maxMs = mayBeSlow?.(provider) === true ? maxSlowCallMs : maxCallMs;
          const result = await callModel(provider, AbortSignal.any([signal, AbortSignal.timeout(maxMs)]));
          if (result.ok) count({ model: result.model, usage: result.usage });
          // A server that is busy with people's requests says more by those.
          if (signal.aborted || (!result.ok && result.error.code === "provider.busy")) return;
          heard(provider, provider.model, result.ok ? undefined : result.error);
        }),
      );
    },
    checks: () => [...known.values()].flatMap((one) => [checkOf(one), ...refusedChecks(one), ...adviceOf(one)]),
    problemOf(model) {
      const one = known.get(model);
      return one?.state === "broken" ? one.what : undefined;
    },
    isAnswering: (model) => known.get(model)?.state === "ok",
    isBroken,
    chosen: () => chosen,
  };
}

function plainText({ code, message, plain = withoutPlace(message) }: Failure, model: string): string {
  return code === "provider.aborted" ? `${model} did not answer in time` : plain;
}

/** The service's words can say which limit it is, and where to raise it. If it named a date, the message says the rest. */
function textOf(failure: Failure, model: string): string {
  const { code, message, detail, retryAfterMs } = failure;
  if (code === "provider.aborted") return plainText(failure, model);
  if (detail === undefined || retryAfterMs !== undefined) return withoutPlace(message);
  return `${withoutPlace(message)} (the service says: ${detail.replace(/^\d{3} /, "")})`;
}
