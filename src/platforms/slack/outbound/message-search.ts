/**
 * Slack's own search, with the token of a user. It finds everything that this user can see, so the caller must drop
 * messages of channels that the requester can't see.
 */
import { z } from "zod";
import { toIsoDate } from "../../../lib/iso-date.ts";
import { isSamePerson } from "../../../lib/text/same-person.ts";
import type { ChatQuery, SeenChannel } from "../../../ports/chat.ts";
import type { LoggedMessage } from "../../../ports/chat-log.ts";
import type { SlackApi } from "../api/api.ts";
import type { People } from "../api/people.ts";
import { formatMessageId, timeOf } from "../conversation-id.ts";
import { readText } from "../inbound/readable-text.ts";
import { maxSearchPage } from "../limits.ts";

export type MessageSearch = (query: ChatQuery, channel: SeenChannel | undefined) => Promise<LoggedMessage[]>;

const matchSchema = z.object({
  channel: z.object({ id: z.string() }),
  user: z.string().nullish(),
  username: z.string().nullish(),
  ts: z.string(),
  text: z.string().nullish(),
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

export function createMessageSearch(api: SlackApi, people: People): MessageSearch {
  async function messageOf(match: z.infer<typeof matchSchema>): Promise<LoggedMessage> {
    const { channel, user, username, ts, text, permalink } = match;
    const name = user ? await people.nameOf(user).catch(() => username ?? user) : (username ?? "somebody");
    return {
      ...{ platform: "slack", id: formatMessageId({ channel: channel.id, ts }), channelId: channel.id },
      author: { id: user ?? name, name },
      text: await readText(text ?? "", { botUserId: "", nameOf: people.nameOf }),
      ...{ at: timeOf(ts), link: permalink },
    };
  }

  return async (query, channel) => {
    const args = { query: slackQuery(query, channel), count: maxSearchPage, sort: "score" };
    const { messages } = await api.call("search.messages", args, answerSchema, { maxRetryMs });
    const matches = messages.matches.flatMap((each) => matchSchema.safeParse(each).data ?? []);
    const found = await Promise.all(matches.map(messageOf));
    return found.filter(({ author }) => query.author === undefined || isSamePerson(query.author, author));
  };
}

/** Slack's date filters exclude the named day and use the user's time zone, so this widens the range by a day. */
function slackQuery({ text, author, after, before }: ChatQuery, channel: SeenChannel | undefined): string {
  const [, userId] = /^<?@?([UW][A-Z0-9]{2,})(?:\|[^>]*)?>?$/.exec(author?.trim() ?? "") ?? [];
  return [
    text,
    ...(userId === undefined ? [] : [`from:<@${userId}>`]),
    ...(channel === undefined ? [] : [`in:<#${channel.id}>`]),
    ...(after === undefined ? [] : [`after:${dateWithin(after - 2 * dayMs)}`]),
    ...(before === undefined ? [] : [`before:${dateWithin(before + 2 * dayMs)}`]),
  ].join(" ");
}

function dateWithin(at: number): string {
  return toIsoDate(Math.min(Math.max(0, at), maxDateMs));
}
