/** Reactions: each emoji once per person, twenty emoji per message. */
import { PermissionFlagsBits } from "discord.js";
import { refusal } from "./api-error.ts";
import { announceCleared, announceReaction } from "./events.ts";
import { isEmoji } from "./fields.ts";
import { demand } from "./permissions.ts";
import { demandActive } from "./threads.ts";
import type { ChannelRecord, MessageRecord, ReactionRecord, World } from "./world.ts";

const maxKinds = 20;

/** `👍`, or `name:id` of a guild's own emoji. */
function readEmoji(text: string): ReactionRecord["emoji"] {
  const custom = /^(?:a:)?(\w+):(\d+)$/.exec(text);
  if (custom !== null) return { id: custom[2] ?? null, name: custom[1] ?? "" };
  if (!isEmoji(text)) throw refusal("unknownEmoji");
  return { id: null, name: text };
}

function find(message: MessageRecord, emoji: ReactionRecord["emoji"]): ReactionRecord | undefined {
  return message.reactions.find((one) => one.emoji.name === emoji.name && one.emoji.id === emoji.id);
}

export function addReaction(
  world: World,
  channel: ChannelRecord,
  message: MessageRecord,
  userId: string,
  text: string,
): void {
  demandActive(channel);
  const emoji = readEmoji(text);
  const known = find(message, emoji);
  demand(world, userId, channel, PermissionFlagsBits.ReadMessageHistory);
  if (known === undefined) demand(world, userId, channel, PermissionFlagsBits.AddReactions);
  if (known?.userIds.includes(userId)) return;
  if (known === undefined && message.reactions.length >= maxKinds) throw refusal("tooManyReactions");
  if (known === undefined) message.reactions.push({ emoji, userIds: [userId] });
  else known.userIds.push(userId);
  announceReaction(world, "MESSAGE_REACTION_ADD", channel, message, userId, emoji);
  world.changed();
}

export function removeReaction(
  world: World,
  channel: ChannelRecord,
  message: MessageRecord,
  userId: string,
  text: string,
): void {
  const emoji = readEmoji(text);
  const known = find(message, emoji);
  if (known === undefined) throw refusal("unknownEmoji");
  if (!known.userIds.includes(userId)) return;
  known.userIds = known.userIds.filter((id) => id !== userId);
  message.reactions = message.reactions.filter(({ userIds }) => userIds.length > 0);
  announceReaction(world, "MESSAGE_REACTION_REMOVE", channel, message, userId, emoji);
  world.changed();
}

/** All reactions, or all with one emoji. */
export function clearReactions(world: World, channel: ChannelRecord, message: MessageRecord, text?: string): void {
  const emoji = text === undefined ? undefined : readEmoji(text);
  message.reactions = emoji === undefined ? [] : message.reactions.filter((one) => one !== find(message, emoji));
  announceCleared(world, channel, message.id, emoji);
  world.changed();
}

export function reactorsOf(message: MessageRecord, text: string): string[] {
  return find(message, readEmoji(text))?.userIds ?? [];
}
