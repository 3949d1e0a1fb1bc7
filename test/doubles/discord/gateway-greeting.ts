/**
 * What a session is sent when it begins, and whether one may begin at all.
 * Rule: intents-are-granted
 */
import { GatewayIntentBits } from "discord.js";
import { type Fields, isFields } from "./fields.ts";
import type { GatewaySettings } from "./gateway.ts";
import { applicationFlags, guildCreatePayload } from "./guild-payloads.ts";
import { userOf } from "./lookups.ts";
import { memberPayload, userPayload } from "./payloads.ts";
import type { DiscordCode } from "./rules.ts";
import { type Session, type Sessions, shardOf } from "./sessions.ts";
import type { Portal, World } from "./world.ts";

const privileged: Record<Exclude<keyof Portal, "isReviewed">, number> = {
  messageContent: GatewayIntentBits.MessageContent,
  guildMembers: GatewayIntentBits.GuildMembers,
  presence: GatewayIntentBits.GuildPresences,
};

const knownIntents = Object.values(GatewayIntentBits)
  .filter((bit) => typeof bit === "number")
  .reduce((sum, bit) => sum | bit, 0);

/** Shard and intents of an identify, or its close code. */
export type Identify =
  | { isAllowed: true; shard: [number, number]; intents: number }
  | { isAllowed: false; shard: [number, number]; intents: number; code: DiscordCode; reason: string };

export function readIdentify(world: World, settings: GatewaySettings, d: Fields): Identify {
  const intents = Number(d.intents);
  const shard = shardField(d);
  const problem = problemOf(world, settings, d, shard, intents);
  if (problem === undefined) return { isAllowed: true, shard, intents };
  return { isAllowed: false, shard, intents, code: problem[0], reason: problem[1] };
}

function shardField(d: Fields): [number, number] {
  const [id, count] = Array.isArray(d.shard) ? d.shard : [];
  return Number.isInteger(id) && Number.isInteger(count) ? [id, count] : [0, 1];
}

function problemOf(
  world: World,
  settings: GatewaySettings,
  d: Fields,
  [id, count]: [number, number],
  intents: number,
): [code: DiscordCode, reason: string] | undefined {
  const { portal, token } = world.application;
  if (!isFields(d.properties)) return [4002, "Error while decoding payload."];
  if (d.token !== token) return [4004, "Authentication failed."];
  if (count < 1 || id < 0 || id >= count) return [4010, "Invalid shard."];
  if (count < settings.requiredShards) return [4011, "Sharding required."];
  if (!Number.isInteger(intents) || (intents & ~knownIntents) !== 0) return [4013, "Invalid intent(s)."];
  const names = Object.keys(privileged) as (keyof typeof privileged)[];
  const isDisallowed = names.some((name) => !portal[name] && (intents & privileged[name]) !== 0);
  return isDisallowed ? [4014, "Disallowed intent(s)."] : undefined;
}

/** READY, and the guilds of the shard one by one. */
export function greet(world: World, sessions: Sessions, session: Session): void {
  const botId = world.application.id;
  const guilds = [...world.guilds.values()]
    .filter((guild) => guild.members.has(botId))
    .filter((guild) => shardOf(guild.id, session.shard[1]) === session.shard[0]);
  sessions.send(session, "READY", {
    v: 10,
    user: { ...userPayload(userOf(world, botId)), verified: true, mfa_enabled: false, email: null },
    guilds: guilds.map(({ id }) => ({ id, unavailable: true })),
    session_id: session.id,
    session_type: "normal",
    resume_gateway_url: `${world.url.replace("http", "ws")}/resume`,
    shard: session.shard,
    application: { id: world.application.id, flags: applicationFlags(world) },
    private_channels: [],
    relationships: [],
    presences: [],
    user_settings: {},
    geo_ordered_rtc_regions: [],
    _trace: [],
  });
  if ((session.intents & GatewayIntentBits.Guilds) === 0) return;
  for (const guild of guilds) {
    if (!guild.isUnavailable) sessions.send(session, "GUILD_CREATE", guildCreatePayload(world, guild));
  }
}

/** Op 8: members by id or by the beginning of a name; all of them only with the members' intent. */
export function sendMembers(world: World, sessions: Sessions, session: Session, d: Fields): void {
  const guild = world.guilds.get(String(d.guild_id));
  if (guild === undefined || !guild.members.has(world.application.id)) return;
  const mayList = (session.intents & GatewayIntentBits.GuildMembers) !== 0;
  const ids = d.user_ids === undefined ? undefined : [d.user_ids].flat().map(String);
  const query = String(d.query ?? "").toLowerCase();
  if (ids === undefined && query === "" && !mayList) return;
  const members = [...guild.members.values()].filter(({ userId }) => {
    return ids === undefined ? userOf(world, userId).username.toLowerCase().startsWith(query) : ids.includes(userId);
  });
  sessions.send(session, "GUILD_MEMBERS_CHUNK", {
    guild_id: guild.id,
    members: members.map((member) => memberPayload(world, member)),
    chunk_index: 0,
    chunk_count: 1,
    not_found: ids?.filter((id) => !guild.members.has(id)) ?? [],
    ...(d.nonce === undefined ? {} : { nonce: d.nonce }),
  });
}
