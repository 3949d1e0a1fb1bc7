/** Who can read a conversation of Slack, and how to reach the others. Memberships are cached for a short time. */
import { z } from "zod";
import { elapsedSince } from "../../../lib/elapsed.ts";
import { createLruMap } from "../../../lib/lru-map.ts";
import type { Reach, ReachedPerson } from "../../../ports/reach.ts";
import { platformAway } from "../../shared/platform-error.ts";
import type { SlackApi } from "../api/api.ts";
import { isAway } from "../api/api-problems.ts";
import { openDirectMessages } from "../api/direct-message.ts";
import type { Identity } from "../api/identity.ts";
import { pagesOf } from "../api/pages.ts";
import type { People } from "../api/people.ts";
import {
  type DirectMessages,
  formatConversationId,
  isDirect,
  messageLink,
  parseConversationId,
  parseMessageId,
  threadBegunBy,
} from "../conversation-id.ts";
import { maxListPage } from "../limits.ts";

export interface ReachOptions {
  api: SlackApi;
  identity(): Promise<Identity>;
  people: People;
  directMessages: DirectMessages;
}

export const membersSchema = z.object({ members: z.array(z.string()).default([]) });
const infoSchema = z.object({ channel: z.object({ name: z.string().optional() }) });

const userPattern = /^[UW][A-Z0-9]+$/;
const freshMs = 60_000;
const maxKnown = 2_000;
/** In a larger channel, somebody who is not found counts as absent, and gets a direct message. */
const maxPages = 5;

export function createReach({ api, identity, people, directMessages }: ReachOptions): Reach {
  /** By channel and person. */
  const known = createLruMap<{ isMember: boolean; since: number }>(maxKnown);

  async function membersAmong(channel: string, ids: string[]): Promise<Set<string>> {
    const keyOf = (id: string) => `${channel}:${id}`;
    const isFresh = (id: string) => elapsedSince(known.get(keyOf(id))?.since ?? 0) < freshMs;
    const wanted = new Set(ids.filter((id) => !isFresh(id)));
    const found = wanted.size === 0 ? new Set<string>() : await search(channel, wanted);
    for (const id of wanted) known.set(keyOf(id), { isMember: found.has(id), since: Date.now() });
    return new Set(ids.filter((id) => known.get(keyOf(id))?.isMember === true));
  }

  async function search(channel: string, wanted: Set<string>): Promise<Set<string>> {
    const found = new Set<string>();
    const args = { channel, limit: maxListPage };
    for await (const { members } of pagesOf(api, "conversations.members", args, membersSchema, maxPages)) {
      for (const id of members) if (wanted.has(id)) found.add(id);
      if (found.size === wanted.size) break;
    }
    return found;
  }

  return {
    async people(userIds, conversationId) {
      const place = parseConversationId(conversationId);
      const ids = userIds.filter((id) => userPattern.test(id));
      const authors = await Promise.all(ids.map((id) => people.fresh(id)));
      const there = authors.filter((author) => author !== undefined);
      const members =
        place === undefined
          ? new Set<string>()
          : await membersAmong(
              place.channel,
              there.map(({ id }) => id),
            );
      return there.map(({ id, name, isBot }): ReachedPerson => ({ id, name, isBot, isHere: members.has(id) }));
    },
    roleName: (roleId) => people.groupHandle(roleId),
    async direct(userId) {
      const channel = await openDirectMessages(api, userId).catch((thrown: unknown) => {
        throw isAway(thrown) ? platformAway("slack", thrown) : thrown;
      });
      const { teamId: team } = await identity();
      return formatConversationId({ team, channel, thread: null });
    },
    below(conversationId, messageId) {
      const place = parseConversationId(conversationId);
      const message = parseMessageId(messageId);
      if (place === undefined || message === undefined || place.thread !== null) return conversationId;
      return formatConversationId({ ...place, thread: threadBegunBy(message, directMessages) });
    },
    async place(conversationId, messageId) {
      const place = parseConversationId(conversationId);
      const message = parseMessageId(messageId);
      if (place === undefined || isDirect(place.channel)) return { name: "a direct message with me" };
      const { channel } = await api.call("conversations.info", { channel: place.channel }, infoSchema);
      const name = channel.name === undefined ? "another channel" : `#${channel.name}`;
      const { url } = await identity();
      return { name, ...(message === undefined ? {} : { link: messageLink(url, message, place.thread) }) };
    },
  };
}
