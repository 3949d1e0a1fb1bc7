/**
 * Who may have a password checked now. Only passwords that were checked and are wrong count.
 *
 *   - Strangers wait in a fair queue, one check at a time. An address waits after ten wrong passwords. A name is never locked,
 *     because anybody could lock it; its checks get slower instead. So strangers have fewer than 10,000 guesses a day at one
 *     name, from however many addresses, and the right password still comes through.
 *   - A browser that has signed in with this name before, or its address, has a queue and a count of its own, so nothing that
 *     strangers do keeps it out. With ten wrong passwords in a quarter of an hour, it is a stranger for the rest of it.
 */
import { createLruMap } from "../../lib/lru-map.ts";
import { createAttempts } from "./attempts.ts";
import { createFairQueue, type FairQueue } from "./fair-queue.ts";

export interface PasswordAttempt {
  name: string;
  /** From the largest to the smallest (../client.ts). */
  networks: readonly string[];
  /** The browser, if it has signed in with this name before. */
  device: string | undefined;
}

/** `found` is undefined if the password is wrong. Nothing was checked if it has to come `later`; 0: in a moment. */
export type PasswordCheck<Found> = { type: "checked"; found: Found | undefined } | { type: "later"; waitMs: number };

export interface PasswordChecks {
  run<Found>(
    attempt: PasswordAttempt,
    check: () => Promise<Found | undefined>,
    signal: AbortSignal,
  ): Promise<PasswordCheck<Found>>;
}

const quarterMs = 15 * 60_000;
const dayMs = 86_400_000;
/** In 15 minutes, per address, and per browser or address that is known. */
const maxWrong = 10;
/** By how many passwords of a name were wrong within a day: 200 in 85 seconds, 600 in 15 minutes, then 8,600 in the day's rest. */
const pauses = [
  { below: 30, ms: 0 },
  { below: 200, ms: 500 },
  { below: 600, ms: 2_000 },
];
const longestPauseMs = 10_000;
const maxNames = 50_000;
const maxKnown = 10_000;

export function createPasswordChecks(now: () => number): PasswordChecks {
  const [byNetwork, byKnown, byName] = [
    createAttempts(quarterMs, now),
    createAttempts(quarterMs, now),
    createAttempts(dayMs, now),
  ];
  /** By the process's own clock. */
  const nextCheckAt = createLruMap<number>(maxNames);
  const signedInFrom = createLruMap<true>(maxKnown);
  // Each check takes 32 MiB, and a thread of those that read files, for a tenth of a second.
  const strangers = createFairQueue({ atOnce: 1, loadOf: byNetwork.count });
  const known = createFairQueue({ atOnce: 1, loadOf: byKnown.count });

  function noteWrong({ name, networks }: PasswordAttempt): void {
    for (const network of networks) byNetwork.add(network);
    byName.add(name);
    const count = byName.count(name);
    const pauseMs = pauses.find(({ below }) => count < below)?.ms ?? longestPauseMs;
    nextCheckAt.set(name, performance.now() + pauseMs);
  }

  return {
    async run<Found>(attempt: PasswordAttempt, check: () => Promise<Found | undefined>, signal: AbortSignal) {
      const { name, networks, device } = attempt;
      const address = networks.at(-1) ?? "";
      const here = `${name} at ${address}`;

      async function inTurn(queue: FairQueue, waitMs: () => number, noteIt: () => void, pauseMs: () => number) {
        if (waitMs() > 0) return { type: "later" as const, waitMs: waitMs() };
        const leave = await queue.enter({ networks, pauseMs }, signal);
        if (leave === undefined) return { type: "later" as const, waitMs: 0 };
        try {
          if (waitMs() > 0) return { type: "later" as const, waitMs: waitMs() };
          const found = await check();
          if (found === undefined) noteIt();
          else signedInFrom.set(here, true);
          return { type: "checked" as const, found };
        } finally {
          leave();
        }
      }

      const keys = [device, signedInFrom.has(here) ? here : undefined].filter((key) => key !== undefined);
      for (const key of keys) {
        const waitMs = () => byKnown.waitMs(key, maxWrong);
        const noteIt = () => byKnown.add(key);
        const outcome = await inTurn(known, waitMs, noteIt, () => 0);
        if (outcome.type === "checked" || outcome.waitMs === 0) return outcome;
      }
      const waitMs = () => byNetwork.waitMs(address, maxWrong);
      const pauseMs = () => (nextCheckAt.get(name) ?? 0) - performance.now();
      return await inTurn(strangers, waitMs, () => noteWrong(attempt), pauseMs);
    },
  };
}
