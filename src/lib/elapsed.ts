/** Ages and waits by a clock that somebody may set while the process runs. None of them gets longer if it is set back. */

/** Milliseconds from `at` until now. Infinite if the clock was set back behind `at`, because then nobody knows. */
export function elapsedSince(at: number, now = Date.now()): number {
  return now < at ? Number.POSITIVE_INFINITY : now - at;
}

/** How much is left of a wait of `ms` that began at `at`. */
export function leftOf(ms: number, at: number, now = Date.now()): number {
  return Math.max(0, ms - elapsedSince(at, now));
}
