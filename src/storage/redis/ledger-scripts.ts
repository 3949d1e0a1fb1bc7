/**
 * The ledger's steps as Lua scripts, which Redis runs atomically. All keys share a hash tag, so they are in one cluster
 * slot:
 *
 *   version                       the version of this layout
 *   sequence                      the sequence number assigned last; never reset
 *   entry:KIND:ID                 hash: state, body, group, sequence, version, created, updated, creator. A stub has
 *                                 journal, the place of its body in a file (journal-files.ts), and an empty body
 *   states:KIND                   set of all states ever used
 *   state:KIND:STATE              sorted set: ids by sequence
 *   group:KIND:STATE:GROUP        sorted set per group: ids by sequence
 *   due:KIND                      sorted set: ids by the time (ms) at which something is to be done (due-fields.ts)
 *   ended:KIND                    sorted set: ids of ended entries by the time (ms) at which they become stubs
 *   done:TOKEN                    the outcome of a step, stored for as long as the sender may repeat the step
 *
 * A sender that did not receive the answer repeats the step with the same token and gets the same answer. A repeated
 * step that was refused leaves an empty `done:TOKEN` so that its first copy, if it arrives later, changes nothing.
 * Redis can refuse only a script's first write for lack of memory. So every script starts with a write that may be
 * refused.
 */
import { indexing, stubKinds } from "./due-index.ts";
import { createScript } from "./script.ts";

export const layoutVersion = 3;
/** 1 has no indexes `due` and `ended`. 2 has only `due`, also for ended entries. `openLedgerScript` makes both again. */
export const oldLayoutVersions = [1, 2] as const;

/** ARGV: prefix, kind, then the arguments of the script. */
export const opening = `
local prefix, kind = ARGV[1], ARGV[2]
local layout = redis.call('GET', prefix .. 'version')
if layout and layout ~= '${layoutVersion}' then return redis.error_reply('LAYOUT ' .. layout .. ' ${layoutVersion}') end
local function read(key)
  local entry = redis.call('HMGET', key, 'state', 'body', 'group', 'sequence', 'version', 'created', 'updated', 'journal')
  entry[8] = entry[8] or ''
  return entry
end
`;

export const writing = `${indexing}
local function claim()
  if not layout then redis.call('SET', prefix .. 'version', '${layoutVersion}') end
end
local function now()
  local time = redis.call('TIME')
  return string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
end
local function place(state, group, sequence, id)
  redis.call('ZADD', prefix .. 'state:' .. kind .. ':' .. state, sequence, id)
  redis.call('ZADD', prefix .. 'group:' .. kind .. ':' .. state .. ':' .. group, sequence, id)
  redis.call('SADD', prefix .. 'states:' .. kind, state)
end
local function displace(state, group, id)
  redis.call('ZREM', prefix .. 'state:' .. kind .. ':' .. state, id)
  redis.call('ZREM', prefix .. 'group:' .. kind .. ':' .. state .. ':' .. group, id)
end
local function forget(id)
  redis.call('ZREM', prefix .. 'due:' .. kind, id)
  redis.call('ZREM', prefix .. 'ended:' .. kind, id)
end
local function setDue(state, id, body, updated)
  local at, index = dueAt(kind, state, body, updated)
  forget(id)
  if at then redis.call('ZADD', prefix .. index .. kind, at, id) end
end
-- Returns the time of the step. The entry comes from read(). Without a body, the entry keeps its own.
local function move(id, entry, to, token, keep, body)
  claim()
  local version, updated = tonumber(entry[5]) + 1, now()
  redis.call('SET', prefix .. 'done:' .. token, updated, 'PX', keep)
  redis.call('HSET', KEYS[1], 'state', to, 'version', version, 'updated', updated)
  if entry[1] ~= to then
    displace(entry[1], entry[3], id)
    place(to, entry[3], entry[4], id)
  end
  if body then
    redis.call('HSET', KEYS[1], 'body', body)
    redis.call('HDEL', KEYS[1], 'journal')
  end
  setDue(to, id, body or entry[2], updated)
  return updated
end
`;

/** Returns an error if the existing layout is not supported. Makes the indexes of an old layout again. */
export const openLedgerScript = createScript(`
local prefix = ARGV[1]
local found = redis.call('GET', prefix .. 'version')
if ${oldLayoutVersions.map((version) => `found == '${version}'`).join(" or ")} then
  ${indexing}
  local function add(kind, state)
    for _, id in ipairs(redis.call('ZRANGE', prefix .. 'state:' .. kind .. ':' .. state, 0, -1)) do
      local entry = redis.call('HMGET', prefix .. 'entry:' .. kind .. ':' .. id, 'body', 'updated', 'journal')
      if entry[2] and not entry[3] then
        local at, index = dueAt(kind, state, entry[1], entry[2])
        if at then redis.call('ZADD', prefix .. index .. kind, at, id) end
      end
    end
  end
  redis.call('SET', prefix .. 'version', '${layoutVersion}')
  for _, kind in ipairs({${stubKinds.map((kind) => `'${kind}'`)}}) do redis.call('DEL', prefix .. 'due:' .. kind) end
  for name in pairs(dueFields) do add(string.match(name, '(.*):(.*)')) end
  for name in pairs(finalStates) do add(string.match(name, '(.*):(.*)')) end
end
${opening}
return false
`);

/** KEYS: entry. ARGV: id, state, group, body, token. Returns sequence and time if this token created it, else 0. */
export const createEntryScript = createScript(`${opening}${writing}
local id, state, group, body, token = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local known = redis.call('HMGET', KEYS[1], 'state', 'creator', 'sequence', 'created')
if known[1] then return known[2] == token and {known[3], known[4]} or 0 end
claim()
local sequence, time = redis.call('INCR', prefix .. 'sequence'), now()
redis.call('HSET', KEYS[1], 'state', state, 'body', body, 'group', group, 'sequence', sequence, 'version', 1,
  'created', time, 'updated', time, 'creator', token)
place(state, group, sequence, id)
setDue(state, id, body, time)
return {string.format('%.0f', sequence), time}
`);

/** KEYS: entry. Returns the entry's fields, or nothing. */
export const getEntryScript = createScript(`${opening}
local entry = read(KEYS[1])
return entry[1] and entry
`);

/**
 * KEYS: entry. ARGV: id, to, token, lifetime of the token, 1 for a repetition, then the allowed states. Returns the
 * entry's fields after the step, or nothing. Returns 'stub' without a step if the entry needs its body back first.
 */
export const moveEntryScript = createScript(`${opening}${writing}
local id, to, token, keep, again = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local done = redis.call('GET', prefix .. 'done:' .. token)
local entry = read(KEYS[1])
if not done then
  for index = 8, #ARGV do
    if entry[1] == ARGV[index] then
      if entry[8] ~= '' then return 'stub' end
      done = move(id, entry, to, token, keep)
      entry[5] = redis.call('HGET', KEYS[1], 'version')
      break
    end
  end
end
if not done and again == '1' then redis.call('SET', prefix .. 'done:' .. token, '', 'PX', keep) end
if not done or done == '' or not entry[1] then return false end
entry[1], entry[7] = to, done
return entry
`);

/**
 * KEYS: entry. ARGV: id, to, token, its lifetime, the version and sequence that the body is based on, the body. Returns
 * the time of the step, the current fields if the entry has changed, or nothing if it does not exist.
 */
export const changeEntryScript = createScript(`${opening}${writing}
local id, to, token, keep, version, sequence, body = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local done = redis.call('GET', prefix .. 'done:' .. token)
if done then return done end
local entry = read(KEYS[1])
if not entry[1] then return false end
if entry[5] ~= version or entry[4] ~= sequence then return entry end
return move(id, entry, to, token, keep, body)
`);

/** KEYS: version. ARGV: due before, how many, how many to skip. Returns a list of id, sequence and fields. */
export const listDueScript = createScript(`${opening}
local answer = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', prefix .. 'due:' .. kind, '-inf', '(' .. ARGV[3], 'LIMIT', ARGV[5], ARGV[4])) do
  local entry = read(prefix .. 'entry:' .. kind .. ':' .. id)
  answer[#answer + 1] = {id, entry[4], unpack(entry)}
end
return answer
`);

/**
 * KEYS: version. ARGV: oldest or newest, sequence to continue after ('' for the start), count, 1 for one group, the
 * group, 1 for all states, then the states. Returns a list of id, sequence and fields.
 */
export const listEntriesScript = createScript(`${opening}
local order, after, count, group = ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6] == '1' and ARGV[7]
local states = {unpack(ARGV, 9)}
if ARGV[8] == '1' then states = redis.call('SMEMBERS', prefix .. 'states:' .. kind) end
local found = {}
for _, state in ipairs(states) do
  local key = prefix .. 'state:' .. kind .. ':' .. state
  if group then key = prefix .. 'group:' .. kind .. ':' .. state .. ':' .. group end
  local page
  if order == 'newest' then
    page = redis.call('ZREVRANGEBYSCORE', key, after == '' and '+inf' or '(' .. after, '-inf', 'WITHSCORES', 'LIMIT', 0, count)
  else
    page = redis.call('ZRANGEBYSCORE', key, after == '' and '-inf' or '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, count)
  end
  for index = 1, #page, 2 do found[#found + 1] = {page[index], tonumber(page[index + 1])} end
end
table.sort(found, function (one, other)
  if order == 'newest' then return one[2] > other[2] end
  return one[2] < other[2]
end)
local answer = {}
for index = 1, math.min(count, #found) do
  local id = found[index][1]
  local entry = read(prefix .. 'entry:' .. kind .. ':' .. id)
  answer[#answer + 1] = {id, string.format('%.0f', found[index][2]), unpack(entry)}
end
return answer
`);

/**
 * KEYS: version. ARGV: state, before, sequence to continue after ('' for the start), how many to check, token, its
 * lifetime. Removes entries, oldest first, up to the first created after `before`. Returns how many it removed, and the
 * sequence to continue after ('' at the end).
 */
export const pruneEntriesScript = createScript(`${opening}${writing}
local state, before, after, count, token, keep = ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local known = redis.call('GET', prefix .. 'done:' .. token)
if known then return cjson.decode(known) end
local key = prefix .. 'state:' .. kind .. ':' .. state
local page = redis.call('ZRANGEBYSCORE', key, after == '' and '-inf' or '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, count)
local removed, last = 0, ''
if #page == 2 * tonumber(count) then last = page[#page] end
for index = 1, #page, 2 do
  local id = page[index]
  local entry = prefix .. 'entry:' .. kind .. ':' .. id
  local found = read(entry)
  if not found[1] then
    redis.call('ZREM', key, id)
    forget(id)
  elseif tonumber(found[6]) >= before then
    last = ''
    break
  elseif tonumber(found[7]) < before then
    redis.call('UNLINK', entry)
    displace(state, found[3], id)
    forget(id)
    removed = removed + 1
  end
end
local answer = {tostring(removed), last}
if removed > 0 then pcall(redis.call, 'SET', prefix .. 'done:' .. token, cjson.encode(answer), 'PX', keep) end
return answer
`);
