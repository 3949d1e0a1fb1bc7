/**
 * The message of one segment of a reply. `show` sends the first words immediately, then the newest text and progress as
 * often as the rate limits allow. `close` sends the final text, which continues in a file if it is too long. The message is a native
 * stream if possible, and is edited otherwise. If a stream ends early (after four minutes, by size, or by Slack), edits
 * continue the same message, so a segment is always one message. The file is over 250 lines because text, progress and the
 * end share what the message shows.
 */
import { leftOf } from "../../../lib/elapsed.ts";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import { formatNumber } from "../../../lib/text/format-number.ts";
import type { AnswerFooter } from "../../../ports/answer-footer.ts";
import { unshownLevel } from "../../../ports/platform.ts";
import { noProgress, type Progress } from "../../../ports/progress.ts";
import { createProgressLine } from "../../shared/progress-line.ts";
import { isContentProblem, isRefusal, isUnknownRefusal } from "../api/api-problems.ts";
import type { RateLimiter } from "../api/rate-limiter.ts";
import { maxMarkdownLength } from "../limits.ts";
import type { AgentSession, SessionState } from "./agent-sessions.ts";
import { smallLine } from "./blocks.ts";
import type { Footers } from "./footer.ts";
import type { MessageSender } from "./message-sender.ts";
import { type Stream, settledPart } from "./native-stream.ts";
import { type Block, type MessageContent, renderMessage, renderMrkdwn, renderParts, shortText } from "./render.ts";
import { type TaskChunk, taskChunks } from "./stream-tasks.ts";

export interface LiveMessageOptions {
  key: string;
  sender: MessageSender;
  rateLimiter: RateLimiter;
  /** Starts a stream with this text or these tasks. Returns undefined if streaming is not possible. */
  startStream(first: string, tasks: TaskChunk[]): Promise<Stream | undefined>;
  /** Shows that the turn works before there is a message. Absent outside threads. */
  session?: AgentSession | undefined;
  footers: Footers;
  log: Log;
}

export interface LiveMessage {
  /** Resolves when the first words are visible; later calls resolve immediately. Never rejects. */
  show(change: { text?: string; progress?: Progress }): Promise<void>;
  /**
   * Undefined keeps the text shown so far. If a stream ends with it, `state` is that of its session from now on. `below` follows the text, also if the text is too long for a message. Resolves
   * to the complete text if it did not fit into a message.
   */
  close(
    text: string | undefined,
    state: SessionState,
    footer?: AnswerFooter,
    below?: string,
  ): Promise<{ rest: string | undefined }>;
  leave(): Promise<void>;
  /** Removes the message, because another one takes its place. */
  discard(): Promise<void>;
}

interface Visible {
  text: string;
  line: string;
  /** What a stream does not show yet. */
  tasks: TaskChunk[];
}

/** Leaves room for the note that says where the text continues. */
const maxHeadLength = maxMarkdownLength - 500;
/** Of what is below the beginning of a long text. The file has all of it. */
const maxBelowLength = 700;
const maxFailures = 3;
const minGapMs = { append: 600, edit: 1_200, start: 0 };

export function createLiveMessage(options: LiveMessageOptions): LiveMessage {
  const { key, sender, rateLimiter, log } = options;
  let wanted = { text: "", progress: noProgress };
  let shown: Visible = { text: "", line: "", tasks: [] };
  const line = createProgressLine();
  let stream: Stream | undefined;
  let shownAt = 0;
  let timer: NodeJS.Timeout | undefined;
  let working: Promise<void> | undefined;
  let isClosed = false;
  let failures = 0;

  function schedule(waitMs: number): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      void work();
    }, waitMs);
  }

  function work(): Promise<void> {
    working ??= step()
      .then(() => {
        failures = 0;
      })
      .catch((thrown: unknown) => {
        failures++;
        log[unshownLevel(thrown)]({ key, error: messageOf(thrown) }, "could not show a partial reply");
      })
      .finally(() => {
        working = undefined;
        if (isBehind()) schedule(minGapMs[limitedCall()]);
      });
    return working;
  }

  /** After repeated failures, only the final text is written. */
  function isBehind(): boolean {
    if (isClosed || failures >= maxFailures) return false;
    const { text, line: nextLine, tasks } = visible();
    return text !== shown.text || nextLine !== shown.line || tasks.length > 0;
  }

  /** A stream shows the progress as tasks. A message shows it as a line, and before there is one, the session says enough. */
  function visible(): Visible {
    const { text, progress } = wanted;
    if (stream !== undefined) {
      // Once the model writes, work that nobody saw begin needs no tasks.
      const hasTasks = stream.tasks.size > 0 || progress.current !== undefined;
      return {
        text: settledPart(text),
        line: "",
        tasks: hasTasks ? taskChunks(progress, stream.tasks, Date.now()) : [],
      };
    }
    const isOnlyThought =
      options.session?.isPossible() === true && progress.tasks.length === 0 && progress.isQueued !== true;
    const isPosted = sender.tsOf(key) !== undefined;
    const lineNow = isOnlyThought && !isPosted ? "" : line.of(progress, text !== "" || isPosted);
    return { text: headOf(text), line: lineNow, tasks: [] };
  }

  function limitedCall(): keyof typeof minGapMs {
    return stream === undefined ? "edit" : "append";
  }

  async function step(): Promise<void> {
    const next = visible();
    if (next.text === shown.text && next.line === shown.line && next.tasks.length === 0) return;
    const ts = sender.tsOf(key);
    if (ts === undefined) return await begin(next);
    const waitMs = leftOf(minGapMs[limitedCall()], shownAt) || rateLimiter.take(limitedCall());
    if (waitMs > 0) return schedule(waitMs);
    if (stream === undefined) await sender.update(ts, key, partial(next));
    else if (!(await goOn(stream, next))) return;
    markShown(next);
  }

  async function begin(next: Visible): Promise<void> {
    const first = settledPart(next.text);
    // While nothing is written, the stream begins with the tasks. A request that waits has none.
    const tasks = first.trim() === "" ? taskChunks(wanted.progress, new Map(), Date.now()) : [];
    stream = first.trim() === "" && tasks.length === 0 ? undefined : await options.startStream(first, tasks);
    if (stream === undefined) {
      const ts = sender.tsOf(key);
      await (ts === undefined ? sender.post(key, partial(next)) : sender.update(ts, key, partial(next)));
      markShown(next);
    } else markShown({ text: first, line: "", tasks: [] });
  }

  /** Returns false if the stream is over. Edits then continue the message. */
  async function goOn(open: Stream, { text, tasks }: Visible): Promise<boolean> {
    const rest = open.isOld() ? undefined : open.next(text);
    const isSame = rest === "" && tasks.length === 0;
    if (rest !== undefined && (isSame || (await open.append(rest, tasks)))) return true;
    // If this fails, the end still has to stop the stream.
    await open.stop("processing", "", sender.metadata(key));
    stream = undefined;
    return false;
  }

  function markShown(next: typeof shown): void {
    shown = next;
    shownAt = Date.now();
  }

  async function finish(text: string, state: SessionState, below: Block[]): Promise<void> {
    const content = withBelow(renderMessage(text), below);
    const ts = text === "" ? await sender.find(key) : sender.tsOf(key);
    if (ts === undefined) {
      if (text === "") return;
      await sender.post(key, content);
      return;
    }
    if (text === "") return await sender.remove(ts, key);
    if (stream !== undefined) {
      const [open, rest] = [stream, stream.next(text)];
      stream = undefined;
      const isWhole = await open.stop(state, rest ?? "", sender.metadata(key), below).catch(() => false);
      // The tasks would stay in the message.
      if (isWhole && rest !== undefined && open.tasks.size === 0) return;
    } else if (shown.text === text && shown.line === "" && below.length === 0) return;
    await settle(ts, content);
  }

  /** If the message was deleted, or can't be edited for whatever reason, the text is posted again. */
  async function settle(ts: string, content: MessageContent): Promise<void> {
    await sender.update(ts, key, content).catch(async (thrown: unknown) => {
      if (!isRefusal(thrown) || isContentProblem(thrown)) throw thrown;
      let isElsewhere = false;
      try {
        await sender.post(`${key}:again`, content);
        isElsewhere = true;
      } finally {
        await clearStream(ts, isElsewhere || shown.text === "");
      }
    });
  }

  /** A stream that can't be stopped would look as if more came. */
  async function clearStream(ts: string, mayGo: boolean): Promise<void> {
    if (!sender.isStream(key)) return;
    try {
      await sender.endStream(ts, key).catch(async (thrown: unknown) => {
        if (!mayGo || !isRefusal(thrown)) throw thrown;
        await sender.remove(ts, key);
      });
    } catch (thrown) {
      log.info({ key, error: messageOf(thrown) }, "could not end a stream where nothing more can be written");
    }
  }

  /** Tries plainer footers, and then the text without blocks, if Slack refuses the blocks, or may. */
  async function finishWith(text: string, state: SessionState, footer: AnswerFooter | undefined): Promise<void> {
    for (const [index, below] of options.footers.variants(footer).entries()) {
      try {
        await finish(text, state, below);
        if (footer !== undefined) options.footers.refused(footer, index);
        return;
      } catch (thrown) {
        if (isUnknownRefusal(thrown)) break;
        if (!isContentProblem(thrown)) throw thrown;
        log.info({ key, error: messageOf(thrown) }, "Slack refused the blocks of a text; sending plainer ones");
      }
    }
    await finishAsText(text);
  }

  /** A message without blocks has room for less text, so the text continues in posts below it. */
  async function finishAsText(text: string): Promise<void> {
    const [first = "", ...more] = renderMrkdwn(text);
    const ts = sender.tsOf(key);
    if (ts === undefined) await sender.post(key, { text: first, blocks: [] });
    else await settle(ts, { text: first, blocks: [] });
    for (const [index, part] of more.entries()) await sender.post(`${key}:${index + 1}`, { text: part, blocks: [] });
  }

  async function endUpdates(): Promise<void> {
    isClosed = true;
    clearTimeout(timer);
    await working;
  }

  return {
    async show(change) {
      wanted = { ...wanted, ...change };
      if (timer !== undefined || !isBehind()) return;
      if (sender.tsOf(key) === undefined || working === undefined) await work();
    },
    leave: endUpdates,
    async discard() {
      await endUpdates();
      const ts = await sender.find(key);
      if (ts === undefined) return;
      await sender.endStream(ts, key);
      await sender.remove(ts, key);
    },
    async close(said, state, footer, below = "") {
      await endUpdates();
      if (said === undefined) {
        // An earlier process may have died before it stored the ts. Its stream would stay open.
        const ts = await sender.find(key);
        const isOnlyProgress = shown.text === "" && (shown.line !== "" || (stream?.tasks.size ?? 0) > 0);
        if (ts !== undefined) await (isOnlyProgress ? sender.remove(ts, key) : sender.endStream(ts, key));
        return { rest: undefined };
      }
      const text = [said, below].filter(Boolean).join("\n\n");
      const isLong = renderParts(text).length > 1;
      const final = isLong ? beginningAnd(below, text) : text;
      await finishWith(final, state, footer);
      return { rest: isLong ? text : undefined };
    },
  };
}

function headOf(text: string, maxLength = maxHeadLength): string {
  if (text.length <= maxLength && !text.includes("<")) return text;
  return renderParts(text, maxLength)[0] ?? "";
}

function beginningAnd(below: string, text: string): string {
  const note = wholeIsBelow(text);
  if (below === "") return `${headOf(text)}\n\n${note}`;
  return [headOf(text, maxHeadLength - maxBelowLength), note, headOf(below, maxBelowLength)].join("\n\n");
}

function partial({ text, line: words }: Visible): MessageContent {
  const content = text === "" ? { text: "", blocks: [] } : renderMessage(text);
  return {
    text: content.text === "" ? shortText(words) : content.text,
    blocks: words === "" ? content.blocks : [...content.blocks, smallLine(words)],
  };
}

function withBelow({ text, blocks }: MessageContent, below: Block[]): MessageContent {
  return { text, blocks: [...blocks, ...below] };
}

function wholeIsBelow(text: string): string {
  return `*(This is the beginning. The full answer, ${formatNumber(text.length)} characters, is in the file below.)*`;
}
