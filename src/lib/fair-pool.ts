/**
 * Runs work in a limited number of slots, fairly among owners (people): the owner with the fewest running works goes first, and
 * among equals the one whose last start was longest ago. So an owner's flood waits behind itself. From `minSharedSlots` slots
 * on, one owner can't take all of them, so others start at once.
 */

export interface FairPool {
  /** Rejects with the signal's reason if it aborts before the start. */
  add<T>(owner: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Drops what has not started. Its promises never settle. */
  clear(): void;
  /** Resolves when nothing runs or waits. */
  whenIdle(): Promise<void>;
}

interface Owner {
  waiting: (() => Promise<void>)[];
  running: number;
  startedAt: number;
}

const minSharedSlots = 4;
/** The part of the slots that one owner leaves to others. */
const sharedPart = 4;

export function createFairPool(slots: number): FairPool {
  const maxOfOne = slots < minSharedSlots ? slots : slots - Math.floor(slots / sharedPart);
  const owners = new Map<string, Owner>();
  const idle: (() => void)[] = [];
  let running = 0;
  let starts = 0;

  function ownerOf(name: string): Owner {
    const known = owners.get(name) ?? { waiting: [], running: 0, startedAt: 0 };
    owners.set(name, known);
    return known;
  }

  function next(): Owner | undefined {
    let best: Owner | undefined;
    for (const owner of owners.values()) {
      if (owner.waiting.length === 0 || owner.running >= maxOfOne) continue;
      const isFirst =
        best === undefined ||
        owner.running < best.running ||
        (owner.running === best.running && owner.startedAt < best.startedAt);
      if (isFirst) best = owner;
    }
    return best;
  }

  function fill(): void {
    while (running < slots) {
      const owner = next();
      const work = owner?.waiting.shift();
      if (owner === undefined || work === undefined) break;
      running += 1;
      owner.running += 1;
      owner.startedAt = ++starts;
      void work().finally(() => {
        running -= 1;
        owner.running -= 1;
        fill();
      });
    }
    for (const [name, { waiting, running: busy }] of owners) if (waiting.length + busy === 0) owners.delete(name);
    if (running > 0 || owners.size > 0) return;
    for (const resolve of idle.splice(0)) resolve();
  }

  return {
    add: (name, work, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted === true) return reject(signal.reason);
        const owner = ownerOf(name);
        const start = async () => {
          signal?.removeEventListener("abort", leave);
          await work().then(resolve, reject);
        };
        const leave = () => {
          owner.waiting = owner.waiting.filter((one) => one !== start);
          reject(signal?.reason);
          fill();
        };
        signal?.addEventListener("abort", leave, { once: true });
        owner.waiting.push(start);
        fill();
      }),
    clear() {
      for (const owner of owners.values()) owner.waiting = [];
      fill();
    },
    whenIdle: () => (owners.size === 0 ? Promise.resolve() : new Promise((resolve) => idle.push(resolve))),
  };
}
