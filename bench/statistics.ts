/** Order statistics of measured values, rounded to a tenth of a microsecond where they are milliseconds. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return Number(value.toFixed(4));
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** Medians of ours and the baseline's, and their ratio. */
export function compared(
  ours: readonly number[],
  theirs: readonly number[],
): { ours: number; bare: number; ratio: number } {
  const [our, their] = [median(ours), median(theirs)];
  return { ours: our, bare: their, ratio: Number((our / their).toFixed(2)) };
}
