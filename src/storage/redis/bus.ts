/**
 * The bus between processes: one Redis channel. Local listeners get a message in the same tick, others when Redis
 * delivers it. A message that can't be sent immediately is dropped, because listeners also poll regularly.
 */
import { randomBytes } from "node:crypto";
import { Cluster } from "ioredis";
import { z } from "zod";
import { messageOf } from "../../lib/errors.ts";
import { parseJson } from "../../lib/json.ts";
import type { Log } from "../../lib/log.ts";
import { chatLogChangeSchema } from "../../ports/chat-log.ts";
import type { Bus, BusMessage } from "../../ports/cluster.ts";
import { createInMemoryBus } from "../in-memory-cluster.ts";
import type { RedisClient } from "./clients.ts";
import type { RedisConnection } from "./connection.ts";
import { checkPrefix, defaultPrefix } from "./script.ts";

export interface RedisBusOptions {
  connection: RedisConnection;
  log: Log;
  prefix?: string;
}

/** If Redis has not acknowledged this many messages, it is not responding, and further messages are dropped. */
const maxUnanswered = 1_000;
/** Without pings a broken connection would go unnoticed, because the subscription may be silent for a long time. */
const pingIntervalMs = 10_000;

const cause = z.enum(["stopped", "interrupted", "shutdown"]);
const messageSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("work"),
    conversationId: z.string(),
    turnId: z.string().exactOptional(),
    person: z.string().exactOptional(),
  }),
  z.object({ type: z.literal("abort"), conversationId: z.string(), turnId: z.string().exactOptional(), cause }),
  z.object({ type: z.literal("cancel-job"), jobId: z.string(), cause }),
  z.object({ type: z.literal("changed"), kind: z.string(), id: z.string() }),
  z.object({ type: z.literal("chat-log"), from: z.string(), changes: z.array(chatLogChangeSchema) }),
  z.object({ type: z.literal("ephemeral"), key: z.string(), text: z.string().exactOptional() }),
]) satisfies z.ZodType<BusMessage>;
const envelopeSchema = z.object({ from: z.string(), message: messageSchema });

export function createRedisBus({ connection, log, prefix = defaultPrefix }: RedisBusOptions): Bus {
  const channel = `${checkPrefix(prefix)}bus`;
  const self = randomBytes(9).toString("base64url");
  const here = createInMemoryBus(log);
  const subscriber = connection.subscriber();
  let underWay = 0;
  let isClosed = false;

  /** Always returns the same node of a cluster so that messages keep their order. */
  function sender(): RedisClient {
    const client = connection.client();
    return client instanceof Cluster ? (client.nodes("master")[0] ?? client) : client;
  }

  function hear(from: string, text: string): void {
    if (from !== channel) return;
    const envelope = envelopeOf(text);
    if (envelope === undefined) log.warn({ channel }, "ignored an invalid message on the bus channel");
    else if (envelope.from !== self) here.publish(envelope.message);
  }

  subscriber.on("message", hear);
  subscriber.subscribe(channel).catch((thrown: unknown) => {
    if (!isClosed)
      log.error({ channel, error: messageOf(thrown) }, "the bus can't subscribe; only sweeps notice other processes");
  });
  const pings = setInterval(() => {
    // Ping only if connected so that pings don't pile up in the client while Redis is unreachable.
    if (subscriber.status === "ready") subscriber.ping().catch(() => undefined);
  }, pingIntervalMs);
  pings.unref();

  return {
    publish(message) {
      if (isClosed) return;
      here.publish(message);
      if (underWay >= maxUnanswered || connection.client().status !== "ready") return;
      underWay += 1;
      sender()
        .publish(channel, JSON.stringify({ from: self, message }))
        .catch((thrown: unknown) => log.debug({ error: messageOf(thrown) }, "lost a message on the bus"))
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
      // Do not wait for this, because it does not settle while Redis is unreachable.
      if (subscriber.listenerCount("message") === 0) subscriber.unsubscribe(channel).catch(() => undefined);
    },
  };
}

function envelopeOf(text: string): z.infer<typeof envelopeSchema> | undefined {
  return envelopeSchema.safeParse(parseJson(text)).data;
}
