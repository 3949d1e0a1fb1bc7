/**
 * Each step of a kill test needs its own process. A plain run takes the same share of the steps each time, so that it
 * ends the same way each time; CHAOS_SHARE takes another one, and `npm run chaos` takes all.
 */
/** `npm run chaos`. */
export const isWhole = process.env.CHAOS_SEEDS !== undefined;

/** Which share this run takes; tests have it in their names. */
export const share = Number(process.env.CHAOS_SHARE ?? 0);

export const shareNote = isWhole ? "" : ` (CHAOS_SHARE=${share})`;

/**
 * How many inputs a property with many of them gets. A plain run draws the same ones each time, so most would say nothing new.
 */
export function runs(whole: number): number {
  return isWhole ? whole : Math.ceil(whole / 20);
}

/** One of `parts` equal parts of the steps, spread over all of them. */
export function shareOf<T>(steps: readonly T[], parts: number): T[] {
  return isWhole ? [...steps] : steps.filter((_step, index) => index % parts === share % parts);
}
