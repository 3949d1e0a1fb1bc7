/** One native stream. Text can only be appended. Slack limits a stream to five minutes and 12,000 bytes. */
import { anyAnswer, type SlackApi } from "../api/api.ts";
import { isSlackError } from "../api/api-problems.ts";
import { maxStreamBytes, maxStreamBytesWithTasks, streamLifetimeMs } from "../limits.ts";
import type { AgentSession, SessionState } from "./agent-sessions.ts";
import type { Metadata } from "./message-sender.ts";
import type { Block } from "./render.ts";
import { beginningOf, safeMarkdown } from "./safe-text.ts";
import { chunkKey, type TaskChunk, tasksBytes } from "./stream-tasks.ts";

export interface Stream {
  ts: string;
  /** Returns what to append to reach this text, possibly nothing, or undefined if a stream can't show it. */
  next(markdown: string): string | undefined;
  /** Returns false if Slack or the person ended the stream. */
  append(text: string, tasks?: TaskChunk[]): Promise<boolean>;
  /** Sets the session's state, too. `below` are blocks that follow the text. */
  stop(state: SessionState, rest: string, metadata: Metadata, below?: readonly Block[]): Promise<boolean>;
  isOld(): boolean;
  /** The tasks that the stream shows, by `chunkKey`. They stay in the message when the stream ends. */
  tasks: ReadonlyMap<string, TaskChunk>;
}

export interface StreamOptions {
  api: SlackApi;
  session: AgentSession;
  channel: string;
  ts: string;
  first: string;
  firstTasks: TaskChunk[];
}

const maxBytes = maxStreamBytes - 500;
const maxBytesWithTasks = maxStreamBytesWithTasks - 500;
const maxStreamMs = streamLifetimeMs - 60_000;
/** Retry for long, because a late partial text is better than none. */
const maxRetryMs = 20_000;

export function createStream({ api, session, channel, ts, first, firstTasks }: StreamOptions): Stream {
  const tasks = new Map(firstTasks.map((task) => [chunkKey(task), task]));
  const startedAt = Date.now();
  let sent = first;

  async function isTaken(call: Promise<unknown>): Promise<boolean> {
    try {
      await call;
      return true;
    } catch (thrown) {
      if (isSlackError(thrown, "msg_too_long", "msg_blocks_too_many", "invalid_chunks")) return false;
      if (!isSlackError(thrown, "message_not_in_streaming_state", "stopped_by_user")) throw thrown;
      return false;
    }
  }

  return {
    ts,
    next(markdown) {
      const whole = safeMarkdown(markdown);
      const most = tasks.size === 0 ? maxBytes : maxBytesWithTasks - tasksBytes(tasks);
      if (!whole.startsWith(sent) || Buffer.byteLength(whole) > most) return undefined;
      return whole.slice(sent.length);
    },
    async append(text, newTasks = []) {
      const args = { channel, ts, ...streamContent(text, newTasks) };
      const isOpen = await isTaken(api.call("chat.appendStream", args, anyAnswer, { isOnce: true, maxRetryMs }));
      if (!isOpen) return false;
      sent += text;
      for (const task of newTasks) tasks.set(chunkKey(task), task);
      return true;
    },
    stop(state, rest, metadata, below = []) {
      const text = rest === "" ? {} : { markdown_text: rest };
      const args = { channel, ts, metadata, ...text, ...(below.length === 0 ? {} : { blocks: below }) };
      return isTaken(
        session.stopping(state, (fields) =>
          api.call("chat.stopStream", { ...args, ...fields }, anyAnswer, { isOnce: true }),
        ),
      );
    },
    tasks,
    isOld: () => Date.now() - startedAt > maxStreamMs,
  };
}

/** Slack accepts text alone, or chunks. */
export function streamContent(text: string, tasks: readonly TaskChunk[]): Record<string, unknown> {
  if (tasks.length === 0) return { markdown_text: text };
  return { chunks: [...tasks, ...(text === "" ? [] : [{ type: "markdown_text", text }])] };
}

/** A table at the end: lines that begin with a bar, the last of them perhaps unfinished. */
const lastTable = /(?:^|\n)((?:\|[^\n]*\n)*(?:\|[^\n]*)?)$/;

/** Slack shows a table once it has its second line, so these come together, and each row as a whole. */
function withoutHalfRow(markdown: string): string {
  const [, table = ""] = lastTable.exec(markdown) ?? [];
  const rowEnd = table.lastIndexOf("\n") + 1;
  const isTable = table.slice(0, rowEnd).split("\n").length > 2;
  return markdown.slice(0, markdown.length - table.length + (isTable ? rowEnd : 0));
}

/**
 * Cuts before an unfinished code span, formatting character or row of a table, because later text may change how it renders.
 */
export function settledPart(text: string): string {
  const markdown = withoutHalfRow(beginningOf(text, text.length));
  const lineStart = markdown.lastIndexOf("\n") + 1;
  const line = markdown.slice(lineStart);
  const opening = line.search(/[`<\\]/);
  if (opening === -1) return markdown;
  const isCodeWhole = (line.match(/`+/g) ?? []).length % 2 === 0 && !/[<\\]/.test(line);
  return isCodeWhole ? markdown : markdown.slice(0, lineStart + opening);
}
