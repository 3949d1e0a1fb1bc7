/**
 * Finds the channel that a tool means, and checks that the requester can see it. Full members can see every public
 * channel. Private channels require membership; guests and people from other workspaces need it for public channels too. DMs and group
 * DMs are never accessible from other conversations.
 */
import { z } from "zod";
import { elapsedSince } from "../../../lib/elapsed.ts";
import { createLruMap } from "../../../lib/lru-map.ts";
import type { Audience, ChatPlace, SeenChannel } from "../../../ports/chat.ts";
import type { Author } from "../../../ports/message.ts";
import { platformError } from "../../shared/platform-error.ts";
import type { SlackApi } from "../api/api.ts";
import { isPlaceProblem, isSlackError } from "../api/api-problems.ts";
import { pagesOf } from "../api/pages.ts";
import type { People } from "../api/people.ts";
import { isDirect, parseConversationId } from "../conversation-id.ts";
import { maxListPage } from "../limits.ts";
import { membersSchema } from "./reach.ts";

export interface FoundPlace {
  channel: string;
  thread: string | null;
}

const infoSchema = z.object({
  channel: z.object({
    id: z.string(),
    name: z.string().optional(),
    is_im: z.boolean().optional(),
    is_mpim: z.boolean().optional(),
    is_member: z.boolean().optional(),
    is_private: z.boolean().optional(),
    is_shared: z.boolean().optional(),
    is_ext_shared: z.boolean().optional(),
    is_org_shared: z.boolean().optional(),
    is_pending_ext_shared: z.boolean().optional(),
  }),
});
type ChannelInfo = z.infer<typeof infoSchema>["channel"];
const listedSchema = z.object({ id: z.string(), name: z.string().default(""), is_private: z.boolean().optional() });
const listSchema = z.object({ channels: z.array(listedSchema).default([]) });
const types = "public_channel,private_channel";
const maxPages = 20;
const maxKnownPairs = 1_000;
const opennessMs = 60_000;

export interface ChatAccess {
  /** True if the person can read the channel now. False for DMs. */
  mayRead(channel: string, person: Author): Promise<boolean>;
  /** The channel's name and id, if the person can read it now and the agent is in it. */
  lookedAt(channel: string, person: Author): Promise<string | undefined>;
  /**
   * Whether everybody who reads the channel `here` can read `channel`. Slack shows a person's DM only what the person may see.
   * `unknown`: the agent does not see the channel, or Slack does not answer. Known for a minute.
   */
  isOpenIn(channel: string, here: string): Promise<"open" | "restricted" | "unknown">;
  find(place: ChatPlace): Promise<FoundPlace>;
  /** As in `ChatActions`. */
  audience(place: ChatPlace): Promise<Audience & { name: string }>;
  /** Of every public channel that is not the conversation's own. */
  publicAudience(conversationId: string): Promise<Audience>;
  /** The requester's channels, and for full members also the public channels that the agent is in. */
  channels(place: Omit<ChatPlace, "channel">): Promise<SeenChannel[]>;
}

export function createChatAccess(api: SlackApi, people: People): ChatAccess {
  const openness = createLruMap<{ is: ReturnType<ChatAccess["isOpenIn"]>; at: number }>(maxKnownPairs);

  async function idOf(channel: string): Promise<string> {
    // The model sees channels as `#name (id)`, and the id counts.
    const named = /^#.*\(([^()]+)\)$/.exec(channel.trim())?.[1] ?? channel;
    const [, id] = /^<?#?([CDG][A-Z0-9]{2,})(?:\|[^>]*)?>?$/.exec(named.trim()) ?? [];
    if (id !== undefined) return id;
    const name = channel.trim().replace(/^#/, "").toLowerCase();
    for await (const { channels } of listed("conversations.list", { types, exclude_archived: true })) {
      const found = channels.find((each) => each.name === name);
      if (found !== undefined) return found.id;
    }
    throw noAccess(channel, "there is no such channel, or I am not in it");
  }

  function listed(method: string, args: Record<string, unknown>) {
    return pagesOf(api, method, { limit: maxListPage, ...args }, listSchema, maxPages);
  }

  async function isMember(channel: string, userId: string): Promise<boolean> {
    const args = { limit: maxListPage, channel };
    for await (const { members } of pagesOf(api, "conversations.members", args, membersSchema, maxPages))
      if (members.includes(userId)) return true;
    return false;
  }

  async function infoOf(channel: string) {
    return await api.call("conversations.info", { channel }, infoSchema).then(
      (found) => found.channel,
      (thrown: unknown) => {
        if (isPlaceProblem(thrown)) return undefined;
        throw thrown;
      },
    );
  }

  async function isSeenBy(channel: string, isPrivate: boolean, requester: Author): Promise<boolean> {
    if (!isPrivate && !requester.isBot && (await people.isFullMember(requester.id))) return true;
    return await isMember(channel, requester.id);
  }

  async function checkSeen(channel: string, named: string, requester: Author): Promise<ChannelInfo> {
    const info = await infoOf(channel);
    if (info === undefined) throw noAccess(named, "there is no such channel, or I am not in it");
    if (info.is_im === true || info.is_mpim === true) throw noAccess(named, "direct messages are private");
    if (!(await isSeenBy(channel, info.is_private === true, requester)))
      throw noAccess(named, `${requester.name} is not in that channel, so I can't use it for them`);
    return info;
  }

  /** The readers of a conversation's channel, against whom other channels are compared. */
  async function readersOf(own: string | undefined): Promise<(channel: string, isPrivate: boolean) => Audience> {
    const isAlone = own !== undefined && isDirect(own);
    const info = own === undefined || isAlone ? undefined : await infoOf(own);
    // People of other workspaces in a shared channel, also of the same organization, see none of this workspace's other channels.
    const hasOthers = !isAlone && (info === undefined || isSharedInAnyWay(info));
    return (channel, isPrivate) => ({
      isOpenHere: isAlone || channel === own || (!isPrivate && !hasOthers),
      isRestricted: isPrivate && channel !== own,
    });
  }

  /** The user's channels or, without `user`, the agent's. Omits private channels that the agent is not in. */
  async function channelsOf(user?: string) {
    const all: z.infer<typeof listedSchema>[] = [];
    const args = { types, ...(user === undefined ? {} : { user }) };
    for await (const { channels } of listed("users.conversations", args)) all.push(...channels);
    return all;
  }

  async function openIn(channel: string, here: string): Promise<"open" | "restricted" | "unknown"> {
    const info = await infoOf(channel);
    if (info === undefined) return "unknown";
    if (info.is_private !== false || info.is_im === true || info.is_mpim === true) return "restricted";
    return (await readersOf(here))(channel, false).isOpenHere ? "open" : "restricted";
  }

  return {
    async mayRead(channel, person) {
      const info = await infoOf(channel);
      if (info === undefined || info.is_im === true) return false;
      return await isSeenBy(channel, info.is_private === true || info.is_mpim === true, person);
    },
    async lookedAt(channel, person) {
      const info = await infoOf(channel);
      if (info?.is_member !== true || info.is_im === true || info.is_mpim === true) return undefined;
      const isSeen = await isSeenBy(channel, info.is_private === true, person);
      return isSeen ? `#${info.name ?? ""} (${channel})` : undefined;
    },
    isOpenIn(channel, here) {
      if (channel === here || isDirect(here)) return Promise.resolve("open");
      const key = `${channel} ${here}`;
      const known = openness.get(key);
      if (known !== undefined && elapsedSince(known.at) < opennessMs) return known.is;
      const is = openIn(channel, here).catch(() => "unknown" as const);
      openness.set(key, { is, at: Date.now() });
      return is;
    },
    async find({ conversationId, requester, channel: named }) {
      const own = parseConversationId(conversationId);
      if (own === undefined) throw noAccess(conversationId, "it is not a Slack conversation");
      if (named === undefined) return { channel: own.channel, thread: own.thread };
      const channel = await idOf(named);
      if (channel !== own.channel) await checkSeen(channel, named, requester);
      return { channel, thread: null };
    },
    async audience({ conversationId, requester, channel: named = "" }) {
      const channel = await idOf(named);
      const readers = await readersOf(channelOf(conversationId));
      if (channel === parseConversationId(conversationId)?.channel)
        return { ...readers(channel, true), name: "this channel" };
      const { name, is_private: isPrivate } = await checkSeen(channel, named, requester);
      return { ...readers(channel, isPrivate !== false), name: name === undefined ? named : `#${name}` };
    },
    async publicAudience(conversationId) {
      return (await readersOf(channelOf(conversationId)))("", false);
    },
    async channels({ conversationId, requester: { id, isBot } }) {
      const person = isBot ? undefined : await people.fresh(id);
      if (!isBot && person === undefined) return [];
      const isFullMember = person !== undefined && person.kind === undefined;
      const [readers, theirs, ours] = await Promise.all([
        readersOf(channelOf(conversationId)),
        channelsOf(id).catch((thrown: unknown) => {
          if (isSlackError(thrown, "user_not_found", "users_not_found", "user_not_visible")) return [];
          throw thrown;
        }),
        isFullMember ? channelsOf() : [],
      ]);
      const open = ours.filter((channel) => channel.is_private === false);
      return [
        ...new Map(
          [...open, ...theirs].map(({ id: channel, name, is_private: isPrivate }) => [
            channel,
            { id: channel, name, ...readers(channel, isPrivate !== false) },
          ]),
        ).values(),
      ];
    },
  };
}

function channelOf(conversationId: string): string | undefined {
  return parseConversationId(conversationId)?.channel;
}

function isSharedInAnyWay(info: ChannelInfo): boolean {
  return [info.is_shared, info.is_ext_shared, info.is_org_shared, info.is_pending_ext_shared].includes(true);
}

function noAccess(what: string, why: string) {
  return platformError("slack", "no-access", `${what.slice(0, 100)}: ${why}.`);
}
