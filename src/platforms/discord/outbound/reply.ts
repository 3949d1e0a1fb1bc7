/**
 * One reply on Discord. The text grows in a message that is edited at most once a second; a card or a question is a message of
 * its own and closes the text above it; the end is written without waiting, and as often as it takes to arrive.
 */
import { type APIMessage, type RawFile, Routes } from "discord.js";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { ApprovalCard } from "../../../ports/approval.ts";
import type { ReplyTarget } from "../../../ports/message.ts";
import type { Posts, Reply } from "../../../ports/platform.ts";
import type { QuestionCard } from "../../../ports/question.ts";
import type { ToolFile } from "../../../ports/tool.ts";
import { createPaced } from "../../shared/throttled-updates.ts";
import { type DiscordApi, isPassing, isRefusal } from "../api/api.ts";
import { parseConversationId } from "../conversation-id.ts";
import type { FormContents } from "../interactions/form-contents.ts";
import { type CardStyle, cardMessages, cardStyles } from "./cards/card.ts";
import type { LatestCards } from "./cards/latest-cards.ts";
import { batchesOf, notAttached, readFiles } from "./files-out.ts";
import type { Outlet } from "./message-sender.ts";
import { questionMessage } from "./question.ts";
import { allParts, finalParts, growingParts, withoutStatus } from "./render.ts";
import { createSegment, type Segment } from "./segment.ts";
import { createTyping } from "./typing.ts";

export interface DiscordReplyOptions {
  api: DiscordApi;
  outlet: Outlet;
  target: ReplyTarget;
  posts: Posts;
  formContents: FormContents;
  latestCards: LatestCards;
  /** Before anything is written. */
  onBegin(): void;
  log: Log;
}

/** What is to be seen now; changed while it is on its way. */
interface Growing {
  text: string;
  activity: string;
  /** The end is known already: its first parts as they will stay. */
  final?: string[];
}

/** Discord takes five edits in five seconds, from all of a channel. */
const editEveryMs = 1_000;
const blockedText =
  "⚠️ This server's AutoMod blocked my answer. A moderator can exempt me or this channel from the rule.";
/** Nothing shows so little for so long and still works. */
const typingMs = 10 * 60_000;

export function createDiscordReply(options: DiscordReplyOptions): Reply {
  const { api, outlet, target, posts, log } = options;
  const typing = createTyping(api, () => outlet.channelId(), { longestMs: typingMs });
  const growing: Growing = { text: "", activity: "" };
  /** Since the segment was opened, by this process. */
  let isWritten = false;
  /** Message ids of cards and questions by their keys. */
  const asked = new Map<string, string>();
  let segment: Segment | undefined;
  /** Nobody will see it: only the end is worth another try. */
  let isShut = false;

  const paced = createPaced<Growing>({
    everyMs: editEveryMs,
    async show(newest) {
      const open = await begun();
      // A thread may have to be made first; what was written meanwhile is shown with the first words.
      if (!open.isPosted()) await outlet.open();
      const parts = newest.final ?? growingParts(newest.text, newest.activity);
      // A status line that is gone, with nothing else to show, is taken away at the end.
      if (parts.length > 0) await open.show(parts, "brief");
    },
    onFailure(thrown) {
      isShut = !isPassing(thrown);
      log.warn({ turnId: target.turnId, error: messageOf(thrown) }, "could not show a partial reply");
    },
  });

  async function begun(): Promise<Segment> {
    if (segment !== undefined) return segment;
    options.onBegin();
    const kept = await posts.all();
    for (const { key, messageId } of kept) if (/^(?:card|question|more):/.test(key)) asked.set(key, messageId);
    segment ??= createSegment(cardsPosted(asked), outlet, kept);
    return segment;
  }

  async function update(change: Partial<Growing>): Promise<void> {
    Object.assign(growing, change);
    isWritten = true;
    if (isShut) return;
    typing.keep();
    void paced.offer(growing);
  }

  /** The text above a card, as it stays. */
  async function closeSegment(): Promise<void> {
    const parts = allParts(growing.text);
    if (isWritten) growing.final = parts;
    await paced.stop();
    const open = await begun();
    if (isWritten) await settleText(open, parts);
    else if (open.isPosted()) await removeStatus(open);
    forgetText();
    isShut = false;
  }

  function forgetText(): void {
    Object.assign(growing, { text: "", activity: "" });
    delete growing.final;
    isWritten = false;
  }

  async function settleText(open: Segment, parts: string[], files: RawFile[] = []): Promise<void> {
    await open.show(parts, "lasting", files);
    await open.cutTo(parts.length);
  }

  /** Of a text that another process left as it was. */
  async function removeStatus(open: Segment): Promise<void> {
    const messageId = open.lastMessageId();
    if (messageId === undefined) return;
    try {
      const route = Routes.channelMessage(await outlet.open(), messageId);
      const rest = withoutStatus((await api.request<APIMessage>({ method: "GET", route })).content);
      if (rest === "") await outlet.remove(messageId);
      else if (rest !== undefined) await outlet.edit(messageId, { content: rest }, "brief");
    } catch (thrown) {
      log.warn({ turnId: target.turnId, error: messageOf(thrown) }, "could not remove a status line");
    }
  }

  async function end(text: string, wanted: ToolFile[]): Promise<void> {
    const { files, notes } = await readFiles(wanted);
    const whole = [text, ...notes].filter(Boolean).join("\n\n");
    const { parts, file } = finalParts(whole);
    growing.final = parts;
    await paced.stop();
    const open = await begun();
    const batches = batchesOf(file === undefined ? files : [file, ...files]);
    try {
      await endWith(open, parts, batches);
    } catch (thrown) {
      if (isRefusal(thrown, "blockedByAutoMod", "blockedForLink")) return await settleText(open, [blockedText]);
      const isAboutFiles = batches.length > 0 && isRefusal(thrown, "missingPermissions", "tooLarge", "invalidForm");
      if (!isAboutFiles) throw thrown;
      const refused = files.map(({ name }) => notAttached(name, messageOf(thrown)));
      await settleText(open, allParts([whole, ...refused].join("\n\n")));
    } finally {
      typing.stop();
      // A card below the answer leaves the answer as it is.
      forgetText();
    }
  }

  async function endWith(open: Segment, parts: string[], [first = [], ...more]: RawFile[][]): Promise<void> {
    // Files alone are a message without text.
    await settleText(open, parts.length === 0 && first.length > 0 ? [""] : parts, first);
    for (const [index, files] of more.entries()) {
      const key = `files:${open.number}:${index}`;
      const isThere = (await posts.all()).some((post) => post.key === key);
      if (!isThere) await outlet.post({ files }, { key, patience: "lasting" });
    }
  }

  async function ask(card: ApprovalCard): Promise<void> {
    await begun();
    await options.formContents.keep(card);
    if (asked.has(`card:${card.id}`)) return await rewrite(await newerOf(card));
    await closeSegment();
    typing.stop();
    await plainerUntilTaken((style) => postCard(card, style));
    const newer = await newerOf(card);
    if (newer !== card) await rewrite(newer);
    segment = createSegment(cardsPosted(asked), outlet, []);
  }

  /**
   * A row that is settled never opens again, so the card with fewer open rows is the newer one. With as many open rows it is the
   * noted one. Otherwise changes that were undone could be shown as kept.
   */
  async function newerOf(card: ApprovalCard): Promise<ApprovalCard> {
    const latest = await options.latestCards.find(card.id);
    return latest !== undefined && openRows(latest) <= openRows(card) ? latest : card;
  }

  function rewrite(card: ApprovalCard): Promise<void> {
    return plainerUntilTaken((style) => writeCard(card, style));
  }

  async function postCard(card: ApprovalCard, style: CardStyle): Promise<void> {
    const [first = {}, ...more] = cardMessages(card, { place: { thread: threadOf(target) }, style });
    const key = `card:${card.id}`;
    asked.set(key, await outlet.post(first, { key, patience: "lasting", isCard: true }));
    if (more.length > 0) await writeCard(card, style);
  }

  /** Rewrites what stands there, and posts what a card of several messages lacks. */
  async function writeCard(card: ApprovalCard, style: CardStyle): Promise<void> {
    const firstMessage = asked.get(`card:${card.id}`);
    if (firstMessage === undefined) return;
    const place = { thread: threadOf(target), firstMessage };
    for (const [index, message] of cardMessages(card, { place, style }).entries()) {
      const key = index === 0 ? `card:${card.id}` : `more:${card.id}:${index}`;
      const messageId = asked.get(key);
      if (messageId !== undefined) await outlet.edit(messageId, message, "lasting");
      else asked.set(key, await outlet.post(message, { key, patience: "lasting", isCard: true }));
    }
  }

  async function question(card: QuestionCard): Promise<void> {
    await begun();
    const key = `question:${card.id}`;
    const messageId = asked.get(key);
    if (messageId === undefined) {
      await closeSegment();
      typing.stop();
    }
    await plainerUntilTaken(async (style) => {
      const message = questionMessage(card, threadOf(target), style === "plain");
      if (messageId !== undefined) await outlet.edit(messageId, message, "lasting");
      else asked.set(key, await outlet.post(message, { key, patience: "lasting", isCard: true }));
    });
    if (messageId === undefined) segment = createSegment(cardsPosted(asked), outlet, []);
  }

  return {
    write: (text) => update({ text }),
    activity: (activity) => update({ activity }),
    ask,
    async settle(card) {
      await options.latestCards.note(card);
      await begun();
      await rewrite(card);
    },
    question,
    finish: end,
    fail: (text) => end(text, []),
    async leave() {
      isShut = true;
      typing.stop();
      await paced.stop();
    },
  };
}

/** A server may forbid files, or embeds, and says no more than that a permission is missing. */
async function plainerUntilTaken(write: (style: CardStyle) => Promise<void>): Promise<void> {
  for (const style of cardStyles) {
    try {
      return await write(style);
    } catch (thrown) {
      if (style === "plain" || !isRefusal(thrown, "missingPermissions", "tooLarge")) throw thrown;
    }
  }
}

function openRows({ items }: ApprovalCard): number {
  return items.filter(({ state }) => state === "open").length;
}

/** Each closes a segment. */
function cardsPosted(asked: Map<string, string>): number {
  return [...asked.keys()].filter((key) => !key.startsWith("more:")).length;
}

function threadOf({ conversationId }: ReplyTarget): string | null {
  const conversation = parseConversationId(conversationId);
  return conversation?.type === "guild" ? conversation.thread : null;
}
