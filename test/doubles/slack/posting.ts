/**
 * Messages come, change and go: who may post where, what a message is made of, and the events that follow.
 * Shared by the Web API, response URLs and people.
 * Rules: metadata-event-type, text-is-cut
 */
import { checkBlocks } from "./block-rules.ts";
import type { Delivery } from "./delivery.ts";
import type { Events, MentionOrder } from "./events.ts";
import { effectsOf } from "./markup.ts";
import { notificationOf, pingsOf } from "./pings.ts";
import type { SlackError } from "./rules.ts";
import { messageJson, repliesOf } from "./shapes.ts";
import { most } from "./sizes.ts";
import type { Channel, SlackState, StoredMessage } from "./state.ts";
import { type Arguments, invalid, isObject, type JsonObject, objectsIn, SlackRefusal } from "./wire.ts";

export interface Content {
  text: string;
  blocks: JsonObject[];
  attachments: JsonObject[];
  metadata?: JsonObject;
}

const textLimit = 40_000;
const markdownLimit = 12_000;

/** A conversation the token can name; ids of people and `#names` work for posting only. */
export function channelFor(state: SlackState, id: string): Channel {
  const channel = state.channels.get(id) ?? [...state.channels.values()].find((one) => `#${one.name}` === id);
  const isHidden = channel !== undefined && channel.type !== "channel" && !channel.members.has(state.app.botUserId);
  if (channel === undefined || isHidden) throw new SlackRefusal("channel_not_found");
  return channel;
}

export function checkMayPost(state: SlackState, channel: Channel, threadTs: string | undefined): void {
  if (channel.isArchived) throw new SlackRefusal("is_archived");
  if (!channel.members.has(state.app.botUserId)) throw new SlackRefusal("not_in_channel");
  if (channel.isReadOnly) throw new SlackRefusal("restricted_action");
  if (channel.refuses !== undefined) throw new SlackRefusal(channel.refuses as SlackError);
  const isReply = threadTs !== undefined && threadTs !== "";
  if (isReply && channel.refusesReplies !== undefined) throw new SlackRefusal(channel.refusesReplies as SlackError);
  if (isReply && channel.threads === "off") throw new SlackRefusal("restricted_action_non_threadable_channel");
  if (!isReply && channel.threads === "only") throw new SlackRefusal("restricted_action_thread_only_channel");
}

/** Text, blocks and attachments of a call; `markdown_text` becomes a markdown block, as Slack shows it. */
export function readContent(args: Arguments): Content {
  const text = args.text("text") ?? "";
  const markdown = args.text("markdown_text");
  const rawBlocks = args.json("blocks", "invalid_blocks_format");
  const attachments = objectsIn(args.json("attachments"));
  if (markdown !== undefined && (text !== "" || rawBlocks !== undefined))
    throw new SlackRefusal("markdown_text_conflict");
  if ((markdown?.length ?? 0) > markdownLimit) throw new SlackRefusal("msg_too_long");
  if (attachments.length > most("message-attachments")) throw new SlackRefusal("too_many_attachments");
  const blocks = rawBlocks === undefined ? [] : withIds(checkBlocks(rawBlocks));
  if (markdown !== undefined && markdown !== "") blocks.push({ type: "markdown", text: markdown, block_id: "md" });
  const metadata = readMetadata(args);
  return {
    // Slack cuts it, without a word.
    text: markdown ?? text.slice(0, textLimit),
    blocks,
    attachments,
    ...(metadata === undefined ? {} : { metadata }),
  };
}

export function checkHasContent(content: Content): void {
  if (content.text === "" && content.blocks.length === 0 && content.attachments.length === 0) {
    throw new SlackRefusal("no_text");
  }
}

export function readMetadata(args: Arguments): JsonObject | undefined {
  const metadata = args.json("metadata", "invalid_metadata_format");
  if (metadata === undefined) return undefined;
  if (!isObject(metadata)) throw new SlackRefusal("invalid_metadata_format");
  if (typeof metadata.event_type !== "string" || metadata.event_type === "" || !isObject(metadata.event_payload)) {
    throw invalid("invalid_metadata_schema", "metadata needs event_type and event_payload [json-pointer:/metadata]");
  }
  return isDotted(metadata) ? undefined : { event_type: metadata.event_type, event_payload: metadata.event_payload };
}

/** The warning about metadata that Slack leaves away, as part of an answer. */
export function droppedMetadata(args: Arguments): JsonObject {
  const metadata = args.json("metadata");
  if (!isObject(metadata) || !isDotted(metadata)) return {};
  return { warning: "invalid_metadata", response_metadata: { warnings: ["invalid_metadata"] } };
}

function isDotted({ event_type: type }: JsonObject): boolean {
  return typeof type === "string" && type.includes(".");
}

function withIds(blocks: JsonObject[]): JsonObject[] {
  return blocks.map((block, index) => (block.block_id === undefined ? { ...block, block_id: `b${index}` } : block));
}

/** The parent of a reply; a reply's own ts leads to its parent's thread. */
export function threadFor(state: SlackState, channel: Channel, threadTs: string | undefined): string | undefined {
  if (threadTs === undefined || threadTs === "") return undefined;
  if (!/^\d+\.\d{6}$/.test(threadTs)) throw new SlackRefusal("invalid_thread_ts");
  const parent = state.message(channel.id, threadTs);
  const isPane = state.assistantThreads.some((one) => one.channel === channel.id && one.threadTs === threadTs);
  if (parent === undefined && !isPane) throw new SlackRefusal("thread_not_found");
  if (parent?.takesNoReplies) throw new SlackRefusal("cannot_reply_to_message");
  if (parent?.isThreadLocked) throw new SlackRefusal("restricted_action_thread_locked");
  return parent?.threadTs ?? threadTs;
}

/** As `threadFor`, for a new message. Rule: reply-without-its-root. */
export function threadForPost(state: SlackState, channel: Channel, threadTs: string | undefined): string | undefined {
  const isLost = state.removed.has(`${channel.id}:${threadTs}`) && state.deletedRoots === "top-level";
  return isLost ? undefined : threadFor(state, channel, threadTs);
}

export interface Posting {
  /** Stores it and tells the app. */
  post(message: StoredMessage, mention?: MentionOrder): Delivery[];
  change(message: StoredMessage, change: Partial<StoredMessage>, isQuiet?: boolean): Delivery[];
  remove(message: StoredMessage): Delivery[];
  /** A message of the app, not stored yet. */
  draft(channel: Channel, content: Content, threadTs: string | undefined, args?: Arguments): StoredMessage;
}

export function createPosting(state: SlackState, events: Events): Posting {
  return {
    post(message, mention) {
      state.messages.push(message);
      // Edits notify nobody, so only what a message says when it is posted counts.
      if (message.user === state.app.botUserId)
        Object.assign(message, { pings: pingsOf(state, message), notification: notificationOf(state, message) });
      if (message.user === state.app.botUserId) clearStatus(state, message);
      fetchLinks(state, message);
      // Only the person sees an ephemeral message; there is no event.
      const sent = message.onlyFor === undefined ? events.message(message, mention) : [];
      state.changed();
      return sent;
    },
    change(message, change, isQuiet = false) {
      const previous = messageJson(state, message);
      Object.assign(message, change);
      fetchLinks(state, message);
      const sent = isQuiet || message.onlyFor !== undefined ? [] : events.changed(message, previous);
      state.changed();
      return sent;
    },
    remove(message) {
      const previous = messageJson(state, message);
      if (repliesOf(state, message.channel, message.ts).length > 0) {
        // A thread keeps its place: what was deleted leaves a tombstone.
        const gone = { text: "This message was deleted.", blocks: [], attachments: [], fileIds: [] };
        Object.assign(message, gone, {
          subtype: "tombstone",
          user: "USLACKBOT",
          botId: undefined,
          metadata: undefined,
        });
        const changed = events.changed(message, previous);
        state.changed();
        return changed;
      }
      state.messages.splice(state.messages.indexOf(message), 1);
      state.removed.add(`${message.channel}:${message.ts}`);
      const sent = message.onlyFor === undefined ? events.deleted(message.channel, previous) : [];
      state.changed();
      return sent;
    },
    draft(channel, content, threadTs, args) {
      const username = args?.text("username");
      return {
        ts: state.ts(),
        channel: channel.id,
        user: state.app.botUserId,
        botId: state.app.botId,
        ...content,
        ...(threadTs === undefined ? {} : { threadTs }),
        fileIds: [],
        reactions: [],
        parse: {
          full: args?.text("parse") === "full" || args?.flag("link_names") === true,
          mrkdwn: args?.flag("mrkdwn") !== false,
          unfurlLinks: args?.flag("unfurl_links") !== false,
          unfurlMedia: args?.flag("unfurl_media") !== false,
        },
        ...(username === undefined ? {} : { username }),
      };
    },
  };
}

/** As for a preview, at once. It stays fetched, whatever becomes of the message. */
function fetchLinks(state: SlackState, message: StoredMessage): void {
  if (message.user !== state.app.botUserId) return;
  for (const effect of effectsOf(message)) if (effect.type === "unfurl") state.fetched.add(effect.url);
}

/** The app's answer takes the place of its status in the thread. */
function clearStatus(state: SlackState, message: StoredMessage): void {
  for (const thread of state.assistantThreads) {
    if (thread.channel === message.channel && thread.threadTs === message.threadTs) thread.status = "";
  }
}
