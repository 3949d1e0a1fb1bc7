/**
 * Lets few requests of people who have not signed in do something expensive at the same time. Who comes first: the one who
 * has waited longest, but the more others of the same networks wait, or have failed lately, the later. So a flood from one
 * network, or from each of its addresses, waits behind everybody else, and everybody's wait is bounded: nobody who comes more
 * than 15 seconds later is served before. A network is a block that one customer can have, and the two around it.
 */
import { createLruMap } from "../../lib/lru-map.ts";

export interface FairQueueOptions {
  atOnce: number;
  /** How often this network has failed lately. */
  loadOf(network: string): number;
}

export interface WaitingRequest {
  /** From the largest to the smallest (../client.ts). */
  networks: readonly string[];
  /** How long it can't begin yet. Asked again and again. */
  pauseMs?(): number;
}

export interface FairQueue {
  /**
   * Resolves to what gives the place back. Resolves to undefined if too many wait who come before, after half a minute, or
   * once the signal is aborted. Who has waited in vain comes back to the same place.
   */
  enter(request: WaitingRequest, signal: AbortSignal): Promise<(() => void) | undefined>;
}

interface Waiting extends WaitingRequest {
  /** Milliseconds of the process's clock, which nobody sets. */
  since: number;
  begin(place: (() => void) | undefined): void;
}

/** Each holds a connection and a few kilobytes. */
const maxWaiting = 300;
/** Less than what proxies wait for an answer. */
const maxWaitMs = 30_000;
/** For each of the three networks: a second for each other request of it, up to five. */
const delayMs = 1_000;
const maxCounted = 5;
/** Places of those who have waited in vain. */
const maxRemembered = 1_000;
const rememberMs = 2 * 60_000;

export function createFairQueue({ atOnce, loadOf }: FairQueueOptions): FairQueue {
  const waiting = new Set<Waiting>();
  const crowd = new Map<string, number>();
  const remembered = createLruMap<{ since: number; at: number }>(maxRemembered);
  let running = 0;
  let timer: NodeJS.Timeout | undefined;

  const count = (networks: readonly string[], change: number) => {
    for (const network of networks) {
      const left = (crowd.get(network) ?? 0) + change;
      if (left === 0) crowd.delete(network);
      else crowd.set(network, left);
    }
  };
  const turnOf = ({ networks, since }: Waiting) =>
    networks.reduce(
      (at, network) => at + Math.min(loadOf(network) + (crowd.get(network) ?? 1) - 1, maxCounted) * delayMs,
      since,
    );
  const inTurn = (all: Iterable<Waiting>) =>
    [...all]
      .map((request) => ({ request, at: turnOf(request) }))
      .sort((one, other) => one.at - other.at)
      .map(({ request }) => request);

  function leave(request: Waiting, place: (() => void) | undefined): void {
    if (!waiting.delete(request)) return;
    count(request.networks, -1);
    request.begin(place);
  }

  /** Who comes back soon has the same place. */
  function giveUp(request: Waiting | undefined): void {
    if (request === undefined) return;
    remembered.set(keyOf(request), { since: request.since, at: performance.now() });
    leave(request, undefined);
  }

  function serve(): void {
    clearTimeout(timer);
    while (running < atOnce && waiting.size > 0) {
      const pauses = [...waiting].map((request) => ({ request, ms: request.pauseMs?.() ?? 0 }));
      const [first] = inTurn(pauses.flatMap(({ request, ms }) => (ms <= 0 ? [request] : [])));
      if (first === undefined) {
        timer = setTimeout(serve, Math.ceil(Math.min(...pauses.map(({ ms }) => ms))));
        return;
      }
      running += 1;
      leave(
        first,
        once(() => {
          running -= 1;
          serve();
        }),
      );
    }
  }

  return {
    enter(given, signal) {
      const { promise, resolve } = Promise.withResolvers<(() => void) | undefined>();
      if (signal.aborted) return Promise.resolve(undefined);
      const key = keyOf(given);
      const at = performance.now();
      const before = remembered.get(key);
      const since = before !== undefined && at - before.at < rememberMs ? before.since : at;
      const stop = () => leave(request, undefined);
      const patience = setTimeout(() => giveUp(request), maxWaitMs);
      const request: Waiting = {
        ...{ ...given, since },
        begin(place) {
          clearTimeout(patience);
          signal.removeEventListener("abort", stop);
          if (place !== undefined) remembered.delete(key);
          resolve(place);
        },
      };
      signal.addEventListener("abort", stop, { once: true });
      waiting.add(request);
      count(given.networks, 1);
      // First, because the others may be waiting for something else than a place.
      serve();
      if (waiting.size > maxWaiting) giveUp(inTurn(waiting).at(-1));
      return promise;
    },
  };
}

function keyOf({ networks }: Pick<WaitingRequest, "networks">): string {
  return networks.at(-1) ?? "";
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    work();
  };
}
