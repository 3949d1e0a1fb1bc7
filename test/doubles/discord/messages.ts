/** Messages are sent, edited and deleted here, by people and by the application alike. */
import { MessageFlags, PermissionFlagsBits } from "discord.js";
import { refusal, wrongField } from "./api-error.ts";
import { announceDeletion, announceMessage } from "./events.ts";
import { type AllowedMentions, defaultMentions, mentionsOf, pingsOf } from "./mentions.ts";
import { type MessageDraft, settableFlags } from "./message-form.ts";
import { can, demand } from "./permissions.ts";
import { demandActive, joinThread, openForMessage } from "./threads.ts";
import {
  type AttachmentRecord,
  type ChannelRecord,
  isThread,
  type MessageRecord,
  noPings,
  type World,
} from "./world.ts";

type NewMessage = Partial<MessageRecord> & Pick<MessageRecord, "authorId">;

/** How long a nonce is remembered: "a few minutes". */
const nonceMs = 300_000;

/** Types of messages that somebody has written; the rest are the service's own. */
const writtenTypes = [0, 19, 20, 23];

/** Puts a message into a channel and tells everybody. */
export function addMessage(world: World, channel: ChannelRecord, message: NewMessage): MessageRecord {
  const record: MessageRecord = {
    id: world.nextId(),
    channelId: channel.id,
    type: 0,
    content: "",
    embeds: [],
    components: [],
    attachments: [],
    flags: 0,
    isTts: false,
    isPinned: false,
    earlierContents: [],
    mentions: noPings,
    pings: noPings,
    reactions: [],
    ...message,
  };
  channel.messages.set(record.id, record);
  if (record.onlyFor === undefined) {
    channel.lastMessageId = record.id;
    countInThread(world, channel, record);
  }
  announceMessage(world, "MESSAGE_CREATE", channel, record);
  return record;
}

function countInThread(world: World, channel: ChannelRecord, message: MessageRecord): void {
  if (!isThread(channel) || !writtenTypes.includes(message.type)) return;
  channel.thread.messageCount += 1;
  channel.thread.totalSent += 1;
  const called = message.pings.users.filter((id) => world.guilds.get(channel.guildId ?? "")?.members.has(id));
  const author = message.webhook === undefined ? [message.authorId] : [];
  joinThread(world, channel, [...author, ...called]);
}

export interface SendOptions {
  authorId: string;
  isInteraction?: boolean;
  /** Fields that only interactions' messages have. */
  extra?: Partial<MessageRecord>;
}

/** Sends what a form asks for, after all that Discord checks. A known nonce answers with its first message. */
export function sendDraft(
  world: World,
  channel: ChannelRecord,
  draft: MessageDraft,
  options: SendOptions,
): MessageRecord {
  const { authorId, isInteraction = false } = options;
  const known = draft.enforceNonce ? knownNonce(world, draft, authorId) : undefined;
  if (known !== undefined) return known;
  if (!isInteraction) demandSending(world, channel, draft, authorId);
  if (isEmpty(draft)) throw refusal("emptyMessage");
  const answered = answeredBy(world, channel, draft, authorId);
  if (!isInteraction) openForMessage(world, channel, authorId);
  const allowed = draft.allowedMentions ?? defaultMentions(isInteraction);
  const mentions = mentionsOf(world, channel, { id: authorId }, draft.content ?? "", allowed, answered?.authorId);
  const settable = isInteraction ? settableFlags.interaction : settableFlags.create;
  const onlyFor = options.extra?.onlyFor;
  const message = addMessage(world, channel, {
    authorId,
    content: draft.content ?? "",
    embeds: draft.embeds ?? [],
    components: draft.components ?? [],
    attachments: newAttachments(world, draft, onlyFor !== undefined),
    flags: (draft.flags ?? 0) & settable,
    isTts: draft.isTts,
    mentions,
    pings: pingsOf(world, channel, authorId, mentions),
    ...(draft.nonce === undefined ? {} : { nonce: draft.nonce }),
    ...(answered === undefined ? {} : replyFields(channel, answered)),
    ...options.extra,
  });
  keepNonce(world, message);
  world.changed();
  return message;
}

function demandSending(world: World, channel: ChannelRecord, draft: MessageDraft, authorId: string): void {
  const { ViewChannel, SendMessages, SendMessagesInThreads, EmbedLinks, AttachFiles } = PermissionFlagsBits;
  if (channel.type === 4 || channel.type === 15) throw refusal("invalidChannelType");
  demand(world, authorId, channel, ViewChannel, isThread(channel) ? SendMessagesInThreads : SendMessages);
  if ((draft.embeds?.length ?? 0) > 0) demand(world, authorId, channel, EmbedLinks);
  if (draft.files.length > 0) demand(world, authorId, channel, AttachFiles);
  const recipient = channel.recipientId === undefined ? undefined : world.users.get(channel.recipientId);
  if (recipient !== undefined && authorId === world.application.id && !recipient.acceptsDms) {
    throw refusal("cannotMessageUser");
  }
}

function isEmpty(draft: MessageDraft): boolean {
  const parts = [draft.content, draft.embeds, draft.components, draft.files];
  return parts.every((part) => (part?.length ?? 0) === 0);
}

/** The message that the same author has sent with this nonce lately. */
function knownNonce(world: World, draft: MessageDraft, authorId: string): MessageRecord | undefined {
  const known = world.nonces.get(`${authorId} ${draft.nonce}`);
  if (known === undefined || known.at <= world.clock.now() - nonceMs) return undefined;
  return world.channels.get(known.channelId)?.messages.get(known.messageId);
}

function keepNonce(world: World, message: MessageRecord): void {
  if (message.nonce === undefined) return;
  const { authorId, nonce, id: messageId, channelId } = message;
  world.nonces.set(`${authorId} ${nonce}`, { messageId, channelId, at: world.clock.now() });
}

/** The message a reply answers; one that is gone makes a plain message of the reply, if the sender says so. */
function answeredBy(
  world: World,
  channel: ChannelRecord,
  draft: MessageDraft,
  authorId: string,
): MessageRecord | undefined {
  if (draft.repliesTo === undefined) return undefined;
  if (!can(world, authorId, channel, PermissionFlagsBits.ReadMessageHistory))
    throw refusal("cannotReplyWithoutHistory");
  const answered = channel.messages.get(draft.repliesTo.messageId);
  if (answered === undefined || answered.onlyFor !== undefined) {
    if (!draft.repliesTo.failsIfGone) return undefined;
    throw wrongField(["message_reference"], "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "Unknown message");
  }
  if (!writtenTypes.includes(answered.type)) {
    const what = "Cannot reply to a system message";
    throw wrongField(["message_reference"], "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE", what);
  }
  return answered;
}

/** What makes a message a reply to another one of its channel. */
export function replyFields(
  channel: ChannelRecord,
  answered: MessageRecord,
): Pick<MessageRecord, "type" | "reference"> {
  return {
    type: 19,
    reference: {
      type: 0,
      messageId: answered.id,
      channelId: channel.id,
      ...(channel.guildId === undefined ? {} : { guildId: channel.guildId }),
    },
  };
}

/** Files of a body, each with what its entry in `attachments` says of it. */
export function newAttachments(world: World, draft: MessageDraft, isEphemeral: boolean): AttachmentRecord[] {
  return draft.files.map((file) => {
    const entry = draft.attachments?.find(({ id }) => id === file.index);
    return {
      id: world.nextId(),
      filename: (entry?.filename ?? file.filename).replace(/[^\p{L}\p{N}._-]/gu, "_"),
      bytes: file.bytes,
      isEphemeral,
      ...(file.contentType === undefined ? {} : { contentType: file.contentType }),
      ...(entry?.description === undefined ? {} : { description: entry.description }),
    };
  });
}

/** Changes a message; what the form does not mention stays. `by` is the editor, whom others' words do not belong to. */
export function editWithDraft(
  world: World,
  channel: ChannelRecord,
  message: MessageRecord,
  draft: MessageDraft,
  options: { by: string; isInteraction?: boolean },
): MessageRecord {
  const { by, isInteraction = false } = options;
  if (!isInteraction) demandEditing(world, channel, message, draft, by);
  const attachments = editedAttachments(world, message, draft);
  const next = {
    content: draft.content ?? message.content,
    embeds: draft.embeds ?? message.embeds,
    components: draft.components ?? message.components,
    attachments,
  };
  if (Object.values(next).every((part) => part.length === 0)) throw refusal("emptyMessage");
  if (draft.content !== undefined) {
    message.earlierContents.push(message.content);
    const allowed = draft.allowedMentions ?? defaultMentions(isInteraction);
    message.mentions = mentionsOf(
      world,
      channel,
      { id: message.authorId },
      next.content,
      allowed,
      repliedTo(world, message, allowed),
    );
  }
  Object.assign(message, next);
  if (draft.flags !== undefined) {
    message.flags = (message.flags & ~settableFlags.edit) | (draft.flags & settableFlags.edit);
  }
  // The first edit of a deferred answer is the answer, not a change of it.
  const wasLoading = (message.flags & MessageFlags.Loading) !== 0;
  message.flags &= ~MessageFlags.Loading;
  if (!wasLoading && touchesText(draft)) message.editedAt = world.clock.now();
  announceMessage(world, "MESSAGE_UPDATE", channel, message);
  world.changed();
  return message;
}

function touchesText(draft: MessageDraft): boolean {
  const parts = [draft.content, draft.embeds, draft.components, draft.attachments];
  return draft.files.length > 0 || parts.some((part) => part !== undefined);
}

function demandEditing(
  world: World,
  channel: ChannelRecord,
  message: MessageRecord,
  draft: MessageDraft,
  by: string,
): void {
  demand(world, by, channel);
  if (!writtenTypes.includes(message.type)) throw refusal("systemMessage");
  if (message.authorId !== by) {
    if (touchesText(draft)) throw refusal("notTheAuthor");
    demand(world, by, channel, PermissionFlagsBits.ManageMessages);
  }
  demandActive(channel);
  if (draft.embeds !== undefined && draft.embeds.length > 0) demand(world, by, channel, PermissionFlagsBits.EmbedLinks);
  if (draft.files.length > 0) demand(world, by, channel, PermissionFlagsBits.AttachFiles);
}

function repliedTo(world: World, message: MessageRecord, allowed: AllowedMentions): string | undefined {
  const { reference } = message;
  if (message.type !== 19 || !allowed.repliedUser || reference?.messageId === undefined) return undefined;
  return world.channels.get(reference.channelId)?.messages.get(reference.messageId)?.authorId;
}

/** With `attachments` in the form only those in it stay; without, new files come to the old ones. */
function editedAttachments(world: World, message: MessageRecord, draft: MessageDraft): AttachmentRecord[] {
  const kept =
    draft.attachments === undefined
      ? message.attachments
      : message.attachments.filter(({ id }) => draft.attachments?.some((entry) => entry.id === id));
  return [...kept, ...newAttachments(world, draft, message.onlyFor !== undefined)];
}

/** Takes messages away; nobody who answers or lists finds them afterwards. */
export function removeMessages(world: World, channel: ChannelRecord, ids: string[]): void {
  const gone = ids.filter((id) => channel.messages.has(id));
  const visible = gone.filter((id) => channel.messages.get(id)?.onlyFor === undefined);
  for (const id of gone) channel.messages.delete(id);
  if (isThread(channel)) channel.thread.messageCount -= visible.length;
  if (visible.length > 0) announceDeletion(world, channel, visible);
  world.changed();
}

export function demandDeleting(world: World, channel: ChannelRecord, message: MessageRecord, by: string): void {
  demand(world, by, channel);
  if (message.authorId === by) return;
  if (channel.guildId === undefined) throw refusal("notOnDms");
  demand(world, by, channel, PermissionFlagsBits.ManageMessages);
}
