/**
 * Copies what Redis holds for a backup, and puts it back. The ledger is read by one script, so all its entries are as
 * they were at one moment; the store's values are read afterwards, each on its own. Indexes are made again from the
 * entries. Leases, answers to repeated steps and jobs are left out: the next start makes them again from the ledger.
 */
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { RemoraError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { RedisSettings } from "../durable-state.ts";
import { createRedisConnection } from "./connection.ts";
import { layoutVersion, oldLayoutVersions, openLedgerScript } from "./ledger-scripts.ts";
import { keyPrefix } from "./open-redis.ts";
import { createScript, type RedisScript, runScript, type ScriptAnswer } from "./script.ts";

const stagingPart = "restoring:";
const ledgerFile = "ledger.jsonl";
const storeFile = "store.jsonl";
const batchSize = 200;

/** ARGV: prefix, pattern of the sets of states. Returns the sequence, then per entry: kind, id, fields. */
const readLedgerScript = createScript(`
local prefix = ARGV[1]
local layout = redis.call('GET', prefix .. 'version')
if layout and layout ~= '${layoutVersion}' then return redis.error_reply('LAYOUT ' .. layout .. ' ${layoutVersion}') end
local answer = {redis.call('GET', prefix .. 'sequence') or '0'}
for _, key in ipairs(redis.call('KEYS', ARGV[2])) do
  local kind = string.sub(key, #prefix + #'states:' + 1)
  for _, state in ipairs(redis.call('SMEMBERS', key)) do
    for _, id in ipairs(redis.call('ZRANGE', prefix .. 'state:' .. kind .. ':' .. state, 0, -1)) do
      local entry = redis.call('HMGET', prefix .. 'entry:' .. kind .. ':' .. id,
        'state', 'body', 'group', 'sequence', 'version', 'created', 'updated', 'journal')
      entry[8] = entry[8] or ''
      answer[#answer + 1] = {kind, id, unpack(entry)}
    end
  end
end
return answer
`);

/** ARGV: pattern, cursor, count. Returns the next cursor, then key, value and remaining lifetime in turn. */
const readStoreScript = createScript(`
local found = redis.call('SCAN', ARGV[2], 'MATCH', ARGV[1], 'COUNT', ARGV[3])
local answer = {found[1]}
for _, key in ipairs(found[2]) do
  local value = redis.call('GET', key)
  if value then
    answer[#answer + 1] = key
    answer[#answer + 1] = value
    answer[#answer + 1] = string.format('%.0f', redis.call('PTTL', key))
  end
end
return answer
`);

/** ARGV: pattern. Returns the number of keys. */
const countKeysScript = createScript("return #redis.call('KEYS', ARGV[1])");

const removeKeysScript = createScript(`
local keys = redis.call('KEYS', ARGV[1])
for _, key in ipairs(keys) do redis.call('UNLINK', key) end
return #keys
`);

/** ARGV: staged prefix, then per entry: kind, id, state, body, group, sequence, version, created, updated, journal. */
const stageEntriesScript = createScript(`
local prefix = ARGV[1]
for at = 2, #ARGV, 10 do
  local kind, id, state, body, group, sequence = unpack(ARGV, at, at + 5)
  redis.call('HSET', prefix .. 'entry:' .. kind .. ':' .. id, 'state', state, 'body', body, 'group', group,
    'sequence', sequence, 'version', ARGV[at + 6], 'created', ARGV[at + 7], 'updated', ARGV[at + 8], 'creator', 'restored')
  if ARGV[at + 9] ~= '' then
    redis.call('HSET', prefix .. 'entry:' .. kind .. ':' .. id, 'journal', ARGV[at + 9])
  end
  redis.call('ZADD', prefix .. 'state:' .. kind .. ':' .. state, sequence, id)
  redis.call('ZADD', prefix .. 'group:' .. kind .. ':' .. state .. ':' .. group, sequence, id)
  redis.call('SADD', prefix .. 'states:' .. kind, state)
end
return 1
`);

/** ARGV: prefix, staged prefix, pattern of the staged keys. */
const nameKeysScript = createScript(`
local keys = redis.call('KEYS', ARGV[3])
for _, key in ipairs(keys) do redis.call('RENAME', key, ARGV[1] .. string.sub(key, #ARGV[2] + 1)) end
return #keys
`);

export interface RedisCopy {
  /** Lines by file name. */
  export(): AsyncGenerator<{ name: string; lines: string[] }>;
  /** Rejects if there are keys that a restore would mix with. */
  checkEmpty(): Promise<void>;
  stage(folder: string): Promise<void>;
  name(): Promise<void>;
  close(): Promise<void>;
}

export async function openRedisCopy(redis: RedisSettings, log: Log, signal: AbortSignal): Promise<RedisCopy> {
  const connection = createRedisConnection(redis.url, log, { waitMs: redis.waitMs });
  const prefix = keyPrefix(redis);
  const [ledgerPrefix, storePrefix] = [`${prefix}ledger:`, `${prefix}store::`];
  const staged = `${prefix}${stagingPart}`;
  const run = (script: RedisScript, ...values: (string | number)[]): Promise<ScriptAnswer> =>
    connection.run({ place: "backup" }, (client) => runScript(client, script, [`${prefix}backup`], values));
  const count = async (of: string) => Number(await run(countKeysScript, `${escapeGlob(of)}*`));

  async function* storeRows(): AsyncGenerator<[key: string, value: string, lifetimeMs: string]> {
    let cursor = "0";
    do {
      const answer = stringsOf(await run(readStoreScript, `${escapeGlob(storePrefix)}*`, cursor, batchSize));
      for (let at = 1; at + 2 < answer.length; at += 3)
        yield [answer[at] ?? "", answer[at + 1] ?? "", answer[at + 2] ?? "-1"];
      cursor = answer[0] ?? "0";
    } while (cursor !== "0");
  }

  async function stageStore(path: string): Promise<void> {
    for await (const line of linesOf(path)) {
      const [key, value, expires] = JSON.parse(line) as [string, string, number | null];
      const name = `${staged}store::${key}`;
      if (expires !== null && expires <= Date.now()) continue;
      await connection.run({ place: "backup" }, (client) =>
        expires === null ? client.set(name, value) : client.set(name, value, "PXAT", expires),
      );
    }
  }

  try {
    await connection.whenReady(signal);
  } catch (thrown) {
    await connection.close();
    if (!signal.aborted) throw thrown;
    throw failure("storage.unreachable", connection.address.name, `can't be reached: ${connection.health().detail}`);
  }

  return {
    async *export() {
      const [sequence, ...rows] = (await run(
        readLedgerScript,
        ledgerPrefix,
        `${escapeGlob(ledgerPrefix)}states:*`,
      )) as [string, ...string[][]];
      const entries = rows.toSorted((one, other) => Number(one[5]) - Number(other[5]));
      yield { name: ledgerFile, lines: [{ layout: layoutVersion, sequence }, ...entries].map(lineOf) };
      const values = new Map<string, string>();
      for await (const [key, value, lifetimeMs] of storeRows()) {
        const expires = Number(lifetimeMs) < 0 ? null : Date.now() + Number(lifetimeMs);
        values.set(key, lineOf([key.slice(storePrefix.length), value, expires]));
      }
      yield { name: storeFile, lines: [...values.values()] };
    },
    async checkEmpty() {
      const { name } = connection.address;
      if ((await count(`${prefix}lease:`)) > 0)
        throw failure(
          "start.data-in-use",
          name,
          "a Remora is running on this Redis. Stop all its processes first. Nothing was changed",
        );
      if ((await count(ledgerPrefix)) + (await count(storePrefix)) > 0)
        throw failure(
          "restore.not-empty",
          name,
          `already has keys that begin with ${prefix}. Set another redis.prefix, or use an empty Redis. Nothing was changed`,
        );
    },
    async stage(folder) {
      await run(removeKeysScript, `${escapeGlob(staged)}*`);
      let batch: string[] = [];
      const flush = async () => {
        if (batch.length > 0) await run(stageEntriesScript, `${staged}ledger:`, ...batch);
        batch = [];
      };
      for await (const line of linesOf(join(folder, ledgerFile))) {
        const row = JSON.parse(line) as string[] | { layout: number; sequence: string };
        // Entries of layout 1 have no journal.
        if (Array.isArray(row)) batch.push(...row, ...(row.length === 9 ? [""] : []));
        else {
          if (![layoutVersion, ...oldLayoutVersions].includes(row.layout))
            throw new Error(`the ledger has layout ${row.layout}, not ${layoutVersion}`);
          await connection.run({ place: "backup" }, (client) => client.set(`${staged}ledger:sequence`, row.sequence));
          // Opening the ledger then makes the indexes.
          await connection.run({ place: "backup" }, (client) =>
            client.set(`${staged}ledger:version`, oldLayoutVersions[0]),
          );
        }
        if (batch.length >= 10 * batchSize) await flush();
      }
      await flush();
      await stageStore(join(folder, storeFile));
    },
    async name() {
      await run(nameKeysScript, prefix, staged, `${escapeGlob(staged)}*`);
      await run(openLedgerScript, ledgerPrefix);
    },
    close: () => connection.close(),
  };
}

async function* linesOf(path: string): AsyncGenerator<string> {
  // A JSON line can contain other line separators than \n, which `readline` must not split at.
  let rest = "";
  for await (const chunk of createReadStream(path, "utf8") as AsyncIterable<string>) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

function lineOf(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}

function stringsOf(answer: ScriptAnswer): string[] {
  return Array.isArray(answer) ? answer.map(String) : [];
}

function escapeGlob(text: string): string {
  return text.replace(/[*?[\]\\^]/g, "\\$&");
}

function failure(code: string, place: string, message: string): RemoraError {
  return new RemoraError({ code, place, message: `${message}.` });
}
