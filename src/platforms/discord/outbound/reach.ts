/** Who can read a conversation of Discord, and how to reach the others. */
import { type APIChannel, Routes } from "discord.js";
import { createTimedCache } from "../../../lib/timed-cache.ts";
import type { Reach, ReachedPerson } from "../../../ports/reach.ts";
import { platformAway, platformError } from "../../shared/platform-error.ts";
import { codeOfRefusal, type DiscordApi, isAway, whyNotThere } from "../api/api.ts";
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

const cached = { keepMs: 60_000, maxEntries: 2_000, forgetsRejections: true };

export function createReach({ api, channels, people, access, roleName }: ReachOptions): Reach {
  const known = createTimedCache<ReachedPerson | undefined>(cached);

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

  return {
    async people(userIds, conversationId) {
      const ids = userIds.filter(isSnowflake);
      const found = await Promise.all(
        ids.map((id) => known(`${conversationId} ${id}`, () => look(id, conversationId))),
      );
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
        if (isAway(thrown)) throw platformAway("discord", thrown);
        if (codeOfRefusal(thrown) === undefined) throw thrown;
        const why = whyNotThere(thrown);
        throw platformError("discord", "no-access", `I can't write to ${userId} directly: ${why}`, thrown, why);
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
