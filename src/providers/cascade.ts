/**
 * Presents several providers as one.
 *
 *   1. use the configured order, but try the model that a person chose for the conversation first
 *   2. skip models with an open circuit breaker; if all are open, ask the model whose breaker closes first
 *   3. after a transient failure before any output, open the breaker and ask the next model; return other failures
 *   4. if all models with a closed breaker have failed, ask one with an open breaker; a single model gets one retry
 *
 * Brain name: thalamus.
 */

import { pause } from "../lib/backoff.ts";
import { RemoraError } from "../lib/errors.ts";
import type { Events } from "../ports/events.ts";
import type { ModelEvent, ModelRequest, Provider } from "../ports/provider.ts";
import { type CircuitBreaker, createCircuitBreaker } from "./circuit-breaker.ts";

export interface CascadeOptions {
  /** At least one, the preferred one first. */
  providers: Provider[];
  events: Events;
  now?: () => number;
  /** Before the single retry. If the provider asks for a longer wait, that is used, up to `longestPauseMs`. */
  pauseMs?: number;
  longestPauseMs?: number;
}

interface RankedProvider {
  provider: Provider;
  model: string;
}

interface Attempt {
  candidate: RankedProvider;
  error: RemoraError;
}

export function createCascade(options: CascadeOptions): Provider {
  const { providers, events, now = Date.now, pauseMs = 1_000, longestPauseMs = 10_000 } = options;
  const [first] = providers;
  if (first === undefined) throw new TypeError("a cascade needs at least one provider");
  const breaker = createCircuitBreaker(now);

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    const all = candidatesOf(providers, request.preferredModel);
    const candidates = request.isWithoutFallback === true ? all.slice(0, 1) : all;
    const failed: Attempt[] = [];
    for (const candidate of awake(candidates, breaker)) {
      const before = failed.at(-1);
      if (before !== undefined) {
        moveOn(before, candidate);
        yield { type: "notice", text: "Asking another model" };
      } else if (candidate !== candidates[0]) passBy(candidates[0], candidate);
      const failure = yield* ask(candidate, request, signal);
      if (failure === undefined) return;
      failed.push({ candidate, error: failure });
    }
    const last = failed.at(-1);
    const next = last === undefined ? undefined : yield* lastResort(candidates, failed, signal);
    if (last !== undefined && next !== undefined) {
      if (next.model !== last.candidate.model) moveOn(last, next);
      const failure = yield* ask(next, request, signal);
      if (failure === undefined) return;
      failed.push({ candidate: next, error: failure });
    }
    yield { type: "error", error: summary(failed) };
  }

  async function* lastResort(
    candidates: RankedProvider[],
    failed: Attempt[],
    signal: AbortSignal,
  ): AsyncGenerator<ModelEvent, RankedProvider | undefined> {
    const asked = new Set(failed.map(({ candidate }) => candidate));
    const others = candidates.filter((candidate) => !asked.has(candidate));
    if (others.length > 0) return dueFirst(others, breaker);
    const [only] = failed;
    if (only === undefined || failed.length > 1) return undefined;
    const waitMs = Math.max(pauseMs, only.error.retryAfterMs ?? 0);
    if (waitMs > longestPauseMs) return undefined;
    yield { type: "notice", text: `Asking the model again in ${Math.ceil(waitMs / 1_000)} s` };
    await pause(waitMs, signal);
    return only.candidate;
  }

  /** Streams one answer. Returns the failure if the next model may be asked, and undefined otherwise. */
  async function* ask(
    candidate: RankedProvider,
    request: ModelRequest,
    signal: AbortSignal,
  ): AsyncGenerator<ModelEvent, RemoraError | undefined> {
    breaker.begin(candidate.model);
    const { preferredModel: _preferred, ...rest } = request;
    let hasShown = false;
    for await (const event of candidate.provider.stream({ ...rest, preferredModel: candidate.model }, signal)) {
      if (event.type === "error") {
        if (event.error.isRetryable) breaker.failed(candidate.model, event.error.retryAfterMs);
        else breaker.clear(candidate.model);
        if (event.error.isRetryable && !hasShown && !signal.aborted) return event.error;
      }
      if (event.type === "end") breaker.clear(candidate.model);
      hasShown ||= event.type === "tool-call" || (event.type === "text-delta" && event.text !== "");
      yield event;
    }
    return undefined;
  }

  function moveOn({ candidate, error }: Attempt, next: RankedProvider): void {
    events.emit("llm.fallback", { from: candidate.model, to: next.model, code: error.code, message: error.message });
  }

  function passBy(wanted: RankedProvider | undefined, next: RankedProvider): void {
    if (wanted === undefined) return;
    const message = `${wanted.model} is paused after a failure`;
    events.emit("llm.fallback", { from: wanted.model, to: next.model, code: "provider.resting", message });
  }

  return { name: "cascade", model: first.model, stream };
}

function candidatesOf(providers: Provider[], preferred: string | undefined): RankedProvider[] {
  const candidates = providers.map((provider) => ({ provider, model: provider.model }));
  const owner =
    providers.find((provider) => provider.model === preferred) ??
    providers.find((provider) => preferred?.startsWith(`${provider.name}/`));
  if (owner === undefined || preferred === undefined) return candidates;
  return [{ provider: owner, model: preferred }, ...candidates.filter(({ model }) => model !== preferred)];
}

/** Checks each model's breaker only when needed, because another turn may have opened it by then. */
function* awake(candidates: RankedProvider[], breaker: CircuitBreaker): Generator<RankedProvider> {
  let isAny = false;
  for (const candidate of candidates) {
    if (breaker.until(candidate.model) > breaker.now()) continue;
    isAny = true;
    yield candidate;
  }
  if (!isAny) yield dueFirst(candidates, breaker);
}

function dueFirst(candidates: RankedProvider[], breaker: CircuitBreaker): RankedProvider {
  return candidates.reduce((best, other) => (breaker.until(other.model) < breaker.until(best.model) ? other : best));
}

function summary(failed: Attempt[]): RemoraError {
  const last = failed.at(-1);
  if (last === undefined) throw new TypeError("a failed cascade must have asked a model");
  const models = new Set(failed.map(({ candidate }) => candidate.model));
  if (models.size === 1) return last.error;
  const waits = failed.flatMap(({ error }) => error.retryAfterMs ?? []);
  return new RemoraError({
    code: "provider.all-failed",
    place: "models",
    message: `no model could answer: ${failed.map(({ candidate, error }) => `${candidate.model}: ${error.message}`).join(" — ")}`,
    isRetryable: true,
    ...(waits.length === failed.length ? { retryAfterMs: Math.min(...waits) } : {}),
    cause: last.error,
  });
}
