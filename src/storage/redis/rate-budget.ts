/** Rate budgets in Redis: a key for each wait that a service asked for, and one with the time of the next slot. */
import { createHash } from "node:crypto";
import type { RateBudget } from "../../ports/rate-budget.ts";
import type { RedisConnection } from "./connection.ts";
import { createScript, runScript } from "./script.ts";

/**
 * KEYS: wait, next slot. ARGV: time between slots, burst. Without the former, only looks at the wait. A wait that is longer
 * than it was asked for, and a slot that nobody can have taken yet, show that Redis's clock was set back.
 */
const takeScript = createScript(`
local held = redis.call('PTTL', KEYS[1])
if held > 0 then
  if held <= tonumber(redis.call('GET', KEYS[1])) then return held end
  redis.call('DEL', KEYS[1])
end
local every = tonumber(ARGV[1])
if every == 0 then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local due = math.max(tonumber(redis.call('GET', KEYS[2]) or now), now)
if due > now + ARGV[2] * every then due = now end
local wait = math.ceil(due - (tonumber(ARGV[2]) - 1) * every - now)
if wait > 0 then return wait end
redis.call('SET', KEYS[2], string.format('%.3f', due + every), 'PX', math.ceil(due + every - now))
return 0
`);

/** KEYS: wait. ARGV: milliseconds. A longer wait stays. */
const holdScript = createScript(`
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[1]) end
return 1
`);

/** A call to a service must not wait long for Redis. */
const maxAskMs = 500;

export interface RedisRateBudgetOptions {
  connection: RedisConnection;
  prefix: string;
  /** Only its digest is stored. */
  token: string;
}

export function createRedisRateBudget({ connection, prefix, token }: RedisRateBudgetOptions): RateBudget {
  const name = `${prefix}rate:${createHash("sha256").update(token).digest("base64url").slice(0, 16)}`;
  const waitKey = (bucket: string) => `${name}:wait:${bucket}`;
  /** True while Redis is late with an answer. Then nobody asks until it answers or the connection is lost. */
  let isSilent = false;

  return {
    async take(bucket, rate) {
      if (isSilent) return 0;
      const keys = [waitKey(bucket), `${name}:next:${bucket}`];
      const answer = runScript(connection.client(), takeScript, keys, [rate?.everyMs ?? 0, rate?.burst ?? 0]);
      const late = Promise.withResolvers<number>();
      const timer = setTimeout(() => {
        isSilent = true;
        late.resolve(0);
      }, maxAskMs);
      const settled = answer
        .catch(() => 0)
        .finally(() => {
          clearTimeout(timer);
          isSilent = false;
        });
      return Number(await Promise.race([settled, late.promise]));
    },
    hold(bucket, ms) {
      const sent = runScript(connection.client(), holdScript, [waitKey(bucket)], [Math.max(1, Math.ceil(ms))]);
      sent.catch(() => undefined);
    },
  };
}
