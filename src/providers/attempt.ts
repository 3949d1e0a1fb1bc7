/**
 * Asks one model of the cascade. Before the next model gets its chance:
 *
 *   a model that takes less     gets a prompt that fits, if its limit is known
 *   a prompt that is too long   is sent once more with a smaller context, also a long one that is refused for no known reason
 *   a stream that breaks        is requested once more; the new text replaces what people have seen
 *   a tool call that is none    is requested once more
 *
 * All of that, and what the providers try by themselves, shares a few requests. A model that declines is not asked again, and does not rest, because it works. After a tool call, a failure ends the
 * answer.
 */
import type { RemoraError } from "../lib/errors.ts";
import { textLengthIn } from "../lib/json.ts";
import type { BrokenUsage, ModelEvent, ModelRequest, Tries, Usage } from "../ports/provider.ts";
import { serviceRefusalIn } from "./classify-failure.ts";
import type { RankedProvider, Rests } from "./rests.ts";
import type { Scout } from "./scout.ts";

export interface FailedAttempt {
  candidate: RankedProvider;
  error: RemoraError;
  /** The same model was asked twice. */
  wasRepeated: boolean;
}

export interface Attempts {
  /**
   * Returns the failure if the next model may be asked, and undefined if the answer has ended. `insteadBecause`: why the
   * model that should answer could not.
   */
  ask(
    candidate: RankedProvider,
    connection: Scout["connection"],
    insteadBecause: string | undefined,
  ): AsyncGenerator<ModelEvent, FailedAttempt | undefined>;
  /** What services have counted of failed attempts since the last output. */
  used(): BrokenUsage[];
}

/** Of one step to one model: other parameters, no picture, a shorter history, and once more after each of them. */
const maxRequests = 12;

interface Failure {
  error: RemoraError;
  hasText: boolean;
}

export function createAttempts(whole: ModelRequest, rests: Rests, signal: AbortSignal): Attempts {
  const { fitting, shorter, preferredModel: _preferred, ...others } = whole;
  const { isRefusalFinal = false, declinedBy: _declinedBy, ...request } = others;
  /** Models whose visible text the next attempt replaces, or whose service has counted what nobody saw. */
  let broken: { model: string; usage?: Usage }[] = [];
  const used = () => broken.flatMap(({ model, usage }) => (usage === undefined ? [] : [{ model, usage }]));
  const triesOf = new Map<RankedProvider, Tries>();

  async function* once(
    candidate: RankedProvider,
    asked: ModelRequest,
    insteadBecause: string | undefined,
  ): AsyncGenerator<ModelEvent, Failure | undefined> {
    rests.begin(candidate);
    let shown: "nothing" | "text" | "call" = "nothing";
    for await (const event of candidate.provider.stream({ ...asked, preferredModel: candidate.model }, signal)) {
      if (event.type === "notice") {
        yield event;
        continue;
      }
      if (event.type === "error") {
        const isRefusal = event.error.code === "provider.refused";
        if (isRefusal) rests.answered(candidate);
        else if (!signal.aborted) rests.failed(candidate, event.error);
        const mayMoveOn =
          !(isRefusal && isRefusalFinal) && (shown === "nothing" || (shown === "text" && event.error.isRetryable));
        if (mayMoveOn && !signal.aborted && !/^provider\.(?:aborted|busy)$/.test(event.error.code)) {
          if (event.used !== undefined) broken.push(...event.used);
          else if (shown === "text") broken.push({ model: candidate.model });
          return { error: event.error, hasText: shown === "text" };
        }
        const all = [...used(), ...(event.used ?? [])];
        yield all.length === 0 ? event : { ...event, used: all };
        return undefined;
      }
      if (event.type === "text-delta" && event.text === "") continue;
      for (const one of broken) yield { type: "restart", ...one };
      broken = [];
      // What a model said before it declined is void already.
      if ((event.type === "restart" || event.type === "retract") && shown === "text") shown = "nothing";
      if (event.type === "end") rests.answered(candidate);
      if (event.type === "tool-call") shown = "call";
      else if (event.type === "text-delta" && shown === "nothing") shown = "text";
      yield event.type === "end" && insteadBecause !== undefined ? { ...event, insteadBecause } : event;
    }
    return undefined;
  }

  return {
    used,
    async *ask(candidate, connection, insteadBecause) {
      const limit = candidate.provider.promptTokens?.(candidate.model);
      const fits = limit === undefined || fitting === undefined ? {} : messagesOf(fitting(limit));
      const tries = triesOf.get(candidate) ?? { left: maxRequests };
      triesOf.set(candidate, tries);
      const asked: ModelRequest = { ...request, ...connection, ...fits, tries };
      const left = tries.left;
      const failure = yield* once(candidate, asked, insteadBecause);
      if (failure === undefined) return undefined;
      // Nothing was tried.
      if (/^provider\.(?:loading|full)$/.test(failure.error.code)) tries.left = left;
      const isTooLong =
        shorter !== undefined && (failure.error.code === "provider.too-long" || mayBeTooLong(failure.error, asked));
      const isBroken = failure.hasText || ["provider.cut", "provider.bad-call"].includes(failure.error.code);
      const isSpent = () => tries.left <= 0;
      if ((!isTooLong && !isBroken) || isSpent()) return { candidate, error: failure.error, wasRepeated: isSpent() };
      yield { type: "notice", text: isTooLong ? "Asking again with a shorter history" : "Asking again" };
      // A connection that broke before any text may need a moment, so a single model gets its retry as well.
      const wasRepeated = isTooLong || failure.hasText;
      // A model that reported its limit only now gets what fits. Otherwise even the known limit was too high.
      const now = candidate.provider.promptTokens?.(candidate.model);
      const most = now !== undefined && now < (limit ?? Number.POSITIVE_INFINITY) ? now : limit && limit / 2;
      const next = isTooLong ? { ...asked, ...messagesOf(shorter(most)) } : asked;
      const again = yield* once(candidate, next, insteadBecause);
      // Shorter, it was refused too, so its length was not what the service meant.
      if (again !== undefined && isTooLong && failure.error.code === "provider.bad-request" && !again.hasText)
        return { candidate, error: failure.error, wasRepeated };
      return again === undefined ? undefined : { candidate, error: again.error, wasRepeated: wasRepeated || isSpent() };
    },
  };
}

/** Of characters. What is shorter fits into every model that is used with tools. */
const longRequest = 30_000;
const statusesOfLong: ReadonlySet<number> = new Set([400, 413, 422]);

/** Services say "too long" in many words, and gateways in none. */
function mayBeTooLong(error: RemoraError, { messages, system }: ModelRequest): boolean {
  const refusal = error.code === "provider.bad-request" ? serviceRefusalIn(error) : undefined;
  if (refusal === undefined || !statusesOfLong.has(refusal.status)) return false;
  return textLengthIn(messages) + textLengthIn(system) >= longRequest;
}

function messagesOf({ system, messages, tools }: ModelRequest): Pick<ModelRequest, "system" | "messages" | "tools"> {
  return { system, messages, tools };
}
