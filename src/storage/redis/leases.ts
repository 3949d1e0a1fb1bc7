/**
 * Leases in Redis: a key with a random token and an expiry time. One script renews all leases of this process, three
 * times per lifetime, and more often after a failure. A lease is lost if another process has the key. It is also lost
 * once its lifetime has passed since the last renewal was *sent*, because Redis may then have expired the key. Local
 * clocks measure this, even while Redis is unreachable.
 */
import { randomBytes } from "node:crypto";
import { TurnAbort } from "../../lib/abort.ts";
import type { Lease, Leases } from "../../ports/cluster.ts";
import type { RedisConnection } from "./connection.ts";
import { checkPrefix, createScript, defaultPrefix, runScript } from "./script.ts";
import { closedError } from "./wait.ts";

export interface RedisLeasesOptions {
  connection: RedisConnection;
  prefix?: string;
  lockMs: number;
  /** How long `acquire` waits while Redis is unreachable. The default is half of `lockMs`. */
  waitMs?: number;
}

/**
 * KEYS: lease. ARGV: token, lifetime. Succeeds again if the caller already owns the lease. A lease that would live ten
 * minutes longer than it is taken for shows that Redis's clock was set back after its holder had last renewed it.
 */
const acquireScript = createScript(`
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] and redis.call('PTTL', KEYS[1]) < ARGV[2] + 600000 then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`);

/** KEYS: leases. ARGV: lifetime, then one token each. Returns 1 for each lease that is still held. */
const renewScript = createScript(`
local answer = {}
for index, key in ipairs(KEYS) do
  answer[index] = 0
  if redis.call('GET', key) == ARGV[index + 1] then answer[index] = redis.call('PEXPIRE', key, ARGV[1]) end
end
return answer
`);

/** KEYS: leases. ARGV: one token for each lease. */
const releaseScript = createScript(`
for index, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[index] then redis.call('DEL', key) end
end
return #KEYS
`);

const batchSize = 500;

interface Held {
  name: string;
  token: string;
  lost: AbortController;
  /** The time when the command that acquired or last renewed the lease was sent. */
  since: Instant;
  expiry: NodeJS.Timeout | undefined;
}

export function createRedisLeases(options: RedisLeasesOptions): Leases {
  const { connection, lockMs } = options;
  const prefix = `${checkPrefix(options.prefix ?? defaultPrefix)}lease:`;
  const waitMs = options.waitMs ?? lockMs / 2;
  const place = `leases ${connection.address.name}`;
  const self = randomBytes(9).toString("base64url");
  const held = new Map<string, Held>();
  let acquired = 0;
  let isClosed = false;
  let renewal: NodeJS.Timeout | undefined;

  /** Excludes leases that Redis has not confirmed yet. */
  const owned = () => [...held.values()].filter(({ expiry }) => expiry !== undefined);

  function lose(lease: Held): void {
    clearTimeout(lease.expiry);
    if (held.get(lease.name) === lease) held.delete(lease.name);
    // Abort as for a shutdown: the state remains in the ledger, and the next owner of the lease continues the work.
    lease.lost.abort(new TurnAbort("shutdown"));
  }

  function watch(lease: Held): void {
    clearTimeout(lease.expiry);
    const left = lockMs - elapsedSince(lease.since);
    if (left > 0) {
      lease.expiry = setTimeout(() => watch(lease), left);
      lease.expiry.unref();
    } else lose(lease);
  }

  async function renew(batch: Held[]): Promise<void> {
    const since = instant();
    const keys = batch.map(({ name }) => prefix + name);
    const values = [lockMs, ...batch.map(({ token }) => token)];
    const sent = runScript(connection.client(), renewScript, keys, values);
    // Ignore later responses, because the next attempt will have been sent by then.
    const answer = await within(lockMs / 3, sent);
    for (const [index, lease] of batch.entries()) {
      if (held.get(lease.name) !== lease) continue;
      if (Array.isArray(answer) && answer[index] === 1) {
        lease.since = since;
        watch(lease);
      } else lose(lease);
    }
  }

  async function renewAll(): Promise<void> {
    // Check for lost leases first: after the event loop was blocked, this may run before due expiry timers.
    for (const lease of owned()) watch(lease);
    const leases = owned();
    const batches = Array.from({ length: Math.ceil(leases.length / batchSize) }, (_, index) =>
      leases.slice(index * batchSize, (index + 1) * batchSize),
    );
    const outcomes = await Promise.allSettled(batches.map(renew));
    schedule(outcomes.every(({ status }) => status === "fulfilled") ? lockMs / 3 : lockMs / 20);
  }

  function schedule(ms: number): void {
    clearTimeout(renewal);
    renewal = undefined;
    if (isClosed || held.size === 0) return;
    renewal = setTimeout(() => void renewAll(), ms);
    renewal.unref();
  }

  async function giveBack(leases: Held[]): Promise<void> {
    const keys = leases.map(({ name }) => prefix + name);
    const tokens = leases.map(({ token }) => token);
    const sent = runScript(connection.client(), releaseScript, keys, tokens);
    await within(waitMs, sent).catch(() => undefined);
  }

  async function release(lease: Held): Promise<void> {
    clearTimeout(lease.expiry);
    if (held.get(lease.name) === lease) held.delete(lease.name);
    await giveBack([lease]);
  }

  function leaseOf(lease: Held): Lease {
    let released: Promise<void> | undefined;
    return {
      fence: { key: prefix + lease.name, token: lease.token },
      get signal() {
        // Check here too, because callers must learn about a lost lease even if the timer could not run yet.
        if (held.get(lease.name) === lease && elapsedSince(lease.since) >= lockMs) watch(lease);
        return lease.lost.signal;
      },
      release: () => (released ??= release(lease)),
    };
  }

  return {
    async acquire(name) {
      if (isClosed) throw closedError(place);
      if (held.has(name)) return undefined;
      acquired += 1;
      const lease: Held = {
        name,
        token: `${self}:${acquired}`,
        lost: new AbortController(),
        since: instant(),
        expiry: undefined,
      };
      // Register the lease before Redis answers so that a second call in this process does not interfere.
      held.set(name, lease);
      try {
        const answer = await connection.run({ place: "leases", waitMs }, (client) => {
          lease.since = instant();
          return runScript(client, acquireScript, [prefix + name], [lease.token, lockMs]);
        });
        if (answer !== 1) {
          held.delete(name);
          return undefined;
        }
        if (isClosed) throw closedError(place);
        watch(lease);
        if (renewal === undefined) schedule(lockMs / 3);
        return leaseOf(lease);
      } catch (thrown) {
        void release(lease);
        throw thrown;
      }
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      clearTimeout(renewal);
      const leases = owned();
      for (const lease of leases) lose(lease);
      if (leases.length > 0) await giveBack(leases);
    },
  };
}

/** A time on two clocks: a monotonic one, and one that continues while the machine sleeps. */
interface Instant {
  steady: number;
  wall: number;
}

function instant(): Instant {
  return { steady: performance.now(), wall: Date.now() };
}

/** Uses the clock that shows the longer time, because it is safe to give up a lease too early, but not too late. */
function elapsedSince({ steady, wall }: Instant): number {
  return Math.max(performance.now() - steady, Date.now() - wall);
}

function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("no answer")), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
