/** A time limit for one piece of work. */
export interface Deadline {
  /** Milliseconds left; negative after the deadline. */
  left(): number;
}

/**
 * Counts the smaller of wall time and the processor time of this process. A busy machine that suspends the process
 * does not use up the time.
 */
export function createDeadline(milliseconds: number): Deadline {
  const startedAt = performance.now();
  const cpuAtStart = process.cpuUsage();
  return {
    left() {
      const { user, system } = process.cpuUsage(cpuAtStart);
      return milliseconds - Math.min(performance.now() - startedAt, (user + system) / 1_000);
    },
  };
}
