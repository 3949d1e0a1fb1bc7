/** Work that is due every so often, over restarts: when it was last done is kept in the store. */
import type { Store } from "../ports/store.ts";

export interface DueWork {
  name: string;
  everyMs: number;
  /** When it rejects it stays due, and the caller hears why. */
  work(): Promise<unknown>;
}

/** True when it was due and is done. Cheap when it is not, so it may be asked often. */
export async function runIfDue(store: Store, { name, everyMs, work }: DueWork, now = Date.now()): Promise<boolean> {
  const key = `done:${name}`;
  const last = await store.get(key);
  // A clock that was set back must not put the work off for longer than it takes.
  const isDue = typeof last !== "number" || last > now || now - last >= everyMs;
  if (!isDue) return false;
  await work();
  await store.set(key, now);
  return true;
}
