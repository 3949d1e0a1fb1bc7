/** People's actions in conversations: write, edit, delete, share files, react, join; and other bots' messages. */
import { checkMayOpen } from "./agent-dm.ts";
import type { Delivery } from "./delivery.ts";
import type { Events } from "./events.ts";
import type { Posting } from "./posting.ts";
import { messageJson } from "./shapes.ts";
import type { Channel, Person, SlackState, StoredFile, StoredMessage } from "./state.ts";
import { richText, typedText } from "./typed.ts";
import type { JsonObject } from "./wire.ts";

export interface Saying {
  as: Person;
  in: Channel;
  /** As it is typed: `@Remora is 1 < 2?` */
  text?: string;
  /** As it is on the wire, instead of `text`: `<@U…> is 1 &lt; 2?` */
  markup?: string;
  /** The ts of the thread's first message, or that message. */
  thread?: string | Said;
  /** Also shown in the channel. */
  isBroadcast?: boolean;
  /** `clipMs`: an audio clip that was recorded in the client, and its length. */
  files?: { name: string; content: string | Buffer; mimetype?: string; clipMs?: number; isCanvas?: boolean }[];
  /** As an app posts them, or as Slack adds them for forwards and links. */
  attachments?: JsonObject[];
  blocks?: JsonObject[];
  /** Files that are in Slack already, shared again: they keep their owner. */
  shared?: StoredFile[];
  /** By an incoming webhook of the bot: `bot_message`, without a user. */
  isWebhook?: boolean;
  /** `app_mention` goes out before `message`, or alone and without files; Slack promises no order. */
  mentionFirst?: boolean | "mention" | "message";
}

export interface Said {
  ts: string;
  channel: Channel;
  message: StoredMessage;
  /** Deliveries of `message` and `app_mention`; none if Slack sends the app nothing. */
  deliveries: Delivery[];
  /** Sends one of the two events of a mention, late or once more. */
  also(event: "mention" | "message"): Delivery[];
  /** When everything is acknowledged; rejects when Slack gives up. */
  acknowledged(): Promise<void>;
  /** When everything is acknowledged at the first attempt; rejects as soon as one of them is not. */
  acknowledgedAtOnce(): Promise<void>;
}

export interface PeopleActions {
  say(saying: Saying): Said;
  edit(said: Said, text: string): Said;
  /** What Slack puts into the message of a person who forwards that message: its words and files are nested. */
  forwardOf(said: Said): JsonObject;
  remove(said: Said): Delivery[];
  /** Deletes the files of the message, which stays. */
  removeFiles(said: Said): void;
  join(person: Person, channel: Channel): Delivery[];
  leave(person: Person, channel: Channel): Delivery[];
  react(person: Person, said: { ts: string; channel: Channel }, name: string): Delivery[];
  /** Adds a link preview: a message change without an editor and with the same text. */
  unfurl(said: Said, url: string): Delivery[];
  /** Stops a streaming answer with the button below it. */
  /** Slack's stop button, on the thread of that message. */
  stopStream(person: Person, on: { ts: string; channel: Channel }): Delivery[];
  /** A system message, with a subtype such as `channel_topic`. */
  systemLine(channel: Channel, person: Person, subtype: string, text: string): Said;
  /** The tab of the app is opened. */
  openHome(person: Person, tab?: "home" | "messages"): Delivery[];
  /** Opens a channel, or what else Slack tells the app as entities, beside the app. Nothing: what was open is closed. */
  lookAt(person: Person, what?: Channel | JsonObject[]): Delivery[];
}

export interface PeopleTools {
  state: SlackState;
  events: Events;
  posting: Posting;
  direct(person: Person): Channel;
  homeView(person: Person): JsonObject | undefined;
  /** Ends a stream for good. */
  stopStream(message: StoredMessage): Delivery[];
}

export function createPeopleActions(tools: PeopleTools): PeopleActions {
  const { state, events, posting } = tools;

  function said(message: StoredMessage, deliveries: Delivery[]): Said {
    const channel = state.channels.get(message.channel);
    if (channel === undefined) throw new Error(`slack double: no channel ${message.channel}`);
    return {
      ts: message.ts,
      channel,
      message,
      deliveries,
      also: (event) => events.message(message, event),
      async acknowledged() {
        await Promise.all(deliveries.map((delivery) => delivery.acknowledged()));
      },
      async acknowledgedAtOnce() {
        await Promise.all(deliveries.map((delivery) => delivery.firstAttempt()));
      },
    };
  }

  return {
    say(saying) {
      checkMayOpen(state, saying.as, saying.in);
      const message = messageOf(state, saying);
      return said(message, posting.post(message, saying.mentionFirst));
    },
    edit(before, text) {
      const typed = typedText(state, text);
      const { message } = before;
      const edited = { user: message.user, ts: state.ts() };
      return said(message, posting.change(message, { text: typed, blocks: [richText(typed)], edited }));
    },
    forwardOf: ({ message }) => forwardOf(state, message),
    remove: ({ message }) => posting.remove(message),
    removeFiles({ message }) {
      for (const id of message.fileIds) {
        const file = state.files.get(id);
        if (file !== undefined) file.isDeleted = true;
      }
    },
    join: (person, channel) => membership(state, events, posting, person, channel, true),
    leave: (person, channel) => membership(state, events, posting, person, channel, false),
    react(person, { ts, channel }, name) {
      const message = state.message(channel.id, ts);
      if (message === undefined) throw new Error(`slack double: no message ${ts} in ${channel.id}`);
      addReaction(message, person.id, name);
      return events.send({
        type: "reaction_added",
        user: person.id,
        reaction: name,
        item: { type: "message", channel: channel.id, ts },
        item_user: message.user,
        event_ts: state.ts(),
      });
    },
    unfurl({ message }, url) {
      const preview = { from_url: url, original_url: url, id: 1, fallback: url, title: url, title_link: url };
      return posting.change(message, { attachments: [...message.attachments, preview] });
    },
    stopStream(person, { ts, channel }) {
      const message = state.message(channel.id, ts);
      if (message === undefined) throw new Error(`slack double: no message ${ts} in ${channel.id}`);
      const threadTs = message.threadTs ?? ts;
      const streaming = state.messages.filter(
        (each) => each.channel === channel.id && each.threadTs === threadTs && each.stream?.state === "in_progress",
      );
      const changed = streaming.flatMap((each) => tools.stopStream(each));
      if (!state.agent.events.has("agent_session_stopped")) return changed;
      const event = {
        type: "agent_session_stopped",
        channel: channel.id,
        user: person.id,
        thread_ts: threadTs,
        streaming_message_ts: streaming.map((each) => each.ts),
        event_ts: state.ts(),
      };
      return [...changed, ...events.send(event)];
    },
    systemLine(channel, person, subtype, text) {
      const message = { ...emptyMessage(state, person, channel), subtype, text };
      return said(message, posting.post(message));
    },
    openHome(person, tab = "home") {
      checkMayOpen(state, person, tools.direct(person));
      const view = tools.homeView(person);
      return events.send({
        type: "app_home_opened",
        user: person.id,
        channel: tools.direct(person).id,
        tab,
        ...(tab === "home" && view !== undefined ? { view } : {}),
        ...(state.lookingAt.has(person.id) ? { context: { entities: state.lookingAt.get(person.id) ?? [] } } : {}),
        event_ts: state.ts(),
      });
    },
    lookAt(person, what) {
      const entities = Array.isArray(what) ? what : what && [channelEntity(state, what)];
      if (entities === undefined) state.lookingAt.delete(person.id);
      else state.lookingAt.set(person.id, entities);
      // As the page shows it: without the person.
      return events.send({ type: "app_context_changed", context: entities === undefined ? {} : { entities } });
    },
  };
}

function forwardOf(state: SlackState, message: StoredMessage): JsonObject {
  const { blocks = [], files = [] } = messageJson(state, message);
  const { channel, ts, user } = message;
  const url = `https://${state.team.domain}.slack.com/archives/${channel}/p${ts.replace(".", "")}`;
  return {
    ...{ ts, channel_id: channel, channel_team: state.team.id, is_msg_unfurl: true, is_share: true },
    ...{ author_id: user, author_name: state.people.get(user)?.displayName ?? user, from_url: url },
    ...{ text: message.text, fallback: `[${ts}] ${message.text}`, mrkdwn_in: ["text"], footer: "Slack Conversation" },
    message_blocks: [{ team: state.team.id, channel, ts, message: { blocks } }],
    files,
  };
}

function channelEntity(state: SlackState, { id }: Channel): JsonObject {
  return { type: "slack#/types/channel_id", value: id, team_id: state.team.id };
}

export function addReaction(message: StoredMessage, user: string, name: string): boolean {
  const known = message.reactions.find((reaction) => reaction.name === name);
  if (known === undefined) message.reactions.push({ name, users: [user] });
  else if (known.users.includes(user)) return false;
  else known.users.push(user);
  return true;
}

function emptyMessage(state: SlackState, person: Person, channel: Channel): StoredMessage {
  return {
    ts: state.ts(),
    channel: channel.id,
    user: person.id,
    ...(person.botId === undefined ? {} : { botId: person.botId }),
    text: "",
    blocks: [],
    attachments: [],
    fileIds: [],
    reactions: [],
    parse: { full: false, mrkdwn: true, unfurlLinks: true, unfurlMedia: true },
  };
}

function messageOf(state: SlackState, saying: Saying): StoredMessage {
  const { as: person, in: channel, thread } = saying;
  if (!channel.members.has(person.id)) channel.members.add(person.id);
  const text = saying.markup ?? typedText(state, saying.text ?? "");
  const threadTs = typeof thread === "object" ? (thread.message.threadTs ?? thread.ts) : thread;
  const files = [...(saying.files ?? []).map((file) => shareFile(state, person, file)), ...(saying.shared ?? [])];
  const message: StoredMessage = {
    ...emptyMessage(state, person, channel),
    text,
    blocks: saying.blocks ?? (text === "" || person.isBot ? [] : [richText(text)]),
    attachments: saying.attachments ?? [],
    fileIds: files.map((file) => file.id),
    ...(threadTs === undefined ? {} : { threadTs }),
    ...(person.isBot ? {} : { clientMessageId: crypto.randomUUID() }),
    ...subtypeOf(saying),
  };
  for (const file of files) file.shares.push({ channel: channel.id, ts: message.ts });
  return message;
}

function subtypeOf(saying: Saying): Partial<StoredMessage> {
  if ([...(saying.files ?? []), ...(saying.shared ?? [])].length > 0) return { subtype: "file_share" };
  if (saying.isBroadcast === true) return { subtype: "thread_broadcast", isBroadcast: true };
  return saying.isWebhook === true ? { subtype: "bot_message", isWebhook: true, username: saying.as.displayName } : {};
}

export function shareFile(state: SlackState, person: Person, file: NonNullable<Saying["files"]>[number]): StoredFile {
  const stored: StoredFile = {
    id: state.id("F"),
    name: file.name,
    title: file.name,
    mimetype: file.mimetype ?? "text/plain",
    content: Buffer.from(file.content),
    userId: person.id,
    created: Math.floor(state.clock.now() / 1000),
    shares: [],
    isUploaded: true,
    isComplete: true,
    ...(file.clipMs === undefined ? {} : { clipMs: file.clipMs }),
    ...(file.isCanvas === true ? { isCanvas: true } : {}),
  };
  state.files.set(stored.id, stored);
  return stored;
}

function membership(
  state: SlackState,
  events: Events,
  posting: Posting,
  person: Person,
  channel: Channel,
  isJoining: boolean,
): Delivery[] {
  if (isJoining) channel.members.add(person.id);
  const event = {
    type: isJoining ? "member_joined_channel" : "member_left_channel",
    user: person.id,
    channel: channel.id,
    channel_type: channel.type === "channel" ? "C" : "G",
    team: person.teamId,
    event_ts: state.ts(),
  };
  const line = {
    ...emptyMessage(state, person, channel),
    subtype: isJoining ? "channel_join" : "channel_leave",
    text: `<@${person.id}> has ${isJoining ? "joined" : "left"} the channel`,
  };
  const sent = [...events.send(event), ...posting.post(line)];
  if (!isJoining) channel.members.delete(person.id);
  return sent;
}
