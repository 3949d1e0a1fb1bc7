/**
 * One reply in Slack. Each segment is one message (live-message.ts); cards and questions appear between segments. Calls
 * run one after the other so that nothing overtakes an earlier message. Needs only the Web API, so any process can
 * reply. The file is over 250 lines because text, cards and questions share the open segment.
 */
import { messageOf } from "../../../lib/errors.ts";
import { createKeyedMutex } from "../../../lib/keyed-mutex.ts";
import type { Log } from "../../../lib/log.ts";
import type { AnswerFooter } from "../../../ports/answer-footer.ts";
import type { ApprovalCard, CardNote } from "../../../ports/card.ts";
import type { ReplyTarget } from "../../../ports/message.ts";
import { type Posts, type Reply, unshownLevel } from "../../../ports/platform.ts";
import type { Progress } from "../../../ports/progress.ts";
import type { QuestionCard } from "../../../ports/question.ts";
import type { ToolFile } from "../../../ports/tool.ts";
import type { FormContents } from "../../shared/form-contents.ts";
import { platformAway, platformError } from "../../shared/platform-error.ts";
import { attachmentNote } from "../../shared/tool-files.ts";
import type { SlackApi } from "../api/api.ts";
import { isAway, isPlaceProblem, isSlackError } from "../api/api-problems.ts";
import type { RateLimiter } from "../api/rate-limiter.ts";
import { formatMessageId, isDirect, parseConversationId, parseMessageId } from "../conversation-id.ts";
import { type CardFiles, cardMessages, emptyPart } from "./cards/card.ts";
import { noteMessage } from "./cards/mention-line.ts";
import { type OutgoingFile, readFiles, type UploadedFile, uploadFile } from "./files-out.ts";
import type { Footers } from "./footer.ts";
import { createLiveMessage, type LiveMessage } from "./live-message.ts";
import { createMessageSender, endFilesKey, type MessageSender } from "./message-sender.ts";
import type { Destination } from "./messages-of.ts";
import type { Streaming } from "./native-stream-policy.ts";
import { questionMessage } from "./question.ts";
import type { Receipts } from "./receipts.ts";
import { renderMessage, renderParts } from "./render.ts";
import type { ThreadStatuses } from "./thread-status.ts";

export interface ReplyOptions {
  api: SlackApi;
  target: ReplyTarget;
  posts: Posts;
  rateLimiter: RateLimiter;
  streaming: Streaming;
  statuses: ThreadStatuses;
  receipts: Receipts;
  footers: Footers;
  formContents: FormContents;
  botUserId(): Promise<string>;
  /** Treats later messages in this thread as addressed to the agent. */
  joinThread(channel: string, thread: string): Promise<void>;
  log: Log;
  signal: AbortSignal;
}

interface Begun {
  sender: MessageSender;
  destination: Destination;
}

export function createSlackReply(options: ReplyOptions): Reply {
  const { target, posts, log } = options;
  const place = parseConversationId(target.conversationId);
  const destination: Destination | undefined = place && {
    channel: place.channel,
    thread: place.thread,
    since: sinceOf(target),
  };
  const oneAtATime = createKeyedMutex();
  let begun: Promise<Begun> | undefined;
  let segment: LiveMessage | undefined;
  let latest: { text?: string; progress?: Progress } = {};
  let hasPreviews = true;

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
    if (destination === undefined) throw noRoute(target.conversationId, "is not a Slack conversation");
    const { api, botUserId, joinThread, signal } = options;
    const { channel, thread } = destination;
    // A message in the channel itself starts a thread, which then belongs to the agent.
    const onPosted = async (ts: string) => (isDirect(channel) ? undefined : await joinThread(channel, thread ?? ts));
    const sender = createMessageSender({
      api,
      destination,
      posts,
      turnId: target.turnId,
      botUserId,
      onPosted,
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

  /** Slack fetches the addresses of a stream, and perhaps those of its edits, so a post without previews takes its place. */
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
        isResumed || !hasPreviews
          ? undefined
          : await options.streaming.start({ api: options.api, destination: at, target, sender, key, first, tasks }),
      ...(at.thread === null ? {} : { status: options.statuses(at.channel, at.thread) }),
    });
    return segment;
  }

  async function show(change: { text?: string; progress?: Progress }): Promise<void> {
    latest = { ...latest, ...change };
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
    footer?: AnswerFooter,
    below?: string,
  ): Promise<{ rest: string | undefined }> {
    const closed = await (await openSegment(place)).close(text, footer, below);
    segment = undefined;
    latest = {};
    // Don't wait: the message itself already shows the progress.
    if (place.destination.thread === null) void options.receipts.end(target.conversationId);
    return closed;
  }

  async function end(
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
          notes.push(attachmentNote(file.name, messageOf(thrown)));
        },
      );
    }
    const { rest } = await closeSegment(place, text, footer, [wordsBelow, ...notes].filter(Boolean).join("\n\n"));
    if (areShared) return;
    try {
      const whole = rest === undefined ? [] : [await uploadText("answer.md", rest)];
      await sender.share(endFilesKey, [...whole, ...uploaded]);
    } catch (thrown) {
      const names = [...(rest === undefined ? [] : ["answer.md"]), ...uploaded.map(({ title }) => title)];
      await sayInstead(sender, names, rest, thrown);
    }
  }

  async function sayInstead(
    sender: MessageSender,
    names: string[],
    rest: string | undefined,
    thrown: unknown,
  ): Promise<void> {
    if (isPlaceProblem(thrown) || isAway(thrown)) throw thrown;
    const notes = names.map((name) => attachmentNote(name, messageOf(thrown)));
    const parts = renderParts([...notes, ...(rest === undefined ? [] : [rest])].join("\n\n"));
    for (const [index, part] of parts.entries()) await sender.post(`instead:${index}`, renderMessage(part));
  }

  function uploadText(name: string, text: string): Promise<UploadedFile> {
    const file: OutgoingFile = { name, bytes: Buffer.from(text) };
    return uploadFile(options.api, file);
  }

  async function ask(card: ApprovalCard): Promise<void> {
    const place = await begin();
    const { sender } = place;
    const key = `card:${card.id}`;
    if (sender.tsOf(key) === undefined) await closeSegment(place, latest.text);
    await options.formContents.keep(card);
    await showCard(sender, card);
    const { files } = cardMessages(card, "awaited");
    if (files.length === 0 || sender.isKept(filesKey(card))) return;
    try {
      if (!(await sender.areShared(filesKey(card)))) {
        const uploaded: UploadedFile[] = [];
        for (const { name, text } of files) uploaded.push(await uploadText(name, text));
        await sender.share(filesKey(card), uploaded);
      }
    } catch (thrown) {
      if (isAway(thrown)) throw thrown;
      log.warn({ turnId: target.turnId, error: messageOf(thrown) }, "could not upload a card's file");
      await sender.keep(refusedKey(card), "1");
    }
    await showCard(sender, card);
  }

  /** Posts or updates the card's messages. Settled items need less room, so later messages may become empty. */
  async function showCard(sender: MessageSender, card: ApprovalCard): Promise<void> {
    const { parts } = cardMessages(card, cardFilesOf(sender, card));
    const partKey = (index: number) => (index === 0 ? `card:${card.id}` : `card-part:${card.id}:${index}`);
    while (sender.tsOf(partKey(parts.length)) !== undefined) parts.push(emptyPart());
    for (const [index, content] of parts.entries()) {
      const key = partKey(index);
      const ts = sender.tsOf(key);
      if (ts === undefined) await sender.post(key, content);
      else await sender.update(ts, key, content);
    }
  }

  async function settle(card: ApprovalCard): Promise<void> {
    if (destination === undefined) return;
    const { sender } = await begin();
    if ((await sender.find(`card:${card.id}`)) === undefined) return;
    await options.formContents.keep(card);
    await options.formContents.drop(card);
    await showCard(sender, card).catch((thrown: unknown) => {
      // Nobody can see a deleted card, so this failure does not matter.
      if (!isSlackError(thrown, "message_not_found") && !isPlaceProblem(thrown)) throw thrown;
      log.warn({ turnId: target.turnId, error: messageOf(thrown) }, "could not update a settled card");
    });
  }

  /** An existing note stays as it is. */
  async function note(said: CardNote): Promise<string> {
    const { sender, destination: at } = await begin();
    const key = `note:${said.key}`;
    const ts = sender.tsOf(key) ?? (await sender.post(key, noteMessage(said)));
    return formatMessageId({ channel: at.channel, ts });
  }

  async function question(card: QuestionCard): Promise<void> {
    const place = await begin();
    const { sender } = place;
    const key = `question:${card.id}`;
    await options.formContents.keepQuestion(card);
    const ts = card.isOpen ? sender.tsOf(key) : await sender.find(key);
    if (ts !== undefined) return await sender.update(ts, key, questionMessage(card));
    if (!card.isOpen) return;
    await closeSegment(place, latest.text);
    await sender.post(key, questionMessage(card));
  }

  return {
    avoidPreviews() {
      hasPreviews = false;
    },
    write: (text) => inOrder(() => show({ text })),
    progress: (progress) => inOrder(() => show({ progress })),
    ask: (card) => inOrder(() => ask(card).catch(asRejection)),
    settle: (card) => inOrder(() => settle(card)),
    note: (said) => inOrder(() => note(said).catch(asRejection)),
    question: (card) => inOrder(() => question(card).catch(asRejection)),
    finish: (text, files, footer, notes) => inOrder(() => end(text, files, footer, notes).catch(asRejection)),
    fail: (text, reason, footer) => inOrder(() => end(text, [], footer, reason).catch(asRejection)),
    park: () =>
      inOrder(async () => {
        if (segment !== undefined) await closeSegment(await begin(), latest.text);
      }),
    leave: () => inOrder(async () => segment?.leave()),
  };
}

function filesKey({ id }: ApprovalCard): string {
  return `card-files:${id}`;
}

function refusedKey({ id }: ApprovalCard): string {
  return `card-files-refused:${id}`;
}

/** After a restart, the upload of a refused file is tried again. */
function cardFilesOf(sender: MessageSender, card: ApprovalCard): CardFiles {
  if (sender.isKept(filesKey(card))) return "shared";
  return sender.isKept(refusedKey(card)) ? "refused" : "awaited";
}

/** A scheduled turn has no Slack message with a timestamp, so use its scheduled time, which is earlier than its posts. */
function sinceOf({ messageId }: ReplyTarget): string {
  const message = parseMessageId(messageId);
  if (message !== undefined) return message.ts;
  const [, at] = /^schedule:[^:]*:(\d+)$/.exec(messageId) ?? [];
  return at === undefined ? "0" : (Number(at) / 1000 - 60).toFixed(6);
}

function asRejection(thrown: unknown): never {
  if (isPlaceProblem(thrown)) throw noRoute("", messageOf(thrown), thrown);
  throw isAway(thrown) ? platformAway("slack", thrown) : thrown;
}

function noRoute(conversationId: string, why: string, cause?: unknown) {
  const message = `nobody would see it: ${conversationId === "" ? why : `the conversation ${conversationId} ${why}`}`;
  return platformError("slack", "no-route", message, cause);
}
