/** What is said about a Redis that is away: in the log, and to whoever waits for it. */
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { openProbe, type RedisClient } from "./clients.ts";
import { asRedisError } from "./errors.ts";
import type { RedisAddress } from "./url.ts";
import type { Line } from "./wait.ts";

/** One line when Redis goes away or can't be reached at the start, one every so often while that lasts, one when it is back. */
export function noteOutages(line: Line, place: string, log: Log, reminderMs: number): () => void {
  let reminder: NodeJS.Timeout | undefined;
  const say = () => {
    const error = line.trouble();
    const refusal = line.refusal();
    if (refusal !== undefined) log.error({ error }, messageOf(asRedisError(refusal, place)));
    else log.warn({ error }, `[${place}] can't be reached. Remora waits for it, and tries again all the time`);
  };
  const end = () => {
    clearInterval(reminder);
    reminder = undefined;
  };
  const stop = line.onChange(() => {
    if (line.isUp()) {
      if (reminder !== undefined) log.info({}, `[${place}] is reached now`);
      end();
    } else if (reminder === undefined && !line.isClosed()) {
      say();
      reminder = setInterval(say, reminderMs);
      reminder.unref();
    }
  });
  return () => {
    stop();
    end();
  };
}

/**
 * Hands on why a cluster or what is behind sentinels can't be reached, with each try that fails. ioredis keeps that to
 * itself, or says no more than that a connection was closed; then a plain connection is asked, once for each outage.
 */
export function followSeveral(
  client: RedisClient,
  address: RedisAddress & { type: "cluster" | "sentinel" },
  { isClosed, trouble }: { isClosed(): boolean; trouble(error?: Error): void },
): void {
  let asked: "no" | "now" | "yes" = "no";

  function ask(): void {
    if (asked === "yes") trouble();
    if (asked !== "no" || isClosed()) return;
    asked = "now";
    const probe = openProbe(address);
    const settle = (error?: Error) => {
      probe.disconnect();
      if (asked !== "now") return;
      asked = "yes";
      trouble(error);
    };
    const partial = address.type === "sentinel" ? undefined : new Error("nodes answer, but the cluster is not whole");
    probe.on("error", settle).once("ready", () => settle(partial));
  }

  client.on("ready", () => {
    asked = "no";
  });
  client.on("error", (error: Error & { lastNodeError?: Error }) => {
    const said = error.lastNodeError ?? error;
    if (/Connection is closed|Failed to refresh/.test(said.message)) ask();
    else trouble(said);
  });
  client.on("close", ask);
}
