/**
 * How an answer ends: what the reason says that a service gives, in its own words, and the last events of the stream, which add
 * nothing to the answer.
 */
import type { StopReason } from "../ports/provider.ts";
import { failure, thrownFailure } from "./classify-failure.ts";
import type { ProviderPlace } from "./failure-kinds.ts";

const brokenReasons = /error|abort|cancel|fail|malformed|timeout/;
const wholeReasons = /^(?:(?:stop|end|eos)(?:_\w+)?|done|completed?|finish(?:ed)?|(?:tool|function)_?(?:calls?|use))$/;
/** `length`, `max_tokens`, `model_length`, `token_limit`, `model_context_window_exceeded`. */
const limitReasons = /length|max_(?:\w+_)?tokens|token_limit|context/;
/** Also as Gemini's compatible address says it: `content_filter: PROHIBITED_CONTENT`, or its own word alone. */
const refusedReasons =
  /filter|safety|refus|recitation|blocklist|prohibited|sensitive|guardrail|moderation|violation|^spii$/;

/**
 * Of two reasons that a service gives for one end, the one that says more against the answer: a filter, then a failure, then the
 * limit. Of others the later, because some servers give a reason in every chunk. `given` may be no text, and then no word either.
 */
export function harderReason(known: string, given: unknown): string {
  const word = typeof given === "string" ? given : JSON.stringify(given ?? "");
  if (word === "" || word === '""') return known;
  return hardness(word) >= hardness(known) ? word : known;
}

function hardness(reason: string): number {
  const word = reason.toLowerCase();
  if (brokenReasons.test(word)) return 2;
  if (wholeReasons.test(word)) return 0;
  if (refusedReasons.test(word)) return 3;
  return limitReasons.test(word) ? 1 : 0;
}

/**
 * A service that failed says so in many ways, and may have stopped anywhere. So a word that nobody knows is a break in the
 * answer, and throws: what came before it may be half of it.
 */
export function stopOf(place: ProviderPlace, reason: string, hasCalls: boolean): StopReason | "refusal" {
  const word = reason.toLowerCase();
  if (!brokenReasons.test(word)) {
    if (wholeReasons.test(word)) return hasCalls ? "tool-calls" : "end";
    if (refusedReasons.test(word)) return "refusal";
    if (limitReasons.test(word)) return "max-tokens";
  }
  throw failure(place, "cut", { said: reason });
}

/** Counts come right after the reason. Longer, people would wait for nothing that they can read. */
const restMs = 2_000;

/**
 * Passes on a stream. Once `isWhole`, a connection that breaks, or stays open, ends it as its end does: the answer need not be
 * asked and paid for again.
 */
export async function* endingWhole<T>(
  stream: AsyncIterable<T>,
  place: ProviderPlace,
  isWhole: () => boolean,
): AsyncGenerator<T> {
  const iterator = stream[Symbol.asyncIterator]();
  let timer: NodeJS.Timeout | undefined;
  let isOver: Promise<undefined> | undefined;
  try {
    for (;;) {
      if (isWhole()) {
        isOver ??= new Promise((resolve) => {
          timer = setTimeout(resolve, restMs, undefined);
        });
      }
      const next = iterator.next();
      const result = await (isOver === undefined ? next : Promise.race([next, isOver]));
      if (result === undefined || result.done) return;
      yield result.value;
    }
  } catch (thrown) {
    if (!isWhole() || thrownFailure(place, thrown).code !== "provider.cut") throw thrown;
  } finally {
    clearTimeout(timer);
    // A library that waits for a silent connection may never return.
    iterator.return?.().catch(() => {});
  }
}
