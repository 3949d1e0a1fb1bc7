/** Runs periodic work. Stores the time of the last run, to keep the interval across restarts. */
import type { Store } from "../ports/store.ts";

export interface DueWork {
  name: string;
  everyMs: number;
  /** If it rejects, the work is still due, and the caller gets the error. */
  work(): Promise<unknown>;
}

export async function runIfDue(store: Store, { name, everyMs, work }: DueWork, now = Date.now()): Promise<boolean> {
  const key = `done:${name}`;
  const last = await store.get(key);
  // A clock that was set back must not delay the work.
  const isDue = typeof last !== "number" || last > now || now - last >= everyMs;
  if (!isDue) return false;
  await work();
  await store.set(key, now);
  return true;
}
