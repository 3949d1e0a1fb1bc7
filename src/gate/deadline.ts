export interface Deadline {
  left(): number;
}

/** Counts the smaller of wall and processor time, because time while the process is suspended must not count. */
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
