/**
 * What the workspace holds: people, channels, messages, files, views, and the ids and timestamps they get.
 *
 * Plain tables without rules; Slack's rules are in the methods. Every change is announced, so that tests can wait for one.
 */
import { randomBytes } from "node:crypto";
import type { SlackClock } from "./clock.ts";
import type { Json, JsonObject } from "./wire.ts";

export interface Person {
  id: string;
  /** The home workspace; another one than ours for people of Slack Connect. */
  teamId: string;
  /** The handle. */
  name: string;
  displayName: string;
  isBot: boolean;
  /** Of bots: the id that messages carry. */
  botId?: string;
  isDeleted: boolean;
  isGuest: boolean;
  isSingleChannelGuest: boolean;
  isStranger: boolean;
  isAdmin: boolean;
  /** Of the profile. Slack has sent null for bots. */
  timeZone: string | null;
}

export interface Channel {
  id: string;
  name: string;
  type: "channel" | "group" | "im" | "mpim";
  members: Set<string>;
  isArchived: boolean;
  /** Only admins may post: `restricted_action` for everyone else. */
  isReadOnly: boolean;
  /** What an Enterprise allows there: no replies in threads, or nothing else. */
  threads?: "off" | "only";
  /** Slack refuses every post there with this error: `messages_tab_disabled` in a DM, or one that nobody knows yet. */
  refuses?: string;
  /** The same, for replies in threads only. */
  refusesReplies?: string;
  /** Shared with another organisation. */
  isShared: boolean;
  /** With other workspaces of the same organization. */
  isOrgShared: boolean;
  created: number;
}

export interface UserGroup {
  id: string;
  handle: string;
  name: string;
  users: string[];
  isDisabled: boolean;
}

export interface StoredFile {
  id: string;
  name: string;
  title: string;
  mimetype: string;
  content: Buffer;
  userId: string;
  created: number;
  /** Where it was shared. */
  shares: { channel: string; ts: string }[];
  isUploaded: boolean;
  isComplete: boolean;
  isDeleted?: boolean;
  /** Uploaded in a modal of the app: no conversation has it. */
  isGiven?: boolean;
  /** A clip recorded in the client. */
  clipMs?: number;
  /** Written in Slack, and downloaded as HTML. */
  isCanvas?: boolean;
}

export interface Stream {
  state: "in_progress" | "completed" | "errored";
  startedAt: number;
  recipient?: string;
  /** All chunks in order; `markdown_text` chunks are joined in the message's text. */
  chunks: JsonObject[];
}

export interface Notification {
  desktop: string;
  mobile: string;
}

export interface StoredMessage {
  ts: string;
  channel: string;
  subtype?: string;
  user: string;
  botId?: string;
  text: string;
  blocks: JsonObject[];
  attachments: JsonObject[];
  threadTs?: string;
  /** Nobody may post below it: `restricted_action_thread_locked`. */
  isThreadLocked?: boolean;
  /** Such as a system message: `cannot_reply_to_message`. */
  takesNoReplies?: boolean;
  isBroadcast?: boolean;
  fileIds: string[];
  metadata?: JsonObject;
  /** Whom it notified, if the app posted it. */
  pings?: string[];
  /** What its notification said when the app posted it. */
  notification?: Notification;
  edited?: { user: string; ts: string };
  clientMessageId?: string;
  reactions: { name: string; users: string[] }[];
  /** Seen by this person alone. */
  onlyFor?: string;
  stream?: Stream;
  /** As given when it was posted. */
  parse: { full: boolean; mrkdwn: boolean; unfurlLinks: boolean; unfurlMedia: boolean };
  username?: string;
  /** Of incoming webhooks, which have no user. */
  isWebhook?: boolean;
  extra?: JsonObject;
}

export interface StoredView {
  id: string;
  type: "modal" | "home";
  userId: string;
  view: JsonObject;
  hash: string;
  rootId: string;
  previousId?: string;
  state: "open" | "closed";
  /** What the app answered to a submission with `response_action: errors`. */
  errors: Record<string, string>;
  /** The person sees "We had some trouble connecting": no acknowledgement, or an invalid response. */
  failure?: string;
}

export interface AssistantThread {
  channel: string;
  threadTs: string;
  userId: string;
  context: JsonObject;
  status: string;
  loadingMessages: string[];
  title?: string;
  prompts?: { title?: string; prompts: Json };
}

export type SessionStatus = "active" | "processing" | "suspended" | "closed";

export interface AgentSession {
  channel: string;
  threadTs: string;
  status: SessionStatus;
  title?: string;
  /** The app's own id, or that of the person who renamed it. */
  titledBy?: string;
  initiator?: string;
  /** Each state with what set it, oldest first. `isStoppable`: people see a stop button. */
  history: { at: number; status: SessionStatus; by: string; isStoppable: boolean }[];
}

export interface SlackState {
  clock: SlackClock;
  team: { id: string; name: string; domain: string };
  app: { id: string; botId: string; botUserId: string; verificationToken: string };
  people: Map<string, Person>;
  channels: Map<string, Channel>;
  groups: Map<string, UserGroup>;
  messages: StoredMessage[];
  files: Map<string, StoredFile>;
  views: Map<string, StoredView>;
  assistantThreads: AssistantThread[];
  /** For `assistant.search.context`: as whom the app may search, from where, and until when. */
  actionTokens: Map<string, { userId: string; channelId: string; until: number }>;
  /** False in a workspace whose plan has no search for apps. */
  hasSearch: boolean;
  /** What people have open beside the app, by their ids: entities as Slack sends them, most relevant first. */
  lookingAt: Map<string, JsonObject[]>;
  sessions: AgentSession[];
  /** What the manifest says of the app as an agent. An app that was installed before with `assistant_view` is not declared. */
  /** What becomes of a reply whose thread has lost its only message: `Rule: reply-without-its-root`. */
  deletedRoots: "refuse" | "top-level";
  /** `channel:ts` of messages that were deleted without a trace. */
  removed: Set<string>;
  agent: { isDeclared: boolean; events: Set<string>; hasAssistantThreads: boolean };
  /** The addresses in the app's messages that Slack has fetched by itself. */
  fetched: Set<string>;
  /** Where the double listens, without a path. */
  url: string;
  id(prefix: string): string;
  /** A timestamp that no message has had. */
  ts(): string;
  changed(): void;
  onChange(listener: () => void): () => void;
  message(channel: string, ts: string): StoredMessage | undefined;
}

export function createState(clock: SlackClock): SlackState {
  let lastTs = 0;
  const taken = new Set<string>();
  const listeners = new Set<() => void>();

  function id(prefix: string): string {
    const made = `${prefix}0${randomBytes(5).toString("hex").toUpperCase().slice(0, 9)}`;
    if (taken.has(made)) return id(prefix);
    taken.add(made);
    return made;
  }

  const state: SlackState = {
    clock,
    team: { id: id("T"), name: "Remora testers", domain: "remora-testers" },
    app: {
      id: id("A"),
      botId: id("B"),
      botUserId: id("U"),
      verificationToken: randomBytes(12).toString("hex"),
    },
    people: new Map(),
    channels: new Map(),
    groups: new Map(),
    messages: [],
    files: new Map(),
    views: new Map(),
    assistantThreads: [],
    actionTokens: new Map(),
    hasSearch: true,
    lookingAt: new Map(),
    sessions: [],
    deletedRoots: "top-level",
    removed: new Set(),
    agent: {
      isDeclared: true,
      events: new Set(["agent_session_stopped", "agent_session_title_changed"]),
      hasAssistantThreads: true,
    },
    fetched: new Set(),
    url: "",
    id,
    ts() {
      lastTs = Math.max(lastTs + 1, clock.now() * 1000);
      return `${Math.floor(lastTs / 1_000_000)}.${String(lastTs % 1_000_000).padStart(6, "0")}`;
    },
    changed() {
      for (const listener of listeners) listener();
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    message: (channel, ts) =>
      state.messages.find(
        (message) => message.channel === channel && message.ts === ts && message.onlyFor === undefined,
      ),
  };
  return state;
}
