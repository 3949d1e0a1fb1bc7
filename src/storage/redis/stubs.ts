/**
 * Moves ended turns, messages and calls out of Redis, an hour after their end:
 *
 *   1. take those that are due from the index
 *   2. write their records to the day's journal file, and wait until they are on disk
 *   3. replace each entry by a stub, unless it has changed meanwhile
 *
 * A stub keeps the id, state, group and times, so a redelivered message is still recognized. The ledger reads the body
 * from the file, so callers see no difference. A call of an ended turn goes without a stub: its result is in the turn's record,
 * and a call without an entry never runs.
 */
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { Leases } from "../../ports/cluster.ts";
import { parseRecord } from "../parse-record.ts";
import type { RedisConnection } from "./connection.ts";
import { stubKinds } from "./due-index.ts";
import type { JournalFiles, JournalLine } from "./journal-files.ts";
import { type EntryRow, rowsOf } from "./ledger-entries.ts";
import { opening, writing } from "./ledger-scripts.ts";
import { createScript, type RedisScript, runScript, type ScriptAnswer } from "./script.ts";

export interface StubsOptions {
  connection: RedisConnection;
  prefix: string;
  journals: JournalFiles;
  leases: Leases;
  log: Log;
}

/** Entries per write. Larger batches would hold up Redis and the memory of this process. */
const batchSize = 50;

/**
 * KEYS: version. ARGV: due before, how many to look at. Removes calls of ended turns. Returns the number of entries that it
 * looked at, and of the others a list of id, sequence and fields.
 */
const takeDueScript = createScript(`${opening}${writing}
local others = {}
local ids = redis.call('ZRANGEBYSCORE', prefix .. 'ended:' .. kind, '-inf', '(' .. ARGV[3], 'LIMIT', 0, ARGV[4])
for _, id in ipairs(ids) do
  local key = prefix .. 'entry:' .. kind .. ':' .. id
  local entry = read(key)
  local turn = kind == 'call' and entry[1] and redis.call('HGET', prefix .. 'entry:turn:' .. entry[3], 'state')
  if turn and finalStates['turn:' .. turn] then
    redis.call('UNLINK', key)
    displace(entry[1], entry[3], id)
    redis.call('ZREM', prefix .. 'ended:' .. kind, id)
  else
    others[#others + 1] = {id, entry[4], unpack(entry)}
  end
end
return {#ids, others}
`);

/**
 * KEYS: entry. ARGV: id, sequence, version, journal. Replaces the entry by a stub, or with journal '' only stops it from
 * being due. Does nothing if the entry has changed. The hash is written anew, because Redis never packs a grown one again.
 */
const stubEntryScript = createScript(`${opening}
local id, sequence, version, journal = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local entry = read(KEYS[1])
if entry[1] and (entry[4] ~= sequence or entry[5] ~= version) then return 0 end
redis.call('ZREM', prefix .. 'ended:' .. kind, id)
if not entry[1] or entry[8] ~= '' or journal == '' then return 0 end
redis.call('UNLINK', KEYS[1])
redis.call('HSET', KEYS[1], 'state', entry[1], 'body', '', 'group', entry[3], 'sequence', sequence,
  'version', tonumber(version) + 1, 'created', entry[6], 'updated', entry[7], 'journal', journal)
return 1
`);

/** Resolves to the number of new stubs. Does nothing while another process does this. */
export function createStubs({ connection, prefix, journals, leases, log }: StubsOptions) {
  const ledger = `${prefix}ledger:`;

  function step(script: RedisScript, kind: string, key: string, ...values: (string | number)[]): Promise<ScriptAnswer> {
    return connection.run({ place: "ledger" }, (client) =>
      runScript(client, script, [`${ledger}${key}`], [ledger, kind, ...values]),
    );
  }

  async function stubBatch(kind: string, rows: EntryRow[]): Promise<number> {
    const lines = rows.map((row) => lineOf(kind, row, log));
    const places = await journals.append(lines.filter((line) => line !== undefined));
    const answers = rows.map(({ id, fields }, index) => {
      const place = lines[index] === undefined ? "" : (places.shift() ?? "");
      return step(stubEntryScript, kind, `entry:${kind}:${id}`, id, fields?.[3] ?? "", fields?.[4] ?? "", place);
    });
    return (await Promise.all(answers)).filter((answer) => answer === 1).length;
  }

  return async (now: number): Promise<number> => {
    const lease = await leases.acquire("journals");
    if (lease === undefined) return 0;
    let stubbed = 0;
    try {
      for (const kind of stubKinds) {
        while (!lease.signal.aborted) {
          const answer = await step(takeDueScript, kind, "version", now, batchSize);
          const [taken, others] = Array.isArray(answer) ? answer : [];
          stubbed += await stubBatch(kind, rowsOf(others ?? null));
          if (taken !== batchSize) break;
        }
      }
    } finally {
      await lease.release();
    }
    return stubbed;
  };
}

/** Undefined if there is nothing to write, or nothing that can be read. Such an entry stays as it is. */
function lineOf(kind: string, { id, fields }: EntryRow, log: Log): JournalLine | undefined {
  if (fields === undefined || fields[7] !== "") return undefined;
  const [state, body, group, sequence, , created, updated] = fields;
  try {
    const times = { createdAt: Number(created), updatedAt: Number(updated) };
    return { kind, id, state, group, sequence: Number(sequence), ...times, body: { ...parseRecord(body) } };
  } catch (thrown) {
    log.warn({ record: `${kind} ${id}`, error: messageOf(thrown) }, "a record can't be read and stays in Redis");
    return undefined;
  }
}
