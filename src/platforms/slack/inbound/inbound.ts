/**
 * Handles incoming messages, from events and from histories. Ignores Slack's own notices, the agent's messages, and
 * bots that are not allowed. Adds author, readable text and files only to messages for the agent: mentions, DMs, and
 * messages in its threads. Slack's event is acknowledged only once the message is stored. Events arrive in any order
 * and may repeat. Each message is handled once, unless it could not be stored. An edit or deletion may arrive before
 * its message. The file is over 250 lines because all of it shares what is known of each message.
 */
import { messageOf, RemoraError } from "../../../lib/errors.ts";
import { createKeyedMutex } from "../../../lib/keyed-mutex.ts";
import { createLruMap, type LruMap } from "../../../lib/lru-map.ts";
import type { EphemeralTexts } from "../../../ports/ephemeral.ts";
import type { Attachment, Author, InboundMessage, Notice } from "../../../ports/message.ts";
import type { Identity } from "../api/identity.ts";
import {
  type DirectMessages,
  formatMessageId,
  isDirect,
  messageLink,
  placeOf,
  threadBegunBy,
  threadOf,
  timeOf,
} from "../conversation-id.ts";
import type { Handling } from "../interactions/handling.ts";
import { actionTokenKey } from "../outbound/message-search.ts";
import { unescapeText } from "../outbound/safe-text.ts";
import type { SlackFiles } from "./attachments.ts";
import { type Cursors, compare } from "./cursors.ts";
import { changedSchema, deletedSchema, isSaid, lookingAt, type MessageEvent, type RawMessage } from "./events.ts";
import type { IsGroupDm } from "./group-dms.ts";
import { mentions } from "./readable-text.ts";
import type { RecentMessages } from "./recent-messages.ts";
import { shownMarkup } from "./shown-markup.ts";
import {
  createShownReader,
  hasMoreFiles,
  isSameWords,
  partsOf,
  type ShownReaderOptions,
  type SlackShown,
  unreadMarks,
} from "./shown-message.ts";
import type { Threads } from "./threads.ts";

export interface InboundOptions extends Pick<Handling, "handlers" | "identity" | "people" | "log"> {
  describeFiles: SlackFiles["describe"];
  isOpenIn: ShownReaderOptions["isOpenIn"];
  isGroupDm: IsGroupDm;
  threads: Threads;
  recent: RecentMessages;
  cursors: Cursors;
  ephemeral: Pick<EphemeralTexts, "put">;
  authors: LruMap<string>;
  directMessages: DirectMessages;
  isAllowedBot(id: string): boolean;
  sendNotice(message: InboundMessage, notice: Notice): Promise<void>;
  onTaken(message: InboundMessage): void;
  /** Called each time a message of the channel can't be stored for now. */
  onRefused(channel: string): void;
  onWithdrawn(messageId: string): void;
}

export interface Inbound {
  /** Resolves when the message is durably stored or ignored. */
  message(event: MessageEvent): Promise<void>;
  changed(event: unknown): Promise<void>;
  deleted(event: unknown): Promise<void>;
}

const maxKnownMessages = 20_000;
const maxKnownChanges = 2_000;

export function createInbound(options: InboundOptions): Inbound {
  const { handlers, identity, people, threads, recent, cursors, authors, directMessages, log } = options;
  const readShown = createShownReader({ nameOf: people.nameOf, isOpenIn: options.isOpenIn });
  /** Stored messages, whether they were for the agent, and what was in them. */
  const kept = createLruMap<{ isAddressed: boolean; parts: ReadonlySet<string> }>(maxKnownMessages);
  const told = createLruMap<true>(maxKnownMessages);
  const changes = createLruMap<RawMessage | "deleted">(maxKnownChanges);
  const oneAtATime = createKeyedMutex();
  /** Our own ids. Cached, because waiting for them could change the order of messages. */
  let known: Identity | undefined;

  async function knowSelf(): Promise<Identity> {
    known = await identity();
    return known;
  }

  function isOurs(
    event: { user?: string | undefined; bot_id?: string | undefined },
    { userId, botId }: Identity,
  ): boolean {
    return event.user === userId || (event.bot_id !== undefined && event.bot_id === botId);
  }

  async function isToAgent(event: MessageEvent, { userId }: Identity): Promise<boolean> {
    if (isDirect(event.channel) || event.type === "app_mention" || mentions(shownMarkup(event).own, userId))
      return true;
    const thread = threadOf(event.ts, event.thread_ts);
    return thread !== null && (await threads.has(event.channel, thread));
  }

  async function botAuthor(event: MessageEvent): Promise<Author | undefined> {
    const ids = [event.user, event.bot_id].filter((id) => id !== undefined);
    const id = ids.find(options.isAllowedBot);
    const name = event.username ?? event.bot_profile?.name ?? id;
    return id === undefined || name === undefined ? undefined : { id, name, isBot: true, roles: [] };
  }

  async function eventAuthor(event: MessageEvent, isAddressed: boolean): Promise<Author | undefined> {
    if (event.bot_id !== undefined || event.subtype === "bot_message") return await botAuthor(event);
    const { user } = event;
    if (user === undefined || user === "USLACKBOT") return undefined;
    if (!isAddressed) return { id: user, name: user, isBot: false, roles: [] };
    const author = await people.author(user);
    return author.isBot ? await botAuthor(event) : author;
  }

  async function readInbound(event: MessageEvent, self: Identity, isAddressed: boolean) {
    const { channel, ts } = event;
    const isDm = isDirect(channel);
    const [author, isPrivate] = await Promise.all([
      eventAuthor(event, isAddressed),
      isDm || options.isGroupDm(channel, event.channel_type),
    ]);
    if (author === undefined) return undefined;
    const thread = threadOf(ts, event.thread_ts);
    const looked = isDm ? lookingAt(event, self.teamId) : undefined;
    const conversation = {
      team: self.teamId,
      channel,
      thread: thread ?? threadBegunBy({ channel, ts }, directMessages),
    };
    const message: InboundMessage = {
      id: formatMessageId({ channel, ts }),
      ...placeOf(conversation, author.id),
      author,
      ...(await renderMessage(event, self, isAddressed)),
      isAddressed,
      isDirect: isDm,
      ...(thread === null ? {} : { isInThread: true }),
      ...(isPrivate && !isDm ? { isPrivate } : {}),
      ...(looked === undefined ? {} : { lookingAt: looked }),
      ...(isDm ? {} : { link: messageLink(self.url, { channel, ts }, thread) }),
      at: timeOf(ts),
    };
    return { message, thread: isDm ? null : (thread ?? ts) };
  }

  async function renderMessage(
    event: MessageEvent,
    self: Identity,
    isAddressed: boolean,
  ): Promise<{ text: string; attachments: Attachment[] }> {
    if (!isAddressed) return { text: unescapeText(unreadMarks(event, event.channel)), attachments: [] };
    const { own, quotes, files } = await shown(event, event.channel, self);
    const described = await options.describeFiles(files, event.user ?? "");
    return { text: own, attachments: [...described, ...quotes.map(quotedText)] };
  }

  async function shown(message: RawMessage, channel: string, { userId }: Identity): Promise<SlackShown> {
    return await readShown(message, { channel, botUserId: userId });
  }

  async function hand(event: MessageEvent, self: Identity, isAddressed: boolean): Promise<void> {
    const inbound = await readInbound(event, self, isAddressed);
    if (inbound === undefined) return;
    const { message, thread } = inbound;
    if (isAddressed) authors.set(message.id, message.author.id);
    const notice = await handlers.onMessage(message);
    if (notice?.later !== undefined) throw await refusedForNow(message, event, notice.later);
    if (!isAddressed) return;
    if (notice === undefined) {
      options.onTaken(message);
      // Join only now: a thread in which somebody was refused does not belong to the agent.
      if (thread !== null) await threads.join(event.channel, thread);
      return;
    }
    await tell(message, notice);
  }

  /** The message is stored: what is new in it joins it, or is told to its turn. */
  async function handMore(event: MessageEvent, self: Identity): Promise<void> {
    const inbound = await readInbound(event, self, true);
    const notice = inbound === undefined ? undefined : await handlers.onMessage(inbound.message);
    if (inbound !== undefined && notice?.later !== undefined)
      throw await refusedForNow(inbound.message, event, notice.later);
  }

  async function tell(message: InboundMessage, notice: Notice): Promise<void> {
    if (notice.text === "") return;
    await options.sendNotice(message, notice).catch((thrown: unknown) => {
      log.warn({ message: message.id, error: messageOf(thrown) }, "could not tell a person why they get no answer");
    });
  }

  /** Slack sends the event again at most three times, within minutes; after that, it is fetched. */
  async function refusedForNow(message: InboundMessage, { channel }: MessageEvent, text: string): Promise<RemoraError> {
    const isNew = !told.has(message.id);
    told.set(message.id, true);
    if (isNew) await tell(message, { text });
    options.onRefused(channel);
    return new RemoraError({
      ...{ code: "slack.refused-for-now", place: "platform slack" },
      message: "a message can't be stored now",
    });
  }

  async function keepOnce(event: MessageEvent, self: Identity): Promise<void> {
    const id = formatMessageId(event);
    const before = kept.get(id);
    const isAddressed = await isToAgent(event, self);
    // Of a mention, only one of two events brings the token.
    const { user, assistant_thread: { action_token: token } = {} } = event;
    if (isAddressed && user !== undefined && token !== undefined)
      options.ephemeral.put(actionTokenKey(id, user), token);
    const change = changes.get(id);
    if (change === "deleted") return;
    const now = change === undefined ? event : { ...event, ...wordsOf(change) };
    const parts = isAddressed || before?.isAddressed === true ? partsOf(now) : new Set<string>();
    // Handle the message again if an edit added a mention of the agent, or if Slack's second event of it says more.
    const isMore = before?.isAddressed === true && [...parts].some((part) => !before.parts.has(part));
    if (before !== undefined && !isMore && (before.isAddressed || !isAddressed)) return;
    if (isMore) await handMore(now, self);
    else await hand(now, self, isAddressed);
    kept.set(id, { isAddressed: isAddressed || isMore, parts: new Set([...(before?.parts ?? []), ...parts]) });
  }

  async function takeDeletion(id: string): Promise<void> {
    changes.set(id, "deleted");
    await handlers.onDeleted("slack", id);
    options.onWithdrawn(id);
  }

  async function takeEdit(channel: string, message: RawMessage, self: Identity): Promise<void> {
    const id = formatMessageId({ channel, ts: message.ts });
    const known = changes.get(id);
    if (known === "deleted" || (known !== undefined && compare(editedAt(message), editedAt(known)) < 0)) return;
    changes.set(id, message);
    await handlers.onEdited("slack", id, (await shown(message, channel, self)).own);
  }

  /** Preserves the order within a conversation: an answer never overtakes its question, nor an edit its message. */
  function inOrder(channel: string, { ts, thread_ts: thread }: Placed, work: () => Promise<void>): Promise<void> {
    return oneAtATime(`${channel}:${thread ?? threadBegunBy({ channel, ts }, directMessages) ?? ""}`, work);
  }

  return {
    async message(event) {
      if (isSaid(event)) recent.add(event);
      const self = known ?? (await knowSelf());
      if (!isSaid(event) || isOurs(event, self)) return;
      cursors.heard(event.channel, event.ts, threadOf(event.ts, event.thread_ts));
      await inOrder(event.channel, event, () => keepOnce(event, self));
      cursors.kept(event.channel, event.ts);
    },
    async changed(event) {
      const parsed = changedSchema.safeParse(event);
      if (!parsed.success) return;
      const { channel, message, previous_message: previous } = parsed.data;
      if (message.subtype === "tombstone") recent.remove(channel, message.ts);
      else recent.change(channel, message);
      const self = known ?? (await knowSelf());
      if (isOurs(message, self)) return;
      const id = formatMessageId({ channel, ts: message.ts });
      // A tombstone replaces a deleted message that has replies.
      if (message.subtype === "tombstone") return await inOrder(channel, message, () => takeDeletion(id));
      await inOrder(channel, message, async () => {
        // Link previews and replies also change a message, but they are not edits.
        if (!isSameWords(previous, message)) await takeEdit(channel, message, self);
        if (kept.get(id)?.isAddressed === true && hasMoreFiles(previous, message))
          await keepOnce(
            { ...message, attachments: undefined, type: "message", channel, channel_type: undefined },
            self,
          );
      });
    },
    async deleted(event) {
      const parsed = deletedSchema.safeParse(event);
      if (!parsed.success) return;
      const { channel, deleted_ts: ts, previous_message: previous } = parsed.data;
      recent.remove(channel, ts);
      const id = formatMessageId({ channel, ts });
      await inOrder(channel, previous ?? { ts }, () => takeDeletion(id));
    },
  };
}

type Placed = { ts: string; thread_ts?: string | undefined };

function wordsOf({ text, blocks, attachments }: RawMessage): Pick<RawMessage, "text" | "blocks" | "attachments"> {
  return { text, blocks, attachments };
}

/** Others' words, because people must not be taken to have said them. */
function quotedText({ kind: name, text }: SlackShown["quotes"][number]): Attachment {
  return { name, mimeType: "text/plain", bytes: Buffer.byteLength(text), text };
}

function editedAt({ edited, ts }: RawMessage): string {
  return edited?.ts ?? ts;
}
