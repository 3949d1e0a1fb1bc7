/**
 * search.messages, for the user whom the token belongs to: everything that this user can see, DMs too; and
 * assistant.search.context, for the app as the person from whose message the action token is: public channels. Words are
 * all required; `in:`, `from:`, `after:` and `before:` narrow the search, days exclusive.
 * Rules: search-from-a-shared-channel, search-sees-what-its-person-sees
 */
import type { Call, Method } from "./api-call.ts";
import { channelJson } from "./shapes.ts";
import { most } from "./sizes.ts";
import type { Channel, SlackState, StoredMessage } from "./state.ts";
import { type JsonObject, SlackRefusal } from "./wire.ts";

const searchesPerMinute = 10;

export function searchMethods(state: SlackState): Record<string, Method> {
  const searches = new Map<string, number[]>();

  function searchAsPerson({ args }: Call): JsonObject {
    if (!state.hasSearch) throw new SlackRefusal("feature_not_enabled");
    const query = args.text("query")?.trim() ?? "";
    if (query === "") throw new SlackRefusal("missing_query");
    const now = state.clock.now();
    const token = state.actionTokens.get(args.text("action_token") ?? "");
    const person = state.people.get(token?.userId ?? "");
    if (token === undefined || token.until < now || person === undefined || person.isDeleted)
      throw new SlackRefusal("invalid_action_token");
    const recent = (searches.get(person.id) ?? []).filter((at) => at > now - 60_000);
    if (recent.length >= searchesPerMinute) throw new SlackRefusal("rate_limited");
    searches.set(person.id, [...recent, now]);
    const isMember = !person.isGuest && !person.isStranger;
    const from = state.channels.get(token.channelId);
    const [after, before] = [args.count("after") ?? 0, args.count("before") ?? Number.POSITIVE_INFINITY];
    const found = matching(state, query, (message, { id, type, members }) => {
      const at = Number(message.ts);
      if (from?.isShared === true && id !== from.id) return false;
      return type === "channel" && (isMember || members.has(person.id)) && at >= after && at <= before;
    });
    const limit = Math.min(args.count("limit") ?? 20, 20);
    const [start, end] = [Number(args.text("cursor") ?? 0), Number(args.text("cursor") ?? 0) + limit];
    return {
      results: { messages: found.slice(start, end).map((message) => foundJson(state, message)) },
      response_metadata: { next_cursor: end < found.length ? String(end) : "" },
    };
  }

  return { "search.messages": (call) => search(state, call), "assistant.search.context": searchAsPerson };
}

function search(state: SlackState, call: Call): JsonObject {
  const query = call.args.required("query").trim();
  if (query === "") throw new SlackRefusal("no_query");
  const count = Math.min(call.args.count("count") ?? 20, most("search-page"));
  const found = matching(
    state,
    query,
    (_, { type, members }) => type === "channel" || members.has(call.token.userId ?? ""),
  );
  const matches = found.slice(0, count).map((message) => matchJson(state, message));
  const paging = { count, total: found.length, page: 1, pages: 1 };
  return { query, messages: { total: found.length, paging, matches } };
}

/** Newest first. */
function matching(
  state: SlackState,
  query: string,
  isSeen: (message: StoredMessage, channel: Channel) => boolean,
): StoredMessage[] {
  const parts = query.split(/\s+/);
  const modifiers = parts.filter((part) => /^(?:in|from|after|before):/.test(part));
  const words = parts.filter((part) => !modifiers.includes(part)).map((word) => word.toLowerCase());
  return state.messages
    .filter((message) => {
      const channel = state.channels.get(message.channel);
      if (channel === undefined || message.onlyFor !== undefined || !isSeen(message, channel)) return false;
      const text = message.text.toLowerCase();
      return words.every((word) => text.includes(word)) && modifiers.every((one) => fits(one, message, channel));
    })
    .reverse();
}

function fits(modifier: string, message: StoredMessage, channel: Channel): boolean {
  const [kind, value = ""] = modifier.split(/:(.*)/);
  const day = new Date(Number(message.ts) * 1000).toISOString().slice(0, 10);
  switch (kind) {
    case "in":
      return value === `<#${channel.id}>` || value === `#${channel.name}` || value === channel.name;
    case "from":
      return value === `<@${message.user}>`;
    case "after":
      return day > value;
    default:
      return day < value;
  }
}

function foundJson(state: SlackState, message: StoredMessage): JsonObject {
  const { channel, ts, user, text, botId } = message;
  const person = state.people.get(user);
  return {
    author_name: person?.displayName ?? "",
    author_user_id: user,
    team_id: state.team.id,
    channel_id: channel,
    channel_name: state.channels.get(channel)?.name ?? "",
    message_ts: ts,
    content: text,
    is_author_bot: botId !== undefined || person?.isBot === true,
    permalink: linkTo(state, message),
  };
}

function matchJson(state: SlackState, message: StoredMessage): JsonObject {
  const channel = state.channels.get(message.channel);
  const { ts, user, text } = message;
  return {
    iid: state.id("I"),
    team: state.team.id,
    score: 1,
    channel: channel === undefined ? {} : channelJson(state, channel),
    type: "message",
    user,
    username: state.people.get(user)?.name ?? "",
    ts,
    text,
    permalink: linkTo(state, message),
  };
}

function linkTo({ team }: SlackState, { channel, ts, threadTs }: StoredMessage): string {
  const inThread = threadTs === undefined ? "" : `?thread_ts=${threadTs}`;
  return `https://${team.domain}.slack.com/archives/${channel}/p${ts.replace(".", "")}${inThread}`;
}
