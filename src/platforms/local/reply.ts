/** One reply in the local chat. Ids derive from turn, segment and card, so a resumed reply writes the same messages. */
import { leftOf } from "../../lib/elapsed.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { formatBytes } from "../../lib/text/format-bytes.ts";
import type { AnswerFooter } from "../../ports/answer-footer.ts";
import { type ApprovalCard, type CardNote, noteText } from "../../ports/card.ts";
import type { ReplyTarget } from "../../ports/message.ts";
import { type Posts, type Reply, unshownLevel } from "../../ports/platform.ts";
import type { Progress } from "../../ports/progress.ts";
import type { QuestionCard } from "../../ports/question.ts";
import type { ToolFile } from "../../ports/tool.ts";
import { platformError, replyLost } from "../shared/platform-error.ts";
import { readToolFiles } from "../shared/tool-files.ts";
import { type ChatFile, type ChatMessage, type ChatMessageState, chatMessage } from "./chat-message.ts";
import type { ChatStore } from "./chat-store.ts";
import { type LocalConversation, parseConversationId, scopeOf } from "./conversation-id.ts";
import { maxFileBytes } from "./limits.ts";

export interface LocalReplyOptions {
  store: ChatStore;
  target: ReplyTarget;
  posts: Posts;
  isOpen(conversation: LocalConversation): boolean;
  /** The replies with a text in progress. All replies share this set. */
  openReplies: Set<Posts>;
  log: Log;
}

const minUpdateIntervalMs = 50;
/** With more open replies, each is updated less often, so that a burst's updates don't hold up its answers. */
const maxFrequentReplies = 5;

interface OpenSegment {
  number: number;
  /** Its first message was removed before this reply began, so the text gets a new place. */
  isMoved: boolean;
  isKept: boolean;
  text: string;
  activity: string;
  activitySince: number | undefined;
  /** When its message was written first. */
  at: number | undefined;
}

export function createLocalReply(options: LocalReplyOptions): Reply {
  const { store, target, posts, openReplies, log } = options;
  const posted = new Set<string>();
  const empty = { isMoved: false, isKept: false, text: "", activity: "", activitySince: undefined, at: undefined };
  const segment: OpenSegment = { number: 0, ...empty };
  let begun: Promise<void> | undefined;
  let shownAt = 0;
  let timer: NodeJS.Timeout | undefined;
  let lastPut: Promise<void> | undefined;
  let isLeft = false;

  async function begin(): Promise<void> {
    const kept = new Set((await posts.all()).map((post) => post.key));
    for (const key of kept) if (/^(?:card|question):/.test(key)) posted.add(key);
    openSegment(posted.size);
    const first = store.get(textId());
    segment.isMoved = first?.isDeleted === true;
    segment.isKept = kept.has(`text:${segment.number}`);
    segment.text = (segment.isMoved ? store.get(textId()) : first)?.text ?? "";
  }

  function openSegment(number: number): void {
    Object.assign(segment, { number, ...empty });
  }

  function textId(): string {
    return `r.${target.turnId}.text.${segment.number}${segment.isMoved ? ".moved" : ""}`;
  }

  function spot(): Pick<ChatMessage, "place" | "thread"> {
    const conversation = parseConversationId(target.conversationId);
    if (conversation === undefined || !options.isOpen(conversation)) throw noRoute(target.conversationId);
    return { place: scopeOf(conversation), thread: conversation.type === "channel" ? conversation.thread : null };
  }

  async function post(key: string, message: ChatMessage, isKept: boolean): Promise<void> {
    if (posts.isLost?.() === true) throw replyLost("local");
    lastPut = store.put(message);
    await lastPut;
    if (!isKept) await posts.keep(key, message.id);
  }

  async function show(state: ChatMessageState, files: ChatFile[] = [], footer?: AnswerFooter): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (isLeft) return;
    shownAt = Date.now();
    const { text, activity, activitySince, isKept } = segment;
    const isEmpty = text === "" && activity === "" && files.length === 0;
    if (isEmpty && !isKept) return;
    segment.isKept = true;
    segment.at ??= store.get(textId())?.at ?? Date.now();
    const { at } = segment;
    const message = chatMessage({
      ...{ id: textId(), ...spot(), text, at, state, activity, files, isDeleted: isEmpty },
      ...(activitySince === undefined ? {} : { activitySince }),
      ...(footer === undefined ? {} : { footer }),
    });
    await post(`text:${segment.number}`, message, isKept);
  }

  async function update(change: Partial<OpenSegment>): Promise<void> {
    begun ??= begin();
    await begun;
    if (isLeft) return;
    openReplies.add(posts);
    Object.assign(segment, change);
    if (timer !== undefined) return;
    const intervalMs = minUpdateIntervalMs * Math.max(1, openReplies.size / maxFrequentReplies);
    const wait = leftOf(intervalMs, shownAt);
    if (wait === 0) return await show("streaming");
    timer = setTimeout(() => {
      show("streaming").catch((thrown: unknown) =>
        log[unshownLevel(thrown)](
          { turnId: target.turnId, error: messageOf(thrown) },
          "could not show a partial reply",
        ),
      );
    }, wait);
  }

  /** The page counts the seconds itself. The first line waits like an update, because a quick answer needs none. */
  async function showProgress({ headline: activity, since: activitySince }: Progress): Promise<void> {
    if (segment.activity === activity && segment.activitySince === activitySince) return;
    if (shownAt === 0) shownAt = Date.now();
    await update({ activity, activitySince });
  }

  async function end(
    text: string,
    files: ToolFile[],
    state: ChatMessageState,
    footer: AnswerFooter | undefined,
    wordsBelow = "",
  ): Promise<void> {
    begun ??= begin();
    await begun;
    openReplies.delete(posts);
    const attached = await attach(store, target.turnId, files);
    Object.assign(segment, {
      text: [text, wordsBelow, ...attached.notes].filter(Boolean).join("\n\n"),
      activity: "",
      activitySince: undefined,
    });
    await show(state, attached.files, footer);
  }

  /** A card that follows an ended answer must not change that answer. */
  function hasEnded(): boolean {
    const state = store.get(textId())?.state;
    return timer === undefined && (state === "done" || state === "failed");
  }

  async function closeSegment(): Promise<void> {
    Object.assign(segment, { activity: "", activitySince: undefined });
    if (!hasEnded()) await show("done");
  }

  async function postBelow(key: string, messageFor: () => ChatMessage): Promise<void> {
    begun ??= begin();
    await begun;
    const isPosted = posted.has(key);
    if (!isPosted) {
      spot();
      await closeSegment();
      posted.add(key);
      openSegment(posted.size);
    }
    await post(key, messageFor(), isPosted);
  }

  function questionMessage(question: QuestionCard): ChatMessage {
    const id = `r.${target.turnId}.question.${question.id}`;
    const state = question.isOpen ? "waiting" : "done";
    const at = store.get(id)?.at ?? Date.now();
    return chatMessage({ id, ...spot(), at, state, type: "question", question });
  }

  function cardMessage(card: ApprovalCard): ChatMessage {
    const id = cardId(target, card.id);
    const state = card.items.some((item) => item.state === "open") ? "waiting" : "done";
    const at = store.get(id)?.at ?? Date.now();
    return chatMessage({ id, ...spot(), at, state, type: "card", card });
  }

  async function note({ key: name, line }: CardNote): Promise<string> {
    const key = `note:${name}`;
    const id = `r.${target.turnId}.note.${name}`;
    if ((await posts.all()).some((post) => post.key === key)) return id;
    await post(key, chatMessage({ id, ...spot(), text: escapeMarkdown(noteText(line)) }), false);
    return id;
  }

  return {
    write: (text) => update({ text }),
    progress: showProgress,
    ask: (card) => postBelow(`card:${card.id}`, () => cardMessage(card)),
    note,
    async question(question) {
      const { id } = questionMessage(question);
      if (!question.isOpen && store.get(id) === undefined) return;
      await postBelow(`question:${question.id}`, () => questionMessage(question));
    },
    async settle(card) {
      if (store.get(cardId(target, card.id)) !== undefined) await store.put(cardMessage(card));
    },
    finish: (text, files, footer, notes) => end(text, files, "done", footer, notes),
    fail: (text, reason, footer) => end(text, [], "failed", footer, reason),
    async park() {
      openReplies.delete(posts);
      if (begun === undefined) return;
      await begun;
      await closeSegment();
    },
    async leave() {
      isLeft = true;
      openReplies.delete(posts);
      clearTimeout(timer);
      // After this, another reply writes these messages, so the last write must be over.
      await lastPut?.catch(() => {});
    },
  };
}

function cardId(target: ReplyTarget, id: string): string {
  return `r.${target.turnId}.card.${id}`;
}

/** Names in a note are other people's text. */
function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_{}[\]()<>#+\-.!|~&:]/g, "\\$&");
}

/** Copies the files, because a tool may change them later. A file that can't be attached becomes a note. */
export async function attach(
  store: ChatStore,
  ownerId: string,
  files: ToolFile[],
): Promise<{ files: ChatFile[]; notes: string[] }> {
  const attached: ChatFile[] = [];
  const notes: string[] = [];
  const problemOf = (size: number) =>
    size > maxFileBytes ? `it has ${formatBytes(size)}, more than ${formatBytes(maxFileBytes)}` : undefined;
  // One at a time, so that only one is in memory.
  for (const [index, wanted] of files.entries()) {
    const read = await readToolFiles([wanted], problemOf);
    notes.push(...read.notes);
    for (const { name, mimeType, content } of read.found) {
      const file: ChatFile = { id: `r.${ownerId}.file.${index}`, name, mimeType, bytes: content.byteLength };
      store.files.save(file, content);
      attached.push(file);
    }
  }
  return { files: attached, notes };
}

function noRoute(id: string) {
  const message = `there is no conversation ${id} on the local page, so nobody would see it`;
  return platformError("local", "no-route", message);
}
