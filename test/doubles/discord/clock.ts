/** The service's clock, which tests can advance, and ids derived from it. */

export interface Clock {
  now(): number;
  /** Ages everything that expires by the service's clock: deadlines, tokens, links, rate limits. */
  advance(milliseconds: number): void;
}

export function createClock(now: () => number = Date.now): Clock {
  let ahead = 0;
  return {
    now: () => now() + ahead,
    advance(milliseconds) {
      if (milliseconds < 0) throw new Error(`time goes forward only, not by ${milliseconds} ms`);
      ahead += milliseconds;
    },
  };
}

/** 2015-01-01, where Discord's time begins. */
const epoch = 1_420_070_400_000n;

/** Growing unique ids: the millisecond in the upper 42 bits, a counter below. */
export function createSnowflakes(clock: Clock): () => string {
  let last = 0n;
  return () => {
    const first = (BigInt(clock.now()) - epoch) << 22n;
    last = first > last ? first : last + 1n;
    return String(last);
  };
}

/** When an id was made, in milliseconds since 1970. */
export function timeOfId(id: string): number {
  return Number((BigInt(id) >> 22n) + epoch);
}

/** As Discord writes moments. */
export function timestampOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace("Z", "000+00:00");
}
