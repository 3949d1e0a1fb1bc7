/** Limits how often errors are logged: while Redis is unreachable, connections and BullMQ report hundreds of them. */
import { codeOf, messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";

const quietMs = 30_000;
const maxTextLength = 300;
const maxKinds = 20;

/** Logs only the message, because the clients' errors contain the command with the arguments of tool calls. */
export function createErrorThrottle(log: Log): (thrown: unknown) => void {
  const loggedAt = new Map<string, number>();
  return (thrown) => {
    const error = (messageOf(thrown) || codeOf(thrown) || "unknown").split("\n", 1)[0]?.slice(0, maxTextLength) ?? "";
    const now = performance.now();
    if (now - (loggedAt.get(error) ?? Number.NEGATIVE_INFINITY) < quietMs) return;
    if (loggedAt.size >= maxKinds) loggedAt.clear();
    loggedAt.set(error, now);
    log.warn({ error }, "the job queue has trouble with Redis");
  };
}
