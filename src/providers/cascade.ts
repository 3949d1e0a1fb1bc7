/**
 * Presents several providers as one.
 *
 *   1. use the configured order, but try the model that a person chose for the conversation first, and models that declined
 *      to answer something in the prompt last
 *   2. skip models that rest (rests.ts); if all rest, ask the one whose rest ends first
 *   3. after any failure or refusal before a tool call, ask the next model (attempt.ts says what is tried before)
 *   4. if all others have failed, ask one that rests; a single model gets one retry
 *
 * Brain name: thalamus.
 */
import { pause } from "../lib/backoff.ts";
import { RemoraError } from "../lib/errors.ts";
import { withoutPlace } from "../lib/text/without-place.ts";
import type { Events } from "../ports/events.ts";
import { type ModelEvent, type ModelRequest, type Provider, thinkingNotice } from "../ports/provider.ts";
import { type Attempts, createAttempts, type FailedAttempt } from "./attempt.ts";
import type { Network } from "./network.ts";
import { isKnownService } from "./patience.ts";
import { createRefusedKeys, type RefusedKeys } from "./refused-keys.ts";
import { createRests, isNetworkCode, type RankedProvider, type Rests } from "./rests.ts";
import { createScout, type Scout } from "./scout.ts";

export interface CascadeOptions {
  /** At least one, the preferred one first. */
  providers: Provider[];
  events: Events;
  /** Without it, every service counts as reachable until a request fails. */
  network?: Network;
  /** By default, refused keys are forgotten with the process. */
  refusedKeys?: RefusedKeys;
  now?: () => number;
  /** Before the single retry. If the provider asks for a longer wait, that is used, up to `longestPauseMs`. */
  pauseMs?: number;
  longestPauseMs?: number;
  /** The wait for a connection if another model could answer. */
  maxConnectMs?: number;
}

/** The model declined in an earlier turn, and was not asked now. It must not count as declining once more. */
const declinedEarlier = "provider.declined-earlier";

/** A server that says so has not begun the request, and will take it within minutes. */
const unreadyTexts: Readonly<Record<string, string>> = {
  "provider.loading": "Waiting: the server loads the model",
  "provider.full": "Waiting: the model's server is busy",
};
/** As long as a large model loads from a slow disk. */
const longestLoadMs = 10 * 60_000;
const pausesOfUnready = 3;
/** A server that is not ready says so at once. */
const acceptedMs = 1_000;

/** A network that swallows packets costs this once. Slow networks connect sooner, even with one lost packet. */
const defaultMaxConnectMs = 1_900;

export function createCascade(options: CascadeOptions): Provider {
  const { providers, events, network, now = Date.now, pauseMs = 1_000, longestPauseMs = 10_000 } = options;
  const { maxConnectMs = defaultMaxConnectMs } = options;
  const [first] = providers;
  if (first === undefined) throw new TypeError("a cascade needs at least one provider");
  const rests = createRests({ refusedKeys: options.refusedKeys ?? createRefusedKeys(undefined, now), network, now });
  const scouting = { network, rests, maxMs: maxConnectMs };

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    const all = candidatesOf(providers, request.preferredModel);
    const { declinedBy = [] } = request;
    const [declined, willing] = [true, false].map((is) => all.filter(({ model }) => declinedBy.includes(model) === is));
    const ordered = [...(willing ?? []), ...(declined ?? [])];
    const candidates = usable(request.isWithoutFallback === true ? all.slice(0, 1) : ordered, rests);
    const attempts = createAttempts(request, rests, signal);
    const failed: FailedAttempt[] = [];
    const wanted = all[0];
    for (const candidate of awake(candidates, rests)) {
      const before = failed.at(-1);
      if (before !== undefined) {
        moveOn(before, candidate);
        yield { type: "notice", text: "Asking another model" };
      } else if (wanted !== undefined && candidate !== wanted) passBy(wanted, candidate, declinedBy);
      const others = candidates.filter((other) => other !== candidate && !rests.isResting(other));
      const scout = createScout(candidate, others, scouting);
      try {
        const failure = yield* answer(attempts, candidate, wanted, failed, declinedBy, scout.connection);
        if (failure === undefined) return;
        failed.push(failure);
        if (isNetworkCode(failure.error.code)) await scout.restUnreachable();
      } finally {
        scout.stop();
      }
    }
    const until = now() + longestLoadMs;
    for (let isLast = false; !isLast; ) {
      const last = failed.at(-1);
      const unready = now() < until && !signal.aborted ? failed.findLast(isUnready) : undefined;
      const next = unready === undefined ? yield* lastResort(candidates, failed, signal) : unready.candidate;
      if (last === undefined || next === undefined) break;
      if (unready !== undefined) yield* waitFor(unready, signal);
      if (next.model !== last.candidate.model) moveOn(last, next);
      const asked = answer(attempts, next, wanted, failed, declinedBy);
      const failure = yield* unready === undefined ? asked : thinkingAfter(acceptedMs, asked, signal);
      if (failure === undefined) return;
      failed.push(failure);
      isLast = !isUnready(failure);
    }
    const used = attempts.used();
    yield { type: "error", error: summary(failed), ...(used.length === 0 ? {} : { used }) };
  }

  function answer(
    attempts: Attempts,
    candidate: RankedProvider,
    wanted: RankedProvider | undefined,
    failed: readonly FailedAttempt[],
    declinedBy: readonly string[],
    connection: Scout["connection"] = {},
  ): AsyncGenerator<ModelEvent, FailedAttempt | undefined> {
    const insteadBecause =
      wanted === undefined || candidate.model === wanted.model
        ? undefined
        : (failed.find((each) => each.candidate === wanted)?.error.code ??
          (declinedBy.includes(wanted.model) ? declinedEarlier : rests.reasonOf(wanted)));
    return attempts.ask(candidate, connection, insteadBecause);
  }

  async function* lastResort(
    candidates: RankedProvider[],
    failed: FailedAttempt[],
    signal: AbortSignal,
  ): AsyncGenerator<ModelEvent, RankedProvider | undefined> {
    const asked = new Set(failed.map(({ candidate }) => candidate));
    const others = candidates.filter((candidate) => !asked.has(candidate));
    if (others.length > 0) return rests.dueFirst(others);
    const [only] = failed;
    if (only === undefined || failed.length > 1 || !only.error.isRetryable || only.wasRepeated) return undefined;
    // It may only be slow, and would begin the same work anew.
    if (/-timeout$/.test(only.error.code) && !isNetworkCode(only.error.code) && isPatient(only.candidate))
      return undefined;
    const waitMs = Math.max(pauseMs, only.error.retryAfterMs ?? 0);
    if (waitMs > longestPauseMs) return undefined;
    yield { type: "notice", text: `Asking the model again in ${Math.ceil(waitMs / 1_000)} s` };
    await pause(waitMs, signal);
    yield thinkingNotice;
    return only.candidate;
  }

  /** Its own time, if it names one. */
  async function* waitFor({ error }: FailedAttempt, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    yield { type: "notice", text: unreadyTexts[error.code] ?? "Waiting for the model's server" };
    await pause(Math.min(error.retryAfterMs ?? pauseMs * pausesOfUnready, longestPauseMs), signal);
  }

  function moveOn({ candidate, error }: FailedAttempt, next: RankedProvider): void {
    events.emit("llm.fallback", { from: candidate.model, to: next.model, code: error.code, message: error.message });
  }

  function passBy(wanted: RankedProvider, next: RankedProvider, declinedBy: readonly string[]): void {
    const from = { from: wanted.model, to: next.model };
    if (declinedBy.includes(wanted.model)) {
      const message = `${wanted.model} declined to answer something earlier in this conversation`;
      events.emit("llm.fallback", { ...from, code: declinedEarlier, message });
      return;
    }
    const message = `${wanted.model} is paused after a failure (${rests.reasonOf(wanted) ?? "unknown"})`;
    events.emit("llm.fallback", { ...from, code: "provider.resting", message });
  }

  return { name: "cascade", model: first.model, stream };
}

function isUnready({ error }: FailedAttempt): boolean {
  return error.code in unreadyTexts;
}

/** Says that the model thinks once it has taken the request. */
async function* thinkingAfter<T>(
  ms: number,
  events: AsyncGenerator<ModelEvent, T>,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent, T> {
  try {
    const first = events.next();
    const isRefused = first.then(() => true);
    if (!(await Promise.race([isRefused, pause(ms, signal).then(() => false)]))) yield thinkingNotice;
    let next = await first;
    for (; !next.done; next = await events.next()) yield next.value;
    return next.value;
  } finally {
    events.return?.(undefined as T).catch(() => {});
  }
}

function isPatient({ provider: { address } }: RankedProvider): boolean {
  return address !== undefined && !isKnownService(address);
}

function candidatesOf(providers: Provider[], preferred: string | undefined): RankedProvider[] {
  const candidates = providers.map((provider) => ({ provider, model: provider.model }));
  const owner =
    providers.find((provider) => provider.model === preferred) ??
    providers.find((provider) => preferred?.startsWith(`${provider.name}/`));
  if (owner === undefined || preferred === undefined) return candidates;
  return [{ provider: owner, model: preferred }, ...candidates.filter(({ model }) => model !== preferred)];
}

/** Without those whose key was refused, unless that leaves none. */
function usable(candidates: RankedProvider[], rests: Rests): RankedProvider[] {
  const accepted = candidates.filter((candidate) => !rests.isRefused(candidate));
  return accepted.length === 0 ? candidates : accepted;
}

/** Checks each model only when needed, because another turn may have made it rest, or refused its key, by then. */
function* awake(candidates: RankedProvider[], rests: Rests): Generator<RankedProvider> {
  let isAny = false;
  for (const candidate of candidates) {
    if (rests.isResting(candidate)) continue;
    isAny = true;
    yield candidate;
  }
  if (!isAny) yield rests.dueFirst(candidates);
}

function summary(failed: FailedAttempt[]): RemoraError {
  const last = failed.at(-1);
  if (last === undefined) throw new TypeError("a failed cascade must have asked a model");
  const refused = failed.find(isRefusal);
  if (refused !== undefined) return refusedByAll(refused, failed);
  const latest = new Map(failed.map(({ candidate, error }) => [candidate.model, error]));
  if (latest.size === 1) return last.error;
  const waits = failed.flatMap(({ error }) => error.retryAfterMs ?? []);
  return new RemoraError({
    code: "provider.all-failed",
    place: "models",
    message: `no model could answer: ${failed.map(({ candidate, error }) => `${candidate.model}: ${error.message}`).join(" — ")}`,
    plain: `No model could answer:\n${[...latest].map(([model, error]) => `- ${model}: ${error.plain}`).join(".\n")}`,
    isRetryable: failed.some(({ error }) => error.isRetryable),
    ...(waits.length === failed.length ? { retryAfterMs: Math.min(...waits) } : {}),
    cause: last.error,
  });
}

function isRefusal({ error }: FailedAttempt): boolean {
  return error.code === "provider.refused";
}

/** One model's refusal is the reason, whatever became of the others: the same question would be refused again. */
function refusedByAll(first: FailedAttempt, failed: readonly FailedAttempt[]): RemoraError {
  const others = failed.filter(({ candidate }) => candidate.model !== first.candidate.model);
  if (others.length === 0) return first.error;
  const said = (textOf: (error: RemoraError) => string, why = textOf): string => {
    const each = others.map((other) => {
      const { model } = other.candidate;
      return isRefusal(other) ? `${model}, which declined, too` : `${model}: ${why(other.error)}`;
    });
    return `${textOf(first.error)} (also asked: ${each.join("; ")})`;
  };
  return new RemoraError({
    code: first.error.code,
    place: "models",
    message: said(({ message }) => withoutPlace(message)),
    // People read this one as it is, and can't change settings.
    plain: said(
      ({ plain }) => plain,
      () => "could not answer",
    ),
    cause: first.error,
  });
}
