/**
 * search.messages, for the user whom the token belongs to: everything that this user can see, DMs too. Words are all
 * required; `in:`, `from:`, `after:` and `before:` narrow the search, days exclusive.
 * Rule: search-sees-what-its-person-sees
 */
import type { Call, Method } from "./api-call.ts";
import { channelJson } from "./shapes.ts";
import { most } from "./sizes.ts";
import type { Channel, SlackState, StoredMessage } from "./state.ts";
import { type JsonObject, SlackRefusal } from "./wire.ts";

export function searchMethods(state: SlackState): Record<string, Method> {
  return { "search.messages": (call) => search(state, call) };
}

function search(state: SlackState, call: Call): JsonObject {
  const query = call.args.required("query").trim();
  if (query === "") throw new SlackRefusal("no_query");
  const count = Math.min(call.args.count("count") ?? 20, most("search-page"));
  const parts = query.split(/\s+/);
  const modifiers = parts.filter((part) => /^(?:in|from|after|before):/.test(part));
  const words = parts.filter((part) => !modifiers.includes(part)).map((word) => word.toLowerCase());
  const found = state.messages.filter((message) => {
    const channel = state.channels.get(message.channel);
    if (channel === undefined || message.onlyFor !== undefined) return false;
    const isSeen = channel.type === "channel" || channel.members.has(call.token.userId ?? "");
    const text = message.text.toLowerCase();
    return (
      isSeen && words.every((word) => text.includes(word)) && modifiers.every((one) => fits(one, message, channel))
    );
  });
  const matches = found
    .reverse()
    .slice(0, count)
    .map((message) => matchJson(state, message));
  const paging = { count, total: found.length, page: 1, pages: 1 };
  return { query, messages: { total: found.length, paging, matches } };
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

function matchJson(state: SlackState, message: StoredMessage): JsonObject {
  const channel = state.channels.get(message.channel);
  const { ts, threadTs, user, text } = message;
  const inThread = threadTs === undefined ? "" : `?thread_ts=${threadTs}`;
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
    permalink: `https://${state.team.domain}.slack.com/archives/${message.channel}/p${ts.replace(".", "")}${inThread}`,
  };
}
