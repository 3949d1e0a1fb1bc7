/** Checks a Discord setup without connecting to the gateway. Each problem says where to fix it. */
import {
  type APIApplication,
  type APIChannel,
  type APIGuild,
  type APIGuildMember,
  ApplicationFlags,
  ChannelType,
  type RESTAPIPartialCurrentUserGuild,
  Routes,
} from "discord.js";
import { messageOf } from "../../lib/errors.ts";
import { silentLog } from "../../lib/log.ts";
import { formatNumber } from "../../lib/text/format-number.ts";
import { shorten } from "../../lib/text/shorten.ts";
import { error, type Finding, ok, warning } from "../shared/finding.ts";
import { codeOfRefusal, createDiscordApi, type DiscordApi } from "./api/api.ts";
import { fatalProblem } from "./api/gateway-problems.ts";
import { inviteUrl, missingFrom, permissionsIn } from "./api/permissions.ts";

const maxGuilds = 10;
const maxChannels = 5;
/** https://docs.discord.com/developers/resources/user#get-current-user-guilds */
const maxListed = 200;

export async function checkDiscord(
  options: { token: string; apiUrl?: string },
  signal: AbortSignal,
): Promise<Finding[]> {
  const api = createDiscordApi({ ...options, log: silentLog });
  const get = <T>(route: `/${string}`) => api.request<T>({ method: "GET", route, signal });
  try {
    const application = await get<APIApplication>(Routes.currentApplication());
    const guilds = await get<RESTAPIPartialCurrentUserGuild[]>(`${Routes.userGuilds()}?with_counts=true`);
    const findings = await Promise.all(
      guilds
        .slice(0, maxGuilds)
        .map((guild) => checkGuild(api, guild, application, signal).catch((thrown) => refusedBy(guild, thrown))),
    );
    return [
      ok(`The token is valid and belongs to ${application.name}.`),
      intentFinding(application, guilds),
      ...(guilds.length === 0 ? [notInvited] : findings.flat()),
      ...(guilds.length > maxGuilds ? [ok(`Not checked: ${guilds.length - maxGuilds} more servers.`)] : []),
      ok(`To add me to a server with exactly the permissions I need, open ${inviteUrl(application.id)}`),
    ];
  } catch (thrown) {
    const known = fatalProblem(thrown);
    const text =
      known?.message ??
      `Can't reach Discord: ${messageOf(thrown)}. Check the network, and DISCORD_API_URL if you set it.`;
    return [error(text)];
  } finally {
    api.close();
  }
}

const notInvited = warning("I'm not in any server yet. Open the link below and choose one.");

export function hasContentIntent({ flags }: APIApplication): boolean {
  return (
    ((flags ?? 0) & (ApplicationFlags.GatewayMessageContent | ApplicationFlags.GatewayMessageContentLimited)) !== 0
  );
}

/** https://docs.discord.com/developers/gateway/getting-started-with-privileged-intent-review */
const reviewedFrom = 10_000;
const nearReview = 8_000;

function intentFinding(application: APIApplication, guilds: RESTAPIPartialCurrentUserGuild[]): Finding {
  if (!hasContentIntent(application))
    return error(
      "The Message Content Intent is off, so I can't connect. Open discord.com/developers/applications, choose your application, then Bot > Privileged Gateway Intents, and turn on Message Content Intent.",
    );
  if (((application.flags ?? 0) & ApplicationFlags.GatewayMessageContent) !== 0)
    return ok(
      "The Message Content Intent is on, and Discord has approved it. Discord asks for that again each year: apply within 90 days of its notice.",
    );
  // Who is in several servers counts several times.
  const members = guilds.reduce((sum, guild) => sum + (guild.approximate_member_count ?? 0), 0);
  const count = `My servers have ${guilds.length < maxListed ? "about" : "more than"} ${formatNumber(members)} members.`;
  const rule = "From 10,000 people on, Discord must approve the intent, and again each year.";
  if (members < nearReview) return ok(`The Message Content Intent is on. ${members === 0 ? "" : `${count} `}${rule}`);
  return warning(
    `The Message Content Intent is on. ${count} ${rule} ${members < reviewedFrom ? "It will write to" : "It writes to"} the owner of the app, who then has 90 days to apply: discord.com/developers/applications > your application > Bot. Without the approval, I can no longer connect.`,
  );
}

/** Reports a server that can't be checked so that the findings about the others still appear. */
function refusedBy({ name }: RESTAPIPartialCurrentUserGuild, thrown: unknown): Finding[] {
  if (codeOfRefusal(thrown) === undefined || fatalProblem(thrown) !== undefined) throw thrown;
  return [
    warning(
      `${shorten(name, 60)}: I can't check this server (${messageOf(thrown)}). Discord may have an outage; try again later.`,
    ),
  ];
}

async function checkGuild(
  api: DiscordApi,
  { id, name }: RESTAPIPartialCurrentUserGuild,
  application: APIApplication,
  signal: AbortSignal,
): Promise<Finding[]> {
  const botId = application.bot?.id ?? application.id;
  const get = <T>(route: `/${string}`) => api.request<T>({ method: "GET", route, signal });
  const [guild, member, channels] = await Promise.all([
    get<APIGuild>(Routes.guild(id)),
    get<APIGuildMember>(Routes.guildMember(id, botId)),
    get<APIChannel[]>(Routes.guildChannels(id)),
  ]);
  const lacking = channels
    .filter(({ type }) => type === ChannelType.GuildText || type === ChannelType.GuildAnnouncement)
    .map((channel) => ({ channel, bits: permissionsIn(channel, guild, member, botId) }))
    // Skip channels hidden from the bot, because that may be intentional.
    .filter(({ bits }) => bits !== 0n)
    .map(({ channel, bits }) => ({ name: channel.name ?? channel.id, missing: missingFrom(bits) }))
    .filter(({ missing }) => missing.length > 0);
  const where = shorten(name, 60);
  if (lacking.length === 0) return [ok(`${where}: I have all the permissions I need in the channels I can see.`)];
  return [
    warning(
      `${where}: ${describe(lacking)}. Grant them to my role under Server Settings > Roles, or in the channel's permissions.`,
    ),
  ];
}

function describe(lacking: { name: string; missing: string[] }[]): string {
  return [...Map.groupBy(lacking, ({ missing }) => missing.join(", "))]
    .map(([missing, channels]) => {
      const names = channels.map(({ name }) => `#${shorten(name, 40)}`);
      const more = names.length > maxChannels ? ` and ${names.length - maxChannels} more` : "";
      return `in ${names.slice(0, maxChannels).join(", ")}${more} I'm missing ${missing}`;
    })
    .join("; ");
}
