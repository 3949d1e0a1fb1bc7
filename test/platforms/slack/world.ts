/** The Slack platform on a double of Slack, in either transport, with a store that outlives it. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { withdrawnFrom } from "../../../src/engine/conversation/inbox.ts";
import { type Log, silentLog } from "../../../src/lib/log.ts";
import { createReadBody } from "../../../src/lib/read-body.ts";
import type { HomePage } from "../../../src/platforms/slack/outbound/home.ts";
import {
  createSlackPlatform,
  type SlackPlatform,
  type SlackPlatformOptions,
} from "../../../src/platforms/slack/platform.ts";
import type { Work } from "../../../src/ports/conversation.ts";
import type { Ledger } from "../../../src/ports/ledger.ts";
import type { Json } from "../../../src/ports/message.ts";
import type { Store } from "../../../src/ports/store.ts";
import { createEphemeralTexts } from "../../../src/storage/ephemeral-texts.ts";
import { createInMemoryBus } from "../../../src/storage/in-memory-cluster.ts";
import { createSqliteLedger } from "../../../src/storage/sqlite/ledger.ts";
import { createSlackDouble, type SlackDouble, type SlackDoubleOptions } from "../../doubles/slack/double.ts";

export interface SlackWorld {
  slack: SlackDouble;
  platform: SlackPlatform;
  store: Store;
  ledger: Ledger;
  /** What goes on in each conversation, and what besides the turn that asks. */
  work: { here: Work; besides: Work };
  /** What was logged as a warning or an error. */
  logged: string[];
  /** A second process beside the first one, on the same store; not connected yet. */
  another(changes?: Partial<SlackPlatformOptions>): Promise<SlackPlatform>;
  /** The process ends and another one starts; not connected yet. */
  restart(changes?: Partial<SlackPlatformOptions>): Promise<void>;
  close(): Promise<void>;
}

export interface WorldOptions {
  transport?: "socket" | "http";
  double?: SlackDoubleOptions;
  changes?: Partial<SlackPlatformOptions>;
}

export async function createSlackWorld({
  transport = "socket",
  double,
  changes,
}: WorldOptions = {}): Promise<SlackWorld> {
  const slack = await createSlackDouble(double);
  const store = createMemoryStore();
  const ledger = createSqliteLedger({ path: ":memory:" });
  const logged: string[] = [];
  const work: SlackWorld["work"] = { here: "running", besides: "none" };
  const log: Log = { ...silentLog, warn: (_, text) => logged.push(text), error: (_, text) => logged.push(text) };
  const ephemeral = createEphemeralTexts(createInMemoryBus(silentLog));
  let server: Server | undefined;

  async function start(more: Partial<SlackPlatformOptions> = {}): Promise<SlackPlatform> {
    const platform = createSlackPlatform({
      access: {
        botToken: slack.botToken,
        apiUrl: slack.apiUrl,
        transport:
          transport === "socket"
            ? { type: "socket", appToken: slack.appToken }
            : { type: "http", signingSecret: slack.signingSecret },
      },
      streaming: "native",
      ackReaction: null,
      directMessages: "threads",
      store,
      ledger,
      ephemeral,
      workIn: async (_, besides) => (besides === undefined ? work.here : work.besides),
      withdrawnFrom: (messageId) => withdrawnFrom(ledger, "slack", messageId),
      commands: () => [{ usage: "status", description: "what runs" }],
      home: async (): Promise<HomePage> => ({ status: ["All is well."], memory: ["Nothing yet."] }),
      isAllowedBot: () => false,
      log,
      ...changes,
      ...more,
    });
    if (transport === "http") await serve(platform);
    return platform;
  }

  async function serve(platform: SlackPlatform): Promise<void> {
    const app = new Hono();
    platform.mount?.(app, createReadBody({ ownerOf: () => "test" }));
    await stopServing();
    const listening = createServer(getRequestListener(app.fetch));
    server = listening;
    await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
    slack.http.target = `http://127.0.0.1:${(listening.address() as AddressInfo).port}/slack/events`;
  }

  async function stopServing(): Promise<void> {
    const listening = server;
    server = undefined;
    if (listening === undefined) return;
    listening.closeAllConnections();
    await new Promise((resolve) => listening.close(resolve));
  }

  const others: SlackPlatform[] = [];
  const world: SlackWorld = {
    slack,
    platform: await start(),
    store,
    ledger,
    work,
    logged,
    async another(more) {
      const platform = await start(more);
      others.push(platform);
      return platform;
    },
    async restart(more) {
      await world.platform.close();
      world.platform = await start(more);
    },
    async close() {
      for (const platform of [world.platform, ...others]) await platform.close();
      await stopServing();
      await slack.stop();
      await ledger.close();
    },
  };
  return world;
}

function createMemoryStore(): Store {
  const kept = new Map<string, Json>();
  return {
    get: async (key) => structuredClone(kept.get(key)),
    set: async (key, value) => void kept.set(key, structuredClone(value)),
    delete: async (key) => void kept.delete(key),
    close: async () => {},
  };
}
