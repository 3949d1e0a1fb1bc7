/** Starts many at the same instant, to see whether a limit holds for all of them together. */
export interface Outcomes<T> {
  done: T[];
  /** The messages of those that were refused. */
  refused: string[];
}

export async function atOnce<T>(count: number, start: (index: number) => Promise<T>): Promise<Outcomes<T>> {
  const outcomes = await Promise.allSettled(Array.from({ length: count }, (_, index) => start(index)));
  return {
    done: outcomes.flatMap((one) => (one.status === "fulfilled" ? [one.value] : [])),
    refused: outcomes.flatMap((one) => (one.status === "rejected" ? [String(one.reason)] : [])),
  };
}
