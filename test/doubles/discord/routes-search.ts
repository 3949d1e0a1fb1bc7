/**
 * Search Guild Messages. Words are all required; the newest come first, whatever the order asked for.
 * Rule: search-sees-what-the-bot-sees
 */
import { PermissionFlagsBits } from "discord.js";
import { ApiError, createForm } from "./api-error.ts";
import { integer } from "./fields.ts";
import { isThread } from "./lookups.ts";
import { messagePayload } from "./message-payload.ts";
import { channelPayload } from "./payloads.ts";
import { can } from "./permissions.ts";
import type { Route, RouteAnswer, RouteRequest } from "./router.ts";
import { ownGuild } from "./routes-guilds.ts";
import type { ChannelRecord, GuildRecord, MessageRecord, World } from "./world.ts";

export const searchRoutes: Route[] = [
  { name: "messages.search", method: "GET", pattern: "/guilds/:guild/messages/search", handle: search },
];

function search(request: RouteRequest): RouteAnswer {
  const { world, query } = request;
  const guild = ownGuild(request);
  if (!world.application.portal.messageContent) throw new ApiError(403, 50001, "Missing Access");
  const form = createForm();
  const limit = integer(form, query.get("limit") ?? 25, ["limit"], { min: 1, max: 25 }) ?? 25;
  form.check();
  const building = world.searchIndex.get(guild.id) ?? 0;
  if (building > 0) {
    world.searchIndex.set(guild.id, building - 1);
    const message = "Index not yet available. Try again later";
    return { status: 202, body: { message, code: 110000, documents_indexed: 0, retry_after: 0 } };
  }
  const found = channelsOf(world, guild, query.getAll("channel_id"))
    .flatMap(({ messages }) => [...messages.values()])
    .filter((message) => isFound(world, message, query))
    .sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? 1 : -1));
  const page = found.slice(0, limit);
  const threads = [...new Set(page.map(({ channelId }) => channelId))]
    .map((id) => world.channels.get(id))
    .filter((channel) => channel !== undefined && isThread(channel));
  return {
    body: {
      doing_deep_historical_index: false,
      total_results: found.length,
      messages: page.map((message) => [messagePayload(world, message, { readsContent: true })]),
      threads: threads.flatMap((channel) => (channel === undefined ? [] : [channelPayload(world, channel)])),
    },
  };
}

/** A channel stands for its threads, too. */
function channelsOf(world: World, guild: GuildRecord, wanted: string[]): ChannelRecord[] {
  const needed = PermissionFlagsBits.ViewChannel | PermissionFlagsBits.ReadMessageHistory;
  return [...world.channels.values()].filter((channel) => {
    const ids = [channel.id, ...(isThread(channel) ? [channel.parentId] : [])];
    const isWanted = wanted.length === 0 || ids.some((id) => wanted.includes(id));
    return channel.guildId === guild.id && isWanted && can(world, world.application.id, channel, needed);
  });
}

function isFound(world: World, { id, onlyFor, authorId, content }: MessageRecord, query: URLSearchParams): boolean {
  const words = (query.get("content") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const [authors, types] = [query.getAll("author_id"), query.getAll("author_type")];
  const isBot = world.users.get(authorId)?.isBot === true;
  return (
    onlyFor === undefined &&
    words.every((word) => content.toLowerCase().includes(word)) &&
    (authors.length === 0 || authors.includes(authorId)) &&
    (types.length === 0 || types.includes(isBot ? "bot" : "user")) &&
    BigInt(id) > BigInt(query.get("min_id") ?? 0) &&
    BigInt(id) < BigInt(query.get("max_id") ?? "18446744073709551615")
  );
}
