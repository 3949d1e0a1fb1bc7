/** Membership and state of threads. */
import { PermissionFlagsBits } from "discord.js";
import { refusal } from "./api-error.ts";
import { announceThread, announceThreadMembers } from "./events.ts";
import { isThread } from "./lookups.ts";
import { can } from "./permissions.ts";
import type { ChannelRecord, ThreadChannel, World } from "./world.ts";

export function joinThread(world: World, channel: ThreadChannel, userIds: string[]): void {
  const added = userIds.filter((id) => !channel.thread.members.has(id));
  if (added.length === 0) return;
  for (const id of added) channel.thread.members.set(id, { joinedAt: world.clock.now() });
  // Into a private thread the bot comes only by this, so it is told what the thread is.
  if (added.includes(world.application.id)) announceThread(world, "THREAD_CREATE", channel);
  announceThreadMembers(world, channel, added, []);
}

export function leaveThread(world: World, channel: ThreadChannel, userId: string): void {
  if (!channel.thread.members.delete(userId)) return;
  announceThreadMembers(world, channel, [], [userId]);
}

export function setArchived(world: World, channel: ThreadChannel, isArchived: boolean): void {
  if (channel.thread.isArchived === isArchived) return;
  channel.thread.isArchived = isArchived;
  channel.thread.archiveChangedAt = world.clock.now();
  announceThread(world, "THREAD_UPDATE", channel);
}

/** A message reopens an archived thread. Only thread managers can write in a locked one. */
export function openForMessage(world: World, channel: ChannelRecord, userId: string): void {
  if (!isThread(channel)) return;
  if (channel.thread.isLocked && !can(world, userId, channel, PermissionFlagsBits.ManageThreads)) {
    throw refusal(channel.thread.isArchived ? "archivedThread" : "threadLocked");
  }
  setArchived(world, channel, false);
}

/** In an archived thread nothing is changed; messages may be deleted. */
export function demandActive(channel: ChannelRecord): void {
  if (isThread(channel) && channel.thread.isArchived) throw refusal("archivedThread");
}
