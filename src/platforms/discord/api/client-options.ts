/** Settings of the discord.js client: intents, shards, and small caches. */
import { type ClientOptions, GatewayIntentBits, Options, Partials } from "discord.js";

/** Limits the wait, because one Discord server's outage must not delay the others. */
const maxGuildWaitMs = 3_000;
const maxRequestMs = 15_000;

export function clientOptions({ apiUrl, shards }: { apiUrl?: string; shards: number | "auto" }): ClientOptions {
  return {
    intents: [
      GatewayIntentBits.Guilds,
      GatewayIntentBits.GuildMessages,
      GatewayIntentBits.GuildMessageReactions,
      GatewayIntentBits.DirectMessages,
      GatewayIntentBits.DirectMessageReactions,
      GatewayIntentBits.MessageContent,
    ],
    partials: [Partials.Channel],
    ...(shards === "auto" ? { shards } : { shardCount: shards, shards: Array.from({ length: shards }, (_, id) => id) }),
    // Messages are not cached, because each is needed only once. Of people, only the most recent are cached.
    makeCache: Options.cacheWithLimits({
      ...Options.DefaultMakeCacheSettings,
      MessageManager: 0,
      ReactionManager: 0,
      PresenceManager: 0,
      VoiceStateManager: 0,
      GuildStickerManager: 0,
      GuildScheduledEventManager: 0,
      ThreadMemberManager: 0,
      UserManager: { maxSize: 500, keepOverLimit: (user) => user.id === user.client.user.id },
      GuildMemberManager: { maxSize: 100, keepOverLimit: (member) => member.id === member.client.user.id },
    }),
    waitGuildTimeout: maxGuildWaitMs,
    rest: { retries: 0, timeout: maxRequestMs, ...(apiUrl === undefined ? {} : { api: apiUrl }) },
  };
}
