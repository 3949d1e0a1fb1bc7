/** The bot's servers and their roles, cached for a minute. Works in processes without a gateway. */
import { type APIRole, type RESTAPIPartialCurrentUserGuild, Routes } from "discord.js";
import { elapsedSince } from "../../../lib/elapsed.ts";
import { createLruMap } from "../../../lib/lru-map.ts";
import type { DiscordApi } from "./api.ts";

/** At most the first 200 servers. */
export type GuildIds = () => Promise<string[]>;

export interface GuildRoles {
  names: ReadonlyMap<string, string>;
  /** The role that Discord created for the bot. */
  own: string | undefined;
}

const keptMs = 60_000;
const maxGuilds = 500;

export function createOwnGuilds(api: DiscordApi, botId: () => Promise<string>) {
  let asked: { ids: Promise<string[]>; since: number } | undefined;
  const recent = createLruMap<{ roles: Promise<GuildRoles>; since: number }>(maxGuilds);

  async function ask(): Promise<string[]> {
    return (await api.request<RESTAPIPartialCurrentUserGuild[]>({ method: "GET", route: Routes.userGuilds() })).map(
      ({ id }) => id,
    );
  }

  async function askRoles(guildId: string): Promise<GuildRoles> {
    const [own, roles] = await Promise.all([
      botId(),
      api.request<APIRole[]>({ method: "GET", route: Routes.guildRoles(guildId) }),
    ]);
    const names = new Map(roles.map(({ id, name }) => [id, name]));
    return { names, own: roles.find(({ tags }) => tags?.bot_id === own)?.id };
  }

  const ids: GuildIds = () => {
    if (asked === undefined || elapsedSince(asked.since) >= keptMs) {
      const made = { ids: ask(), since: Date.now() };
      made.ids.catch(() => {
        made.since = 0;
      });
      asked = made;
    }
    return asked.ids;
  };

  return {
    ids,
    roles(guildId: string): Promise<GuildRoles> {
      const known = recent.get(guildId);
      if (known !== undefined && elapsedSince(known.since) < keptMs) return known.roles;
      const made = { roles: askRoles(guildId), since: Date.now() };
      made.roles.catch(() => {
        made.since = 0;
      });
      recent.set(guildId, made);
      return made.roles;
    },
  };
}
