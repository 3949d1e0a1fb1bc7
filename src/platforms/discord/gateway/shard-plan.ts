/**
 * Which shards this process holds. Each shard has a lease, so exactly one process receives its events. Processes note in the
 * store that they are alive, and each takes a fair part of the shards. If one dies, its leases and its note expire, and the
 * others take over. A process without others (no Redis) holds all shards.
 */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { pause } from "../../../lib/backoff.ts";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { Bus, Lease, Leases } from "../../../ports/cluster.ts";
import type { Store } from "../../../ports/store.ts";
import { redistributeCursors } from "../inbound/cursors.ts";

export interface ShardPlanOptions {
  leases: Leases;
  /** Undefined if no other process shares the leases. `lockMs` is how long a dead process's lease lasts. */
  shared: { bus: Bus; lockMs: number } | undefined;
  store: Store;
  /** Starts receiving. Not awaited by the plan. */
  onGained(shard: number, count: number): void;
  /** Resolves once the shard is closed and everything about it is stored. */
  onReleased(shard: number): Promise<void>;
  log: Log;
}

export interface ShardPlan {
  /** Resolves to the number of shards of all processes, once this process holds its part. */
  start(wanted: number, signal: AbortSignal): Promise<number>;
  close(): Promise<void>;
}

const countKey = "discord:shards";
const processesKey = "discord:processes";
const hint = { type: "changed", kind: "discord-shards", id: "" } as const;
const processesSchema = z.record(z.string(), z.number());
const retryMs = 100;

export function createShardPlan({ leases, shared, store, onGained, onReleased, log }: ShardPlanOptions): ShardPlan {
  const self = randomUUID();
  const held = new Map<number, Lease>();
  /** A shard that is gained again meanwhile would be taken down with the former one. */
  const releasing = new Map<number, Promise<void>>();
  const ended = new AbortController();
  /** When this process first read what another one noted. */
  const seen = new Map<string, { until: number; at: number }>();
  // A little longer than a lease, so that a slow sweep does not look like a death.
  const noteMs = (shared?.lockMs ?? 0) * 1.5;
  let count = 1;
  let timer: NodeJS.Timeout | undefined;
  let sweeping: Promise<void> | undefined;
  let unlisten = () => {};

  /** One process at a time changes the records. */
  async function locked<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    for (;;) {
      signal.throwIfAborted();
      const lease = await leases.acquire("discord:plan");
      if (lease !== undefined) return await work().finally(() => lease.release());
      await pause(retryMs, signal);
    }
  }

  async function otherProcesses(): Promise<Record<string, number>> {
    const known = processesSchema.safeParse(await store.get(processesKey)).data ?? {};
    const others = Object.entries(known).filter(
      ([id, until]) => id !== self && until > Date.now() && isRenewed(id, until),
    );
    return Object.fromEntries(others);
  }

  /** The clock may have been set back since a process died. So its note must also have changed lately. */
  function isRenewed(id: string, until: number): boolean {
    const known = seen.get(id);
    if (known?.until !== until) seen.set(id, { until, at: performance.now() });
    return known?.until !== until || performance.now() - known.at < noteMs;
  }

  /** While others are running, their number of shards counts, because a server must not be in two shards. */
  async function agreeOnCount(wanted: number): Promise<number> {
    const current = z.number().safeParse(await store.get(countKey)).data ?? 1;
    if (current === wanted) return wanted;
    if (shared !== undefined && Object.keys(await otherProcesses()).length > 0) {
      log.warn(
        { shards: current, wanted },
        "other processes use another number of shards; it changes once all have stopped",
      );
      return current;
    }
    await redistributeCursors(store, current, wanted);
    await store.set(countKey, wanted);
    return wanted;
  }

  async function fairPart(): Promise<number> {
    if (shared === undefined) return count;
    const others = await otherProcesses();
    await store.set(processesKey, { ...others, [self]: Date.now() + noteMs });
    const all = [...Object.keys(others), self].sort();
    return Math.floor(count / all.length) + (all.indexOf(self) < count % all.length ? 1 : 0);
  }

  async function gain(shard: number): Promise<void> {
    const lease = await leases.acquire(`discord:shard:${shard}`);
    // Lost already if the answer came late: then nobody would release the shard.
    if (lease === undefined || lease.signal.aborted) return await lease?.release();
    held.set(shard, lease);
    lease.signal.addEventListener("abort", () => void release(shard), { once: true });
    onGained(shard, count);
  }

  async function release(shard: number): Promise<void> {
    const lease = held.get(shard);
    if (lease === undefined) return await releasing.get(shard);
    held.delete(shard);
    const work = onReleased(shard)
      .then(() => lease.release())
      .finally(() => releasing.delete(shard));
    releasing.set(shard, work);
    await work;
  }

  async function sweep(): Promise<void> {
    const part = await locked(fairPart, ended.signal);
    const surplus = [...held.keys()].slice(part);
    await Promise.all(surplus.map(release));
    if (surplus.length > 0) shared?.bus.publish(hint);
    for (let shard = 0; shard < count && held.size < part; shard++)
      if (!held.has(shard) && !releasing.has(shard)) await gain(shard);
  }

  function sweepOnce(): Promise<void> {
    sweeping ??= sweep()
      .catch((thrown: unknown) => {
        if (!ended.signal.aborted) log.warn({ error: messageOf(thrown) }, "could not share Discord's shards");
      })
      .finally(() => {
        sweeping = undefined;
      });
    return sweeping;
  }

  function sweepAgain(everyMs: number): void {
    timer = setTimeout(() => void sweepOnce().then(() => ended.signal.aborted || sweepAgain(everyMs)), everyMs);
    timer.unref();
  }

  return {
    async start(wanted, signal) {
      const either = AbortSignal.any([signal, ended.signal]);
      await locked(async () => {
        count = await agreeOnCount(wanted);
        // Noted at once, so that nobody changes the number any more.
        await fairPart();
      }, either);
      await sweep();
      if (shared === undefined) return count;
      shared.bus.publish(hint);
      unlisten = shared.bus.listen((message) => {
        if (message.type === "changed" && message.kind === hint.kind && !ended.signal.aborted) void sweepOnce();
      });
      sweepAgain(shared.lockMs / 2);
      return count;
    },
    async close() {
      ended.abort();
      clearTimeout(timer);
      unlisten();
      await sweeping;
      await Promise.all([...held.keys(), ...releasing.keys()].map(release));
      if (shared === undefined) return;
      const farewell = async () => await store.set(processesKey, await otherProcesses());
      await locked(farewell, AbortSignal.timeout(retryMs * 10)).catch(() => {});
      shared.bus.publish(hint);
    },
  };
}
