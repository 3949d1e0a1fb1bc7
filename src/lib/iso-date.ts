/** The day in UTC, `YYYY-MM-DD`. In UTC, no hour repeats or is missing when clocks change. */
export function toIsoDate(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
