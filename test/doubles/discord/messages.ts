/**
 * Messages are sent, edited and deleted here, by people and by the application.
 * Rule: nonce-posts-once
 */
import { PermissionFlagsBits } from "discord.js";
import { refusal, wrongField } from "./api-error.ts";
import { announceMessage } from "./events.ts";
import { textsIn } from "./layout-form.ts";
import { isThread, noPings } from "./lookups.ts";
import { defaultMentions, mentionsOf, pingsOf } from "./mentions.ts";
import { type MessageDraft, settableFlags } from "./message-form.ts";
import { can, demand } from "./permissions.ts";
import { joinThread, openForMessage } from "./threads.ts";
import type { AttachmentRecord, ChannelRecord, MessageRecord, World } from "./world.ts";

type NewMessage = Partial<MessageRecord> & Pick<MessageRecord, "authorId">;

/** How long a nonce is remembered: "a few minutes". */
const nonceMs = 300_000;

/** Types of messages that somebody has written; the rest are the service's own. */
export const writtenTypes = [0, 19, 20, 23];

/** Adds a message to a channel and sends the events. */
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

/** Sends the form's message after Discord's checks. A known nonce returns its first message. */
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
  const mentions = mentionsOf(world, channel, { id: authorId }, textOf(draft), allowed, answered?.authorId);
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
  demand(world, authorId, channel);
  if (channel.type === 4 || channel.type === 15) throw refusal("notATextChannel");
  demand(world, authorId, channel, ViewChannel, isThread(channel) ? SendMessagesInThreads : SendMessages);
  if ((draft.embeds?.length ?? 0) > 0) demand(world, authorId, channel, EmbedLinks);
  if (draft.files.length > 0) demand(world, authorId, channel, AttachFiles);
  const recipient = channel.recipientId === undefined ? undefined : world.users.get(channel.recipientId);
  if (recipient === undefined || authorId !== world.application.id) return;
  if (!recipient.acceptsDms) throw refusal("cannotMessageUser");
  const shared = [...world.guilds.values()].some(({ members }) => members.has(authorId) && members.has(recipient.id));
  if (!shared) throw refusal("noMutualGuilds");
}

/** Where mentions may stand: the text, and the texts among the components. */
export function textOf(draft: Pick<MessageDraft, "content" | "components">): string {
  return [draft.content ?? "", ...textsIn(draft.components ?? [])].join("\n");
}

function isEmpty(draft: MessageDraft): boolean {
  const parts = [draft.content, draft.embeds, draft.components, draft.files];
  return parts.every((part) => (part?.length ?? 0) === 0);
}

/** The author's recent message with this nonce. */
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

/** The message a reply answers. If it was deleted and the sender allows it, the reply becomes a plain message. */
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

/** Files of a body, each with its entry in `attachments`. */
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
