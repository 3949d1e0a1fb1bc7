/** A time limit for one piece of work. */
export interface Deadline {
  left(): number;
}

/** Counts the smaller of wall and processor time, so that a busy machine that suspends the process uses up no time. */
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
