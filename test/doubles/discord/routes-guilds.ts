/** Routes of guilds, their members and roles. */
import { PermissionFlagsBits } from "discord.js";
import { refusal } from "./api-error.ts";
import { announceMember } from "./events.ts";
import { guildPayload } from "./guild-payloads.ts";
import { isThread } from "./lookups.ts";
import { channelPayload, memberPayload, rolePayload, threadList } from "./payloads.ts";
import { can, guildPermissions } from "./permissions.ts";
import type { Route, RouteRequest } from "./router.ts";
import type { GuildRecord, MemberRecord, World } from "./world.ts";

export const guildRoutes: Route[] = [
  {
    name: "guilds.get",
    method: "GET",
    pattern: "/guilds/:guild",
    handle: (request) => {
      const guild = ownGuild(request);
      const counts = { approximate_member_count: guild.members.size, approximate_presence_count: guild.members.size };
      return { body: { ...guildPayload(guild), ...(request.query.get("with_counts") === "true" ? counts : {}) } };
    },
  },
  {
    name: "guilds.channels",
    method: "GET",
    pattern: "/guilds/:guild/channels",
    handle: (request) => {
      const guild = ownGuild(request);
      const channels = [...request.world.channels.values()].filter(({ guildId }) => guildId === guild.id);
      return { body: channels.filter((one) => !isThread(one)).map((one) => channelPayload(request.world, one)) };
    },
  },
  {
    name: "guilds.active-threads",
    method: "GET",
    pattern: "/guilds/:guild/threads/active",
    handle: (request) => {
      const { world } = request;
      const guild = ownGuild(request);
      const threads = [...world.channels.values()]
        .filter(isThread)
        .filter(({ guildId, thread }) => guildId === guild.id && !thread.isArchived)
        .filter((channel) => can(world, world.application.id, channel, PermissionFlagsBits.ViewChannel))
        .sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? 1 : -1));
      return { body: threadList(world, threads) };
    },
  },
  {
    name: "guilds.roles",
    method: "GET",
    pattern: "/guilds/:guild/roles",
    handle: (request) => ({ body: [...ownGuild(request).roles.values()].map(rolePayload) }),
  },
  {
    name: "members.list",
    method: "GET",
    pattern: "/guilds/:guild/members",
    handle: (request) => {
      const guild = ownGuild(request);
      if (!request.world.application.portal.guildMembers) throw refusal("missingAccess");
      const after = BigInt(request.query.get("after") ?? 0);
      const limit = Number(request.query.get("limit") ?? 1);
      const members = [...guild.members.values()]
        .filter(({ userId }) => BigInt(userId) > after)
        .sort((a, b) => (BigInt(a.userId) < BigInt(b.userId) ? -1 : 1));
      return { body: members.slice(0, limit).map((member) => memberPayload(request.world, member)) };
    },
  },
  {
    name: "members.search",
    method: "GET",
    pattern: "/guilds/:guild/members/search",
    handle: (request) => {
      const { world, query } = request;
      const wanted = (query.get("query") ?? "").toLowerCase();
      const members = [...ownGuild(request).members.values()].filter(({ userId, nick }) => {
        const user = world.users.get(userId);
        return [user?.username, user?.displayName, nick].some((name) => name?.toLowerCase().startsWith(wanted));
      });
      return { body: members.slice(0, Number(query.get("limit") ?? 1)).map((member) => memberPayload(world, member)) };
    },
  },
  {
    name: "members.get",
    method: "GET",
    pattern: "/guilds/:guild/members/:user",
    handle: (request) => ({ body: memberPayload(request.world, memberIn(request, ownGuild(request))) }),
  },
  ...(["PUT", "DELETE"] as const).map(
    (method): Route => ({
      name: method === "PUT" ? "members.add-role" : "members.remove-role",
      method,
      pattern: "/guilds/:guild/members/:user/roles/:role",
      handle: (request) => {
        const { world, parts } = request;
        const guild = ownGuild(request);
        const member = memberIn(request, guild);
        if (!guild.roles.has(parts.role ?? "")) throw refusal("unknownRole");
        if ((guildPermissions(guild, world.application.id) & PermissionFlagsBits.ManageRoles) === 0n) {
          throw refusal("missingPermissions");
        }
        const rest = member.roleIds.filter((id) => id !== parts.role);
        changeRoles(world, guild, member, method === "PUT" ? [...rest, parts.role ?? ""] : rest);
        return {};
      },
    }),
  ),
];

/** The guild, which the bot must be in. */
export function ownGuild({ world, parts }: RouteRequest): GuildRecord {
  const guild = world.guilds.get(parts.guild ?? "");
  if (guild === undefined) throw refusal("unknownGuild");
  if (!guild.members.has(world.application.id)) throw refusal("missingAccess");
  return guild;
}

function memberIn({ world, parts }: RouteRequest, guild: GuildRecord): MemberRecord {
  const id = parts.user === "@me" ? world.application.id : (parts.user ?? "");
  const member = guild.members.get(id);
  if (member !== undefined) return member;
  throw refusal(world.users.has(id) ? "unknownMember" : "unknownUser");
}

export function changeRoles(world: World, guild: GuildRecord, member: MemberRecord, roleIds: string[]): void {
  member.roleIds = roleIds;
  announceMember(world, "GUILD_MEMBER_UPDATE", guild, member);
  world.changed();
}
