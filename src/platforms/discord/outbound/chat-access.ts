/** Lets a tool use only its conversation's channel and channels that the requester can access. If in doubt, refuses. */
import {
  type APIChannel,
  type APIGuild,
  type APIGuildMember,
  ChannelType,
  PermissionFlagsBits,
  type PermissionsString,
  type RESTPostAPIChannelThreadsResult,
  Routes,
} from "discord.js";
import type { Audience, ChatPlace, SeenChannel } from "../../../ports/chat.ts";
import type { Author } from "../../../ports/message.ts";
import { type DiscordApi, discordError, hidden, unlessRefused } from "../api/api.ts";
import { isThread } from "../api/channels.ts";
import { isReadByAll, permissionsIn, readersMayRead } from "../api/permissions.ts";
import { isSnowflake, parseConversationId } from "../conversation-id.ts";

export interface ChatAccess {
  /** Resolves to the channel's id. Rejects with `platform.no-access`. */
  channelFor(place: ChatPlace, rights: PermissionsString[]): Promise<string>;
  /** The channels whose messages the requester can read, in the conversation's server or, from a DM, in all servers. */
  readable(place: Omit<ChatPlace, "channel">): Promise<SeenChannel[]>;
  /** As in `ChatActions`. */
  audience(place: ChatPlace): Promise<Audience & { name: string }>;
  /** The channels whose messages the conversation may mention: like `channelFor`, and a thread's own channel. */
  channelsNear(place: ChatPlace): Promise<string[]>;
  /** True if the person can read the earlier messages of a channel or thread of a server. */
  mayRead(channelId: string, person: Author): Promise<boolean>;
  /** As `Platform.mayRead`, for a conversation of a server. DMs belong to their person; see the caller. */
  mayReadConversation(conversationId: string, person: Author): Promise<boolean>;
}

/** A search from a DM covers this many servers. */
const maxGuilds = 5;

export function createChatAccess(api: DiscordApi, guilds: () => Promise<string[]>): ChatAccess {
  async function get<T>(route: `/${string}`): Promise<T | undefined> {
    const asked = api.request<T>({ method: "GET", route });
    return await unlessRefused(asked, ...hidden, "unknownMember", "unknownUser", "unknownGuild", "invalidForm");
  }

  async function ownChannel({ conversationId }: ChatPlace): Promise<string> {
    const conversation = parseConversationId(conversationId);
    if (conversation === undefined) throw noAccess(conversationId, "it is not a Discord conversation");
    if (conversation.type === "dm" || conversation.thread === null) return conversation.channel;
    const thread = await get<APIChannel>(Routes.channel(conversation.thread));
    return thread?.id ?? conversation.channel;
  }

  async function find(wanted: string, place: ChatPlace): Promise<APIChannel | undefined> {
    // The model sees channels as `#name (<#id>)`, and the id counts.
    const id = /^(?:#.*\()?<#(\d+)>\)?$/.exec(wanted)?.[1] ?? wanted;
    if (isSnowflake(id)) return await get<APIChannel>(Routes.channel(id));
    const conversation = parseConversationId(place.conversationId);
    const name = wanted.replace(/^#/, "").toLowerCase();
    for (const guildId of conversation?.type === "guild" ? [conversation.guild] : await guilds()) {
      const channels = (await get<APIChannel[]>(Routes.guildChannels(guildId))) ?? [];
      for (const channel of channels.filter((each) => each.name?.toLowerCase() === name)) {
        if (await may(channel, place.requester, ["ViewChannel"])) return channel;
      }
    }
    return undefined;
  }

  function membership(guildId: string, userId: string) {
    return Promise.all([
      get<APIGuild>(Routes.guild(guildId)),
      get<APIGuildMember>(Routes.guildMember(guildId, userId)),
    ]);
  }

  /** The channel whose permissions count for a thread, and otherwise the channel itself. */
  async function holderOf(channel: APIChannel): Promise<APIChannel | undefined> {
    const parentId = isThread(channel) && "parent_id" in channel ? channel.parent_id : undefined;
    return parentId ? await get<APIChannel>(Routes.channel(parentId)) : channel;
  }

  /** Compares channels with a conversation. Whoever reads one of its threads can also read its channel. */
  async function audienceFor(
    conversationId: string,
  ): Promise<(channel: APIChannel, guild?: APIGuild) => Promise<Audience>> {
    const own = parseConversationId(conversationId);
    const isAlone = own?.type === "dm";
    const here = own === undefined || isAlone ? undefined : await get<APIChannel>(Routes.channel(own.channel));
    return async (channel, guild) => {
      const holder = channel.type === ChannelType.PrivateThread ? undefined : await holderOf(channel);
      const isOwn = own?.type === "guild" && (channel.id === own.thread || holder?.id === own.channel);
      const isRestricted = !isOwn && (guild === undefined || holder === undefined || !isReadByAll(holder, guild));
      if (isAlone) return { isOpenHere: true, isRestricted };
      if (own === undefined || guild?.id !== own.guild) return { isOpenHere: false, isRestricted };
      const isOpen = () => here !== undefined && holder !== undefined && readersMayRead(here, holder, guild);
      return { isOpenHere: isOwn || isOpen(), isRestricted };
    };
  }

  async function may(channel: APIChannel, { id }: Author, rights: PermissionsString[]): Promise<boolean> {
    const guildId = "guild_id" in channel ? channel.guild_id : undefined;
    if (guildId === undefined) return false;
    const [guild, member] = await membership(guildId, id);
    const holder = await holderOf(channel);
    if (guild === undefined || member === undefined || holder === undefined) return false;
    const bits = permissionsIn(holder, guild, member, id);
    const needed = rights.map((right) =>
      right === "SendMessages" && isThread(channel) ? "SendMessagesInThreads" : right,
    );
    if (!needed.every((right) => (bits & PermissionFlagsBits[right]) !== 0n)) return false;
    return channel.type !== ChannelType.PrivateThread || (await isInThread(channel.id, id, bits));
  }

  async function readableIn(
    guildId: string,
    { requester: { id }, conversationId }: Omit<ChatPlace, "channel">,
  ): Promise<SeenChannel[]> {
    const [guild, member] = await membership(guildId, id);
    if (guild === undefined || member === undefined) return [];
    const channels = (await get<APIChannel[]>(Routes.guildChannels(guildId))) ?? [];
    const needed = PermissionFlagsBits.ViewChannel | PermissionFlagsBits.ReadMessageHistory;
    const isReadable = (channel: APIChannel) => (permissionsIn(channel, guild, member, id) & needed) === needed;
    const audience = await audienceFor(conversationId);
    const seen = channels.filter(isReadable);
    return await Promise.all(
      seen.map(async (channel) => ({
        ...{ id: channel.id, name: channel.name ?? "", spaceId: guildId },
        ...(await audience(channel, guild)),
      })),
    );
  }

  async function isInThread(threadId: string, userId: string, bits: bigint): Promise<boolean> {
    if ((bits & PermissionFlagsBits.ManageThreads) !== 0n) return true;
    return (await get<RESTPostAPIChannelThreadsResult>(Routes.threadMembers(threadId, userId))) !== undefined;
  }

  async function mayRead(channelId: string, person: Author): Promise<boolean> {
    const channel = await get<APIChannel>(Routes.channel(channelId));
    return channel !== undefined && (await may(channel, person, ["ViewChannel", "ReadMessageHistory"]));
  }

  const access: ChatAccess = {
    mayRead,
    async mayReadConversation(conversationId, person) {
      const conversation = parseConversationId(conversationId);
      if (conversation?.type !== "guild") return false;
      const { channel, thread } = conversation;
      if (thread === null) return await mayRead(channel, person);
      if ((await get(Routes.channel(thread))) !== undefined) return await mayRead(thread, person);
      // The thread was never opened, so the answer is in the channel. Only a public thread has the id of a message.
      const root = await get(Routes.channelMessage(channel, thread));
      return root !== undefined && (await mayRead(channel, person));
    },
    async readable(place) {
      const conversation = parseConversationId(place.conversationId);
      if (conversation?.type === "guild") return await readableIn(conversation.guild, place);
      const all = (await guilds()).slice(0, maxGuilds);
      return (await Promise.all(all.map((guildId) => readableIn(guildId, place)))).flat();
    },
    async audience(place) {
      const id = await access.channelFor(place, ["ReadMessageHistory"]);
      const channel = await get<APIChannel>(Routes.channel(id));
      const guildId = channel !== undefined && "guild_id" in channel ? channel.guild_id : undefined;
      const guild = guildId === undefined ? undefined : await get<APIGuild>(Routes.guild(guildId));
      const audience = await audienceFor(place.conversationId);
      if (channel === undefined) throw noAccess(place.channel ?? "", "there is no such channel that we can both see");
      return { ...(await audience(channel, guild)), name: `#${channel.name ?? ""}` };
    },
    async channelsNear(place) {
      const first = await access.channelFor(place, ["ReadMessageHistory"]);
      const conversation = parseConversationId(place.conversationId);
      if (conversation?.type !== "guild") return [first];
      const near = place.channel === undefined ? [...new Set([first, conversation.channel])] : [first];
      const isOpen = await Promise.all(near.map((channel) => mayRead(channel, place.requester)));
      return near.filter((_, index) => isOpen[index]);
    },
    async channelFor(place, rights) {
      const own = await ownChannel(place);
      if (place.channel === undefined) return own;
      const channel = await find(place.channel.trim(), place);
      if (channel?.id === own) return own;
      if (channel === undefined || channel.type === ChannelType.DM || channel.type === ChannelType.GroupDM)
        throw noAccess(place.channel, "there is no such channel that we can both see");
      if (await may(channel, place.requester, ["ViewChannel", ...rights])) return channel.id;
      throw noAccess(place.channel, `${place.requester.name} can't do that there, so I can't either`);
    },
  };
  return access;
}

function noAccess(channel: string, why: string) {
  return discordError("platform.no-access", `can't use ${channel}: ${why}`);
}
