/**
 * The channels and threads of the servers whose events this process receives, as the gateway describes them. Discord does not
 * say which channels the bot loses when its roles change, so a server's channels are then forgotten, and asked for when needed.
 */
import {
  type APIChannel,
  type APIRole,
  type GatewayGuildCreateDispatchData,
  GatewayDispatchEvents as Type,
} from "discord.js";
import { type ChannelFacts, factsOf, isHidden, type KnownChannels } from "../api/channels.ts";
import { shardOf } from "../inbound/cursors.ts";

export interface GuildChannels extends KnownChannels {
  take(type: string, data: unknown, shard: number): void;
  /** Keeps what a request has returned, if changes of it arrive here. A resumed session lists no channels. */
  remember(facts: ChannelFacts): void;
  /** The shard's events arrive from now on. Forgets what was known of it. */
  begin(shard: number, count: number): void;
  end(shard: number): void;
}

type GuildChannel = APIChannel & { guild_id: string };

export function createGuildChannels(): GuildChannels {
  const known = new Map<string, { facts: ChannelFacts; shard: number }>();
  /** The permissions of roles, as far as they were heard of. A new color or place of a role changes no rights. */
  const rolePermissions = new Map<string, string>();
  const held = new Set<number>();
  let shardCount = 1;
  let rights = 0;

  function put(channel: GuildChannel, shard: number): void {
    known.set(channel.id, { facts: factsOf(channel), shard });
    if (isHidden(channel)) deleteAll(({ facts }) => facts.parentId === channel.id);
  }

  function rightsChanged(guildId: string): void {
    rights += 1;
    deleteAll(({ facts }) => facts.guildId === guildId);
  }

  function roleChanged(guildId: string, { id, permissions }: APIRole): void {
    if (rolePermissions.get(id) !== permissions) rightsChanged(guildId);
    rolePermissions.set(id, permissions);
  }

  function deleteAll(isGone: (entry: { facts: ChannelFacts; shard: number }) => boolean): void {
    for (const [id, entry] of known) if (isGone(entry)) known.delete(id);
  }

  return {
    take(type, data, shard) {
      switch (type) {
        case Type.GuildCreate: {
          const { id, channels, threads, roles } = data as GatewayGuildCreateDispatchData;
          for (const role of roles) rolePermissions.set(role.id, role.permissions);
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
        case Type.GuildRoleUpdate: {
          const { guild_id, role } = data as { guild_id: string; role: APIRole };
          return roleChanged(guild_id, role);
        }
        // Without the intent for members, Discord tells only of the bot's own.
        case Type.GuildMemberUpdate:
        case Type.GuildRoleDelete:
          return rightsChanged((data as { guild_id: string }).guild_id);
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
    rights: () => rights,
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
