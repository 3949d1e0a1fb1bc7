/** Messages as a person sees them, with their effects on others: pings and previews. */
import { type APIEmbed, type APIMessage, MessageFlags } from "discord.js";
import { timeOfId } from "./clock.ts";
import { isFields } from "./fields.ts";
import { previewsOf } from "./mentions.ts";
import { attachmentUrl, messagePayload } from "./message-payload.ts";
import type { AttachmentRecord, ChannelRecord, MessageRecord, Pings, World } from "./world.ts";

export interface SeenButton {
  label: string;
  /** Absent on links. */
  customId?: string;
  url?: string;
  emoji?: string;
  /** 1 primary, 2 secondary, 3 success, 4 danger, 5 link. */
  style: number;
  isDisabled: boolean;
  /** The row it stands in, from 0. */
  row: number;
}

export interface SeenFile {
  id: string;
  name: string;
  bytes: Buffer;
  text: string;
  contentType?: string;
  description?: string;
  url: string;
}

export interface SeenMessage {
  id: string;
  channelId: string;
  author: { id: string; name: string; isBot: boolean };
  /** 0 plain, 19 reply, 20 answer to a command; others are the service's own. */
  type: number;
  content: string;
  embeds: APIEmbed[];
  buttons: SeenButton[];
  /** All components as they were sent. */
  components: APIMessage["components"];
  files: SeenFile[];
  flags: number;
  isEphemeral: boolean;
  /** A deferred answer: "is thinking". */
  isLoading: boolean;
  /** Those who were notified when it was sent. */
  pings: Pings;
  /**
   * The words of its notification: the text that it was sent with, and nothing of embeds and components.
   * Rule: notifications-show-no-components
   */
  notification: string;
  /** Links that would be unfolded below it. */
  previews: string[];
  replyTo?: string;
  threadId?: string;
  nonce?: string | number;
  isEdited: boolean;
  /** What it said before each edit, oldest first. */
  earlierContents: string[];
  reactions: { emoji: string; userIds: string[] }[];
  at: number;
  /** As REST returns it to somebody who can read everything. */
  raw: APIMessage;
}

/** What somebody sees in a channel, oldest first; without a person what all of them see. */
export function seenIn(
  world: World,
  channel: ChannelRecord,
  options: { userId?: string; after?: string } = {},
): SeenMessage[] {
  const { userId, after = "0" } = options;
  return [...channel.messages.values()]
    .filter(({ onlyFor }) => onlyFor === undefined || onlyFor === userId)
    .filter(({ id }) => BigInt(id) > BigInt(after))
    .map((message) => seen(world, channel, message));
}

export function seen(world: World, channel: ChannelRecord, message: MessageRecord): SeenMessage {
  const raw = messagePayload(world, message, { readsContent: true });
  const now = { ...message };
  const { reference, threadId, nonce } = message;
  return {
    id: message.id,
    channelId: channel.id,
    author: { id: raw.author.id, name: raw.author.global_name ?? raw.author.username, isBot: raw.author.bot ?? false },
    type: message.type,
    content: message.content,
    embeds: raw.embeds,
    buttons: buttonsOf(message.components),
    components: message.components,
    files: message.attachments.map((file) => seenFile(world, message, file)),
    flags: message.flags,
    isEphemeral: message.onlyFor !== undefined,
    isLoading: (message.flags & MessageFlags.Loading) !== 0,
    pings: message.pings,
    notification: message.earlierContents[0] ?? message.content,
    // Only when it is asked for, like the text of files.
    get previews() {
      return previewsOf(world, channel, now);
    },
    isEdited: message.editedAt !== undefined,
    earlierContents: [...message.earlierContents],
    reactions: message.reactions.map(({ emoji, userIds }) => ({ emoji: emoji.name, userIds: [...userIds] })),
    at: timeOfId(message.id),
    raw,
    ...(reference?.messageId === undefined ? {} : { replyTo: reference.messageId }),
    ...(threadId === undefined ? {} : { threadId }),
    ...(nonce === undefined ? {} : { nonce }),
  };
}

function seenFile(world: World, message: MessageRecord, file: AttachmentRecord): SeenFile {
  return {
    id: file.id,
    name: file.filename,
    bytes: file.bytes,
    // Only when it is asked for: tests look every few milliseconds, and files can be large.
    get text() {
      return file.bytes.toString();
    },
    url: attachmentUrl(world, message.channelId, file),
    ...(file.contentType === undefined ? {} : { contentType: file.contentType }),
    ...(file.description === undefined ? {} : { description: file.description }),
  };
}

/** All buttons of a message, row by row. */
function buttonsOf(components: unknown[]): SeenButton[] {
  return components.flatMap((row, index) =>
    itemsOf(row)
      .filter(({ type }) => type === 2)
      .map((item) => button(item, index)),
  );
}

/** The components inside a row, at any depth. */
export function itemsOf(component: unknown): Record<string, unknown>[] {
  if (!isFields(component)) return [];
  const inner = [
    ...(Array.isArray(component.components) ? component.components : []),
    component.accessory,
    component.component,
  ];
  return [component, ...inner.flatMap(itemsOf)];
}

function button(item: Record<string, unknown>, row: number): SeenButton {
  const emoji = isFields(item.emoji) ? String(item.emoji.name) : undefined;
  return {
    label: String(item.label ?? ""),
    style: Number(item.style),
    isDisabled: item.disabled === true,
    row,
    ...(typeof item.custom_id === "string" ? { customId: item.custom_id } : {}),
    ...(typeof item.url === "string" ? { url: item.url } : {}),
    ...(emoji === undefined ? {} : { emoji }),
  };
}
