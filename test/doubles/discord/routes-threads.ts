/**
 * Routes of channels and threads.
 * Rule: thread-sizes
 */
import { PermissionFlagsBits as Flags } from "discord.js";
import { createForm, refusal } from "./api-error.ts";
import { announceChannel, announceThread } from "./events.ts";
import { choice, flag, integer, isAbsent, isFields, text } from "./fields.ts";
import { isThread, messageOf, threadsOf } from "./lookups.ts";
import { defaultMentions, mentionsOf, pingsOf } from "./mentions.ts";
import { type MessageDraft, readMessage } from "./message-form.ts";
import { newAttachments, textOf } from "./messages.ts";
import { channelPayload, threadList } from "./payloads.ts";
import { can, demand } from "./permissions.ts";
import type { Route, RouteAnswer, RouteRequest } from "./router.ts";
import { seenChannel } from "./routes-messages.ts";
import { startThread } from "./start-thread.ts";
import type { ChannelRecord, MessageRecord, ThreadChannel, World } from "./world.ts";

const archiveMinutes = [60, 1440, 4320, 10_080];

export const threadRoutes: Route[] = [
  {
    name: "channels.get",
    method: "GET",
    pattern: "/channels/:channel",
    handle: (request) => ({ body: channelPayload(request.world, seenChannel(request)) }),
  },
  { name: "channels.edit", method: "PATCH", pattern: "/channels/:channel", handle: editChannel },
  { name: "channels.delete", method: "DELETE", pattern: "/channels/:channel", handle: deleteChannel },
  {
    name: "threads.create-from-message",
    limit: "threads.create",
    method: "POST",
    pattern: "/channels/:channel/messages/:message/threads",
    handle: (request) => create(request, true),
  },
  {
    name: "threads.create",
    method: "POST",
    pattern: "/channels/:channel/threads",
    handle: (request) => create(request, false),
  },
  { name: "threads.archived", method: "GET", pattern: "/channels/:channel/threads/archived/:kind", handle: archived },
  {
    name: "threads.archived-joined",
    method: "GET",
    pattern: "/channels/:channel/users/@me/threads/archived/private",
    handle: archived,
  },
];

function create(request: RouteRequest, isFromMessage: boolean): RouteAnswer {
  const { world, json, parts } = request;
  const parent = seenChannel(request);
  const body = isFields(json) ? json : {};
  const form = createForm();
  const name = text(form, body.name, ["name"], { min: 1, max: 100 }) ?? "";
  const type = isFromMessage ? 11 : isAbsent(body.type) ? 12 : (choice(form, body.type, ["type"], [10, 11, 12]) ?? 12);
  const minutes = isAbsent(body.auto_archive_duration)
    ? 1440
    : choice(form, body.auto_archive_duration, ["auto_archive_duration"], archiveMinutes);
  const isInvitable = flag(form, body.invitable, ["invitable"]) ?? true;
  const isPost = parent.type === 15;
  const isPrivate = type === 12 && !isPost;
  if (isPost && !isFields(body.message)) form.wrong(["message"], "BASE_TYPE_REQUIRED", "This field is required");
  form.check();
  const draft = isPost ? readMessage(body.message, request.files) : undefined;
  const starter = isFromMessage ? messageOf(parent, parts.message ?? "") : undefined;
  if (starter !== undefined) demand(world, world.application.id, parent, Flags.ReadMessageHistory);
  demand(
    world,
    world.application.id,
    parent,
    isPost ? Flags.SendMessages : isPrivate ? Flags.CreatePrivateThreads : Flags.CreatePublicThreads,
  );
  const thread = startThread(world, parent, {
    name: name.trim(),
    ownerId: world.application.id,
    isPrivate,
    ...(draft === undefined ? {} : { first: firstOf(world, parent, draft) }),
    autoArchiveMinutes: minutes ?? 1440,
    isInvitable,
    ...(starter === undefined ? {} : { starter }),
  });
  return { status: 201, body: channelPayload(world, thread) };
}

/** A forum's post begins with a message of its own. */
function firstOf(world: World, parent: ChannelRecord, draft: MessageDraft): Partial<MessageRecord> {
  const author = { id: world.application.id };
  const allowed = draft.allowedMentions ?? defaultMentions(false);
  const mentions = mentionsOf(world, parent, author, textOf(draft), allowed);
  return {
    content: draft.content ?? "",
    embeds: draft.embeds ?? [],
    components: draft.components ?? [],
    attachments: newAttachments(world, draft, false),
    mentions,
    pings: pingsOf(world, parent, author.id, mentions),
  };
}

function archived(request: RouteRequest): RouteAnswer {
  const { world, query, parts } = request;
  const parent = seenChannel(request);
  const botId = world.application.id;
  demand(world, botId, parent, Flags.ReadMessageHistory);
  const isPrivate = parts.kind !== "public";
  const isJoinedOnly = parts.kind === undefined;
  if (isPrivate && !isJoinedOnly) demand(world, botId, parent, Flags.ManageThreads);
  const limit = Number(query.get("limit") ?? 50);
  const found = threadsOf(world, parent.id)
    .filter(({ thread, type }) => thread.isArchived && (type === 12) === isPrivate)
    .filter(({ thread }) => !isJoinedOnly || thread.members.has(botId))
    .sort((a, b) => b.thread.archiveChangedAt - a.thread.archiveChangedAt);
  const before = query.get("before");
  const rest = before === null ? found : found.filter(({ thread }) => thread.archiveChangedAt < Date.parse(before));
  return { body: { ...threadList(world, rest.slice(0, limit)), has_more: rest.length > limit } };
}

function editChannel(request: RouteRequest): RouteAnswer {
  const { world, json } = request;
  const channel = seenChannel(request);
  const body = isFields(json) ? json : {};
  const form = createForm();
  const name = isAbsent(body.name) ? undefined : text(form, body.name, ["name"], { min: 1, max: 100 });
  const slowmode = integer(form, body.rate_limit_per_user, ["rate_limit_per_user"], { min: 0, max: 21_600 });
  if (!isThread(channel)) {
    const topic = text(form, body.topic, ["topic"], { max: 1024 });
    form.check();
    demand(world, world.application.id, channel, Flags.ManageChannels);
    Object.assign(channel, name === undefined ? {} : { name }, topic === undefined ? {} : { topic });
    announceChannel(world, "CHANNEL_UPDATE", channel);
    return { body: channelPayload(world, channel) };
  }
  const isArchived = flag(form, body.archived, ["archived"]);
  const isLocked = flag(form, body.locked, ["locked"]);
  const minutes = isAbsent(body.auto_archive_duration)
    ? undefined
    : choice(form, body.auto_archive_duration, ["auto_archive_duration"], archiveMinutes);
  form.check();
  demandThreadEdit(world, channel, { isArchived, needsManaging: isLocked !== undefined || slowmode !== undefined });
  const { thread } = channel;
  if (isArchived !== undefined && isArchived !== thread.isArchived) thread.archiveChangedAt = world.clock.now();
  thread.isArchived = isArchived ?? thread.isArchived;
  thread.isLocked = isLocked ?? thread.isLocked;
  thread.autoArchiveMinutes = minutes ?? thread.autoArchiveMinutes;
  channel.name = name ?? channel.name;
  announceThread(world, "THREAD_UPDATE", channel);
  world.changed();
  return { body: channelPayload(world, channel) };
}

/** A thread's creator can rename, archive and reopen it; only thread managers can moderate it. */
function demandThreadEdit(
  world: World,
  channel: ThreadChannel,
  asked: { isArchived: boolean | undefined; needsManaging: boolean },
): void {
  const botId = world.application.id;
  const { thread } = channel;
  if (can(world, botId, channel, Flags.ManageThreads)) return;
  if (asked.needsManaging) throw refusal("missingPermissions");
  const isReopening = asked.isArchived === false;
  if (thread.isArchived && !isReopening) throw refusal("archivedThread");
  // Who has made a locked thread can't open it either.
  if (isReopening && thread.isLocked) throw refusal("missingPermissions");
  if (isReopening && thread.members.has(botId)) return;
  if (channel.ownerId !== botId) throw refusal("missingPermissions");
}

function deleteChannel(request: RouteRequest): RouteAnswer {
  const { world } = request;
  const channel = seenChannel(request);
  const body = channelPayload(world, channel);
  if (channel.guildId === undefined) return { body };
  demand(world, world.application.id, channel, isThread(channel) ? Flags.ManageThreads : Flags.ManageChannels);
  dropChannel(world, channel);
  return { body };
}

/** A channel goes with its threads. */
export function dropChannel(world: World, channel: ChannelRecord): void {
  if (isThread(channel)) announceThread(world, "THREAD_DELETE", channel);
  else announceChannel(world, "CHANNEL_DELETE", channel);
  for (const thread of threadsOf(world, channel.id)) world.channels.delete(thread.id);
  world.channels.delete(channel.id);
  world.changed();
}
