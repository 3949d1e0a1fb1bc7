/**
 * Reads what was said before a message: in its thread, with the thread's starter message, or in its channel, and in
 * linked messages of the same channel and its threads. Reads only where the message's author can read the history. A
 * message that it replies to or forwards is one of its attachments (attachments.ts).
 */
import { type APIChannel, type APIMessage, ChannelType, Routes } from "discord.js";
import { messageOf } from "../../../lib/errors.ts";
import type { Earlier, EarlierKind, EarlierLine, EarlierWanted } from "../../../ports/earlier.ts";
import type { Author, InboundMessage } from "../../../ports/message.ts";
import type { Platform } from "../../../ports/platform.ts";
import { type DiscordApi, hidden, unlessRefused } from "../api/api.ts";
import { type Channels, isThread } from "../api/channels.ts";
import type { OwnId } from "../api/own-id.ts";
import { type DiscordConversation, isSnowflake, parseConversationId } from "../conversation-id.ts";
import { maxHistoryPage } from "../limits.ts";
import type { ChatAccess } from "../outbound/chat-access.ts";
import { newerId, snowflakeAt } from "./cursors.ts";
import { listOf } from "./fields.ts";
import { isWritten, lineOf } from "./lines.ts";
import { asMessage } from "./raw-message.ts";

export interface EarlierOptions {
  api: DiscordApi;
  channels: Channels;
  access: Pick<ChatAccess, "mayRead" | "audience">;
  ownId: OwnId;
}

type Line = { kind: EarlierKind; raw: APIMessage };
type Part = { raws: Line[]; leftOut: number; notes: string[] };
type Spot = { type: "thread"; id: string; parent: string } | { type: "channel"; id: string };

const nothing: Part = { raws: [], leftOut: 0, notes: [] };
const maxLinks = 3;
/** Reads several pages, because some of their messages may be system messages, which don't count. */
const maxPages = 4;
const linkPattern = /https:\/\/(?:\w+\.)?discord(?:app)?\.com\/channels\/(@me|\d+)\/(\d+)\/(\d+)/g;
const forums: readonly ChannelType[] = [ChannelType.GuildForum, ChannelType.GuildMedia];

export function createEarlier({ api, channels, access, ownId }: EarlierOptions): NonNullable<Platform["earlier"]> {
  async function spotOf({ channel, thread }: Extract<DiscordConversation, { type: "guild" }>, messageId: string) {
    const facts = thread === null || thread === messageId ? undefined : await channels.get(thread);
    if (facts !== undefined && isThread(facts)) {
      return { type: "thread", id: facts.id, parent: facts.parentId ?? channel } satisfies Spot;
    }
    const parent = await channels.get(channel);
    // In a forum, nothing precedes the first message of a post.
    return parent === undefined || forums.includes(parent.type)
      ? undefined
      : ({ type: "channel", id: channel } satisfies Spot);
  }

  async function one(channelId: string, id: string, signal: AbortSignal): Promise<APIMessage | undefined> {
    const route = Routes.channelMessage(channelId, id);
    const found = await unlessRefused(api.request<unknown>({ method: "GET", route, signal }), ...hidden);
    return asMessage(found, { channelId });
  }

  /** The newest `wanted` messages between `after` and `id`, oldest first. `isWhole` is true if that is all of them. */
  async function before(channelId: string, id: string, after: string, wanted: number, signal: AbortSignal) {
    const found: APIMessage[] = [];
    let at = id;
    let isWhole = false;
    let problem: unknown;
    for (let page = 0; page < maxPages && found.length < wanted && !isWhole; page++) {
      const query = { limit: String(maxHistoryPage), before: at };
      const route = Routes.channelMessages(channelId);
      try {
        const read = await api.request<unknown[]>({ method: "GET", route, query, signal });
        const raws = listOf(read).flatMap((raw) => asMessage(raw, { channelId }) ?? []);
        const fresh = raws.filter((raw) => newerId(raw.id, after) === raw.id && raw.id !== after);
        found.push(...fresh.filter(isWritten));
        isWhole = read.length < maxHistoryPage || fresh.length < raws.length;
        at = raws.at(-1)?.id ?? at;
      } catch (thrown) {
        if (found.length === 0) throw thrown;
        problem = thrown;
        break;
      }
    }
    return {
      raws: found.slice(0, wanted).reverse(),
      isWhole: isWhole && found.length <= wanted,
      count: found.length,
      problem,
    };
  }

  async function inThread(
    spot: Extract<Spot, { type: "thread" }>,
    id: string,
    wanted: EarlierWanted,
    signal: AbortSignal,
  ) {
    const isFirst = wanted.since === undefined && wanted.after === undefined;
    const [root, { raws, isWhole, count, problem }] = await Promise.all([
      isFirst ? starter(spot, signal).catch(() => undefined) : undefined,
      before(spot.id, id, startOf(wanted), wanted.maxMessages, signal),
    ]);
    const known = count - raws.length;
    const leftOut = isFirst && !isWhole ? Math.max(known, await unread(spot.id, raws.length, signal)) : known;
    const first = root === undefined || !isWritten(root) ? [] : asKind("root", [root]);
    const notes = problem === undefined ? [] : [`Not all earlier messages could be read: ${messageOf(problem)}`];
    return {
      raws: [
        ...first,
        ...asKind(
          "thread",
          raws.filter((raw) => raw.id !== root?.id),
        ),
      ],
      leftOut,
      notes,
    };
  }

  /** Finds the message that started a thread: in the parent channel or, for a forum, in the thread itself. */
  async function starter({ id, parent }: Extract<Spot, { type: "thread" }>, signal: AbortSignal) {
    const facts = await channels.get(parent);
    return await one(facts !== undefined && forums.includes(facts.type) ? id : parent, id, signal);
  }

  async function unread(threadId: string, read: number, signal: AbortSignal): Promise<number> {
    const route = Routes.channel(threadId);
    const thread = await api.request<APIChannel>({ method: "GET", route, signal }).catch(() => undefined);
    // Subtract the message that addresses the agent, which the count includes.
    return thread !== undefined && "message_count" in thread ? Math.max(0, (thread.message_count ?? 0) - 1 - read) : 0;
  }

  async function inChannel(
    { id: channelId }: Spot,
    id: string,
    at: number,
    wanted: EarlierWanted,
    signal: AbortSignal,
  ) {
    const oldest = newerId(snowflakeAt(at - wanted.channelMs), startOf(wanted));
    const { raws } = await before(channelId, id, oldest, wanted.channelMessages, signal);
    return { ...nothing, raws: asKind("channel", raws) };
  }

  async function readable(channelId: string, person: Author, work: Promise<Part>): Promise<Part> {
    const [mayRead, part] = await Promise.all([access.mayRead(channelId, person), work]);
    if (mayRead) return part;
    return { ...nothing, notes: [`${person.name} can't read earlier messages here, so they were not read.`] };
  }

  async function linked(
    conversation: DiscordConversation,
    { author, id, conversationId }: Pick<InboundMessage, "author" | "id" | "conversationId">,
    said: string,
    signal: AbortSignal,
  ): Promise<Part> {
    const links = linksIn(said)
      .filter((link) => link.id !== id)
      .slice(0, maxLinks);
    const found = await Promise.all(
      links.map(async (link) => {
        if (!(await isSamePlace(link, conversation))) return undefined;
        if (conversation.type === "dm") return await one(link.channel, link.id, signal);
        if (!(await access.mayRead(link.channel, author))) return undefined;
        const { isOpenHere } = await access.audience({ conversationId, requester: author, channel: link.channel });
        return isOpenHere ? await one(link.channel, link.id, signal) : link.channel;
      }),
    );
    const closed = found.filter((each) => typeof each === "string");
    const raws = found.filter((raw) => raw !== undefined && typeof raw !== "string" && isWritten(raw));
    return { ...nothing, raws: asKind("linked", raws as APIMessage[]), notes: [...new Set(closed)].map(closedNote) };
  }

  async function isSamePlace(link: Link, conversation: DiscordConversation): Promise<boolean> {
    if (conversation.type === "dm") return link.guild === "@me" && link.channel === conversation.channel;
    if (link.guild !== conversation.guild) return false;
    if (link.channel === conversation.channel || link.channel === conversation.thread) return true;
    const facts = await channels.get(link.channel);
    return facts !== undefined && isThread(facts) && facts.parentId === conversation.channel;
  }

  return async ({ id, conversationId, author, at }, wanted, signal) => {
    const conversation = parseConversationId(conversationId);
    if (conversation === undefined || !isSnowflake(id)) return { lines: [], leftOut: 0, notes: [] };
    const links = linked(conversation, { author, id, conversationId }, wanted.said, signal).catch(
      (thrown: unknown): Part => ({ ...nothing, notes: [`A linked message could not be read: ${messageOf(thrown)}`] }),
    );
    const around = async (): Promise<Part> => {
      const spot = conversation.type === "dm" ? undefined : await spotOf(conversation, id);
      if (spot?.type === "thread" && wanted.maxMessages > 0)
        return await readable(spot.id, author, inThread(spot, id, wanted, signal));
      if (spot?.type === "channel" && wanted.channelMessages > 0)
        return await readable(spot.id, author, inChannel(spot, id, at, wanted, signal));
      return nothing;
    };
    const [self, ...parts] = await Promise.all([ownId(), links, around()]);
    return joined(parts, self);
  };
}

function startOf({ since, after }: EarlierWanted): string {
  if (since !== undefined && isSnowflake(since)) return since;
  return after === undefined ? "0" : snowflakeAt(after);
}

function asKind(kind: EarlierKind, raws: readonly APIMessage[]): Line[] {
  return raws.map((raw) => ({ kind, raw }));
}

function joined(parts: readonly Part[], selfId: string): Earlier {
  const all = parts.flatMap(({ raws }) => raws);
  const ids = new Set(all.map(({ raw }) => raw.id));
  return {
    lines: all.map((line) => earlierLine(line, selfId, (id) => ids.has(id))),
    leftOut: parts.reduce((sum, { leftOut }) => sum + leftOut, 0),
    notes: parts.flatMap(({ notes }) => notes),
  };
}

function earlierLine({ kind, raw }: Line, selfId: string, isShown: (id: string) => boolean): EarlierLine {
  // Only the agent posts people's questions. What another bot answers to a person's command is not that person's.
  // In a busy channel, pages that people link to are nobody's question.
  const options = { isShown, mayBeAsk: raw.author.id === selfId, isBrief: kind === "channel" };
  const { replies: _replies, author: by, ...line } = lineOf(raw, options);
  const author = { ...by, isBot: by.isBot || raw.webhook_id !== undefined };
  return { ...line, author, kind, isOwn: author.id === selfId };
}

function closedNote(channel: string): string {
  return `A linked message was not read here, because not everybody here can read its thread ${channel}.`;
}

interface Link {
  guild: string;
  channel: string;
  id: string;
}

function linksIn(text: string): Link[] {
  return [...text.matchAll(linkPattern)].map(([, guild = "", channel = "", id = ""]) => ({ guild, channel, id }));
}
