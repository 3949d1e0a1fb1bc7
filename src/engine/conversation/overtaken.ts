/** Finds out whether a reply that has begun stands above what an earlier turn of its conversation posted later. */
import type { Ledger, LedgerEntry } from "../../ports/ledger.ts";
import type { TurnRecord } from "../../ports/turn.ts";

/** Older turns have ended long before this one could wait for them. */
const maxTurns = 10;

export async function isOvertaken(ledger: Ledger, { id, conversationId }: TurnRecord): Promise<boolean> {
  const own = await ledger.list("post", { group: id });
  const [key] = own.flatMap((post) => /:(text:.+)$/.exec(post.id)?.[1] ?? []).slice(-1);
  // A message is on the service at the earliest after its trace.
  const trace = own.find((post) => post.id.endsWith(`:${key}`));
  if (trace === undefined) return false;
  const turns = await ledger.list("turn", { group: conversationId, order: "newest", limit: maxTurns });
  const others = turns.filter((turn) => turn.id !== id && turn.updatedAt >= trace.createdAt);
  const posts = await Promise.all(others.map((turn) => ledger.list("post", { group: turn.id })));
  return posts.flat().some((post) => !isTrace(post) && post.sequence > trace.sequence);
}

/** Written before a message is posted. */
function isTrace({ id }: LedgerEntry<"post">): boolean {
  return /^[^:]+:try:/.test(id);
}
