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
  /** True if no model can answer. */
  isBroken(): boolean;
}

interface Heard {
  provider: Provider;
  state: "unknown" | "ok" | "broken";
  what: string;
  todo: string;
}

const refusedTodo = "It is tried again after an hour at the latest";
const refusedCodes = new Set(["provider.wrong-key", "provider.forbidden"]);
const maxCallMs = 20_000;
const maxMessageCharacters = 300;
/** These say something about the request, not about the model. */
const ofRequest = new Set([
  ...["provider.aborted", "provider.too-long", "provider.no-tools", "provider.bad-request", "provider.empty"],
  "provider.endless",
]);

interface Failure {
  code: string;
  message: string;
}

export interface ModelWatchOptions {
  log: Log;
  /** Why the model's key counts as refused. Such a model rests, so it is not called while another one can answer. */
  refusal(provider: Provider): Failure | undefined;
}

export function createModelWatch({ log, refusal }: ModelWatchOptions): ModelWatch {
  const known = new Map<string, Heard>();
  const told = new Set<string>();

  function heard(provider: Provider, model: string, failure?: Failure): void {
    // A conversation can choose models that are not configured; they say nothing about the others.
    if (model !== provider.model) return;
    const state = failure === undefined ? "ok" : "broken";
    const todo = failure !== undefined && refusedCodes.has(failure.code) ? refusedTodo : "";
    const what = oneLine(failure === undefined ? `${model} answers` : textOf(failure, model), maxMessageCharacters);
    const before = known.get(provider.model);
    if (state === "broken" && before?.state !== "broken") log.warn({ model }, `model: ${what}`);
    if (state === "ok" && before?.state === "broken") log.info({ model }, `${model} answers again`);
    known.set(provider.model, { provider, state, what, todo });
  }

  const checkOf = ({ provider: { model }, state, what, todo }: Heard): HealthCheck => {
    const name = `model ${model}`;
    if (state === "unknown") return { name, state: "ok", what: "not asked yet" };
    if (state === "ok") return { name, state: "ok", what };
    return { name, state: isBroken() ? "broken" : "warning", what, todo };
  };

  /** It works, but every start begins with a request that the service refuses. */
  function adviceOf({ provider }: Pick<Heard, "provider">): HealthCheck[] {
    return (provider.advice?.() ?? []).map(({ model, what, todo }) => {
      if (!told.has(what)) log.warn({ model }, `model: ${what}. ${todo}`);
      told.add(what);
      return { name: `settings ${model}`, state: "warning", what, todo };
    });
  }

  function isBroken(): boolean {
    return known.size > 0 && [...known.values()].every(({ state }) => state === "broken");
  }

  return {
    observe(provider) {
      const isDemo = provider.name === "demo";
      known.set(provider.model, {
        ...{ provider, state: isDemo ? "ok" : "unknown", todo: "" },
        what: isDemo ? "the demo model: no AI, a few fixed phrases" : "",
      });
      return {
        ...provider,
        async *stream(request, signal) {
          const model = request.preferredModel ?? provider.model;
          for await (const event of provider.stream(request, signal)) {
            if (event.type === "end") {
              heard(provider, model);
              adviceOf({ provider });
            }
            if (event.type === "error" && !ofRequest.has(event.error.code)) heard(provider, model, event.error);
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
        .filter(
          (one) => one.state !== "ok" && !(isOtherLeft && refused.some(({ provider }) => provider === one.provider)),
        )
        .map(({ provider }) => provider);
      const limit = AbortSignal.any([signal, AbortSignal.timeout(maxCallMs)]);
      await Promise.all(
        asked.map(async (provider) => {
          const result = await callModel(provider, limit);
          if (result.ok) count({ model: result.model, usage: result.usage });
          if (signal.aborted) return;
          heard(provider, provider.model, result.ok ? undefined : result.error);
        }),
      );
    },
    checks: () => [...known.values()].flatMap((one) => [checkOf(one), ...adviceOf(one)]),
    problemOf(model) {
      const one = known.get(model);
      return one?.state === "broken" ? one.what : undefined;
    },
    isBroken,
  };
}

function textOf({ code, message }: Failure, model: string): string {
  return code === "provider.aborted" ? `${model} did not answer in time` : withoutPlace(message);
}
