/** Routes of the application, its bot, and DMs. */
import { createForm, refusal } from "./api-error.ts";
import { isFields, snowflake } from "./fields.ts";
import type { GatewaySettings } from "./gateway.ts";
import { applicationPayload, partialGuild } from "./guild-payloads.ts";
import { userOf } from "./lookups.ts";
import { channelPayload, userPayload } from "./payloads.ts";
import type { Route } from "./router.ts";
import type { ChannelRecord, World } from "./world.ts";

const dayMs = 86_400_000;

export function applicationRoutes(settings: GatewaySettings): Route[] {
  return [
    {
      name: "gateway",
      method: "GET",
      pattern: "/gateway",
      isOpen: true,
      handle: ({ world }) => ({ body: { url: gatewayUrl(world) } }),
    },
    {
      name: "gateway.bot",
      method: "GET",
      pattern: "/gateway/bot",
      handle: ({ world }) => ({
        body: {
          url: gatewayUrl(world),
          shards: settings.recommendedShards,
          session_start_limit: {
            total: 1000,
            remaining: settings.sessionsLeft,
            reset_after: dayMs,
            max_concurrency: settings.maxConcurrency,
          },
        },
      }),
    },
    {
      name: "users.me",
      method: "GET",
      pattern: "/users/@me",
      handle: ({ world }) => {
        const user = userPayload(userOf(world, world.application.id));
        return { body: { ...user, flags: 0, verified: true, mfa_enabled: false, locale: "en-US", email: null } };
      },
    },
    {
      name: "users.guilds",
      method: "GET",
      pattern: "/users/@me/guilds",
      handle: ({ world, query }) => {
        const guilds = [...world.guilds.values()].filter((guild) => guild.members.has(world.application.id));
        const withCounts = query.get("with_counts") === "true";
        return { body: guilds.map((guild) => partialGuild(world, guild, withCounts)) };
      },
    },
    {
      name: "users.get",
      method: "GET",
      pattern: "/users/:user",
      handle: ({ world, parts }) => ({ body: userPayload(userOf(world, parts.user ?? "")) }),
    },
    {
      name: "users.dm",
      method: "POST",
      pattern: "/users/@me/channels",
      handle: ({ world, json }) => {
        const form = createForm();
        const id = snowflake(form, isFields(json) ? json.recipient_id : undefined, ["recipient_id"]);
        if (id === undefined) form.wrong(["recipient_id"], "BASE_TYPE_REQUIRED", "This field is required");
        form.check();
        const user = world.users.get(id ?? "");
        if (user === undefined) throw refusal("invalidRecipient");
        if (user.isBot) throw refusal("cannotMessageUser");
        return { body: channelPayload(world, dmWith(world, user.id)) };
      },
    },
    ...["/applications/@me", "/oauth2/applications/@me"].map(
      (pattern): Route => ({
        name: "application",
        method: "GET",
        pattern,
        handle: ({ world }) => ({ body: applicationPayload(world, ownerOf(world)) }),
      }),
    ),
  ];
}

function gatewayUrl(world: World): string {
  return world.url.replace("http", "ws");
}

/** The person who registered the application: the owner of its first guild. */
function ownerOf(world: World) {
  const [guild] = world.guilds.values();
  return userPayload(userOf(world, guild?.ownerId ?? world.application.id));
}

/** The one DM channel of the bot and a person. */
export function dmWith(world: World, userId: string): ChannelRecord {
  const found = [...world.channels.values()].find(({ recipientId }) => recipientId === userId);
  if (found !== undefined) return found;
  const channel: ChannelRecord = {
    id: world.nextId(),
    type: 1,
    name: "",
    topic: null,
    position: 0,
    recipientId: userId,
    overwrites: [],
    slowmodeSeconds: 0,
    messages: new Map(),
    lastMessageId: null,
    typing: [],
  };
  world.channels.set(channel.id, channel);
  return channel;
}
