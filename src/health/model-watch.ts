/**
 * Knows which models answer: from one small call at the start, then from every real call, and from another small call now
 * and then while a model is broken. The demo model needs no check.
 */
import type { Log } from "../lib/log.ts";
import { oneLine } from "../lib/text/sanitize.ts";
import type { HealthCheck } from "../ports/health.ts";
import type { Provider, Usage } from "../ports/provider.ts";
import { checkModelCall } from "./model-call.ts";

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

const keyTodo = "Set a valid key. It is tried again after an hour at the latest";
const maxCallMs = 20_000;
const maxMessageCharacters = 300;
/** These say something about the request, not about the model. */
const ofRequest = new Set([
  ...["provider.aborted", "provider.too-long", "provider.no-tools", "provider.bad-request", "provider.empty"],
  "provider.endless",
]);

export interface ModelWatchOptions {
  log: Log;
  /** Why the model's key counts as refused. Such a model rests, so it is not called while another one can answer. */
  refusal(provider: Provider): string | undefined;
}

export function createModelWatch({ log, refusal }: ModelWatchOptions): ModelWatch {
  const known = new Map<string, Heard>();

  function heard(provider: Provider, model: string, problem?: { what: string; todo?: string }): void {
    // A conversation can choose models that are not configured; they say nothing about the others.
    if (model !== provider.model) return;
    const state = problem === undefined ? "ok" : "broken";
    const what = oneLine(problem?.what ?? `${model} answers`, maxMessageCharacters);
    const before = known.get(provider.model);
    if (state === "broken" && before?.state !== "broken") log.warn({ model, todo: problem?.todo }, `model: ${what}`);
    if (state === "ok" && before?.state === "broken") log.info({ model }, `${model} answers again`);
    known.set(provider.model, { provider, state, what, todo: problem?.todo ?? "" });
  }

  const checkOf = ({ provider: { model }, state, what, todo }: Heard): HealthCheck => {
    const name = `model ${model}`;
    if (state === "unknown") return { name, state: "ok", what: "not asked yet" };
    if (state === "ok") return { name, state: "ok", what };
    return { name, state: isBroken() ? "broken" : "warning", what, todo };
  };

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
            if (event.type === "end") heard(provider, model);
            if (event.type === "error" && !ofRequest.has(event.error.code))
              heard(provider, model, { what: event.error.message });
            yield event;
          }
        },
      };
    },
    async check(signal, count = () => {}) {
      const refused = [...known.values()].filter(({ provider }) => refusal(provider) !== undefined);
      const isOtherLeft = refused.length < known.size;
      for (const { provider, state } of refused)
        if (state === "unknown") heard(provider, provider.model, { what: refusal(provider) ?? "", todo: keyTodo });
      const asked = [...known.values()]
        .filter(
          (one) => one.state !== "ok" && !(isOtherLeft && refused.some(({ provider }) => provider === one.provider)),
        )
        .map(({ provider }) => provider);
      const limit = AbortSignal.any([signal, AbortSignal.timeout(maxCallMs)]);
      await Promise.all(
        asked.map(async (provider) => {
          const result = await checkModelCall(provider, { signal: limit });
          if (result.ok) count({ model: result.model, usage: result.usage });
          if (signal.aborted) return;
          heard(provider, provider.model, result.ok ? undefined : { what: result.problem, todo: result.fix });
        }),
      );
    },
    checks: () => [...known.values()].map(checkOf),
    problemOf(model) {
      const one = known.get(model);
      return one?.state === "broken" ? one.what : undefined;
    },
    isBroken,
  };
}
