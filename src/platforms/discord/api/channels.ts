/** Facts about channels, from the gateway's cache or from a request whose answer is cached for a minute. */
import { type APIChannel, ChannelFlags, ChannelType, Routes } from "discord.js";
import { createTimedCache } from "../../../lib/timed-cache.ts";
import { type DiscordApi, hidden, unlessRefused } from "./api.ts";

export interface ChannelFacts {
  id: string;
  type: ChannelType;
  /** Empty if the bot can't see the channel. */
  name: string;
  guildId?: string;
  /** Only threads have a `parentId` (their channel) and an `ownerId` (their creator). */
  parentId?: string;
  ownerId?: string;
}

export interface Channels {
  get(id: string): Promise<ChannelFacts | undefined>;
}

const keepMs = 60_000;
const maxEntries = 500;

export interface KnownChannels {
  get(id: string): ChannelFacts | undefined;
  /** Changes whenever the bot's rights in a server may have changed. What was asked before is then worth nothing. */
  rights(): number;
  remember(facts: ChannelFacts): void;
}

/** `known` are the channels whose changes this process hears of. */
export function createChannels(api: DiscordApi, known: KnownChannels): Channels {
  const recent = createTimedCache<ChannelFacts | undefined>({ keepMs, maxEntries, forgetsRejections: true });

  async function ask(id: string): Promise<ChannelFacts | undefined> {
    const route = Routes.channel(id);
    const channel = await unlessRefused(api.request<APIChannel>({ method: "GET", route }), ...hidden);
    const facts = channel && factsOf(channel);
    if (facts !== undefined) known.remember(facts);
    return facts;
  }

  return { get: async (id) => known.get(id) ?? (await recent(`${known.rights()} ${id}`, () => ask(id))) };
}

export function isThread({ type }: Pick<ChannelFacts, "type">): boolean {
  return type === ChannelType.PrivateThread || isPublicThread({ type });
}

/** Its readers are those of its channel. */
export function isPublicThread({ type }: Pick<ChannelFacts, "type">): boolean {
  return type === ChannelType.PublicThread || type === ChannelType.AnnouncementThread;
}

/**
 * The bot can't see the channel, so everything but its id and type is made up: nothing may be shown of it or derived from it.
 * The placeholder of its name proves nothing, because people can give a channel that name.
 */
export function isHidden({ flags }: Pick<APIChannel, "flags">): boolean {
  return ((flags ?? 0) & ChannelFlags.ChannelObfuscated) !== 0;
}

export function factsOf(channel: APIChannel): ChannelFacts {
  const name = isHidden(channel) ? "" : (channel.name ?? "");
  const facts: ChannelFacts = { id: channel.id, type: channel.type, name };
  if ("guild_id" in channel && channel.guild_id) facts.guildId = channel.guild_id;
  if (!isThread(channel)) return facts;
  if ("parent_id" in channel && channel.parent_id) facts.parentId = channel.parent_id;
  if ("owner_id" in channel && channel.owner_id) facts.ownerId = channel.owner_id;
  return facts;
}
