/** Durations, clock times and counts, as people say them. */

export function duration(ms: number): string {
  if (ms < 950) return `${Math.max(0.1, Math.round(ms / 100) / 10)} s`;
  if (ms < 59_500) return `${Math.round(ms / 1000)} s`;
  if (ms < 3_570_000) return `${Math.round(ms / 60_000)} min`;
  const minutes = Math.round(ms / 60_000);
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** UTC, because nobody's time zone is known on every service. */
export function clock(at: number): string {
  return `${new Date(at).toISOString().slice(11, 16)} UTC`;
}
