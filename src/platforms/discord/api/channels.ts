/** Facts about channels, from the gateway's cache or from a request whose answer is cached for a minute. */
import { type APIChannel, ChannelType, Routes } from "discord.js";
import { elapsedSince } from "../../../lib/elapsed.ts";
import { createLruMap } from "../../../lib/lru-map.ts";
import { type DiscordApi, isRefusal } from "./api.ts";

export interface ChannelFacts {
  id: string;
  type: ChannelType;
  name: string;
  guildId?: string;
  /** Only threads have a `parentId` (their channel) and an `ownerId` (their creator). */
  parentId?: string;
  ownerId?: string;
}

export interface Channels {
  get(id: string): Promise<ChannelFacts | undefined>;
}

const keptMs = 60_000;

export interface KnownChannels {
  get(id: string): ChannelFacts | undefined;
  remember(facts: ChannelFacts): void;
}

/** `known` are the channels whose changes this process hears of. */
export function createChannels(api: DiscordApi, known: KnownChannels): Channels {
  const recent = createLruMap<{ facts: ChannelFacts | undefined; since: number }>(500);
  return {
    async get(id) {
      const current = known.get(id);
      if (current !== undefined) return current;
      const kept = recent.get(id);
      if (kept !== undefined && elapsedSince(kept.since) < keptMs) return kept.facts;
      const facts = await ask(api, id);
      if (facts !== undefined) known.remember(facts);
      recent.set(id, { facts, since: Date.now() });
      return facts;
    },
  };
}

const threadTypes: readonly ChannelType[] = [
  ChannelType.PublicThread,
  ChannelType.PrivateThread,
  ChannelType.AnnouncementThread,
];

export function isThread({ type }: Pick<ChannelFacts, "type">): boolean {
  return threadTypes.includes(type);
}

async function ask(api: DiscordApi, id: string): Promise<ChannelFacts | undefined> {
  try {
    return factsOf(await api.request<APIChannel>({ method: "GET", route: Routes.channel(id) }));
  } catch (thrown) {
    if (isRefusal(thrown, "unknownChannel", "missingAccess", "missingPermissions")) return undefined;
    throw thrown;
  }
}

export function factsOf(channel: APIChannel): ChannelFacts {
  const facts: ChannelFacts = { id: channel.id, type: channel.type, name: channel.name ?? "" };
  if ("guild_id" in channel && channel.guild_id) facts.guildId = channel.guild_id;
  if (!isThread(channel)) return facts;
  if ("parent_id" in channel && channel.parent_id) facts.parentId = channel.parent_id;
  if ("owner_id" in channel && channel.owner_id) facts.ownerId = channel.owner_id;
  return facts;
}
