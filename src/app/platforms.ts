/** Builds the enabled platforms and loads only their libraries. A worker writes replies without connecting. */
import { join } from "node:path";
import type { Hono } from "hono";
import type { Dispatcher } from "undici";
import type { Settings } from "../config/settings.ts";
import { workIn } from "../engine/conversation/active-turns.ts";
import { withdrawnFrom } from "../engine/conversation/inbox.ts";
import { createPosts } from "../engine/turn/posts.ts";
import type { ReadBody } from "../lib/read-body.ts";
import { createPageHome } from "../platforms/local/page-home.ts";
import { createConnections, type PlatformConnections } from "../platforms/shared/connections.ts";
import type { ApprovalDesk } from "../ports/approval.ts";
import type { Author } from "../ports/message.ts";
import type { Platform } from "../ports/platform.ts";
import { createCardWriter } from "../response/card-writer.ts";
import { createDeliveries, type Deliveries } from "../response/deliveries.ts";
import type { Late } from "./late.ts";
import { type AppOptions, takesMessages } from "./options.ts";
import type { State } from "./state.ts";

export interface Platforms {
  byName: ReadonlyMap<string, Platform>;
  deliveries: Deliveries;
  connections: PlatformConnections;
  serves(conversationId: string): Promise<boolean>;
  /** Makes all requests to the services fail at once from now on. */
  hurry(): void;
  close(): Promise<void>;
}

export interface PlatformPages {
  commands(): { usage: string; description: string }[];
  home(person: Author): Promise<{ status: string[]; memory: string[] }>;
}

export interface PlatformLinks {
  pages: Late<PlatformPages>;
  approvals: Late<ApprovalDesk>;
}

/** Only a person can put a refused token right. */
const refusedTokenRetryMs = 30_000;

type MountedPlatform = Platform & { mount(app: Hono, readBody: ReadBody): void };

export async function buildPlatforms(options: AppOptions, state: State, links: PlatformLinks): Promise<Platforms> {
  const { settings, role, redact, log } = options;
  const { ledger, store, leases, redis, events, wrap } = state;
  const byName = await openPlatforms(options, state, {
    commands: () => links.pages.get().commands(),
    home: (person) => links.pages.get().home(person),
    mayAnswer: (cardId, by) => links.approvals.get().mayAnswer(cardId, "local", by),
  });
  const pageHome = createPageHome({ data: settings.data, store, leases });
  const connections = createConnections({
    platforms: takesMessages(role) ? [...byName.values()] : [],
    ...{ pageHome, events, log },
  });
  const deliveries = createDeliveries({
    platform: (name) => byName.get(name),
    postsFor: ({ turnId, platform }) =>
      createPosts(ledger, turnId, async (key, messageId) => {
        const isRated = settings.config.answers.feedback && byName.get(platform)?.isRatedByReaction === true;
        if (isRated && key.startsWith("text:")) {
          await ledger.create("answer", `${platform}:${messageId}`, {
            state: "posted",
            body: { turnId },
            group: turnId,
          });
        }
        const [, cardId] = /^card:([^:]+)/.exec(key) ?? [];
        if (cardId !== undefined) await links.approvals.get().posted(cardId, turnId, messageId);
      }),
    cardWriter: createCardWriter({ leases, cardNow: (cardId, turnId) => links.approvals.get().card(cardId, turnId) }),
    askElsewhere: (cardId, why) => links.approvals.get().askElsewhere(cardId, why),
    ...{ redact, wrap, log },
  });
  return {
    ...{ byName, deliveries, connections },
    async serves(conversationId) {
      const [platform = ""] = conversationId.split(":", 1);
      return byName.has(platform) && (redis === undefined || platform !== "local" || (await pageHome.isHere()));
    },
    hurry() {
      for (const platform of byName.values()) platform.hurry?.();
    },
    close: async () => void (await Promise.all([...byName.values()].map((platform) => platform.close()))),
  };
}

async function openPlatforms(
  { settings, log }: AppOptions,
  { ledger, store, events, leases, withLock, bus, redis, ephemeral }: State,
  { commands, home, mayAnswer }: PlatformPages & { mayAnswer(cardId: string, by: Author): Promise<boolean> },
): Promise<Map<string, Platform>> {
  const { config } = settings;
  // With one service alone, the start ends and says what is wrong.
  const isOnlyService = settings.discord === null || settings.slack === null;
  const refusal = isOnlyService ? {} : { refusedTokenRetryMs };
  const platforms = new Map<string, Platform>();
  const budgets = redis && (await import("../storage/redis/rate-budget.ts"));
  const budgetOf = (token: string) => redis && budgets?.createRedisRateBudget({ ...redis, token });
  if (config.local.enabled) {
    const { createLocalPlatform } = await import("../platforms/local/platform.ts");
    const maxFileBytes = config.files.maxMegabytes * 1024 * 1024;
    const dataFile = join(settings.data, "local.db");
    platforms.set("local", createLocalPlatform({ dataFile, commands, mayAnswer, maxFileBytes, log }));
  }
  if (settings.discord !== null) {
    const { createDiscordPlatform } = await import("../platforms/discord/platform.ts");
    const { replyIn, ackReaction, shards, access } = config.discord;
    const isAllowedBot = (id: string) => access.bots.includes(id);
    const budget = budgetOf(settings.discord.token);
    const discord = {
      ...settings.discord,
      ...refusal,
      budget,
      replyIn,
      ackReaction,
      shards,
      store,
      commands,
      isAllowedBot,
      events,
      leases,
      shared: redis === undefined ? undefined : { bus, lockMs: config.redis.lockMs },
      log,
    };
    platforms.set("discord", createDiscordPlatform(discord));
  }
  if (settings.slack !== null) {
    const { createSlackPlatform } = await import("../platforms/slack/platform.ts");
    const { streaming, ackReaction, directMessages, access } = config.slack;
    const isAllowedBot = (id: string) => access.bots.includes(id);
    const budget = budgetOf(settings.slack.botToken);
    const slack = {
      access: settings.slack,
      ...refusal,
      budget,
      streaming,
      ackReaction,
      directMessages,
      store,
      ledger,
      ephemeral,
      workIn: (conversationId: string, besides?: string) => workIn(ledger, conversationId, besides),
      withdrawnFrom: (messageId: string) => withdrawnFrom(ledger, "slack", messageId),
      withLock,
      commands,
      home,
      isAllowedBot,
      log,
    };
    const dispatcher = await proxyDispatcher(settings);
    platforms.set("slack", createSlackPlatform({ ...slack, ...dispatcher }));
  }
  return platforms;
}

/** The one that `installProxies` has made global. */
async function proxyDispatcher({ proxies: { https, http } }: Settings): Promise<{ dispatcher?: Dispatcher }> {
  if (https === undefined && http === undefined) return {};
  return { dispatcher: (await import("undici")).getGlobalDispatcher() };
}

export function isMounted(platform: Platform): platform is MountedPlatform {
  return "mount" in platform && platform.mount !== undefined;
}
