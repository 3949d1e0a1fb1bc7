/** The time that one piece of work may take. */
export interface Deadline {
  /** Milliseconds; negative when it is over. */
  left(): number;
}

/**
 * Counts the smaller of the clock and the processor time of this process, so that a busy machine, which lets the process
 * stand still, does not use the time up.
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
