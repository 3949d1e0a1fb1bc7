/** The channels and threads of the servers whose events this process receives, as the gateway describes them. */
import { type APIChannel, type GatewayGuildCreateDispatchData, GatewayDispatchEvents as Type } from "discord.js";
import { type ChannelFacts, factsOf } from "../api/channels.ts";
import { shardOf } from "../inbound/cursors.ts";

export interface GuildChannels {
  take(type: string, data: unknown, shard: number): void;
  get(id: string): ChannelFacts | undefined;
  /** Keeps what a request has returned, if changes of it arrive here. A resumed session lists no channels. */
  remember(facts: ChannelFacts): void;
  /** The shard's events arrive from now on. Forgets what was known of it. */
  begin(shard: number, count: number): void;
  end(shard: number): void;
}

type GuildChannel = APIChannel & { guild_id: string };

export function createGuildChannels(): GuildChannels {
  const known = new Map<string, { facts: ChannelFacts; shard: number }>();
  const held = new Set<number>();
  let shardCount = 1;

  function put(channel: GuildChannel, shard: number): void {
    known.set(channel.id, { facts: factsOf(channel), shard });
  }

  function deleteAll(isGone: (entry: { facts: ChannelFacts; shard: number }) => boolean): void {
    for (const [id, entry] of known) if (isGone(entry)) known.delete(id);
  }

  return {
    take(type, data, shard) {
      switch (type) {
        case Type.GuildCreate: {
          const { id, channels, threads } = data as GatewayGuildCreateDispatchData;
          for (const channel of [...channels, ...threads]) put({ ...channel, guild_id: id } as GuildChannel, shard);
          return;
        }
        case Type.GuildDelete:
          return deleteAll(({ facts }) => facts.guildId === (data as { id: string }).id);
        case Type.ChannelCreate:
        case Type.ChannelUpdate:
        case Type.ThreadCreate:
        case Type.ThreadUpdate:
          return put(data as GuildChannel, shard);
        case Type.ThreadListSync: {
          const { guild_id, threads } = data as { guild_id: string; threads: GuildChannel[] };
          for (const thread of threads) put({ ...thread, guild_id }, shard);
          return;
        }
        case Type.ChannelDelete:
        case Type.ThreadDelete:
          known.delete((data as { id: string }).id);
      }
    },
    get: (id) => known.get(id)?.facts,
    remember(facts) {
      const shard = shardOf(facts.guildId, shardCount);
      if (facts.guildId !== undefined && held.has(shard)) known.set(facts.id, { facts, shard });
    },
    begin(shard, count) {
      shardCount = count;
      held.add(shard);
      deleteAll((entry) => entry.shard === shard);
    },
    end(shard) {
      held.delete(shard);
      deleteAll((entry) => entry.shard === shard);
    },
  };
}
