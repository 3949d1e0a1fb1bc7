/** Everything the service knows: people, guilds, channels, messages, the application. Plain records; rules are elsewhere. */
import type {
  APIApplicationCommand,
  APIEmbed,
  APIMessage,
  APIMessageInteractionMetadata,
  APIMessageTopLevelComponent,
  APIModalInteractionResponseCallbackData,
} from "discord.js";
import { type Clock, createSnowflakes } from "./clock.ts";

export interface UserRecord {
  id: string;
  username: string;
  displayName: string | null;
  isBot: boolean;
  acceptsDms: boolean;
}

export interface RoleRecord {
  id: string;
  name: string;
  permissions: bigint;
  position: number;
  isMentionable: boolean;
  /** Of the bot that the role came with. */
  botId?: string;
}

export interface MemberRecord {
  userId: string;
  nick: string | null;
  roleIds: string[];
  joinedAt: number;
}

export interface GuildRecord {
  id: string;
  name: string;
  ownerId: string;
  roles: Map<string, RoleRecord>;
  members: Map<string, MemberRecord>;
  isUnavailable: boolean;
  /** People whom the double does not play. */
  membersElsewhere: number;
}

export interface Overwrite {
  /** A role's or a person's id. */
  id: string;
  type: 0 | 1;
  allow: bigint;
  deny: bigint;
}

export interface ThreadRecord {
  members: Map<string, { joinedAt: number }>;
  isArchived: boolean;
  isLocked: boolean;
  isInvitable: boolean;
  autoArchiveMinutes: number;
  archiveChangedAt: number;
  messageCount: number;
  totalSent: number;
}

export interface ChannelRecord {
  id: string;
  type: number;
  /** Absent in DMs. */
  guildId?: string;
  name: string;
  topic: string | null;
  position: number;
  /** Of a thread: the channel it is in. */
  parentId?: string;
  ownerId?: string;
  overwrites: Overwrite[];
  /** For a DM: the person the bot talks with. */
  recipientId?: string;
  slowmodeSeconds: number;
  thread?: ThreadRecord;
  /** In the order of their ids, deleted ones left out. */
  messages: Map<string, MessageRecord>;
  lastMessageId: string | null;
  typing: { userId: string; at: number }[];
}

export type ThreadChannel = ChannelRecord & { thread: ThreadRecord; parentId: string };

export interface AttachmentRecord {
  id: string;
  filename: string;
  description?: string;
  contentType?: string;
  bytes: Buffer;
  isEphemeral: boolean;
  /** The length of a voice note. */
  seconds?: number;
}

/** Whom a message calls. */
export interface Pings {
  users: string[];
  roles: string[];
  everyone: boolean;
}

export interface ReactionRecord {
  emoji: { id: string | null; name: string };
  userIds: string[];
}

export interface MessageRecord {
  id: string;
  channelId: string;
  authorId: string;
  type: number;
  content: string;
  embeds: APIEmbed[];
  components: APIMessageTopLevelComponent[];
  attachments: AttachmentRecord[];
  flags: number;
  isTts: boolean;
  isPinned: boolean;
  nonce?: string | number;
  editedAt?: number;
  /** What it said before each edit, oldest first. */
  earlierContents: string[];
  reference?: { type: 0 | 1; messageId?: string; channelId: string; guildId?: string };
  poll?: { question: string; answers: string[] };
  /** For a forward: the message's text when it was forwarded. */
  snapshot?: Partial<APIMessage>;
  /** People mentioned in the current text; an edit changes them and pings nobody. */
  mentions: Pings;
  /** Those who were called when it was sent. */
  pings: Pings;
  reactions: ReactionRecord[];
  threadId?: string;
  webhook?: { id: string; name: string };
  /** Fields as Discord sends them, in place of the double's own: kinds of messages that nobody writes in these tests. */
  shape?: object;
  applicationId?: string;
  interaction?: APIMessageInteractionMetadata;
  /** An ephemeral message: the one person who sees it. */
  onlyFor?: string;
}

/** State of an interaction; the deadline is checked on access. */
export interface InteractionRecord {
  id: string;
  token: string;
  type: 2 | 3 | 5;
  /** `/remora status`, or the custom id. */
  name: string;
  userId: string;
  channelId: string;
  openedAt: number;
  /** Callback type of the answer; absent until there is one. */
  answeredWith?: number;
  /** The response's message, or the one with the component. */
  originalId?: string;
  /** The message whose button or select it was. */
  sourceId?: string;
  /** Acknowledged without a visible response yet. */
  isDeferred: boolean;
  modal?: APIModalInteractionResponseCallbackData;
  /** Of a modal: the interaction that opened it. */
  opener?: InteractionRecord;
  followupIds: string[];
  metadata: APIMessageInteractionMetadata;
}

export interface Portal {
  messageContent: boolean;
  /** Discord has approved the use of message content. */
  isReviewed: boolean;
  guildMembers: boolean;
  presence: boolean;
}

export interface ApplicationRecord {
  id: string;
  name: string;
  token: string;
  portal: Portal;
  /** By guild id, or `global`. */
  commands: Map<string, APIApplicationCommand[]>;
}

/** One event, before it is adapted to each session. */
export interface Dispatch {
  type: string;
  /** Any of these intents; 0: everybody gets it. */
  intents: number;
  /** Absent: a DM, which is shard 0's. */
  guildId?: string;
  /** The bot must see this channel. */
  channelId?: string;
  /** The payload for a session with or without message content. */
  payload(readsContent: boolean, intents: number): unknown;
}

/** Another status, or so many bytes and then a broken connection or silence. */
export type FileFault = { type: "answer"; status: number } | { type: "part"; bytes: number; end: "cut" | "stall" };

export interface World {
  clock: Clock;
  nextId(): string;
  application: ApplicationRecord;
  users: Map<string, UserRecord>;
  guilds: Map<string, GuildRecord>;
  /** Threads and DMs too. */
  channels: Map<string, ChannelRecord>;
  interactions: Map<string, InteractionRecord>;
  /** Ids of interactions by their tokens. */
  tokens: Map<string, string>;
  /** Messages by author and nonce. */
  nonces: Map<string, { messageId: string; channelId: string; at: number }>;
  /** How many more searches of a guild find that its index is being built. */
  searchIndex: Map<string, number>;
  /** Files that were given to commands and modals, by their ids. */
  uploads: Map<string, AttachmentRecord>;
  /** What happens to the next downloads that the CDN would serve. */
  fileFaults: FileFault[];
  /** The service's own address, for links. */
  url: string;
  /** Sends an event to every session entitled to it. */
  publish(dispatch: Dispatch): void;
  /** Reports a change to waiting tests. */
  changed(): void;
}

export function createWorld(clock: Clock, application: Omit<ApplicationRecord, "id" | "commands">): World {
  const nextId = createSnowflakes(clock);
  const id = nextId();
  const bot: UserRecord = { id, username: application.name, displayName: null, isBot: true, acceptsDms: true };
  return {
    clock,
    nextId,
    application: { ...application, id, commands: new Map() },
    users: new Map([[id, bot]]),
    guilds: new Map(),
    channels: new Map(),
    interactions: new Map(),
    uploads: new Map(),
    tokens: new Map(),
    nonces: new Map(),
    searchIndex: new Map(),
    fileFaults: [],
    url: "",
    publish: () => {},
    changed: () => {},
  };
}
