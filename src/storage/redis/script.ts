/** Runs Lua scripts by their hash. The text of a script is sent only if the server does not have it yet. */
import { createHash } from "node:crypto";
import { RemoraError } from "../../lib/errors.ts";
import type { RedisClient } from "./clients.ts";
import { isAnswer } from "./errors.ts";

export interface RedisScript {
  lua: string;
  hash: string;
}

export type ScriptAnswer = string | number | null | ScriptAnswer[];

export function createScript(lua: string): RedisScript {
  return { lua, hash: createHash("sha1").update(lua).digest("hex") };
}

/** Runs a script. On a cluster, all keys must be in the slot of the first key. */
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

/** The prefix of every key. The part in braces keeps all keys in one slot of a cluster. */
export const defaultPrefix = "{remora}:";

/** Throws a RemoraError if the prefix would spread the keys over several slots of a cluster. */
export function checkPrefix(prefix: string): string {
  if (/^[^{]*\{[^}]+\}/.test(prefix)) return prefix;
  throw new RemoraError({
    code: "config.redis-prefix",
    place: "Redis prefix",
    message: `${JSON.stringify(prefix)} has no part in braces, so a cluster would spread the keys over its nodes. Write it like {remora}:`,
  });
}
