/** Durations, clock times and counts, as people say them. */
import { durationText } from "../ports/progress.ts";

/** As the status says it while people wait, but with tenths of a second. */
export function duration(ms: number): string {
  return ms < 950 ? `${Math.max(0.1, Math.round(ms / 100) / 10)} s` : durationText(Math.round(ms / 1_000) * 1_000);
}

/** UTC, because nobody's time zone is known on every service. */
export function clock(at: number): string {
  return `${new Date(at).toISOString().slice(11, 16)} UTC`;
}
