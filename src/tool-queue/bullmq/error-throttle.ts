/** Errors of connections and of BullMQ come by the hundred while Redis is away: each is logged once in a while. */
import { codeOf, messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";

const quietMs = 30_000;
const longestText = 300;
/** More kinds of trouble than this at a time are not told apart. */
const kinds = 20;

/** The text alone: the clients' errors carry the command, with the arguments of tool calls. */
export function createErrorThrottle(log: Log): (thrown: unknown) => void {
  const loggedAt = new Map<string, number>();
  return (thrown) => {
    const error = (messageOf(thrown) || codeOf(thrown) || "unknown").split("\n", 1)[0]?.slice(0, longestText) ?? "";
    const now = performance.now();
    if (now - (loggedAt.get(error) ?? Number.NEGATIVE_INFINITY) < quietMs) return;
    if (loggedAt.size >= kinds) loggedAt.clear();
    loggedAt.set(error, now);
    log.warn({ error }, "the job queue has trouble with Redis");
  };
}
