/** Random choices that a seed repeats. */

export interface Random {
  /** From 0 up to `below`, which is left out. */
  number(below: number): number;
  chance(share: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** One of several, as often as their weights say. */
  weighted<T>(from: readonly (readonly [weight: number, value: T])[]): T;
}

/** mulberry32. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const number = (below: number) => Math.floor(next() * below);
  return {
    number,
    chance: (share) => next() < share,
    pick<T>(from: readonly T[]): T {
      if (from.length === 0) throw new Error("there is nothing to choose from");
      return from[number(from.length)] as T;
    },
    weighted<T>(from: readonly (readonly [number, T])[]): T {
      let left = next() * from.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, value] of from) {
        left -= weight;
        if (left < 0) return value;
      }
      return (from.at(-1) as readonly [number, T])[1];
    },
  };
}
