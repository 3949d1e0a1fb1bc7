/** What the indexes `due` and `ended` contain, in Lua: each step of the ledger keeps them up to date. */
import { dueFields } from "../due-fields.ts";

/** Ended entries become stubs after this time. By then, redeliveries and late clicks have mostly come. */
const stubAfterMs = 3_600_000;
/** Kinds whose ended entries become stubs, with their final states. */
const stubStates = {
  turn: ["done", "failed", "stopped"],
  message: ["answered", "removed", "stopped"],
  call: ["done", "unknown"],
} as const;
export const stubKinds = ["turn", "message", "call"] as const satisfies (keyof typeof stubStates)[];

/** By kind and state: the field of the body that says when the entry is due. */
const fields = Object.entries(dueFields).flatMap(([kind, { states, field }]) =>
  states.map((state) => `['${kind}:${state}'] = '${field}'`),
);
const finalStates = Object.entries(stubStates).flatMap(([kind, states]) => states.map((state) => `${kind}:${state}`));

export const indexing = `
local dueFields = {${fields}}
local finalStates = {${finalStates.map((name) => `['${name}'] = true`)}}
-- Returns the time and the index. Returns nothing if the entry never becomes due.
local function dueAt(kind, state, body, updated)
  local name = kind .. ':' .. state
  if finalStates[name] then return updated + ${stubAfterMs}, 'ended:' end
  if not dueFields[name] then return nil end
  local isRead, record = pcall(cjson.decode, body)
  return isRead and type(record) == 'table' and tonumber(record[dueFields[name]]) or nil, 'due:'
end
`;
