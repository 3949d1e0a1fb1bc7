/**
 * The platforms of a process: those that the settings turn on. Their libraries are loaded only then.
 *
 * Every process can write replies; one that takes no messages in (a worker) never connects them.
 */
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Hono } from "hono";
import type { Settings } from "../config/load.ts";
import { codeOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Leases } from "../ports/cluster.ts";
import type { Events } from "../ports/events.ts";
import type { Author } from "../ports/message.ts";
import type { Platform } from "../ports/platform.ts";
import type { Store } from "../ports/store.ts";

export interface PlatformsOptions {
  settings: Settings;
  store: Store;
  commands(): { usage: string; description: string }[];
  /** How the agent is, and what is remembered of a person: for platforms that have a page of their own for that. */
  home(person: Author): Promise<{ status: string[]; memory: string[] }>;
  events: Events;
  log: Log;
}

/** Has HTTP paths of its own. */
export type MountedPlatform = Platform & { mount(app: Hono): void };

export async function createPlatforms(options: PlatformsOptions): Promise<Map<string, Platform>> {
  const { settings, store, commands, home, events, log } = options;
  const { config } = settings;
  const platforms = new Map<string, Platform>();
  if (config.local.enabled) {
    const { createLocalPlatform } = await import("../platforms/local/platform.ts");
    platforms.set("local", createLocalPlatform({ dataFile: join(settings.data, "local.db"), commands, log }));
  }
  if (settings.discord !== null) {
    const { createDiscordPlatform } = await import("../platforms/discord/platform.ts");
    const { replyIn, ackReaction, shards, access } = config.discord;
    const isAllowedBot = (id: string) => access.bots.includes(id);
    const discord = { ...settings.discord, replyIn, ackReaction, shards, store, commands, isAllowedBot, events, log };
    platforms.set("discord", createDiscordPlatform(discord));
  }
  if (settings.slack !== null) {
    const { createSlackPlatform } = await import("../platforms/slack/platform.ts");
    const { streaming, ackReaction, access } = config.slack;
    const isAllowedBot = (id: string) => access.bots.includes(id);
    const slack = { access: settings.slack, streaming, ackReaction, store, commands, home, isAllowedBot, log };
    platforms.set("slack", createSlackPlatform(slack));
  }
  return platforms;
}

export function isMounted(platform: Platform): platform is MountedPlatform {
  return "mount" in platform && platform.mount !== undefined;
}

/**
 * The page's chat is a file in the data folder, so that of several processes only those with the same folder can answer on it,
 * and only one folder's page is served at a time.
 */
export interface PageHome {
  /**
   * True when the page has just become this process's to serve; then others with another folder are not to. Asked again and
   * again: a process that died holds the page until its lease is over, and one that lives may lose its lease.
   */
  claim(): Promise<boolean>;
  /** Whether what this process writes on the page is seen. */
  isHere(): Promise<boolean>;
}

const homeKey = "page-home";

export function createPageHome(options: { data: string; store: Store; leases: Leases }): PageHome {
  const { data, store, leases } = options;
  let wasFree = true;
  const isHere = async () => (await store.get(homeKey)) === (await idOf(data));
  return {
    async claim() {
      const lease = await leases.acquire("page");
      const isFreeAgain = lease !== undefined && !wasFree;
      wasFree = lease !== undefined;
      if (lease === undefined) return false;
      // Whoever served it from another folder, lost its lease and lives has it back by the next time.
      if (isFreeAgain && !(await isHere())) {
        await lease.release();
        return false;
      }
      await store.set(homeKey, await idOf(data));
      return true;
    },
    isHere,
  };
}

/** Of the data folder; made by the first process that asks. */
async function idOf(data: string): Promise<string> {
  const file = join(data, "page-home");
  try {
    await writeFile(file, randomBytes(12).toString("base64url"), { flag: "wx", mode: 0o600 });
  } catch (thrown) {
    if (codeOf(thrown) !== "EEXIST") throw thrown;
  }
  return await readFile(file, "utf8");
}
