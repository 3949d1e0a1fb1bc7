export interface Deadline {
  left(): number;
}

/**
 * Counts the smaller of wall and processor time, because time while the process is suspended must not count. Asking for
 * processor time takes longer than most of what is timed, so the first half is by the wall clock alone.
 */
export function createDeadline(milliseconds: number): Deadline {
  const startedAt = performance.now();
  const cpuAtStart = process.cpuUsage();
  return {
    left() {
      const elapsed = performance.now() - startedAt;
      if (elapsed < milliseconds / 2) return milliseconds - elapsed;
      const { user, system } = process.cpuUsage(cpuAtStart);
      return milliseconds - Math.min(elapsed, (user + system) / 1_000);
    },
  };
}
