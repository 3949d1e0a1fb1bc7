/** conversations.info, list, members, open, history, replies, users.conversations; pages by cursor. */
import type { Call, Method } from "./api-call.ts";
import { scopeFor } from "./method-rules.ts";
import { channelFor } from "./posting.ts";
import { channelJson, messageJson, repliesOf } from "./shapes.ts";
import { most, type Size } from "./sizes.ts";
import type { Channel, Person, SlackState, StoredMessage } from "./state.ts";
import { type JsonObject, SlackRefusal } from "./wire.ts";

export function conversationMethods(
  state: SlackState,
  direct: (...people: Person[]) => Channel,
): Record<string, Method> {
  return {
    "conversations.info"(call) {
      const channel = channelFor(state, call.args.required("channel"));
      call.needScope(scopeFor(channel.type, "read"));
      const more = call.args.flag("include_num_members") === true ? { num_members: channel.members.size } : {};
      return { channel: { ...channelJson(state, channel), ...more } };
    },
    "conversations.list"(call) {
      const types = (call.args.text("types") ?? "public_channel").split(",").map((type) => typeNames[type.trim()]);
      if (types.includes(undefined)) throw new SlackRefusal("invalid_types");
      for (const type of types) if (type !== undefined) call.needScope(scopeFor(type, "read"));
      const channels = [...state.channels.values()].filter(
        (channel) =>
          types.includes(channel.type) &&
          (channel.type === "channel" || channel.members.has(state.app.botUserId)) &&
          !(channel.isArchived && call.args.flag("exclude_archived") === true),
      );
      const { items, next } = page(call, channels, 100, most("list-page"));
      return {
        channels: items.map((channel) => channelJson(state, channel)),
        response_metadata: { next_cursor: next },
      };
    },
    "users.conversations"(call) {
      const types = (call.args.text("types") ?? "public_channel").split(",").map((type) => typeNames[type.trim()]);
      if (types.includes(undefined)) throw new SlackRefusal("invalid_types");
      for (const type of types) if (type !== undefined) call.needScope(scopeFor(type, "read"));
      const user = call.args.text("user") ?? state.app.botUserId;
      if (!state.people.has(user)) throw new SlackRefusal("user_not_found");
      // Of other people, only those conversations are listed in which the app is too, or which are public.
      const channels = [...state.channels.values()].filter(
        ({ type, members, isArchived }) =>
          types.includes(type) &&
          members.has(user) &&
          (type === "channel" || members.has(state.app.botUserId)) &&
          !(isArchived && call.args.flag("exclude_archived") === true),
      );
      const { items, next } = page(call, channels, 100, most("list-page"));
      const limited = items.map((channel) => {
        const { is_member: _member, num_members: _count, ...rest } = channelJson(state, channel);
        return rest;
      });
      return { channels: limited, response_metadata: { next_cursor: next } };
    },
    "conversations.members"(call) {
      const channel = channelFor(state, call.args.required("channel"));
      call.needScope(scopeFor(channel.type, "read"));
      const { items, next } = page(call, [...channel.members], 100, most("members-page"));
      return { members: items, response_metadata: { next_cursor: next } };
    },
    "conversations.open": (call) => open(state, direct, call),
    "conversations.history": (call) => history(state, call),
    "conversations.replies": (call) => replies(state, call),
  };
}

const typeNames: Record<string, Channel["type"]> = {
  public_channel: "channel",
  private_channel: "group",
  im: "im",
  mpim: "mpim",
};

function open(state: SlackState, direct: (...people: Person[]) => Channel, call: Call): JsonObject {
  const channelId = call.args.text("channel");
  if (channelId !== undefined) return { channel: { id: channelFor(state, channelId).id } };
  const users = call.args.text("users");
  if (users === undefined || users === "") throw new SlackRefusal("users_list_not_supplied");
  const ids = users.split(",").map((id) => id.trim());
  if (ids.length > most("group-dm-people")) throw new SlackRefusal("too_many_users");
  call.needScope(ids.length === 1 ? "im:write" : "mpim:write");
  const people = ids.map((id) => {
    const person = state.people.get(id);
    if (person === undefined) throw new SlackRefusal("user_not_found");
    if (person.isDeleted) throw new SlackRefusal("user_disabled");
    if (person.isBot) throw new SlackRefusal("cannot_dm_bot");
    return person;
  });
  const before = state.channels.size;
  const channel = direct(...people);
  const isOld = state.channels.size === before;
  const flags = isOld ? { no_op: true, already_open: true } : {};
  return { ...flags, channel: call.args.flag("return_im") === true ? channelJson(state, channel) : { id: channel.id } };
}

function readable(state: SlackState, call: Call): Channel {
  const channel = channelFor(state, call.args.required("channel"));
  call.needScope(scopeFor(channel.type, "history"));
  if (!channel.members.has(state.app.botUserId)) throw new SlackRefusal("not_in_channel");
  return channel;
}

function history(state: SlackState, call: Call): JsonObject {
  const channel = readable(state, call);
  const shown = state.messages
    .filter((one) => one.channel === channel.id && one.onlyFor === undefined)
    .filter((one) => one.threadTs === undefined || one.isBroadcast === true)
    .filter(inRange(call))
    .sort((one, other) => Number(other.ts) - Number(one.ts));
  return messagePage(state, call, shown, 100, most("history-page"));
}

function replies(state: SlackState, call: Call): JsonObject {
  const channel = readable(state, call);
  const ts = call.args.required("ts");
  const asked = state.message(channel.id, ts);
  if (asked === undefined) throw new SlackRefusal("thread_not_found");
  const parent = asked.threadTs === undefined ? asked : (state.message(channel.id, asked.threadTs) ?? asked);
  const answers = repliesOf(state, channel.id, parent.ts)
    .filter(inRange(call))
    .sort((one, other) => Number(one.ts) - Number(other.ts));
  // The parent always leads, whatever the range.
  return messagePage(state, call, [parent, ...answers], 1000, most("replies-page"));
}

function inRange(call: Call): (message: StoredMessage) => boolean {
  const oldest = Number(call.args.text("oldest") ?? 0);
  const latest = Number(call.args.text("latest") ?? Number.POSITIVE_INFINITY);
  if (Number.isNaN(oldest)) throw new SlackRefusal("invalid_ts_oldest");
  if (Number.isNaN(latest)) throw new SlackRefusal("invalid_ts_latest");
  const isInclusive = call.args.flag("inclusive") === true;
  return ({ ts }) => {
    const at = Number(ts);
    return isInclusive ? at >= oldest && at <= latest : at > oldest && at < latest;
  };
}

function messagePage(state: SlackState, call: Call, all: StoredMessage[], standard: number, limit: Size): JsonObject {
  const { items, next } = page(call, all, standard, limit);
  const withMetadata = call.args.flag("include_all_metadata") === true;
  return {
    messages: items.map((message) => messageJson(state, message, withMetadata)),
    has_more: next !== "",
    pin_count: 0,
    ...(next === "" ? {} : { response_metadata: { next_cursor: next } }),
  };
}

/** A cursor names the first item of the next page; it is opaque to the caller. */
function page<Item>(call: Call, all: Item[], standard: number, limit: Size): { items: Item[]; next: string } {
  const wanted = call.args.count("limit") ?? standard;
  if (wanted < 1 || wanted > limit) throw new SlackRefusal("invalid_limit");
  const cursor = call.args.text("cursor") ?? "";
  const start = cursor === "" ? 0 : Number(/^next:(\d+)$/.exec(Buffer.from(cursor, "base64").toString())?.[1]);
  if (Number.isNaN(start)) throw new SlackRefusal("invalid_cursor");
  const end = start + wanted;
  const next = end < all.length ? Buffer.from(`next:${end}`).toString("base64") : "";
  return { items: all.slice(start, end), next };
}
