/**
 * Events to the app: the outer envelope of the Events API, sent only when the app subscribes to the event, has its scope,
 * and is where it happens.
 * Rule: events-need-their-scope
 */
import { randomBytes } from "node:crypto";
import type { Token } from "./api-call.ts";
import type { Courier, Delivery } from "./delivery.ts";
import { scopeForEvent } from "./method-rules.ts";
import { messageJson } from "./shapes.ts";
import type { Channel, SlackState, StoredMessage } from "./state.ts";
import { isObject, type JsonObject } from "./wire.ts";

export interface Events {
  /** Names of events the app does not subscribe to, such as `app_mention` or `message.channels`. */
  unsubscribed: Set<string>;
  /**
   * The app gets more events than Slack sends: it is told so, and gets none until the returned function is called. `minute` is the
   * minute of which it is told, in milliseconds; default the one that has just ended.
   */
  drop(minute?: number): () => void;
  /** Empty when Slack would not send it. */
  send(event: JsonObject, teamId?: string): Delivery[];
  /** A message as it appears: `message`, and `app_mention` with an event id of its own where the app is mentioned. */
  message(message: StoredMessage, mention?: MentionOrder): Delivery[];
  changed(message: StoredMessage, previous: JsonObject): Delivery[];
  deleted(channelId: string, previous: JsonObject): Delivery[];
}

/** `true`: the mention goes first. `mention` and `message`: one of the two alone, because the other one comes later. */
export type MentionOrder = boolean | "mention" | "message";

/** Slack calls the token short-lived and gives no number. */
const actionTokenMs = 10 * 60_000;

const subscriptionNames: Record<Channel["type"], string> = {
  channel: "message.channels",
  group: "message.groups",
  im: "message.im",
  mpim: "message.mpim",
};

export function createEvents(state: SlackState, token: Token, courier: Courier): Events {
  let isDropping = false;
  /** Only apps that subscribe to changes of it get what people look at. Histories never have it. Rule: context-comes-with-messages */
  function contextOf(user: string): JsonObject {
    const entities = state.lookingAt.get(user);
    if (entities === undefined || events.unsubscribed.has("app_context_changed")) return {};
    return { app_context: { entities } };
  }

  const events: Events = {
    unsubscribed: new Set(),
    drop(minute = state.clock.now() - 60_000) {
      isDropping = true;
      courier.send("events_api", {
        token: state.app.verificationToken,
        type: "app_rate_limited",
        team_id: state.team.id,
        minute_rate_limited: Math.floor(minute / 60_000) * 60,
        api_app_id: state.app.id,
      });
      return () => {
        isDropping = false;
      };
    },
    send(event, teamId = state.team.id) {
      const scope = scopeForEvent(event);
      if (scope !== undefined && !token.scopes.includes(scope)) return [];
      if (isDropping) return [];
      if (events.unsubscribed.has(subscriptionOf(event)) || !isThere(state, event)) return [];
      return [courier.send("events_api", envelope(state, event, teamId))];
    },
    message(message, order = false) {
      const channel = state.channels.get(message.channel);
      if (channel === undefined) return [];
      const json = messageJson(state, message);
      const teamId = state.people.get(message.user)?.teamId ?? state.team.id;
      const context = channel.type === "im" ? contextOf(message.user) : {};
      const event = { ...json, ...context, channel: channel.id, channel_type: channel.type, event_ts: message.ts };
      const token = () => searchToken(state, channel, message);
      const isMentioned = isMention(state, channel, message);
      const said = () =>
        events.send(channel.type !== "channel" || isMentioned ? { ...event, ...token() } : event, teamId);
      const mention = () => (isMentioned ? events.send({ ...mentionOf(event), ...token() }, teamId) : []);
      if (order === "message") return said();
      // Rule: mentions-may-lack-files
      const { files: _files, ...bare } = mentionOf(event);
      if (order === "mention") return isMentioned ? events.send({ ...bare, ...token() }, teamId) : [];
      return order ? [...mention(), ...said()] : [...said(), ...mention()];
    },
    changed(message, previous) {
      const channel = state.channels.get(message.channel);
      if (channel === undefined) return [];
      const ts = state.ts();
      return events.send({
        type: "message",
        subtype: "message_changed",
        message: messageJson(state, message),
        previous_message: previous,
        channel: channel.id,
        hidden: true,
        ts,
        event_ts: ts,
        channel_type: channel.type,
      });
    },
    deleted(channelId, previous) {
      const channel = state.channels.get(channelId);
      if (channel === undefined) return [];
      const ts = state.ts();
      return events.send({
        type: "message",
        subtype: "message_deleted",
        previous_message: previous,
        channel: channel.id,
        hidden: true,
        deleted_ts: previous.ts ?? "",
        ts,
        event_ts: ts,
        channel_type: channel.type,
      });
    },
  };
  return events;
}

/** Slack sends events only from conversations that the app is in. */
function isThere(state: SlackState, event: JsonObject): boolean {
  const id = isObject(event.item) ? event.item.channel : event.channel;
  const channel = typeof id === "string" ? state.channels.get(id) : undefined;
  return channel === undefined || event.user === state.app.botUserId || channel.members.has(state.app.botUserId);
}

function subscriptionOf(event: JsonObject): string {
  if (event.type !== "message") return String(event.type);
  return subscriptionNames[event.channel_type as Channel["type"]] ?? "message.channels";
}

/** Mentions in DMs make no `app_mention`, and the app's own messages neither. */
function isMention(state: SlackState, channel: Channel, message: StoredMessage): boolean {
  if (channel.type === "im" || message.user === state.app.botUserId) return false;
  return message.text.includes(`<@${state.app.botUserId}`);
}

/**
 * The app may search with it as the person, from where they wrote. Guests have no apps that use AI.
 * Rule: mentions-and-dms-bring-action-tokens
 */
function searchToken(state: SlackState, channel: Channel, { user, botId }: StoredMessage): JsonObject {
  if (user === state.app.botUserId || botId !== undefined || state.people.get(user)?.isGuest !== false) return {};
  const value = [state.clock.now(), state.team.id.length, randomBytes(16).toString("hex")].join(".");
  state.actionTokens.set(value, {
    userId: user,
    channelId: channel.id,
    until: state.clock.now() + actionTokenMs,
  });
  return { assistant_thread: { action_token: value } };
}

function mentionOf(event: JsonObject): JsonObject {
  const { channel_type: _type, subtype: _subtype, parent_user_id: _parent, ...rest } = event;
  return { ...rest, type: "app_mention" };
}

function envelope(state: SlackState, event: JsonObject, teamId: string): JsonObject {
  const channel = typeof event.channel === "string" ? state.channels.get(event.channel) : undefined;
  return {
    token: state.app.verificationToken,
    // Of messages by people of another organisation: theirs; ours stands in `authorizations` and `context_team_id`.
    team_id: teamId,
    context_team_id: state.team.id,
    context_enterprise_id: null,
    api_app_id: state.app.id,
    event,
    type: "event_callback",
    event_id: state.id("Ev"),
    event_time: Math.floor(state.clock.now() / 1000),
    authorizations: [
      {
        enterprise_id: null,
        team_id: state.team.id,
        user_id: state.app.botUserId,
        is_bot: true,
        is_enterprise_install: false,
      },
    ],
    is_ext_shared_channel: channel?.isShared ?? false,
    event_context: state.id("4-"),
  };
}
