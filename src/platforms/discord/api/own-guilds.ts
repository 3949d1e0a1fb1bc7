/** The bot's servers and their roles, cached for a minute. Works in processes without a gateway. */
import { type APIRole, type RESTAPIPartialCurrentUserGuild, Routes } from "discord.js";
import { createTimedCache } from "../../../lib/timed-cache.ts";
import type { DiscordApi } from "./api.ts";

/** At most the first 200 servers. */
export type GuildIds = () => Promise<string[]>;

export interface GuildRoles {
  names: ReadonlyMap<string, string>;
  /** The role that Discord created for the bot. */
  own: string | undefined;
}

const cached = { keepMs: 60_000, forgetsRejections: true };
const maxGuilds = 500;

export function createOwnGuilds(api: DiscordApi, botId: () => Promise<string>) {
  const ids = createTimedCache<string[]>({ ...cached, maxEntries: 1 });
  const roles = createTimedCache<GuildRoles>({ ...cached, maxEntries: maxGuilds });

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

  const allIds: GuildIds = () => ids("all", ask);
  return { ids: allIds, roles: (guildId: string) => roles(guildId, () => askRoles(guildId)) };
}
