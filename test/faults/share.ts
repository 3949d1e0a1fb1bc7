/**
 * Each step of a kill test needs its own process. A plain run takes a share of the steps, a different one each time;
 * `npm run chaos` takes all. CHAOS_SHARE repeats a run.
 */
const isWhole = process.env.CHAOS_SEEDS !== undefined;

/** Which share this run takes; tests have it in their names. */
export const share = Number(process.env.CHAOS_SHARE ?? Math.floor(Date.now() / 60_000) % 60);

export const shareNote = isWhole ? "" : ` (CHAOS_SHARE=${share})`;

/** One of `parts` equal parts of the steps, spread over all of them. */
export function shareOf<T>(steps: readonly T[], parts: number): T[] {
  return isWhole ? [...steps] : steps.filter((_step, index) => index % parts === share % parts);
}
