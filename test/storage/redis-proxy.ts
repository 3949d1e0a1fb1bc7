/**
 * A connection to Redis that breaks at the worst moment, for tests: it stands between client and server, and cuts where
 * it is told to. What it is told applies to the next piece of a request in which the text occurs.
 *
 *   loseAnswer   the server gets the request, the client never its answer
 *   loseRequest  the server never gets it
 *   delay        as lost for the client, and the server gets it when `deliver` is called
 */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import type { RedisServer } from "../doubles/redis-server.ts";

export interface RedisProxy {
  url: string;
  loseAnswer(text: string): Promise<void>;
  loseRequest(text: string): Promise<void>;
  delay(text: string): Promise<{ deliver(): void }>;
  /** Cuts everybody off and lets nobody in, until `open`. */
  shut(): void;
  open(): void;
  /** Passes nothing on any more, and does not say so; new connections work. */
  stall(): void;
  /** In what the server answers from now on. Both of one length, because answers carry theirs. */
  replace(text: string, by: string): void;
  close(): Promise<void>;
}

interface Plan {
  text: string;
  type: "loseAnswer" | "loseRequest" | "delay";
  done(held: { deliver(): void }): void;
}

export async function startRedisProxy(target: Pick<RedisServer, "host" | "port">): Promise<RedisProxy> {
  const pairs = new Set<{ client: Socket; server: Socket; isStalled: boolean; isHeld: boolean }>();
  let isShut = false;
  let plan: Plan | undefined;
  let replaced: [string, string] | undefined;

  const listener = createServer((client) => {
    if (isShut) return void client.destroy();
    const server = connect(target.port, target.host);
    const pair = { client, server, isStalled: false, isHeld: false };
    pairs.add(pair);
    let isAnswerLost = false;
    const end = () => {
      client.destroy();
      if (pair.isHeld) return;
      server.destroy();
      pairs.delete(pair);
    };
    for (const socket of [client, server]) socket.on("error", () => undefined);
    client.on("data", (chunk) => {
      if (pair.isStalled) return;
      if (plan === undefined || !chunk.includes(plan.text)) return void server.write(chunk);
      const { type, done } = plan;
      plan = undefined;
      switch (type) {
        case "loseRequest":
          end();
          return done({ deliver() {} });
        case "loseAnswer":
          isAnswerLost = true;
          server.once("data", () => {
            end();
            done({ deliver() {} });
          });
          return void server.write(chunk);
        case "delay":
          pair.isHeld = true;
          client.destroy();
          return done({ deliver: () => server.write(chunk) });
        default:
          return type satisfies never;
      }
    });
    server.on("data", (chunk) => {
      if (pair.isStalled || isAnswerLost || client.destroyed) return;
      client.write(replaced === undefined ? chunk : chunk.toString("latin1").replaceAll(...replaced), "latin1");
    });
    client.on("close", end);
    server.on("close", end);
  });

  const planned = (type: Plan["type"]) => (text: string) =>
    new Promise<{ deliver(): void }>((done) => {
      plan = { type, text, done };
    });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const cut = (wanted: (pair: { isHeld: boolean }) => boolean) => {
    for (const { client, server } of [...pairs].filter(wanted)) {
      client.destroy();
      server.destroy();
    }
  };

  return {
    url: `redis://127.0.0.1:${port}`,
    loseAnswer: async (text) => void (await planned("loseAnswer")(text)),
    loseRequest: async (text) => void (await planned("loseRequest")(text)),
    delay: planned("delay"),
    shut() {
      isShut = true;
      cut(({ isHeld }) => !isHeld);
    },
    open() {
      isShut = false;
    },
    stall() {
      for (const pair of pairs) pair.isStalled = true;
    },
    replace(text, by) {
      replaced = [text, by];
    },
    async close() {
      cut(() => true);
      listener.close();
      await once(listener, "close");
    },
  };
}
