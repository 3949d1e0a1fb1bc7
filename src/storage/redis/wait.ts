/**
 * Sends a command, even if Redis may be unreachable: waits for the connection, sends, and waits for the answer. If the
 * connection is lost before the response, sends again, within the limit. The command may have run already, so it must
 * be repeatable (the ledger's commands carry a token for that). Nothing is sent after the limit.
 */
import { setTimeout as pause } from "node:timers/promises";
import { RemoraError } from "../../lib/errors.ts";
import { asRedisError, isAnswer, isReadOnly, isWorthWaiting, unreachable } from "./errors.ts";

export interface RedisLink {
  isUp(): boolean;
  isClosed(): boolean;
  /** Redis's error if it has refused access, which makes waiting pointless. */
  refusal(): Error | undefined;
  trouble(): string;
  /** True if a refused write may be caused by a failover, which ends soon. */
  isReadOnlyPassing: boolean;
  isHurried(): boolean;
  /** Calls the listener when anything above may have changed. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
}

export interface WaitOptions {
  place: string;
  /** The limit for a command, counted from its first attempt. */
  waitMs: number;
}

const maxHurriedMs = 1_000;

/** Doubles each time the connection is lost again, up to half a second. */
const pauseAfter = (tries: number) => Math.min(50 * 2 ** (tries - 1), 500);

/** Rejects with a RemoraError if Redis is unreachable for longer than the limit or answers with an error. */
export async function retryWhileAway<T>(link: RedisLink, options: WaitOptions, send: () => Promise<T>): Promise<T> {
  const { place, waitMs } = options;
  const began = performance.now();
  const until = began + (link.isHurried() ? Math.min(waitMs, maxHurriedMs) : waitMs);
  const late = () => unreachable(place, performance.now() - began, link.trouble());
  for (let tries = 1; ; tries += 1) {
    await untilUp(link, options, until, late);
    if (link.isClosed()) throw closedError(place);
    try {
      return await answered(link, options, until, late, send());
    } catch (thrown) {
      const isPassing = isWorthWaiting(thrown) || (link.isReadOnlyPassing && isReadOnly(thrown));
      if (!isPassing) throw asRedisError(thrown, place);
      if (performance.now() + pauseAfter(tries) >= until) {
        throw isAnswer(thrown) ? asRedisError(thrown, place) : late();
      }
      await pause(pauseAfter(tries));
    }
  }
}

function untilUp(
  link: RedisLink,
  { place, waitMs }: WaitOptions,
  until: number,
  late: () => RemoraError,
): Promise<void> {
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
    const timer = startTimer(until, waitMs, () => settle(() => reject(late())));
    const stop = link.onChange(look);
    look();
  });
}

/** Waits for the answer until the limit. Rejects if the client closes, because its commands may never settle. */
function answered<T>(
  link: RedisLink,
  { place, waitMs }: WaitOptions,
  until: number,
  late: () => RemoraError,
  answer: Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void) => {
      timer.stop();
      stop();
      finish();
    };
    const timer = startTimer(until, waitMs, () => settle(() => reject(late())));
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
 * Calls `onLate` after `until`. After the event loop was blocked, timers run before responses that have arrived
 * meanwhile, so the timer then waits again for as long as the loop was blocked, but no longer than the limit.
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
