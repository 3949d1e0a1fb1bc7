/**
 * Sends a command while Redis may be away:
 *
 *   1. wait until the connection is up, within the limit
 *   2. send the command and wait for the answer, within the limit
 *   3. if the connection was cut before the answer, send it again, within the limit; it may have run already, so every
 *      command sent this way must be repeatable (the ledger's commands carry a token for that)
 *
 * Sends nothing after the limit.
 */
import { setTimeout as pause } from "node:timers/promises";
import { RemoraError } from "../../lib/errors.ts";
import { asRedisError, isAnswer, isReadOnly, isWorthWaiting, unreachable } from "./errors.ts";

export interface RedisLink {
  isUp(): boolean;
  isClosed(): boolean;
  /** Redis refuses access, so waiting is pointless. */
  refusal(): Error | undefined;
  trouble(): string;
  /** A refused write may be part of a failover. */
  isReadOnlyPassing: boolean;
  isHurried(): boolean;
  /** Called when anything above may have changed. Returns the function that removes the listener. */
  onChange(listener: () => void): () => void;
}

export interface WaitOptions {
  place: string;
  /** How long a command may take from its first attempt. */
  waitMs: number;
}

const maxHurriedMs = 1_000;

/** After the first cut. Doubles with each further one, up to half a second. */
const pauseAfter = (tries: number) => Math.min(50 * 2 ** (tries - 1), 500);

/** Rejects with a RemoraError when Redis is away for longer than the limit, or answers with an error. */
export async function retryWhileAway<T>(link: RedisLink, options: WaitOptions, send: () => Promise<T>): Promise<T> {
  const { place, waitMs } = options;
  const until = performance.now() + (link.isHurried() ? Math.min(waitMs, maxHurriedMs) : waitMs);
  for (let tries = 1; ; tries += 1) {
    await untilUp(link, options, until);
    if (link.isClosed()) throw closedError(place);
    try {
      return await answered(link, options, until, send());
    } catch (thrown) {
      const isPassing = isWorthWaiting(thrown) || (link.isReadOnlyPassing && isReadOnly(thrown));
      if (!isPassing) throw asRedisError(thrown, place);
      if (performance.now() + pauseAfter(tries) >= until) {
        throw isAnswer(thrown) ? asRedisError(thrown, place) : unreachable(place, waitMs, link.trouble());
      }
      await pause(pauseAfter(tries));
    }
  }
}

function untilUp(link: RedisLink, { place, waitMs }: WaitOptions, until: number): Promise<void> {
  if (link.isUp()) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void) => {
      timer.stop();
      stop();
      finish();
    };
    const look = () => {
      const refusal = link.refusal();
      if (link.isHurried()) timer.hurry();
      if (link.isClosed()) settle(() => reject(closedError(place)));
      else if (link.isUp()) settle(resolve);
      else if (refusal !== undefined) settle(() => reject(asRedisError(refusal, place)));
    };
    const timer = startTimer(until, waitMs, () => settle(() => reject(unreachable(place, waitMs, link.trouble()))));
    const stop = link.onChange(look);
    look();
  });
}

/** Watches for a close too, because a closed client may forget its pending commands. */
function answered<T>(link: RedisLink, { place, waitMs }: WaitOptions, until: number, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void) => {
      timer.stop();
      stop();
      finish();
    };
    const timer = startTimer(until, waitMs, () => settle(() => reject(unreachable(place, waitMs, link.trouble()))));
    const stop = link.onChange(() => {
      if (link.isHurried()) timer.hurry();
      if (link.isClosed()) settle(() => reject(closedError(place)));
    });
    answer.then(
      (value) => settle(() => resolve(value)),
      (thrown: unknown) => settle(() => reject(thrown)),
    );
  });
}

/**
 * Calls `onLate` after `until`. A blocked event loop could not receive answers, and its timers run first after that. So the
 * timer waits on for as long as the loop was blocked, at most for the limit.
 */
function startTimer(until: number, waitMs: number, onLate: () => void): { stop(): void; hurry(): void } {
  let timer = setTimeout(
    () => {
      timer = setTimeout(onLate, Math.max(0, Math.min(performance.now() - until, waitMs)));
    },
    Math.max(0, until - performance.now()),
  );
  let isHurried = false;
  return {
    stop: () => clearTimeout(timer),
    hurry() {
      if (isHurried || until - performance.now() < maxHurriedMs) return;
      isHurried = true;
      clearTimeout(timer);
      timer = setTimeout(onLate, maxHurriedMs);
    },
  };
}

export function closedError(place: string): RemoraError {
  return new RemoraError({ code: "storage.closed", place, message: "is already closed." });
}
