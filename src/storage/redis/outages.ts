/** Reports in the log and to waiting callers that Redis is unavailable. */
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { openProbe, type RedisClient } from "./clients.ts";
import { asRedisError } from "./errors.ts";
import type { RedisAddress } from "./url.ts";
import type { RedisLink } from "./wait.ts";

export function logOutages(link: RedisLink, place: string, log: Log, reminderMs: number): () => void {
  let reminder: NodeJS.Timeout | undefined;
  const say = () => {
    const error = link.trouble();
    const refusal = link.refusal();
    if (refusal !== undefined) log.error({ error }, messageOf(asRedisError(refusal, place)));
    else log.warn({ error }, `[${place}] can't be reached. Remora keeps trying`);
  };
  const end = () => {
    clearInterval(reminder);
    reminder = undefined;
  };
  const stop = link.onChange(() => {
    if (link.isUp()) {
      if (reminder !== undefined) log.info({}, `[${place}] is reachable again`);
      end();
    } else if (reminder === undefined && !link.isClosed()) {
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

/** Reports why connection attempts fail. If ioredis gives no reason, tries a plain connection, once per outage. */
export function watchNodes(
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
    const partial = address.type === "sentinel" ? undefined : new Error("nodes answer, but the cluster is incomplete");
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
