/** Routes of reactions. */
import { PermissionFlagsBits } from "discord.js";
import { messageOf, userOf } from "./lookups.ts";
import { userPayload } from "./payloads.ts";
import { demand } from "./permissions.ts";
import { addReaction, clearReactions, reactorsOf, removeReaction } from "./reactions.ts";
import type { Route, RouteRequest } from "./router.ts";
import { seenChannel } from "./routes-messages.ts";

const base = "/channels/:channel/messages/:message/reactions";

export const reactionRoutes: Route[] = [
  {
    name: "reactions.add",
    limit: "reactions",
    method: "PUT",
    pattern: `${base}/:emoji/@me`,
    handle: (request) => {
      const [channel, message] = target(request);
      addReaction(request.world, channel, message, request.world.application.id, request.parts.emoji ?? "");
      return {};
    },
  },
  {
    name: "reactions.remove",
    limit: "reactions",
    method: "DELETE",
    pattern: `${base}/:emoji/:user`,
    handle: (request) => {
      const { world, parts } = request;
      const [channel, message] = target(request);
      const botId = world.application.id;
      const userId = parts.user === "@me" ? botId : (parts.user ?? "");
      if (userId !== botId) demand(world, botId, channel, PermissionFlagsBits.ManageMessages);
      removeReaction(world, channel, message, userId, parts.emoji ?? "");
      return {};
    },
  },
  {
    name: "reactions.list",
    method: "GET",
    pattern: `${base}/:emoji`,
    handle: (request) => {
      const { world, parts, query } = request;
      const [channel, message] = target(request);
      demand(world, world.application.id, channel, PermissionFlagsBits.ReadMessageHistory);
      const ids = reactorsOf(message, parts.emoji ?? "").slice(0, Number(query.get("limit") ?? 25));
      return { body: ids.map((id) => userPayload(userOf(world, id))) };
    },
  },
  ...[`${base}/:emoji`, base].map(
    (pattern): Route => ({
      name: "reactions.clear",
      limit: "reactions",
      method: "DELETE",
      pattern,
      handle: (request) => {
        const [channel, message] = target(request);
        demand(request.world, request.world.application.id, channel, PermissionFlagsBits.ManageMessages);
        clearReactions(request.world, channel, message, request.parts.emoji);
        return {};
      },
    }),
  ),
];

function target(request: RouteRequest) {
  const channel = seenChannel(request);
  return [channel, messageOf(channel, request.parts.message ?? "")] as const;
}
