/**
 * Finds turns, newest first, one page at a time. The ledger filters by state and conversation. Person and text are
 * compared here, so one request looks at a limited number of turns and says how far back it has looked.
 */
import type { Hono } from "hono";
import { z } from "zod";
import type { Ledger, LedgerEntry } from "../../ports/ledger.ts";
import { requesterOf } from "../../ports/turn.ts";
import { reading } from "./respond.ts";
import { type TurnRow, turnRow } from "./turn-rows.ts";

export interface FoundTurns {
  turns: TurnRow[];
  /** Continues the search if passed as `before`. Null if there are no older turns. */
  older: number | null;
  /** When the oldest turn that this request has looked at began. */
  searchedTo: number | null;
}

const pageSize = 50;
const maxSearched = 500;
const text = z.string().trim().max(500).optional();
const time = z.coerce.number().int().min(0).optional();

const searchSchema = z.object({
  state: z.enum(["running", "parked", "done", "failed", "stopped"]).optional(),
  conversation: text,
  person: text,
  text,
  /** Milliseconds: the page knows where the person's day begins. */
  from: time,
  to: time,
  before: time,
});
type Search = z.infer<typeof searchSchema>;

export function mountTurnSearch(app: Hono, ledger: Ledger): void {
  reading(app, "/dashboard/data/turns", searchSchema, (search) => findTurns(ledger, search));
}

async function findTurns(ledger: Ledger, search: Search): Promise<FoundTurns> {
  const states = search.state === undefined ? {} : { states: [search.state] };
  const group = search.conversation ? { group: search.conversation } : {};
  const turns: TurnRow[] = [];
  let before = search.before ?? (search.to === undefined ? undefined : await sequenceAt(ledger, search.to));
  let searchedTo: number | null = null;
  for (let searched = 0; searched < maxSearched; searched += pageSize) {
    const place = before === undefined ? {} : { before };
    const page = await ledger.list("turn", { ...states, ...group, ...place, order: "newest", limit: pageSize });
    for (const entry of page) {
      if (search.from !== undefined && entry.createdAt < search.from) return { turns, older: null, searchedTo };
      // Stop inside the page, so that the next one continues right after the last turn that is shown.
      if (turns.length === pageSize) return { turns, older: before ?? null, searchedTo };
      before = entry.sequence;
      searchedTo = entry.createdAt;
      if (matches(entry, search)) turns.push(turnRow(entry));
    }
    if (page.length < pageSize) return { turns, older: null, searchedTo };
    if (turns.length === pageSize) break;
  }
  return { turns, older: before ?? null, searchedTo };
}

function matches({ body, createdAt }: LedgerEntry<"turn">, { person, text: words, to }: Search): boolean {
  if (to !== undefined && createdAt >= to) return false;
  const { id, name } = requesterOf(body);
  const includes = (found: string, part: string) => found.toLowerCase().includes(part.toLowerCase());
  if (person && id !== person && !includes(name, person)) return false;
  return !words || body.messages.some((message) => includes(message.text, words));
}

/** Returns the sequence number of the first turn created at or after `at`, by bisection. Undefined if there is none. */
async function sequenceAt(ledger: Ledger, at: number): Promise<number | undefined> {
  const [newest] = await ledger.list("turn", { order: "newest", limit: 1 });
  if (newest === undefined || newest.createdAt < at) return undefined;
  let [low, high] = [0, newest.sequence];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const [entry] = await ledger.list("turn", { order: "newest", before: middle, limit: 1 });
    if (entry === undefined || entry.createdAt < at) low = middle;
    else high = entry.sequence;
  }
  return high;
}
