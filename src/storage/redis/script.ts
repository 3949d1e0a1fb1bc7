/** Lua scripts by their hash: the text travels only when a server does not know it yet. */
import { createHash } from "node:crypto";
import { RemoraError } from "../../lib/errors.ts";
import type { RedisClient } from "./clients.ts";
import { isAnswer } from "./errors.ts";

export interface RedisScript {
  lua: string;
  hash: string;
}

/** What a script answers, as ioredis gives it. */
export type ScriptAnswer = string | number | null | ScriptAnswer[];

export function createScript(lua: string): RedisScript {
  return { lua, hash: createHash("sha1").update(lua).digest("hex") };
}

/** All keys must be in one slot of a cluster; the first one says in which. */
export async function runScript(
  client: RedisClient,
  { lua, hash }: RedisScript,
  keys: string[],
  values: (string | number)[],
): Promise<ScriptAnswer> {
  const parts = [String(keys.length), ...keys, ...values.map(String)];
  try {
    return (await client.call("evalsha", [hash, ...parts])) as ScriptAnswer;
  } catch (thrown) {
    if (!isAnswer(thrown) || !thrown.message.startsWith("NOSCRIPT")) throw thrown;
    return (await client.call("eval", [lua, ...parts])) as ScriptAnswer;
  }
}

/** In front of every key; what stands in braces keeps all keys in one slot of a cluster. */
export const defaultPrefix = "{remora}:";

/** Throws a RemoraError for a prefix that would scatter the keys over a cluster. */
export function checkPrefix(prefix: string): string {
  if (/^[^{]*\{[^}]+\}/.test(prefix)) return prefix;
  throw new RemoraError({
    code: "config.redis-prefix",
    place: "Redis prefix",
    message: `${JSON.stringify(prefix)} has no part in braces, and so a cluster would scatter what belongs together. Write it like {remora}:`,
  });
}
