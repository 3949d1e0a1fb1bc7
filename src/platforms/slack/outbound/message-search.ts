/**
 * Slack's own search, which also finds what was said before the agent came:
 *
 *   1. as the person who asks, with the bot's token and the action token of their message: public channels, also those that
 *      the agent is not in. Slack says who may see what.
 *   2. if that can't be, with the token of a user, if there is one: everything that this user can see, so the caller must
 *      drop messages of channels that the requester can't see
 *   3. otherwise not at all, and the answer says why
 */
import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import { toIsoDate } from "../../../lib/iso-date.ts";
import type { Log } from "../../../lib/log.ts";
import { isSamePerson } from "../../../lib/text/same-person.ts";
import type { ChatActions, ChatQuery, FoundByService, SeenChannel, ServiceSearch } from "../../../ports/chat.ts";
import type { LoggedMessage } from "../../../ports/chat-log.ts";
import type { EphemeralTexts } from "../../../ports/ephemeral.ts";
import type { SlackApi } from "../api/api.ts";
import { isSlackError } from "../api/api-problems.ts";
import type { People } from "../api/people.ts";
import { formatMessageId, timeOf } from "../conversation-id.ts";
import type { MessageLike } from "../inbound/shown-markup.ts";
import { createShownReader } from "../inbound/shown-message.ts";
import { maxContextResults, maxSearchPage } from "../limits.ts";
import type { ChatAccess } from "./chat-access.ts";

export interface MessageSearchOptions {
  api: SlackApi;
  /** With the token of a user. */
  userApi: SlackApi | undefined;
  people: People;
  access: Pick<ChatAccess, "publicAudience" | "isOpenIn">;
  ephemeral: Pick<EphemeralTexts, "get">;
  log: Log;
}

const foundSchema = z.object({
  channel_id: z.string(),
  channel_name: z.string().nullish(),
  author_user_id: z.string().nullish(),
  author_name: z.string().nullish(),
  is_author_bot: z.boolean().nullish(),
  message_ts: z.string(),
  ...{ content: z.unknown().optional(), blocks: z.unknown().optional() },
  permalink: z.string(),
});
const contextSchema = z.object({ results: z.object({ messages: z.array(z.unknown()).default([]) }) });
const matchSchema = z.object({
  channel: z.object({ id: z.string() }),
  user: z.string().nullish(),
  username: z.string().nullish(),
  ts: z.string(),
  ...{ text: z.unknown().optional(), blocks: z.unknown().optional(), attachments: z.unknown().optional() },
  permalink: z.string(),
});
const answerSchema = z.object({
  messages: z.object({ matches: z.array(z.unknown()).default([]) }),
});
/** Short, because the agent's answer waits for this search. */
const maxRetryMs = 3_000;
const dayMs = 86_400_000;
/** The latest time of a JavaScript date. */
const maxDateMs = 8.64e15;

/** A person's message brings the token. It counts for that person alone. */
export function actionTokenKey(messageId: string, userId: string): string {
  return `slack-action:${messageId}:${userId}`;
}

export function createMessageSearch(options: MessageSearchOptions): NonNullable<ChatActions["search"]> {
  const { api, userApi, people, access, ephemeral, log } = options;
  const readShown = createShownReader({ nameOf: people.nameOf, isOpenIn: access.isOpenIn });

  function tokenOf({ messageIds, requester }: ServiceSearch): string | undefined {
    const tokens = messageIds.map((id) => ephemeral.get(actionTokenKey(id, requester.id)));
    return tokens.findLast((token) => token !== undefined);
  }

  async function read(
    place: { channel: string; ts: string; permalink: string },
    who: { id: string | null | undefined; name: string },
    message: MessageLike,
  ): Promise<LoggedMessage> {
    const { channel, ts, permalink } = place;
    return {
      ...{ platform: "slack", id: formatMessageId({ channel, ts }), channelId: channel },
      author: { id: who.id ?? who.name, name: who.name },
      text: (await readShown(message, { channel })).text,
      ...{ at: timeOf(ts), link: permalink },
    };
  }

  async function searchAsPerson(query: ChatQuery, asked: ServiceSearch, actionToken: string): Promise<FoundByService> {
    const { after, before } = query;
    const args = {
      ...{ query: wordsAndFilters(query, asked.channel), action_token: actionToken, limit: maxContextResults },
      ...{ channel_types: "public_channel", content_types: "messages", include_bots: false },
      ...(after === undefined ? {} : { after: secondsOf(after) }),
      ...(before === undefined ? {} : { before: secondsOf(before) }),
    };
    const { results } = await api.call("assistant.search.context", args, contextSchema, { maxRetryMs });
    const said = results.messages.flatMap((each) => foundSchema.safeParse(each).data ?? []);
    const byPeople = said.filter((each) => each.is_author_bot !== true);
    const messages = await Promise.all(
      byPeople.map((each) =>
        read(
          { channel: each.channel_id, ts: each.message_ts, permalink: each.permalink },
          { id: each.author_user_id, name: each.author_name ?? each.author_user_id ?? "somebody" },
          { text: each.content, blocks: each.blocks },
        ),
      ),
    );
    return { messages, others: await othersOf(asked, byPeople) };
  }

  /** The channels that neither the person nor the agent is in. Full members can read every public channel. */
  async function othersOf(asked: ServiceSearch, said: readonly z.infer<typeof foundSchema>[]): Promise<SeenChannel[]> {
    const listed = new Set(asked.listed.map(({ id }) => id));
    const names = new Map(said.map((each) => [each.channel_id, each.channel_name ?? ""]));
    const others = [...names].filter(([id]) => !listed.has(id));
    if (others.length === 0 || !(await people.isFullMember(asked.requester.id))) return [];
    const audience = await access.publicAudience(asked.conversationId);
    return others.map(([id, name]) => ({ id, name, ...audience }));
  }

  async function searchAsUser(by: SlackApi, query: ChatQuery, channel: SeenChannel | undefined) {
    const { after, before } = query;
    const dated = [
      wordsAndFilters(query, channel),
      // Slack's date filters exclude the named day and use the user's time zone, so this widens the range by a day.
      ...(after === undefined ? [] : [`after:${dateWithin(after - 2 * dayMs)}`]),
      ...(before === undefined ? [] : [`before:${dateWithin(before + 2 * dayMs)}`]),
    ].join(" ");
    const args = { query: dated, count: maxSearchPage, sort: "score" };
    const { messages } = await by.call("search.messages", args, answerSchema, { maxRetryMs });
    const matches = messages.matches.flatMap((each) => matchSchema.safeParse(each).data ?? []);
    return await Promise.all(
      matches.map(async ({ channel: { id }, user, username, ts, permalink, ...message }) => {
        const name = user ? await people.nameOf(user).catch(() => username ?? user) : (username ?? "somebody");
        return await read({ channel: id, ts, permalink }, { id: user, name }, message);
      }),
    );
  }

  async function find(query: ChatQuery, asked: ServiceSearch): Promise<FoundByService> {
    const token = tokenOf(asked);
    // Slack searches no private channels for a bot.
    const isPublic = asked.channel?.isRestricted !== true;
    let because = isPublic ? noToken : "Slack searches private channels only for people, not for apps";
    if (asked.requester.kind === "guest") because = "Slack lets no app search for guests";
    if (token !== undefined && isPublic) {
      try {
        return await searchAsPerson(query, asked, token);
      } catch (thrown) {
        log.info({ error: messageOf(thrown) }, "Slack did not search as the person who asks");
        because = whyNot(thrown);
      }
    }
    if (userApi !== undefined) return { messages: await searchAsUser(userApi, query, asked.channel), others: [] };
    return { messages: [], others: [], notice: because };
  }

  return async (query, asked) => {
    const { messages, ...rest } = await find(query, asked);
    const { author } = query;
    return { ...rest, messages: messages.filter((each) => author === undefined || isSamePerson(author, each.author)) };
  };
}

const noToken = "Slack searches for an app only soon after the person has written to it";

function whyNot(thrown: unknown): string {
  if (isSlackError(thrown, "invalid_action_token")) return noToken;
  if (isSlackError(thrown, "missing_scope"))
    return "The app may not use Slack's search (whoever runs it can add the scope search:read.public)";
  if (isSlackError(thrown, "feature_not_enabled")) return "This workspace has no search for apps";
  if (isSlackError(thrown, "rate_limited", "ratelimited"))
    return "This person has searched as often as Slack allows in a minute";
  return "Slack's search did not work just now";
}

function wordsAndFilters({ text, author }: ChatQuery, channel: SeenChannel | undefined): string {
  const [, userId] = /^<?@?([UW][A-Z0-9]{2,})(?:\|[^>]*)?>?$/.exec(author?.trim() ?? "") ?? [];
  return [
    text,
    ...(userId === undefined ? [] : [`from:<@${userId}>`]),
    ...(channel === undefined ? [] : [`in:<#${channel.id}>`]),
  ].join(" ");
}

function secondsOf(at: number): number {
  return Math.floor(Math.min(Math.max(0, at), maxDateMs) / 1000);
}

function dateWithin(at: number): string {
  return toIsoDate(Math.min(Math.max(0, at), maxDateMs));
}
