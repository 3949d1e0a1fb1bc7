/**
 * One reply in Slack. Each segment is one message (live-message.ts); cards and questions appear between segments. Calls
 * run one after the other so that nothing overtakes an earlier message. Needs only the Web API, so any process can
 * reply.
 */
import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import { createKeyedMutex } from "../../../lib/keyed-mutex.ts";
import type { Log } from "../../../lib/log.ts";
import type { LruMap } from "../../../lib/lru-map.ts";
import type { AnswerFooter } from "../../../ports/answer-footer.ts";
import type { ApprovalCard } from "../../../ports/card.ts";
import type { Work } from "../../../ports/conversation.ts";
import type { ReplyTarget } from "../../../ports/message.ts";
import { type Posts, type Reply, unshownLevel } from "../../../ports/platform.ts";
import type { Progress } from "../../../ports/progress.ts";
import type { ToolFile } from "../../../ports/tool.ts";
import type { FormContents } from "../../shared/form-contents.ts";
import { noRoute, platformAway } from "../../shared/platform-error.ts";
import { attachmentNote } from "../../shared/tool-files.ts";
import type { SlackApi } from "../api/api.ts";
import { isAway, isRefusal, plainOf, whyNotThere } from "../api/api-problems.ts";
import type { RateLimiter } from "../api/rate-limiter.ts";
import { isDirect, parseConversationId, parseMessageId } from "../conversation-id.ts";
import type { Threads } from "../inbound/threads.ts";
import { maxHistoryPage } from "../limits.ts";
import { type AgentSession, type AgentSessions, type SessionState, stateOf } from "./agent-sessions.ts";
import { readFiles, type UploadedFile, uploadFile, uploadText } from "./files-out.ts";
import type { Footers } from "./footer.ts";
import { createLiveMessage, type LiveMessage } from "./live-message.ts";
import { createMessageSender, endFilesKey, type MessageSender } from "./message-sender.ts";
import type { Destination } from "./messages-of.ts";
import type { Streaming } from "./native-stream-policy.ts";
import type { Receipts } from "./receipts.ts";
import { renderMessage, renderParts } from "./render.ts";
import { type Begun, createReplyCards } from "./reply-cards.ts";

export interface ReplyOptions {
  api: SlackApi;
  target: ReplyTarget;
  posts: Posts;
  rateLimiter: RateLimiter;
  streaming: Streaming;
  sessions: AgentSessions;
  receipts: Receipts;
  footers: Footers;
  formContents: FormContents;
  botUserId(): Promise<string>;
  threads: Threads;
  told: LruMap<true>;
  workIn(conversationId: string, besides?: string): Promise<Work>;
  log: Log;
  signal: AbortSignal;
}

type End = Parameters<Reply["finish"]>;

export function createSlackReply(options: ReplyOptions): Reply {
  const { target, posts, log } = options;
  const place = parseConversationId(target.conversationId);
  const destination: Destination | undefined = place && {
    channel: place.channel,
    thread: place.thread,
    since: sinceOf(target),
  };
  const session: AgentSession | undefined =
    destination === undefined || destination.thread === null
      ? undefined
      : options.sessions(destination.channel, destination.thread);
  const oneAtATime = createKeyedMutex();
  let begun: Promise<Begun> | undefined;
  let segment: LiveMessage | undefined;
  let latest: { text?: string; progress?: Progress } = {};
  let hasPreviews = true;
  const cards = createReplyCards({
    ...{ api: options.api, formContents: options.formContents, log, turnId: target.turnId, begin, setState },
    closeText: (place) => closeSegment(place, latest.text, "suspended"),
  });

  function inOrder<Result>(work: () => Promise<Result>): Promise<Result> {
    return oneAtATime(target.turnId, work);
  }

  function begin(): Promise<Begun> {
    begun ??= open().catch((thrown: unknown) => {
      begun = undefined;
      throw thrown;
    });
    return begun;
  }

  async function open(): Promise<Begun> {
    if (destination === undefined)
      throw noRoute("slack", `${target.conversationId} is not a Slack conversation`, "it is not a Slack conversation");
    const { api, botUserId, threads, signal } = options;
    const { channel, thread } = destination;
    // A message in the channel itself starts a thread, which then belongs to the agent.
    const onPosted = async (ts: string) => (isDirect(channel) ? undefined : await threads.join(channel, thread ?? ts));
    const sender = createMessageSender({
      api,
      destination,
      session,
      posts,
      turnId: target.turnId,
      botUserId,
      onPosted,
      onMoved: (ts) => threads.moved(channel, ts, thread),
      openThread: async () => await newestThreadWith(api, channel, await botUserId()),
      told: options.told,
      log,
      signal,
    });
    await sender.begin();
    return { sender, destination };
  }

  /** A segment is identified by the number of cards and questions above it, even after a restart. */
  function segmentKey(sender: MessageSender): string {
    return sender.textKey(sender.keys().filter((key) => /^(?:card|question):/.test(key)).length);
  }

  /**
   * Slack fetches the addresses of a stream, and tasks may repeat some, so after words of others there is none: progress is a line in
   * a post without previews, and the session shows that the turn works. That post also takes the place of a stream, whose edits may
   * be fetched, too.
   */
  async function openSegment({ sender, destination: at }: Begun): Promise<LiveMessage> {
    const open = segment ?? createSegment(sender, at);
    if (hasPreviews || !sender.isStream(segmentKey(sender))) return open;
    await open.discard();
    return createSegment(sender, at);
  }

  function createSegment(sender: MessageSender, at: Destination): LiveMessage {
    const key = segmentKey(sender);
    const isResumed = sender.tsOf(key) !== undefined;
    segment = createLiveMessage({
      ...{ key, sender, log, rateLimiter: options.rateLimiter },
      footers: options.footers,
      startStream: async (first, tasks) =>
        isResumed || !hasPreviews || session === undefined
          ? undefined
          : await options.streaming.start({
              ...{ api: options.api, destination: at, session, target, sender, key, first, tasks },
            }),
      session,
    });
    return segment;
  }

  /** Another process that continues the reply sets the states itself. */
  async function setState(state: SessionState): Promise<void> {
    if (posts.isLost?.() !== true) await session?.set(state);
  }

  async function show(change: { text?: string; progress?: Progress }): Promise<void> {
    latest = { ...latest, ...change };
    if (!cards.isWaiting()) void setState("processing");
    try {
      await (await openSegment(await begin())).show(latest);
    } catch (thrown) {
      log[unshownLevel(thrown)]({ turnId: target.turnId, error: messageOf(thrown) }, "could not show a partial reply");
    }
  }

  /** Leaves an earlier process's text unchanged if this process has added nothing. */
  async function closeSegment(
    place: Begun,
    text: string | undefined,
    state: SessionState,
    footer?: AnswerFooter,
    below?: string,
  ): Promise<{ rest: string | undefined }> {
    const closed = await (await openSegment(place)).close(text, state, footer, below);
    segment = undefined;
    latest = {};
    // Don't wait: the message itself already shows the progress.
    if (place.destination.thread === null) void options.receipts.end(target.conversationId);
    return closed;
  }

  async function end(
    state: SessionState,
    text: string,
    files: ToolFile[],
    footer: AnswerFooter | undefined,
    wordsBelow = "",
  ): Promise<void> {
    const place = await begin();
    const { sender } = place;
    const { found, notes } = await readFiles(files);
    const uploaded: UploadedFile[] = [];
    const areShared = await sender.areShared(endFilesKey);
    for (const file of areShared ? [] : found) {
      await uploadFile(options.api, file).then(
        (done) => uploaded.push(done),
        (thrown: unknown) => {
          if (isAway(thrown)) throw thrown;
          notes.push(attachmentNote(file.name, plainOf(thrown)));
          log.warn({ turnId: target.turnId, error: messageOf(thrown) }, "could not upload a file");
        },
      );
    }
    const { rest } = await closeSegment(
      place,
      text,
      state,
      footer,
      [wordsBelow, ...notes].filter(Boolean).join("\n\n"),
    );
    if (areShared) return;
    try {
      const whole = rest === undefined ? [] : [await uploadText(options.api, "answer.md", rest)];
      await sender.share(endFilesKey, [...whole, ...uploaded]);
    } catch (thrown) {
      const names = [...(rest === undefined ? [] : ["answer.md"]), ...uploaded.map(({ title }) => title)];
      await sayInstead(sender, names, rest, thrown);
    }
  }

  /** Another turn may run in the conversation, or an older card wait there. If that can't be read, this was the last one. */
  async function stateAfter(turnId?: string): Promise<SessionState> {
    if (session === undefined) return "active";
    const work = options.workIn(target.conversationId, turnId);
    return stateOf[
      await work.catch((thrown: unknown) => {
        log.warn({ turnId: target.turnId, error: messageOf(thrown) }, "could not see what else goes on in a thread");
        return "none" as const;
      })
    ];
  }

  /** However the answer went, the turn is over here, unless the service is away and the same call comes again. */
  async function ending(...shown: End): Promise<void> {
    const state = await stateAfter(target.turnId);
    try {
      await end(state, ...shown);
    } catch (thrown) {
      if (!isAway(thrown)) await setState(state);
      asRejection(thrown);
    }
    await setState(state);
  }

  /** Below changes, the turn is over. If it goes on, it sets the states itself. */
  async function settle(card: ApprovalCard): Promise<void> {
    if (destination === undefined) return;
    await cards.settle(card);
    if (session !== undefined && (await stateAfter()) === "active") await setState("active");
  }

  async function sayInstead(
    sender: MessageSender,
    names: string[],
    rest: string | undefined,
    thrown: unknown,
  ): Promise<void> {
    if (isAway(thrown)) throw thrown;
    log.warn({ turnId: target.turnId, error: messageOf(thrown) }, "could not show the files of an answer");
    const notes = names.map((name) => attachmentNote(name, plainOf(thrown)));
    const parts = renderParts([...notes, ...(rest === undefined ? [] : [rest])].join("\n\n"));
    for (const [index, part] of parts.entries()) await sender.post(`instead:${index}`, renderMessage(part));
  }

  return {
    avoidPreviews() {
      hasPreviews = false;
    },
    write: (text) => inOrder(() => show({ text })),
    progress: (progress) => inOrder(() => show({ progress })),
    ask: (card) => inOrder(() => cards.ask(card).catch(asRejection)),
    settle: (card) => inOrder(() => settle(card)),
    note: (said) => inOrder(() => cards.note(said).catch(asRejection)),
    question: (card) => inOrder(() => cards.question(card).catch(asRejection)),
    finish: (...shown) => inOrder(() => ending(...shown)),
    fail: (text, reason, footer) => inOrder(() => ending(text, [], footer, reason)),
    park: () =>
      inOrder(async () => {
        if (segment !== undefined) await closeSegment(await begin(), latest.text, "suspended");
        await setState("suspended");
      }),
    leave: () => inOrder(async () => segment?.leave()),
  };
}

/** A scheduled turn has no Slack message with a timestamp, so use its scheduled time, which is earlier than its posts. */
function sinceOf({ messageId }: ReplyTarget): string {
  const message = parseMessageId(messageId);
  if (message !== undefined) return message.ts;
  const [, at] = /^schedule:[^:]*:(\d+)$/.exec(messageId) ?? [];
  return at === undefined ? "0" : (Number(at) / 1000 - 60).toFixed(6);
}

/** Whatever Slack refuses for good here may be possible elsewhere. */
function asRejection(thrown: unknown): never {
  if (isRefusal(thrown)) throw noRoute("slack", messageOf(thrown), whyNotThere(thrown), thrown);
  throw isAway(thrown) ? platformAway("slack", thrown) : thrown;
}

const newestSchema = z.object({
  messages: z.array(z.object({ ts: z.string(), reply_users: z.array(z.string()).optional() })).default([]),
});

/** The newest thread of a channel in which the agent has written. */
async function newestThreadWith(api: SlackApi, channel: string, userId: string): Promise<string | undefined> {
  const page = await api.call("conversations.history", { channel, limit: maxHistoryPage }, newestSchema);
  return page.messages.find(({ reply_users: users = [] }) => users.includes(userId))?.ts;
}
