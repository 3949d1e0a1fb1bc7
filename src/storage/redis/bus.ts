/**
 * The bus between processes: one Redis channel. A message is heard in its own process in the same tick, and in the others
 * when Redis brings it; what can't be sent now is dropped, because whoever listens also sweeps.
 */
import { randomBytes } from "node:crypto";
import { Cluster } from "ioredis";
import { z } from "zod";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { Bus, BusMessage } from "../../ports/cluster.ts";
import { createInMemoryBus } from "../in-memory-cluster.ts";
import type { RedisClient } from "./clients.ts";
import type { RedisConnection } from "./connection.ts";
import { checkPrefix, defaultPrefix } from "./script.ts";

export interface RedisBusOptions {
  connection: RedisConnection;
  log: Log;
  /** Of the channel; default `{remora}:`. */
  prefix?: string;
}

/** On their way at once; more than that is a Redis that does not answer, and then they are dropped. */
const mostUnderWay = 1_000;
/** The subscription itself is silent; a ping shows when its connection was cut without a word. */
const pingEveryMs = 10_000;

const cause = z.enum(["stopped", "interrupted", "shutdown"]);
const messageSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("work"), conversationId: z.string(), turnId: z.string().exactOptional() }),
  z.object({ type: z.literal("abort"), conversationId: z.string(), turnId: z.string().exactOptional(), cause }),
  z.object({ type: z.literal("cancel-job"), jobId: z.string(), cause }),
  z.object({ type: z.literal("changed"), kind: z.string(), id: z.string() }),
]) satisfies z.ZodType<BusMessage>;
const envelopeSchema = z.object({ from: z.string(), message: messageSchema });

/** Subscribes at once, and again after every cut. */
export function createRedisBus({ connection, log, prefix = defaultPrefix }: RedisBusOptions): Bus {
  const channel = `${checkPrefix(prefix)}bus`;
  const self = randomBytes(9).toString("base64url");
  const here = createInMemoryBus(log);
  const subscriber = connection.subscriber();
  let underWay = 0;
  let isClosed = false;

  /** Always the same node of a cluster, so that messages arrive in the order in which they were published. */
  function sender(): RedisClient {
    const client = connection.client();
    return client instanceof Cluster ? (client.nodes("master")[0] ?? client) : client;
  }

  function hear(from: string, text: string): void {
    if (from !== channel) return;
    const envelope = envelopeOf(text);
    if (envelope === undefined) log.warn({ channel }, "something that is no message of the bus came over its channel");
    else if (envelope.from !== self) here.publish(envelope.message);
  }

  subscriber.on("message", hear);
  subscriber.subscribe(channel).catch((thrown: unknown) => {
    if (!isClosed)
      log.error({ channel, error: messageOf(thrown) }, "the bus can't subscribe; others are heard by sweeps only");
  });
  const pings = setInterval(() => {
    // Else it would wait in the client for as long as Redis is away, and the next one behind it.
    if (subscriber.status === "ready") subscriber.ping().catch(() => undefined);
  }, pingEveryMs);
  pings.unref();

  return {
    publish(message) {
      if (isClosed) return;
      here.publish(message);
      if (underWay >= mostUnderWay || connection.client().status !== "ready") return;
      underWay += 1;
      sender()
        .publish(channel, JSON.stringify({ from: self, message }))
        .catch((thrown: unknown) => log.debug({ error: messageOf(thrown) }, "a message on the bus is lost"))
        .finally(() => {
          underWay -= 1;
        });
    },
    listen: here.listen,
    async close() {
      if (isClosed) return;
      isClosed = true;
      clearInterval(pings);
      await here.close();
      subscriber.off("message", hear);
      // Not awaited: while Redis is away that would never end.
      if (subscriber.listenerCount("message") === 0) subscriber.unsubscribe(channel).catch(() => undefined);
    },
  };
}

function envelopeOf(text: string): z.infer<typeof envelopeSchema> | undefined {
  try {
    return envelopeSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
