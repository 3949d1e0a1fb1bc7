/** Names and roles of people in the bot's servers. */
import { type APIGuildMember, type APIUser, Routes } from "discord.js";
import { asPlain } from "../../../lib/text/sanitize.ts";
import { createTimedCache } from "../../../lib/timed-cache.ts";
import type { Author } from "../../../ports/message.ts";
import { parseConversationId } from "../conversation-id.ts";
import { type DiscordApi, unlessRefused } from "./api.ts";
import type { GuildIds } from "./own-guilds.ts";

export interface People {
  member(guildId: string, userId: string): Promise<Author | undefined>;
  /** A member of any server of the bot; with more than `maxGuilds` servers, any user. */
  anywhere(userId: string): Promise<Author | undefined>;
  /** The roles are at most a minute old. Without `guildId`, all servers of the bot count, up to `maxGuilds`. */
  roles(guildId: string | undefined, userId: string): Promise<string[]>;
  isIn(guildId: string, userId: string): Promise<boolean>;
  lookUp(person: Author, conversationId: string): Promise<Author | undefined>;
}

const cached = { keepMs: 60_000, maxEntries: 1_000, forgetsRejections: true };
/** If the bot is in more servers than this, roles are not looked up for DMs. */
const maxGuilds = 5;

export function createPeople(api: DiscordApi, guildIds: GuildIds): People {
  const recent = createTimedCache<string[]>(cached);
  const members = createTimedCache<boolean>(cached);

  async function member(guildId: string, userId: string): Promise<Author | undefined> {
    const asked = api.request<APIGuildMember>({ method: "GET", route: Routes.guildMember(guildId, userId) });
    const found = await unlessRefused(asked, "unknownMember", "unknownUser", "unknownGuild", "missingAccess");
    return found && authorOf(found.user, found);
  }

  async function user(userId: string): Promise<Author | undefined> {
    const asked = api.request<APIUser>({ method: "GET", route: Routes.user(userId) });
    const found = await unlessRefused(asked, "unknownUser");
    return found && authorOf(found);
  }

  async function memberships(userId: string): Promise<Author[]> {
    const ids = await guildIds();
    if (ids.length > maxGuilds) return [];
    const found = await Promise.all(ids.map((guildId) => member(guildId, userId)));
    return found.filter((each) => each !== undefined);
  }

  async function everywhere(userId: string): Promise<string[]> {
    return (await memberships(userId)).flatMap(({ roles }) => roles);
  }

  return {
    member,
    async anywhere(userId) {
      if ((await guildIds()).length > maxGuilds) return await user(userId);
      const [first] = await memberships(userId);
      return first;
    },
    roles: (guildId, userId) =>
      recent(`${guildId}:${userId}`, async () =>
        guildId === undefined ? await everywhere(userId) : ((await member(guildId, userId))?.roles ?? []),
      ),
    isIn: (guildId, userId) =>
      members(`${guildId}:${userId}`, async () => (await member(guildId, userId)) !== undefined),
    async lookUp(person, conversationId) {
      const conversation = parseConversationId(conversationId);
      if (conversation?.type === "guild") return await member(conversation.guild, person.id);
      return { ...person, roles: await everywhere(person.id) };
    },
  };
}

export function authorOf(user: APIUser, member?: { nick?: string | null; roles: string[] }): Author {
  return { id: user.id, name: personName(user, member), isBot: user.bot === true, roles: member?.roles ?? [] };
}

export function personName(user: APIUser, member?: { nick?: string | null }): string {
  const name = asPlain(member?.nick ?? user.global_name ?? user.username).replace(/\s+/g, " ");
  return name === "" ? user.username : name;
}
