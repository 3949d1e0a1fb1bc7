/**
 * Discord accepts one new session in five seconds for each of `max_concurrency` groups of shards, from all processes
 * together. A lease per group stands for the five seconds.
 */
import { pause } from "../../../lib/backoff.ts";
import type { Leases } from "../../../ports/cluster.ts";
import { identifyWindowMs } from "../limits.ts";

const retryMs = 250;

/** Resolves when the shard may identify. Rejects if the signal aborts. */
export async function waitToIdentify(leases: Leases, group: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const lease = await leases.acquire(`discord:identify:${group}`).catch(() => undefined);
    if (lease !== undefined) {
      setTimeout(() => void lease.release(), identifyWindowMs).unref();
      return;
    }
    await pause(retryMs, signal);
  }
}
