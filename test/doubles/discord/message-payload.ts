/** A message in Discord's format, without content if the application can't read it. */
import { createHash } from "node:crypto";
import type { APIAttachment, APIMessage, APIReaction } from "discord.js";
import { timeOfId, timestampOf } from "./clock.ts";
import { memberOf, userOf } from "./lookups.ts";
import { channelPayload, partialMember, userPayload } from "./payloads.ts";
import type { AttachmentRecord, MessageRecord, World } from "./world.ts";

const dayMs = 86_400_000;

/** Links to files have an expiry and a signature. */
export function attachmentUrl(world: World, channelId: string, attachment: AttachmentRecord): string {
  const folder = attachment.isEphemeral ? "ephemeral-attachments" : "attachments";
  const path = `/${folder}/${channelId}/${attachment.id}/${encodeURIComponent(attachment.filename)}`;
  const now = world.clock.now();
  const issued = Math.floor(now / 1000).toString(16);
  const expires = Math.floor((now + dayMs) / 1000).toString(16);
  return `${world.url}${path}?ex=${expires}&is=${issued}&hm=${signatureOf(world, path, expires, issued)}&`;
}

export function signatureOf(world: World, path: string, expires: string, issued: string): string {
  return createHash("sha256").update(`${world.application.id} ${path} ${expires} ${issued}`).digest("hex");
}

export function attachmentPayload(world: World, channelId: string, attachment: AttachmentRecord): APIAttachment {
  const url = attachmentUrl(world, channelId, attachment);
  return {
    id: attachment.id,
    filename: attachment.filename,
    size: attachment.bytes.length,
    url,
    proxy_url: url,
    ...(attachment.description === undefined ? {} : { description: attachment.description }),
    ...(attachment.contentType === undefined ? {} : { content_type: attachment.contentType }),
    ...(attachment.isEphemeral ? { ephemeral: true } : {}),
    ...(attachment.seconds === undefined ? {} : { duration_secs: attachment.seconds, waveform: "AAAAAAAAAAAA" }),
  };
}

/** The exceptions of the message content intent: own messages, DMs, and those that mention the application. */
function isReadable(world: World, message: MessageRecord, readsContent: boolean): boolean {
  const botId = world.application.id;
  if (readsContent || message.authorId === botId || message.mentions.users.includes(botId)) return true;
  return world.channels.get(message.channelId)?.guildId === undefined;
}

function reactionPayload(world: World, { emoji, userIds }: MessageRecord["reactions"][number]): APIReaction {
  return {
    emoji,
    count: userIds.length,
    count_details: { burst: 0, normal: userIds.length },
    burst_colors: [],
    me: userIds.includes(world.application.id),
    me_burst: false,
    burst_me: false,
    burst_count: 0,
  } as APIReaction;
}

/**
 * A message as REST returns it. `withNonce`: in the response to its sender. A reply contains the message it answers, or `null`
 * if that was deleted.
 */
export function messagePayload(
  world: World,
  message: MessageRecord,
  options: { readsContent: boolean; withNonce?: boolean; isInner?: boolean },
): APIMessage {
  const isRead = isReadable(world, message, options.readsContent);
  const thread = message.threadId === undefined ? undefined : world.channels.get(message.threadId);
  return {
    id: message.id,
    type: message.type,
    channel_id: message.channelId,
    author: authorPayload(world, message),
    content: isRead ? message.content : "",
    embeds: isRead ? message.embeds.map((embed) => withLinks(world, message, embed)) : [],
    attachments: isRead ? message.attachments.map((file) => attachmentPayload(world, message.channelId, file)) : [],
    components: isRead ? message.components : [],
    timestamp: timestampOf(timeOfId(message.id)),
    edited_timestamp: message.editedAt === undefined ? null : timestampOf(message.editedAt),
    tts: message.isTts,
    mention_everyone: message.mentions.everyone,
    mentions: message.mentions.users.map((id) => userPayload(userOf(world, id))),
    mention_roles: message.mentions.roles,
    pinned: message.isPinned,
    flags: message.flags,
    ...(message.reactions.length === 0
      ? {}
      : { reactions: message.reactions.map((reaction) => reactionPayload(world, reaction)) }),
    ...(options.withNonce && message.nonce !== undefined ? { nonce: message.nonce } : {}),
    ...(message.poll !== undefined && isRead ? { poll: pollPayload(message.poll) } : {}),
    ...(message.snapshot !== undefined && isRead ? { message_snapshots: [{ message: message.snapshot }] } : {}),
    ...(message.webhook === undefined ? {} : { webhook_id: message.webhook.id }),
    ...(message.applicationId === undefined ? {} : { application_id: message.applicationId }),
    ...(message.interaction === undefined ? {} : { interaction_metadata: message.interaction }),
    ...(thread === undefined ? {} : { thread: channelPayload(world, thread) }),
    ...referenceFields(world, message, options),
    ...(isRead ? message.shape : {}),
  } as APIMessage;
}

function pollPayload({ question, answers }: NonNullable<MessageRecord["poll"]>): object {
  return {
    question: { text: question },
    answers: answers.map((text, index) => ({ answer_id: index + 1, poll_media: { text } })),
    expiry: null,
    allow_multiselect: false,
    layout_type: 1,
    results: { is_finalized: false, answer_counts: [{ id: 1, count: 2, me_voted: false }] },
  };
}

function authorPayload(world: World, message: MessageRecord): APIMessage["author"] {
  const { webhook } = message;
  if (webhook === undefined) return userPayload(userOf(world, message.authorId));
  return {
    id: webhook.id,
    username: webhook.name,
    discriminator: "0000",
    global_name: null,
    avatar: null,
    bot: true,
  };
}

/** Pictures that an embed takes from the message's own files. */
function withLinks(world: World, message: MessageRecord, embed: APIMessage["embeds"][number]): typeof embed {
  const resolve = (url: string): string => {
    const name = url.startsWith("attachment://") ? url.slice("attachment://".length) : undefined;
    const file = message.attachments.find(({ filename }) => filename === name);
    return file === undefined ? url : attachmentUrl(world, message.channelId, file);
  };
  return {
    ...embed,
    ...(embed.image === undefined ? {} : { image: { ...embed.image, url: resolve(embed.image.url) } }),
    ...(embed.thumbnail === undefined ? {} : { thumbnail: { ...embed.thumbnail, url: resolve(embed.thumbnail.url) } }),
  };
}

function referenceFields(
  world: World,
  message: MessageRecord,
  options: { readsContent: boolean; isInner?: boolean },
): Partial<APIMessage> {
  const { reference } = message;
  if (reference === undefined) return {};
  const message_reference = {
    type: reference.type,
    channel_id: reference.channelId,
    ...(reference.messageId === undefined ? {} : { message_id: reference.messageId }),
    ...(reference.guildId === undefined ? {} : { guild_id: reference.guildId }),
  };
  const isReply = message.type === 19 || message.type === 21;
  if (!isReply || options.isInner || reference.messageId === undefined) return { message_reference };
  const answered = world.channels.get(reference.channelId)?.messages.get(reference.messageId);
  const inner = answered && messagePayload(world, answered, { readsContent: options.readsContent, isInner: true });
  return { message_reference, referenced_message: inner ?? null };
}

/** A message in MESSAGE_CREATE and MESSAGE_UPDATE: with the guild and the members of the author and the mentioned. */
export function messageEvent(
  world: World,
  message: MessageRecord,
  options: { readsContent: boolean; withNonce?: boolean },
): object {
  const channel = world.channels.get(message.channelId);
  const payload = messagePayload(world, message, options);
  const place = { channel_type: channel?.type };
  if (channel?.guildId === undefined) return { ...payload, ...place };
  const author = message.webhook === undefined ? memberOf(world, channel.guildId, message.authorId) : undefined;
  return {
    ...payload,
    ...place,
    guild_id: channel.guildId,
    ...(author === undefined ? {} : { member: partialMember(author) }),
    mentions: payload.mentions.map((user) => {
      const member = memberOf(world, channel.guildId, user.id);
      return member === undefined ? user : { ...user, member: partialMember(member) };
    }),
  };
}

/** What a forward keeps of a message: no author, and nothing that changes later. */
export function snapshotOf(world: World, message: MessageRecord): Partial<APIMessage> {
  const {
    type,
    content,
    embeds,
    attachments,
    timestamp,
    edited_timestamp,
    flags,
    mentions,
    mention_roles,
    components,
    sticker_items: stickers,
  } = messagePayload(world, message, { readsContent: true, isInner: true });
  const optional = {
    ...(flags === undefined ? {} : { flags }),
    ...(components === undefined ? {} : { components }),
    ...(stickers === undefined ? {} : { sticker_items: stickers }),
  };
  return { type, content, embeds, attachments, timestamp, edited_timestamp, mentions, mention_roles, ...optional };
}
