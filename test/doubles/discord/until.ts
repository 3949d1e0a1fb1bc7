/** Waits for a condition, and checks it again after every change. */

export interface Waits {
  /** Wakes all waiting tests. */
  changed(): void;
  until<T>(probe: () => T, timeoutMs?: number): Promise<Exclude<T, undefined | null | false>>;
  /** Ends all waits with an error. */
  stop(): void;
}

/** What happens outside the service, in the client, is noticed this often. */
const pollMs = 100;

export function createWaits(describe: () => string): Waits {
  const looks = new Set<() => void>();
  let isStopped = false;
  return {
    changed() {
      for (const look of [...looks]) look();
    },
    async until(probe, timeoutMs = 90_000) {
      const started = performance.now();
      for (;;) {
        const value = probe();
        if (value !== undefined && value !== null && value !== false) {
          return value as Exclude<typeof value, undefined | null | false>;
        }
        if (isStopped) throw new Error(`the Discord double was stopped while a test waited for: ${probe}`);
        if (performance.now() - started > timeoutMs) {
          throw new Error(`not within ${timeoutMs} ms: ${probe}\n${describe()}`);
        }
        await new Promise<void>((resolve) => {
          const look = () => {
            looks.delete(look);
            clearTimeout(timer);
            resolve();
          };
          const timer = setTimeout(look, pollMs);
          looks.add(look);
        });
      }
    },
    stop() {
      isStopped = true;
      for (const look of [...looks]) look();
    },
  };
}
