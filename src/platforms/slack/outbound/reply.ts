/**
 * One reply in Slack. Each segment is one message (segment.ts); a card or a question is a message of its own between two
 * segments. Calls are taken one after the other, so that nothing overtakes what was said before it.
 *
 * It needs the Web API alone: any process may write it, also one that receives nothing.
 */

import { messageOf, RemoraError } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { ApprovalCard } from "../../../ports/approval.ts";
import type { ReplyTarget } from "../../../ports/message.ts";
import type { Posts, Reply } from "../../../ports/platform.ts";
import type { QuestionCard } from "../../../ports/question.ts";
import type { ToolFile } from "../../../ports/tool.ts";
import type { SlackApi } from "../api/api.ts";
import { isPlaceProblem, isSlackError, isTokenProblem } from "../api/api-problems.ts";
import type { Paces } from "../api/rate-limiter.ts";
import { isDirect, parseConversationId, parseMessageId } from "../conversation-id.ts";
import type { CardForms } from "../interactions/card-forms.ts";
import { type CardFiles, cardMessages, emptyPart } from "./cards/card.ts";
import { notAttached, type OutgoingFile, readFiles, shareFiles, type UploadedFile, uploadFile } from "./files-out.ts";
import { createPoster, type Poster, type Spot } from "./message-sender.ts";
import { questionMessage } from "./question.ts";
import { contentOf, partsOf } from "./render.ts";
import { createSegment, type Segment } from "./segment.ts";
import type { Streaming } from "./streaming.ts";

export interface ReplyOptions {
  api: SlackApi;
  target: ReplyTarget;
  posts: Posts;
  paces: Paces;
  streaming: Streaming;
  forms: CardForms;
  botUserId(): Promise<string>;
  /** Cards of this process that are being posted: a click may come before their posting is known. */
  posting: Map<string, Promise<void>>;
  /** From now on what is said in this thread is for the agent. */
  joinThread(channel: string, thread: string): Promise<void>;
  log: Log;
  signal: AbortSignal;
  now: () => number;
}

/** The place, once it is known what stands there already. */
interface Begun {
  poster: Poster;
  spot: Spot;
}

export function createSlackReply(options: ReplyOptions): Reply {
  const { target, posts, log } = options;
  const place = parseConversationId(target.conversationId);
  const spot: Spot | undefined = place && { channel: place.channel, thread: place.thread, since: sinceOf(target) };
  let begun: Promise<Begun> | undefined;
  let segment: Segment | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let latestText: string | undefined;

  function serially<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = last.then(work);
    last = result.catch(() => {});
    return result;
  }

  function begin(): Promise<Begun> {
    begun ??= open().catch((thrown: unknown) => {
      begun = undefined;
      throw thrown;
    });
    return begun;
  }

  async function open(): Promise<Begun> {
    if (spot === undefined) throw noRoute(target.conversationId, "is not a Slack conversation");
    const { api, botUserId, joinThread, signal } = options;
    const { channel, thread } = spot;
    // What stands in the channel itself is the beginning of a thread of the agent's.
    const onPosted = async (ts: string) => (isDirect(channel) ? undefined : await joinThread(channel, thread ?? ts));
    const poster = createPoster({ api, spot, posts, turnId: target.turnId, botUserId, onPosted, log, signal });
    await poster.begin();
    return { poster, spot };
  }

  /** The number of cards and questions above it tells a segment from the others, also after a restart. */
  function openSegment(poster: Poster, at: Spot): Segment {
    if (segment !== undefined) return segment;
    const number = poster.keys().filter((key) => /^(?:card|question):/.test(key)).length;
    const key = `text:${number}`;
    const isResumed = poster.tsOf(key) !== undefined;
    const setStatus = options.streaming.statusFor(at);
    segment = createSegment({
      ...{ key, poster, log, paces: options.paces, now: options.now },
      startStream: async (first) =>
        isResumed ? undefined : await options.streaming.start({ spot: at, target, poster, key, first }),
      ...(setStatus === undefined ? {} : { setStatus }),
    });
    return segment;
  }

  async function show(change: { text?: string; activity?: string }): Promise<void> {
    if (change.text !== undefined) latestText = change.text;
    try {
      const { poster, spot } = await begin();
      await openSegment(poster, spot).show(change);
    } catch (thrown) {
      log.warn({ turnId: target.turnId, error: messageOf(thrown) }, "could not show a partial reply");
    }
  }

  /** What was shown by a process that ended is left as it is, when nothing more came to it. */
  async function closeSegment(
    { poster, spot }: Begun,
    text: string | undefined,
  ): Promise<{ rest: string | undefined }> {
    const closed = await openSegment(poster, spot).close(text);
    segment = undefined;
    latestText = undefined;
    return closed;
  }

  async function end(text: string, files: ToolFile[]): Promise<void> {
    const place = await begin();
    const { poster } = place;
    const { found, notes } = await readFiles(files);
    const uploaded: UploadedFile[] = [];
    const areShared = poster.isKept("files:end");
    for (const file of areShared ? [] : found) {
      await uploadFile(options.api, file).then(
        (done) => uploaded.push(done),
        (thrown: unknown) => notes.push(notAttached(file.name, thrown)),
      );
    }
    const { rest } = await closeSegment(place, [text, ...notes].filter(Boolean).join("\n\n"));
    if (areShared) return;
    try {
      const whole = rest === undefined ? [] : [await uploadText("answer.md", rest)];
      await share(place, "files:end", [...whole, ...uploaded]);
    } catch (thrown) {
      const names = [...(rest === undefined ? [] : ["answer.md"]), ...uploaded.map(({ title }) => title)];
      await sayInstead(poster, names, rest, thrown);
    }
  }

  /** Files that can't be shown after all are named below; an answer that was to be one stands there in messages. */
  async function sayInstead(poster: Poster, names: string[], rest: string | undefined, thrown: unknown): Promise<void> {
    if (isPlaceProblem(thrown) || isTokenProblem(thrown)) throw thrown;
    const notes = names.map((name) => notAttached(name, thrown));
    const parts = partsOf([...notes, ...(rest === undefined ? [] : [rest])].join("\n\n"));
    for (const [index, part] of parts.entries()) await poster.post(`instead:${index}`, contentOf(part));
  }

  function uploadText(name: string, text: string): Promise<UploadedFile> {
    const file: OutgoingFile = { name, bytes: Buffer.from(text) };
    return uploadFile(options.api, file);
  }

  async function share({ poster, spot }: Begun, key: string, files: UploadedFile[]): Promise<void> {
    if (files.length === 0 || poster.isKept(key)) return;
    await shareFiles(options.api, spot, files);
    await poster.noted(key, files.map((file) => file.id).join(","));
  }

  async function ask(card: ApprovalCard): Promise<void> {
    const place = await begin();
    const { poster } = place;
    const key = `card:${card.id}`;
    if (poster.tsOf(key) === undefined) await closeSegment(place, latestText);
    await options.forms.keep(card);
    await showCard(poster, card);
    const { files } = cardMessages(card, "awaited");
    if (files.length === 0 || poster.isKept(filesKey(card))) return;
    try {
      const uploaded: UploadedFile[] = [];
      for (const { name, text } of files) uploaded.push(await uploadText(name, text));
      await share(place, filesKey(card), uploaded);
    } catch (thrown) {
      log.warn({ turnId: target.turnId, error: messageOf(thrown) }, "could not upload a card's file");
      await poster.noted(refusedKey(card), "1");
    }
    await showCard(poster, card);
  }

  /** Posts the card's messages, or rewrites those that are there; settled rows need less room, so some may be left over. */
  async function showCard(poster: Poster, card: ApprovalCard): Promise<void> {
    const { parts } = cardMessages(card, cardFilesOf(poster, card));
    const keyOf = (index: number) => (index === 0 ? `card:${card.id}` : `card-part:${card.id}:${index}`);
    while (poster.tsOf(keyOf(parts.length)) !== undefined) parts.push(emptyPart());
    for (const [index, content] of parts.entries()) {
      const key = keyOf(index);
      const ts = poster.tsOf(key);
      if (ts === undefined) await poster.post(key, content);
      else await poster.update(ts, key, content);
    }
  }

  function postingOf(card: ApprovalCard): string {
    return `${target.turnId}:${card.id}`;
  }

  async function askNoted(card: ApprovalCard): Promise<void> {
    const work = ask(card);
    options.posting.set(
      postingOf(card),
      work.catch(() => {}),
    );
    await work.finally(() => options.posting.delete(postingOf(card)));
  }

  async function settle(card: ApprovalCard): Promise<void> {
    if (spot === undefined) return;
    await options.posting.get(postingOf(card));
    const { poster } = await begin();
    if ((await poster.find(`card:${card.id}`)) === undefined) return;
    await options.forms.keep(card);
    await options.forms.drop(card);
    await showCard(poster, card).catch((thrown: unknown) => {
      // Nobody sees a card that is gone, so nobody has to see how it ended.
      if (!isSlackError(thrown, "message_not_found") && !isPlaceProblem(thrown)) throw thrown;
      log.warn({ turnId: target.turnId, error: messageOf(thrown) }, "could not update a settled card");
    });
  }

  async function question(card: QuestionCard): Promise<void> {
    const place = await begin();
    const { poster } = place;
    const key = `question:${card.id}`;
    const ts = poster.tsOf(key);
    if (ts !== undefined) return await poster.update(ts, key, questionMessage(card));
    await closeSegment(place, latestText);
    await poster.post(key, questionMessage(card));
  }

  return {
    write: (text) => serially(() => show({ text })),
    activity: (activity) => serially(() => show({ activity })),
    ask: (card) => serially(() => askNoted(card).catch(asNoRoute)),
    settle: (card) => serially(() => settle(card)),
    question: (card) => serially(() => question(card).catch(asNoRoute)),
    finish: (text, files) => serially(() => end(text, files)),
    fail: (text) => serially(() => end(text, [])),
    leave: () => serially(async () => segment?.leave()),
  };
}

function filesKey({ id }: ApprovalCard): string {
  return `card-files:${id}`;
}

function refusedKey({ id }: ApprovalCard): string {
  return `card-files-refused:${id}`;
}

/** After a restart a file that was refused is tried again. */
function cardFilesOf(poster: Poster, card: ApprovalCard): CardFiles {
  if (poster.isKept(filesKey(card))) return "shared";
  return poster.isKept(refusedKey(card)) ? "refused" : "awaited";
}

/** A schedule's turn answers nothing that is in Slack: what it posted is younger than the turn. */
function sinceOf({ messageId }: ReplyTarget): string {
  const message = parseMessageId(messageId);
  if (message !== undefined) return message.ts;
  const [, at] = /^schedule:[^:]*:(\d+)$/.exec(messageId) ?? [];
  return at === undefined ? "0" : (Number(at) / 1000 - 60).toFixed(6);
}

function asNoRoute(thrown: unknown): never {
  if (isPlaceProblem(thrown) || isTokenProblem(thrown)) throw noRoute("", messageOf(thrown), thrown);
  throw thrown;
}

function noRoute(conversationId: string, why: string, cause?: unknown): RemoraError {
  const message = `nobody would see it: ${conversationId === "" ? why : `the conversation ${conversationId} ${why}`}`;
  return new RemoraError({ code: "platform.no-route", place: "platform slack", message, cause });
}
