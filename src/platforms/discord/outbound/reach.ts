/** Who can read a conversation of Discord, and how to reach the others. */
import { type APIChannel, Routes } from "discord.js";
import { elapsedSince } from "../../../lib/elapsed.ts";
import { createLruMap } from "../../../lib/lru-map.ts";
import type { Reach, ReachedPerson } from "../../../ports/reach.ts";
import { platformAway } from "../../shared/platform-away.ts";
import { type DiscordApi, isAway } from "../api/api.ts";
import type { Channels } from "../api/channels.ts";
import type { People } from "../api/people.ts";
import { formatConversationId, isSnowflake, messageLink, parseConversationId } from "../conversation-id.ts";
import type { ChatAccess } from "./chat-access.ts";

export interface ReachOptions {
  api: DiscordApi;
  channels: Channels;
  people: People;
  access: ChatAccess;
  roleName(guildId: string, roleId: string): Promise<string | undefined>;
}

const freshMs = 60_000;
const maxKnown = 2_000;

export function createReach({ api, channels, people, access, roleName }: ReachOptions): Reach {
  const known = createLruMap<{ person: ReachedPerson | undefined; since: number }>(maxKnown);

  async function look(id: string, conversationId: string): Promise<ReachedPerson | undefined> {
    const conversation = parseConversationId(conversationId);
    if (conversation === undefined) return undefined;
    const member =
      conversation.type === "guild" ? await people.member(conversation.guild, id) : await people.anywhere(id);
    if (member === undefined) return undefined;
    const { name, isBot } = member;
    if (conversation.type === "dm") return { id, name, isBot, isHere: false };
    // A thread that does not exist yet will be visible like its channel.
    const { channel, thread } = conversation;
    const isThread = thread !== null && (await channels.get(thread)) !== undefined;
    const isHere = await access.mayRead(isThread ? thread : channel, member);
    return { id, name, isBot, isHere };
  }

  async function remembered(id: string, conversationId: string): Promise<ReachedPerson | undefined> {
    const key = `${conversationId} ${id}`;
    const kept = known.get(key);
    if (kept !== undefined && elapsedSince(kept.since) < freshMs) return kept.person;
    const person = await look(id, conversationId);
    known.set(key, { person, since: Date.now() });
    return person;
  }

  return {
    async people(userIds, conversationId) {
      const ids = userIds.filter(isSnowflake);
      const found = await Promise.all(ids.map((id) => remembered(id, conversationId)));
      return found.filter((person) => person !== undefined);
    },
    async roleName(roleId, conversationId) {
      const conversation = parseConversationId(conversationId);
      return conversation?.type === "guild" ? await roleName(conversation.guild, roleId) : undefined;
    },
    async direct(userId) {
      const body = { recipient_id: userId };
      const opened = api.request<APIChannel>({ method: "POST", route: Routes.userChannels(), body });
      const { id } = await opened.catch((thrown: unknown) => {
        throw isAway(thrown) ? platformAway("discord", thrown) : thrown;
      });
      return formatConversationId({ type: "dm", channel: id });
    },
    async place(conversationId, messageId) {
      const conversation = parseConversationId(conversationId);
      if (conversation?.type !== "guild") return { name: "a direct message with me" };
      const { guild, channel, thread } = conversation;
      const facts = await channels.get(channel);
      const name = facts === undefined || facts.name === "" ? "another channel" : `#${facts.name}`;
      const isThread = thread !== null && (await channels.get(thread)) !== undefined;
      return { name, link: messageLink(guild, isThread ? thread : channel, messageId) };
    },
  };
}
