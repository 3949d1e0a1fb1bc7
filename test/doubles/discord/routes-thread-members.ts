/** Routes of threads' members. */
import { PermissionFlagsBits as Flags } from "discord.js";
import { refusal } from "./api-error.ts";
import { isThread, memberOf } from "./lookups.ts";
import { memberPayload, threadMemberPayload } from "./payloads.ts";
import { demand, sendingIn } from "./permissions.ts";
import type { Route, RouteRequest } from "./router.ts";
import { seenChannel } from "./routes-messages.ts";
import { demandActive, joinThread, leaveThread } from "./threads.ts";
import type { ThreadChannel } from "./world.ts";

export const threadMemberRoutes: Route[] = [
  {
    name: "thread-members.list",
    method: "GET",
    pattern: "/channels/:channel/thread-members",
    handle: (request) => {
      const channel = threadIn(request);
      if (!request.world.application.portal.guildMembers) throw refusal("missingAccess");
      return { body: [...channel.thread.members.keys()].map((id) => withMember(request, channel, id)) };
    },
  },
  {
    name: "thread-members.get",
    method: "GET",
    pattern: "/channels/:channel/thread-members/:user",
    handle: (request) => {
      const channel = threadIn(request);
      const id = userId(request);
      if (!channel.thread.members.has(id)) throw refusal("unknownMember");
      return { body: withMember(request, channel, id) };
    },
  },
  {
    name: "thread-members.add",
    method: "PUT",
    pattern: "/channels/:channel/thread-members/:user",
    handle: (request) => {
      const { world } = request;
      const channel = threadIn(request);
      demandActive(channel);
      const id = userId(request);
      if (id !== world.application.id) demand(world, world.application.id, channel, sendingIn(channel));
      if (memberOf(world, channel.guildId, id) === undefined) throw refusal("unknownUser");
      joinThread(world, channel, [id]);
      return {};
    },
  },
  {
    name: "thread-members.remove",
    method: "DELETE",
    pattern: "/channels/:channel/thread-members/:user",
    handle: (request) => {
      const { world } = request;
      const channel = threadIn(request);
      demandActive(channel);
      const isOther = userId(request) !== world.application.id;
      if (isOther && channel.ownerId !== world.application.id)
        demand(world, world.application.id, channel, Flags.ManageThreads);
      leaveThread(world, channel, userId(request));
      return {};
    },
  },
];

function userId({ world, parts }: RouteRequest): string {
  return parts.user === "@me" ? world.application.id : (parts.user ?? "");
}

function threadIn(request: RouteRequest): ThreadChannel {
  const channel = seenChannel(request);
  if (!isThread(channel)) throw refusal("invalidChannelType");
  return channel;
}

function withMember({ world, query }: RouteRequest, channel: ThreadChannel, id: string): object {
  const payload = threadMemberPayload(channel.id, id, channel.thread);
  const member = memberOf(world, channel.guildId, id);
  const isWanted = query.get("with_member") === "true" && member !== undefined;
  return isWanted ? { ...payload, member: memberPayload(world, member) } : payload;
}
