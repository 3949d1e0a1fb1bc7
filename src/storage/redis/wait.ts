/**
 * Sending a command that may find Redis away:
 *
 *   1. wait until the connection is up, within the bound
 *   2. send it, and wait for the answer within the bound
 *   3. when the connection was cut in between, it may have happened or not: send it again, within the bound. So every
 *      command that is sent this way must be one that may be repeated; the ledger's carry a token for that
 *
 * After the bound nothing is sent any more.
 */
import { setTimeout as pause } from "node:timers/promises";
import { RemoraError } from "../../lib/errors.ts";
import { asRedisError, isAnswer, isReadOnly, isWorthWaiting, unreachable } from "./errors.ts";

/** A connection as whoever waits for it sees it. */
export interface Line {
  isUp(): boolean;
  isClosed(): boolean;
  /** Redis won't let us in, so waiting is in vain. */
  refusal(): Error | undefined;
  /** Why it is not up, for people; empty when that is not known. */
  trouble(): string;
  /** A refused write may be a failover that is under way. */
  isReadOnlyPassing: boolean;
  /** The process is to end, so nothing waits for long any more. */
  isHurried(): boolean;
  /** Called when anything of the above may have changed. Returns the way to stop hearing. */
  onChange(listener: () => void): () => void;
}

export interface WaitOptions {
  /** What the messages begin with: `ledger redis://…`. */
  place: string;
  /** How long a command waits, in milliseconds, from its first try on. */
  waitMs: number;
}

/** How long anything still waits once the line is hurried, in milliseconds. */
const hurriedMs = 1_000;

/** After the first cut, and twice as long after each further one, up to half a second. */
const pauseAfter = (tries: number) => Math.min(50 * 2 ** (tries - 1), 500);

/** Rejects with a RemoraError when Redis is away for longer than the bound, or answers with an error. */
export async function patiently<T>(line: Line, options: WaitOptions, send: () => Promise<T>): Promise<T> {
  const { place, waitMs } = options;
  const until = performance.now() + (line.isHurried() ? Math.min(waitMs, hurriedMs) : waitMs);
  for (let tries = 1; ; tries += 1) {
    await untilUp(line, options, until);
    if (line.isClosed()) throw closedError(place);
    try {
      return await answered(line, options, until, send());
    } catch (thrown) {
      const isPassing = isWorthWaiting(thrown) || (line.isReadOnlyPassing && isReadOnly(thrown));
      if (!isPassing) throw asRedisError(thrown, place);
      if (performance.now() + pauseAfter(tries) >= until) {
        throw isAnswer(thrown) ? asRedisError(thrown, place) : unreachable(place, waitMs, line.trouble());
      }
      await pause(pauseAfter(tries));
    }
  }
}

/** Resolves when the connection is up; rejects when it is refused or closed, or after `until`. */
function untilUp(line: Line, { place, waitMs }: WaitOptions, until: number): Promise<void> {
  if (line.isUp()) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void) => {
      timer.stop();
      stop();
      finish();
    };
    const look = () => {
      const refusal = line.refusal();
      if (line.isHurried()) timer.hurry();
      if (line.isClosed()) settle(() => reject(closedError(place)));
      else if (line.isUp()) settle(resolve);
      else if (refusal !== undefined) settle(() => reject(asRedisError(refusal, place)));
    };
    const timer = startTimer(until, waitMs, () => settle(() => reject(unreachable(place, waitMs, line.trouble()))));
    const stop = line.onChange(look);
    look();
  });
}

/** Clients may forget a command that is under way when they are closed, so that is looked for as well. */
function answered<T>(line: Line, { place, waitMs }: WaitOptions, until: number, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void) => {
      timer.stop();
      stop();
      finish();
    };
    const timer = startTimer(until, waitMs, () => settle(() => reject(unreachable(place, waitMs, line.trouble()))));
    const stop = line.onChange(() => {
      if (line.isHurried()) timer.hurry();
      if (line.isClosed()) settle(() => reject(closedError(place)));
    });
    answer.then(
      (value) => settle(() => resolve(value)),
      (thrown: unknown) => settle(() => reject(thrown)),
    );
  });
}

/**
 * Calls `onLate` after `until`. While the loop stood still nobody could hear an answer, and its timers are the first to run
 * after that: so long, and up to the bound once more, it waits on.
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
      if (isHurried || until - performance.now() < hurriedMs) return;
      isHurried = true;
      clearTimeout(timer);
      timer = setTimeout(onLate, hurriedMs);
    },
  };
}

export function closedError(place: string): RemoraError {
  return new RemoraError({ code: "storage.closed", place, message: "is already closed." });
}
