/**
 * Routes of channels' messages and reactions.
 * Rule: message-pages
 */
import { PermissionFlagsBits } from "discord.js";
import { createForm, refusal } from "./api-error.ts";
import { timeOfId } from "./clock.ts";
import { demandDeleting, editWithDraft, isLayout, removeMessages } from "./edit-messages.ts";
import { announceTyping } from "./events.ts";
import { integer, isFields, list, snowflake } from "./fields.ts";
import { channelOf, messageOf } from "./lookups.ts";
import { readMessage } from "./message-form.ts";
import { messagePayload } from "./message-payload.ts";
import { sendDraft } from "./messages.ts";
import { can, demand, sendingIn } from "./permissions.ts";
import type { Route, RouteRequest } from "./router.ts";
import type { ChannelRecord, MessageRecord, World } from "./world.ts";

const twoWeeksMs = 14 * 86_400_000;

export const messageRoutes: Route[] = [
  {
    name: "messages.create",
    method: "POST",
    pattern: "/channels/:channel/messages",
    handle: (request) => {
      const { world } = request;
      const channel = seenChannel(request);
      const draft = readMessage(request.json, request.files);
      const message = sendDraft(world, channel, draft, { authorId: world.application.id });
      return { body: answerOf(world, message, true) };
    },
  },
  {
    name: "messages.list",
    method: "GET",
    pattern: "/channels/:channel/messages",
    handle: (request) => ({ body: listed(request).map((message) => answerOf(request.world, message)) }),
  },
  {
    name: "messages.get",
    method: "GET",
    pattern: "/channels/:channel/messages/:message",
    handle: (request) => {
      const channel = seenChannel(request);
      demand(request.world, request.world.application.id, channel, PermissionFlagsBits.ReadMessageHistory);
      return { body: answerOf(request.world, messageOf(channel, request.parts.message ?? "")) };
    },
  },
  {
    name: "messages.edit",
    method: "PATCH",
    pattern: "/channels/:channel/messages/:message",
    handle: (request) => {
      const { world } = request;
      const channel = seenChannel(request);
      const message = messageOf(channel, request.parts.message ?? "");
      const draft = readMessage(request.json, request.files, isLayout(message));
      return { body: answerOf(world, editWithDraft(world, channel, message, draft, { by: world.application.id })) };
    },
  },
  {
    name: "messages.delete",
    method: "DELETE",
    pattern: "/channels/:channel/messages/:message",
    handle: (request) => {
      const { world } = request;
      const channel = seenChannel(request);
      const message = messageOf(channel, request.parts.message ?? "");
      demandDeleting(world, channel, message, world.application.id);
      removeMessages(world, channel, [message.id]);
      return {};
    },
  },
  {
    name: "messages.bulk-delete",
    method: "POST",
    pattern: "/channels/:channel/messages/bulk-delete",
    handle: (request) => {
      const { world, json } = request;
      const channel = seenChannel(request);
      if (channel.guildId === undefined) throw refusal("notOnDms");
      demand(world, world.application.id, channel, PermissionFlagsBits.ManageMessages);
      const form = createForm();
      const ids = list(form, isFields(json) ? json.messages : undefined, ["messages"], 100).flatMap((one, index) => {
        return snowflake(form, one, ["messages", index]) ?? [];
      });
      form.check();
      if (ids.length < 2) throw refusal("bulkDeleteCount");
      if (ids.some((id) => timeOfId(id) < world.clock.now() - twoWeeksMs)) throw refusal("bulkDeleteAge");
      removeMessages(world, channel, ids);
      return {};
    },
  },
  {
    name: "typing",
    method: "POST",
    pattern: "/channels/:channel/typing",
    handle: (request) => {
      const { world } = request;
      const channel = seenChannel(request);
      demand(world, world.application.id, channel, sendingIn(channel));
      channel.typing.push({ userId: world.application.id, at: world.clock.now() });
      announceTyping(world, channel, world.application.id);
      return {};
    },
  },
];

/** A channel that the bot can see. It may know others but can't use them. */
export function seenChannel({ world, parts }: RouteRequest): ChannelRecord {
  const channel = channelOf(world, parts.channel ?? "");
  demand(world, world.application.id, channel);
  return channel;
}

/** As the application receives it: without the intent in the portal, it can't read content. */
function answerOf(world: World, message: MessageRecord, withNonce = false): object {
  return messagePayload(world, message, { readsContent: world.application.portal.messageContent, withNonce });
}

/** Newest first; without the right to read history there is none. */
function listed(request: RouteRequest): MessageRecord[] {
  const { world, query } = request;
  const channel = seenChannel(request);
  const form = createForm();
  const limit = integer(form, query.get("limit") ?? 50, ["limit"], { min: 1, max: 100 }) ?? 50;
  form.check();
  if (!can(world, world.application.id, channel, PermissionFlagsBits.ReadMessageHistory)) return [];
  const all = [...channel.messages.values()].filter(({ onlyFor }) => onlyFor === undefined).reverse();
  const [around, before, after] = ["around", "before", "after"].map((key) => query.get(key));
  if (around) {
    const newer = all.filter(({ id }) => BigInt(id) > BigInt(around)).slice(-Math.floor(limit / 2));
    const rest = all.filter(({ id }) => BigInt(id) <= BigInt(around)).slice(0, limit - newer.length);
    return [...newer, ...rest];
  }
  if (before) return all.filter(({ id }) => BigInt(id) < BigInt(before)).slice(0, limit);
  if (after) return all.filter(({ id }) => BigInt(id) > BigInt(after)).slice(-limit);
  return all.slice(0, limit);
}
