/** New threads, from a message or standalone, with their system messages. */
import { refusal } from "./api-error.ts";
import { announceMessage, announceThread } from "./events.ts";
import { addMessage, writtenTypes } from "./messages.ts";
import { joinThread } from "./threads.ts";
import type { ChannelRecord, MessageRecord, ThreadChannel, World } from "./world.ts";

export interface NewThread {
  name: string;
  ownerId: string;
  isPrivate: boolean;
  autoArchiveMinutes: number;
  isInvitable: boolean;
  /** The message that started it, with the same id. */
  starter?: MessageRecord;
  /** In a forum: the first message, which has the thread's id. */
  first?: Partial<MessageRecord>;
}

export function startThread(world: World, parent: ChannelRecord, wanted: NewThread): ThreadChannel {
  const { starter } = wanted;
  const isForum = parent.type === 15;
  if (![0, 5, 15].includes(parent.type)) throw refusal("invalidChannelType");
  if (starter !== undefined && world.channels.has(starter.id)) throw refusal("threadExists");
  if (starter !== undefined && !writtenTypes.includes(starter.type)) {
    throw refusal("systemMessage");
  }
  const channel = {
    id: starter?.id ?? world.nextId(),
    type: wanted.isPrivate ? 12 : parent.type === 5 ? 10 : 11,
    ...(parent.guildId === undefined ? {} : { guildId: parent.guildId }),
    name: wanted.name,
    topic: null,
    position: 0,
    parentId: parent.id,
    ownerId: wanted.ownerId,
    overwrites: [],
    slowmodeSeconds: 0,
    messages: new Map(),
    lastMessageId: null,
    typing: [],
    thread: {
      members: new Map([[wanted.ownerId, { joinedAt: world.clock.now() }]]),
      isArchived: false,
      isLocked: false,
      isInvitable: wanted.isInvitable,
      autoArchiveMinutes: wanted.autoArchiveMinutes,
      archiveChangedAt: world.clock.now(),
      messageCount: 0,
      totalSent: 0,
    },
  } satisfies ChannelRecord;
  world.channels.set(channel.id, channel);
  announceThread(world, "THREAD_CREATE", channel, { newly_created: true });
  if (starter !== undefined) markStarter(world, parent, channel, starter);
  else if (isForum) addMessage(world, channel, { ...wanted.first, id: channel.id, authorId: wanted.ownerId });
  else if (!wanted.isPrivate) tellParent(world, parent, channel);
  // Whoever wrote the message that a thread is about is in it.
  if (starter !== undefined && starter.webhook === undefined) joinThread(world, channel, [starter.authorId]);
  world.changed();
  return channel;
}

function markStarter(world: World, parent: ChannelRecord, channel: ChannelRecord, starter: MessageRecord): void {
  const hasThread = 1 << 5;
  starter.threadId = channel.id;
  starter.flags |= hasThread;
  announceMessage(world, "MESSAGE_UPDATE", parent, starter);
  addMessage(world, channel, {
    authorId: starter.authorId,
    type: 21,
    reference: { type: 0, messageId: starter.id, channelId: parent.id, guildId: parent.guildId ?? "" },
    ...(starter.webhook === undefined ? {} : { webhook: starter.webhook }),
  });
}

function tellParent(world: World, parent: ChannelRecord, channel: ChannelRecord): void {
  addMessage(world, parent, {
    authorId: channel.ownerId ?? "",
    type: 18,
    content: channel.name,
    reference: { type: 0, channelId: channel.id, guildId: parent.guildId ?? "" },
  });
}
