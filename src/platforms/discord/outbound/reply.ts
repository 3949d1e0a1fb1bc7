/**
 * One reply on Discord. A card or question is a separate message and closes the text above it. The final text is retried
 * until it arrives. The file is over 250 lines because text, cards and questions share the open segment.
 */
import { type APIMessage, type RawFile, Routes } from "discord.js";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { AnswerFooter } from "../../../ports/answer-footer.ts";
import type { ApprovalCard, CardNote } from "../../../ports/card.ts";
import type { ReplyTarget } from "../../../ports/message.ts";
import { type Posts, type Reply, unshownLevel } from "../../../ports/platform.ts";
import type { QuestionCard } from "../../../ports/question.ts";
import type { ToolFile } from "../../../ports/tool.ts";
import type { FormContents } from "../../shared/form-contents.ts";
import { noRoute, platformAway } from "../../shared/platform-error.ts";
import { createProgressLine } from "../../shared/progress-line.ts";
import { createThrottledUpdates } from "../../shared/throttled-updates.ts";
import { attachmentNote } from "../../shared/tool-files.ts";
import { type DiscordApi, isAway, isPassing, isRefusal, isRefused, whyNotThere } from "../api/api.ts";
import { parseConversationId } from "../conversation-id.ts";
import { editsPerWindow, editWindowMs } from "../limits.ts";
import { type CardStyle, cardMessages, cardStyles } from "./cards/card.ts";
import { announcement, noteMessage } from "./cards/mention-line.ts";
import { batchesOf, readFiles } from "./files-out.ts";
import { type RenderedFooter, renderFooter, withFooterLine } from "./footer.ts";
import { createLiveMessage, type Extras, type LiveMessage } from "./live-message.ts";
import type { MessageSender } from "./message-sender.ts";
import { questionMessage } from "./question.ts";
import { renderAll, renderFinal, renderPartial, withoutStatus } from "./render.ts";
import { createTyping, type TypingIndicators } from "./typing.ts";

export interface DiscordReplyOptions {
  api: DiscordApi;
  indicators: TypingIndicators;
  sender: MessageSender;
  target: ReplyTarget;
  posts: Posts;
  formContents: FormContents;
  onBegin(): void;
  log: Log;
}

interface Growing {
  text: string;
  activity: string;
  final?: string[];
}

const minEditIntervalMs = editWindowMs / editsPerWindow;
const blockedText =
  "⚠️ This server's AutoMod blocked my answer. A moderator can exempt me or this channel from the rule.";
/** The progress is shown every few seconds while the turn works. Typing ends if it stays away, for example in a bug. */
const maxSilentMs = 60_000;

export function createDiscordReply(options: DiscordReplyOptions): Reply {
  const { api, indicators, sender, target, posts, log } = options;
  const typing = createTyping(indicators, () => sender.channelId(), { maxTypingMs: maxSilentMs, firstAfterMs: 200 });
  const line = createProgressLine();
  const growing: Growing = { text: "", activity: "" };
  /** True once this process has written in the open segment. */
  let isWritten = false;
  const asked = new Map<string, string>();
  let segment: LiveMessage | undefined;
  /** True once nobody can see partial updates. Then only the final text is worth retrying. */
  let isShut = false;

  const updates = createThrottledUpdates<Growing>({
    minIntervalMs: minEditIntervalMs,
    async show(newest) {
      const open = await begun();
      const isEmpty = newest.final === undefined && newest.text === "" && newest.activity === "";
      // Creating the thread may take a while. Text written in the meantime goes into the first message.
      if (!open.isPosted() && !isEmpty) await sender.open();
      const parts = newest.final ?? renderPartial(newest.text, newest.activity);
      // A message without text besides the status is removed at the end.
      if (parts.length > 0) await open.show(parts, "brief");
    },
    onFailure(thrown) {
      isShut = !isPassing(thrown);
      log[unshownLevel(thrown)]({ turnId: target.turnId, error: messageOf(thrown) }, "could not show a partial reply");
    },
  });

  async function begun(): Promise<LiveMessage> {
    if (segment !== undefined) return segment;
    options.onBegin();
    const kept = await posts.all();
    for (const { key, messageId } of kept) if (/^(?:card|question|more):/.test(key)) asked.set(key, messageId);
    segment ??= createLiveMessage(cardsPosted(asked), sender, kept);
    return segment;
  }

  async function update(change: Partial<Growing>): Promise<void> {
    Object.assign(growing, change);
    isWritten = true;
    if (isShut) return;
    typing.keep();
    void updates.offer(growing);
  }

  async function closeSegment(): Promise<void> {
    const parts = renderAll(growing.text);
    if (isWritten) growing.final = parts;
    await updates.stop();
    const open = await begun();
    if (isWritten) await settleText(open, parts);
    else if (open.isPosted()) await removeStatus(open);
    forgetText();
    isShut = false;
  }

  function forgetText(): void {
    Object.assign(growing, { text: "", activity: "" });
    delete growing.final;
    line.reset();
    isWritten = false;
  }

  async function settleText(open: LiveMessage, parts: string[], extras?: Extras): Promise<void> {
    await open.show(parts, "lasting", extras);
    await open.cutTo(parts.length);
  }

  async function removeStatus(open: LiveMessage): Promise<void> {
    const messageId = open.lastMessageId();
    if (messageId === undefined) return;
    try {
      const route = Routes.channelMessage(await sender.open(), messageId);
      const rest = withoutStatus((await api.request<APIMessage>({ method: "GET", route })).content);
      if (rest === "") await sender.remove(messageId);
      else if (rest !== undefined) await sender.edit(messageId, { content: rest }, "brief");
    } catch (thrown) {
      log[unshownLevel(thrown)]({ turnId: target.turnId, error: messageOf(thrown) }, "could not remove a status line");
    }
  }

  async function end(
    text: string,
    wanted: ToolFile[],
    below: AnswerFooter | undefined,
    wordsBelow = "",
  ): Promise<void> {
    const footer = renderFooter(below, targetThread(target));
    const { files, notes } = await readFiles(wanted);
    const allBelow = [wordsBelow, ...notes].filter(Boolean).join("\n\n");
    const { parts: texts, file } = renderFinal(text, allBelow);
    const parts = withFooterLine(texts, footer);
    growing.final = parts;
    await updates.stop();
    const open = await begun();
    const batches = batchesOf(file === undefined ? files : [file, ...files]);
    try {
      await endWith(open, parts, footer, batches);
    } catch (thrown) {
      if (isRefusal(thrown, "blockedByAutoMod", "blockedForLink")) return await settleText(open, [blockedText]);
      // Whatever the reason, the words may be taken without the files.
      if (batches.length === 0 || !isRefused(thrown)) throw thrown;
      const refused = files.map(({ name }) => attachmentNote(name, `${whyNoFile(thrown)}.`));
      log.warn({ turnId: target.turnId, error: messageOf(thrown) }, "could not attach the files of an answer");
      const { components } = footer;
      const all = [text, allBelow, ...refused].filter(Boolean).join("\n\n");
      const shown = withFooterLine(renderAll(all), footer);
      await settleText(open, shown, { files: [], components });
    } finally {
      typing.stop();
      // A card may be posted below this answer, and later updates must not edit the answer above it.
      forgetText();
    }
  }

  async function endWith(
    open: LiveMessage,
    parts: string[],
    { components }: RenderedFooter,
    [first = [], ...more]: RawFile[][],
  ): Promise<void> {
    // Files without text need a message with empty text.
    await settleText(open, parts.length === 0 && first.length > 0 ? [""] : parts, { files: first, components });
    for (const [index, files] of more.entries()) {
      const key = `files:${open.number}:${index}`;
      const isThere = (await posts.all()).some((post) => post.key === key);
      if (!isThere) await sender.post({ files }, { key, retry: "lasting" });
    }
  }

  async function ask(card: ApprovalCard): Promise<void> {
    await begun();
    await options.formContents.keep(card);
    const isNew = messageOfCard(card) === undefined;
    if (isNew) {
      await closeSegment();
      typing.stop();
    }
    await showCard(card);
    if (isNew) segment = createLiveMessage(cardsPosted(asked), sender, []);
  }

  /** What can't become the card would go on saying that somebody is waited for. So the card is posted instead of it. */
  async function showCard(card: ApprovalCard): Promise<void> {
    const isShown = await plainerUntilTaken((style) => postCard(card, style)).catch((thrown: unknown) => {
      if (messageOfCard(card) === undefined || !isRefused(thrown)) throw thrown;
      log.warn({ turnId: target.turnId, error: messageOf(thrown) }, "could not update a card; posting it again");
      return false;
    });
    const replaced = messageOfCard(card);
    const isOpen = card.items.some(({ state }) => state === "open");
    if (isShown || replaced === undefined || !isOpen) return;
    await sender.remove(replaced).catch((thrown: unknown) => {
      if (isAway(thrown)) throw thrown;
      log.warn({ turnId: target.turnId, error: messageOf(thrown) }, "could not remove what stands for a card");
    });
    await plainerUntilTaken((style) => postCard(card, style, replaced));
  }

  /** A process may have died after it posted the card. Then somebody clicked before another process posted it again. */
  async function findLost(key: string): Promise<void> {
    const found = asked.has(key) ? undefined : await sender.find(key);
    if (found !== undefined) asked.set(key, found);
  }

  /** Of its newest first message. */
  function messageOfCard({ id }: ApprovalCard): string | undefined {
    let found: string | undefined;
    for (let next = asked.get(`card:${id}`); next !== undefined; next = asked.get(`card:${id}:${next}`)) found = next;
    return found;
  }

  /** Returns false if the message is gone. `replaced` is the message that the card is posted instead of. */
  async function postCard(card: ApprovalCard, style: CardStyle, replaced?: string): Promise<boolean> {
    const key = `card:${card.id}${replaced === undefined ? "" : `:${replaced}`}`;
    if (asked.has(key)) return await writeCard(card, style);
    const [first = {}] = cardMessages(card, { place: { thread: targetThread(target) }, style });
    const words = replaced === undefined ? announcement(card) : undefined;
    asked.set(key, await sender.post(words ?? first, { key, retry: "lasting" }));
    return await writeCard(card, style, words === undefined ? 1 : 0);
  }

  /** Returns false if the first message is gone. */
  async function writeCard(card: ApprovalCard, style: CardStyle, from = 0): Promise<boolean> {
    const firstMessage = messageOfCard(card);
    if (firstMessage === undefined) return false;
    const place = { thread: targetThread(target), firstMessage };
    let isThere = true;
    for (const [index, message] of cardMessages(card, { place, style }).entries()) {
      if (index < from) continue;
      const key = `more:${card.id}:${index}`;
      const messageId = index === 0 ? firstMessage : asked.get(key);
      if (messageId !== undefined) {
        const isEdited = await sender.edit(messageId, message, "lasting");
        if (index === 0) isThere = isEdited;
      } else if (isThere) asked.set(key, await sender.post(message, { key, retry: "lasting" }));
    }
    return isThere;
  }

  async function note(said: CardNote): Promise<string> {
    const key = `note:${said.key}`;
    const known = (await posts.all()).find((post) => post.key === key);
    return known?.messageId ?? (await sender.post(noteMessage(said), { key, retry: "lasting" }));
  }

  async function question(card: QuestionCard): Promise<void> {
    await begun();
    const key = `question:${card.id}`;
    await options.formContents.keepQuestion(card);
    if (!card.isOpen) {
      await findLost(key);
      // Nobody has seen the question.
      if (!asked.has(key)) return;
    }
    const messageId = asked.get(key);
    if (messageId === undefined) {
      await closeSegment();
      typing.stop();
    }
    await plainerUntilTaken(async (style) => {
      const message = questionMessage(card, targetThread(target), style === "plain");
      if (messageId !== undefined) await sender.edit(messageId, message, "lasting");
      else asked.set(key, await sender.post(message, { key, retry: "lasting" }));
    });
    if (messageId === undefined) segment = createLiveMessage(cardsPosted(asked), sender, []);
  }

  return {
    write: (text) => update({ text }),
    progress: (progress) => update({ activity: line.of(progress, growing.text !== "") }),
    ask: (card) => ask(card).catch(asRejection),
    async settle(card) {
      await begun();
      await findLost(`card:${card.id}`);
      await plainerUntilTaken((style) => writeCard(card, style)).catch((thrown: unknown) => {
        // Discord would refuse it again. A click on what still looks open says what became of it.
        if (!isRefused(thrown)) throw thrown;
        log.warn({ turnId: target.turnId, error: messageOf(thrown) }, "could not update a settled card");
      });
    },
    note: (said) => note(said).catch(asRejection),
    question: (card) => question(card).catch(asRejection),
    finish: (text, files, footer, notes) => end(text, files, footer, notes).catch(asRejection),
    fail: (text, reason, footer) => end(text, [], footer, reason).catch(asRejection),
    async park() {
      typing.stop();
      if (isWritten) await closeSegment();
    },
    async leave() {
      isShut = true;
      typing.stop();
      await updates.stop();
    },
  };
}

function whyNoFile(thrown: unknown): string {
  return isRefusal(thrown, "tooLarge") ? "it is too large for this server" : "Discord doesn't let me";
}

/** Whatever Discord refuses for good here may be possible elsewhere. */
function asRejection(thrown: unknown): never {
  if (isRefused(thrown)) throw noRoute("discord", messageOf(thrown), whyNotThere(thrown), thrown);
  throw isAway(thrown) ? platformAway("discord", thrown) : thrown;
}

/** Discord reports forbidden files or embeds only as a missing permission, so tries ever plainer styles. */
async function plainerUntilTaken<T>(
  write: (style: CardStyle) => Promise<T>,
  [style = "plain", ...plainer]: readonly CardStyle[] = cardStyles,
): Promise<T> {
  try {
    return await write(style);
  } catch (thrown) {
    if (plainer.length === 0 || !isRefusal(thrown, "missingPermissions", "tooLarge")) throw thrown;
    return await plainerUntilTaken(write, plainer);
  }
}

/** Each posted card or question closes a segment. */
function cardsPosted(asked: Map<string, string>): number {
  return [...asked.keys()].filter((key) => !/^(?:more|card:[^:]+):/.test(key)).length;
}

function targetThread({ conversationId }: ReplyTarget): string | null {
  const conversation = parseConversationId(conversationId);
  return conversation?.type === "guild" ? conversation.thread : null;
}
