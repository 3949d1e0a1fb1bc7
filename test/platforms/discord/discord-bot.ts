/** The platform on the Discord double, in a process that can end and start again on the same store. */
import type { Log } from "../../../src/lib/log.ts";
import { createDiscordPlatform, type DiscordPlatformOptions } from "../../../src/platforms/discord/platform.ts";
import type { Json } from "../../../src/ports/message.ts";
import type { Platform } from "../../../src/ports/platform.ts";
import type { Store } from "../../../src/ports/store.ts";
import { createInMemoryLeases } from "../../../src/storage/in-memory-cluster.ts";
import { createDiscordDouble, type DiscordDouble, type DiscordDoubleOptions } from "../../doubles/discord/double.ts";

export interface DiscordBot {
  discord: DiscordDouble;
  store: MemoryStore;
  /** Of the process that runs now. */
  readonly platform: Platform;
  /** Everything logged as a warning or an error, of all processes. */
  logged: { level: "warn" | "error"; fields: object; message: string }[];
  /** Of a process beside it. */
  another(): Platform;
  restart(changes?: Partial<DiscordPlatformOptions>): Promise<void>;
  close(): Promise<void>;
}

export interface MemoryStore extends Store {
  values: Map<string, Json>;
}

export function createMemoryStore(): MemoryStore {
  const values = new Map<string, Json>();
  return {
    values,
    get: async (key) => structuredClone(values.get(key)),
    set: async (key, value) => void values.set(key, structuredClone(value)),
    delete: async (key) => void values.delete(key),
    close: async () => {},
  };
}

/** No limits but those a test sets: it would wait for them. */
const unlimited = Object.fromEntries(
  [
    "default",
    "messages.create",
    "messages.edit",
    "messages.delete",
    "messages.list",
    "messages.get",
    "reactions",
    "typing",
    "webhooks",
    "channels.edit",
  ].map((route) => [route, "none" as const]),
);

export async function openDiscordBot(
  changes: Partial<DiscordPlatformOptions> = {},
  double: DiscordDoubleOptions = {},
): Promise<DiscordBot> {
  const discord = await createDiscordDouble({ limits: unlimited, ...double });
  const store = createMemoryStore();
  const logged: DiscordBot["logged"] = [];
  const note = (level: "warn" | "error") => (fields: object, message: string) =>
    void logged.push({ level, fields, message });
  const log: Log = { debug() {}, info() {}, warn: note("warn"), error: note("error") };

  function createPlatform(more: Partial<DiscordPlatformOptions> = {}): Platform {
    return createDiscordPlatform({
      token: discord.token,
      apiUrl: discord.apiUrl,
      replyIn: "thread",
      ackReaction: null,
      shards: 1,
      store,
      leases: createInMemoryLeases(),
      shared: undefined,
      commands: () => [{ usage: "status", description: "what runs" }],
      isAllowedBot: () => false,
      log,
      ...changes,
      ...more,
    });
  }

  let platform = createPlatform();
  return {
    discord,
    store,
    logged,
    get platform() {
      return platform;
    },
    another: () => createPlatform(),
    async restart(more) {
      await platform.close();
      platform = createPlatform(more);
    },
    async close() {
      await platform.close();
      await discord.stop();
    },
  };
}
