/** Facts about channels, from the gateway's cache or from a request whose answer is cached for a minute. */
import { type APIChannel, ChannelType, type Client, Routes, ThreadChannel } from "discord.js";
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

/** `client` returns undefined before the gateway connects, and in processes without a gateway. */
export function createChannels(api: DiscordApi, client: () => Client | undefined): Channels {
  const recent = createLruMap<{ facts: ChannelFacts | undefined; until: number }>(500);
  return {
    async get(id) {
      const known = fromGateway(client(), id);
      if (known !== undefined) return known;
      const kept = recent.get(id);
      if (kept !== undefined && Date.now() < kept.until) return kept.facts;
      const facts = await ask(api, id);
      recent.set(id, { facts, until: Date.now() + keptMs });
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

function fromGateway(client: Client | undefined, id: string): ChannelFacts | undefined {
  const channel = client?.channels.cache.get(id);
  if (channel === undefined || channel.isDMBased()) return undefined;
  const { type, name, guildId } = channel;
  if (!(channel instanceof ThreadChannel)) return { id, type, name, guildId };
  const { parentId, ownerId } = channel;
  return { id, type, name, guildId, ...(parentId ? { parentId } : {}), ...(ownerId ? { ownerId } : {}) };
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
